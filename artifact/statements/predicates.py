"""What a claim or a panel says of numbers, as data.

A predicate names a table or panel, the rows and columns that it compares by label or id, and what must hold of them;
``artifact.statements.comparisons`` turns it into comparisons of numbers that share seeds. The ledger writes predicates
out, as typed ``[claim.predicate]`` tables. A panel's ``checks`` are short sentences that stand for predicates on its
lines; with lines A and B, and values v of the swept setting:

- ``A > B at v``: the value of A at v lies above the value of B.
- ``A > B``: A lies above B; per seed the mean over the points of both, of a curve its mean height, paired by seed.
- ``A > B from v``: the same over the points from v on; left out where none is drawn.
- ``rising`` or ``rising: A, B``: the mean change per step of the sweep is positive.
- ``lowest at v: A``, ``peak at v: A``: the value at v lies below each of the others, or above both ends.
- ``highest inside: A``: some value between the ends lies above both ends.
- ``flat within m: A``: the value at every point differs from the first point's by less than m.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from artifact.base.errors import UserError, first_fault
from artifact.base.names import TableName
from artifact.base.options import PROFILES, ProfileName

Labels = Annotated[tuple[str, ...], Field(min_length=1)]
Margin = Annotated[float, Field(ge=0, allow_inf_nan=False)]
#: one label, or several: in an order they are not compared with each other, in a pair the best of them counts
Place = str | Labels


class Predicate(BaseModel):
    """What all predicates share.

    says: the tested statement in plain words; it may be narrower than the claim's.  table: ``paper/table``, or
    ``paper/figure/panel`` (``paper/figure`` for all its panels), whose rows are its lines and whose columns are points
    of its axis, their ``mean`` (of curves over rounds the mean height; of a spectral density the negative eigenvalues'
    sum over the positive ones'), or ``last`` for the last ten.  also: other
    tables of these labels where it must hold.
    within: labels on the other axis; the predicate must hold for each.  along: the axis that is compared.
    metrics: ids of the table's metrics, its first by default; the predicate must hold for each.
    measure: what is read off a run: ``metric`` for the table's own number, or one of ``verdicts.lookup.MEASURES``.
    better: which direction counts as better.  margin: in the metric's unit; the interval must lie beyond it.
    profiles: where the predicate means something; a number of a data set says nothing where other data are used.
    at_least: how many of the comparisons must hold, all by default.
    expected: verdict of the committed store at the laptop profile, for a claim that the checks decide otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: Annotated[str, Field(min_length=1)]
    table: TableName
    also: tuple[TableName, ...] = ()
    within: Labels
    along: Literal["rows", "columns"] = "rows"
    metrics: tuple[str, ...] = ()
    measure: Annotated[str, Field(pattern=r"^([a-z-]+|[a-z]+\.[a-z_]+)$")] = "metric"
    better: Literal["higher", "lower"] = "higher"
    margin: Margin = 0.0
    profiles: Annotated[tuple[ProfileName, ...], Field(min_length=1)] = PROFILES
    at_least: Annotated[int, Field(ge=1)] | None = None
    expected: str = ""

    @property
    def of_figure(self) -> bool:
        """Whether ``table`` is a figure or one of its panels."""
        return self.table.split("/")[1].startswith("fig")


def _differ(compared: Any) -> Any:
    """Labels of an order or of a pair. Raises ValueError for one that would be compared with itself."""
    labels = [label for place in compared for label in ((place,) if isinstance(place, str) else place)]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise ValueError(f"labels that differ, where {twice[0]} would be compared with itself")
    return compared


Pair = Annotated[tuple[Place, Place], AfterValidator(_differ)]


class Ordering(Predicate):
    """Better first: everything at one place of ``order`` is better than everything at the next.

    slack: in the metric's unit; by less than this the better one may fall short ("is not worse").
    """

    type: Literal["ordering"]
    slack: Margin = 0.0
    order: Annotated[tuple[Place, ...], Field(min_length=2), AfterValidator(_differ)]


class Difference(Predicate):
    """In every pair the first is better than the second; a side of several names counts by the best of them.

    Which of several is best is read off their means over all seeds.
    rank: of a second side of several names, the one that counts: 1 the best, 2 the second best.
    slack: in the metric's unit; by less than this the first may fall short of the second ("is not worse").
    mean: of each pair's average over ``within`` instead of at every place.  equal: the pairs are equal within the
    margin.
    lead: two labels of the other axis; the difference is larger at the first than at the second.
    """

    type: Literal["difference"]
    pairs: Annotated[tuple[Pair, ...], Field(min_length=1)]
    rank: Annotated[int, Field(ge=1)] = 1
    slack: Margin = 0.0
    mean: bool = False
    equal: bool = False
    lead: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.equal and not self.margin:
            raise ValueError("equal needs a margin above 0")
        if self.lead and set(self.within) != set(self.lead):
            raise ValueError("lead needs its two labels as within")
        if self.slack and (self.margin or self.equal):
            raise ValueError("slack and margin exclude each other")
        fewest = min(1 if isinstance(second, str) else len(second) for _, second in self.pairs)
        if self.rank > fewest:
            raise ValueError(f"rank at most {fewest}, the names on the second side")
        return self


class Trend(Predicate):
    """The shape of a sweep over ``order``, the swept levels from low to high; none: all points of the panel's axis.

    rising, falling: the least-squares line over the levels rises or falls by more than the margin.
    interior-maximum: some level between the ends beats both ends.
    not-rising: it falls between some neighbours.
    flat: all pairs of levels are equal within the margin.
    lowest-at, peak-at: ``level`` (or ``first``, the first one) is below, or above, all others.
    against: what a level is compared with: all others, the ``ends`` (peak-at), or the ``first`` level (flat).
    """

    type: Literal["trend"]
    order: Annotated[tuple[str, ...], AfterValidator(_differ)] = ()
    shape: Literal["rising", "falling", "interior-maximum", "lowest-at", "not-rising", "flat", "peak-at"]
    level: str = ""
    against: Literal["all", "ends", "first"] = "all"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shape == "flat" and not self.margin:
            raise ValueError("flat needs a margin above 0")
        if 0 < len(self.order) < 3 or not (self.order or (self.of_figure and self.along == "columns")):
            raise ValueError("order needs at least three levels, or a panel along whose columns it goes")
        if (self.shape in ("lowest-at", "peak-at")) != bool(self.level):
            raise ValueError("lowest-at and peak-at need a level, and no other shape has one")
        return self


class Value(Predicate):
    """The cells of ``labels`` lie in a range; margin does not apply.

    short_of_printed: every cell lies above the paper's own number for it, less this.
    """

    type: Literal["value"]
    labels: Labels
    above: float | None = None
    below: float | None = None
    short_of_printed: Margin | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.above is None and self.below is None and self.short_of_printed is None:
            raise ValueError("one of above, below and short_of_printed is needed")
        return self


class Cost(Predicate):
    """In every pair the first costs at most ``factor`` times the second.

    Rounds, seconds and communication up to a target enter as restricted means (``base.stats``); margin does not
    apply.
    """

    type: Literal["cost"]
    pairs: Annotated[tuple[Annotated[tuple[str, str], AfterValidator(_differ)], ...], Field(min_length=1)]
    factor: Annotated[float, Field(gt=0)] = 1.0


AnyPredicate = Annotated[Ordering | Difference | Trend | Value | Cost, Field(discriminator="type")]
_ADAPTER = TypeAdapter(AnyPredicate)
_TYPES = {one.__name__.lower(): one for one in get_args(get_args(AnyPredicate)[0])}


def parse(entry: Mapping[str, Any], claim: str) -> AnyPredicate:
    """A predicate of the ledger. Raises UserError with the claim, the field and what is wrong with it."""
    try:
        return _ADAPTER.validate_python(dict(entry))
    except ValidationError as error:
        kind = _TYPES.get(str(entry.get("type")))
        raise first_fault(error, f"claim {claim}: field predicate.", kind.model_fields if kind else ()) from None


# ---- sentences of panels ---------------------------------------------------------------------------------------------

SENTENCES = (
    "A > B[ at v | from v], rising[: A, B], lowest at v[: A], peak at v[: A], highest inside[: A], flat within m[: A]"
)
_PAIR = re.compile(r"(?P<a>.+) > (?P<b>.+?)(?: (?P<at>at|from) (?P<x>[\d.e+-]+))?")
_SHAPES = {
    r"rising": {"shape": "rising"},
    r"lowest at (?P<level>[\d.e+-]+)": {"shape": "lowest-at"},
    r"peak at (?P<level>[\d.e+-]+)": {"shape": "peak-at", "against": "ends"},
    r"highest inside": {"shape": "interior-maximum"},
    r"flat within (?P<margin>[\d.]+)": {"shape": "flat", "against": "first"},
}
#: stands for the panel whose lines are at hand
_OWN = "own/fig"


def parse_sentence(sentence: str, labels: Sequence[str]) -> list[Any]:
    """The predicates of a sentence: one for a pair of lines; of a shape one per line that it names, all by default.

    labels: of the panel's lines.  Raises UserError for a sentence that has none of the module's forms.
    """
    text = sentence.strip()
    for pattern, entry in _SHAPES.items():
        if match := re.fullmatch(rf"{pattern}(?:: *(?P<lines>.+))?", text):
            given = {name: value for name, value in match.groupdict().items() if name != "lines"}
            if "level" in given:
                given["level"] = f"{float(given['level']):g}"
            names = [name.strip() for name in match["lines"].split(",")] if match["lines"] else labels
            common = {"type": "trend", "says": text, "table": _OWN, "along": "columns"} | entry | given
            return [parse(common | {"within": (name,)}, text) for name in names]
    if match := _PAIR.fullmatch(text):
        place = {None: "mean", "at": match["x"], "from": f"from {match['x']}"}[match["at"]]
        pairs = ((match["a"].strip(), match["b"].strip()),)
        return [parse({"type": "difference", "says": text, "table": _OWN, "within": (place,), "pairs": pairs}, text)]
    raise UserError("check", sentence, SENTENCES)
