"""What a claim says of numbers, as data: the typed ``[claim.predicate]`` tables of the ledger.

A predicate names a table or panel, the rows and columns that it compares by label or id, and what must hold of them.
``artifact.verdicts.decide`` turns it into comparisons of runs that share seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from artifact.base.errors import UserError
from artifact.papers.declared import PROFILES, ProfileName

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
    measure: what is read off a run, ``metric`` for the table's own number or one of ``judging.evidence.MEASURES``.
    better: which direction counts as better.  margin: in the metric's unit; the interval must lie beyond it.
    profiles: where the predicate means something; a number of a data set says nothing where other data are used.
    at_least: how many of the comparisons must hold, all by default.
    expected: verdict of the committed store at the laptop profile, for a claim that the checks decide otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: Annotated[str, Field(min_length=1)]
    table: Annotated[str, Field(pattern=r"^[a-z0-9]+/[a-z0-9.-]+(/[a-z0-9.-]+)?$")]
    also: tuple[Annotated[str, Field(pattern=r"^[a-z0-9]+/[a-z0-9.-]+(/[a-z0-9.-]+)?$")], ...] = ()
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


class Ordering(Predicate):
    """Better first: everything at one place of ``order`` is better than everything at the next."""

    type: Literal["ordering"]
    order: Annotated[tuple[Place, ...], Field(min_length=2)]


class Difference(Predicate):
    """In every pair the first is better than the second, or than the best of several at each seed.

    mean: of each pair's average over ``within`` instead of at every place.  equal: the pairs are equal within the
    margin.
    lead: two labels of the other axis; the difference is larger at the first than at the second.
    """

    type: Literal["difference"]
    pairs: Annotated[tuple[tuple[str, Place], ...], Field(min_length=1)]
    mean: bool = False
    equal: bool = False
    lead: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _consistent(self):
        if self.equal and not self.margin:
            raise ValueError("equal needs a margin above 0")
        if self.lead and set(self.within) != set(self.lead):
            raise ValueError("lead needs its two labels as within")
        return self


class Trend(Predicate):
    """The shape of a sweep over ``order``, the swept levels from low to high; none: all points of the panel's axis.

    rising, falling: the least-squares line over the levels rises or falls by more than the margin.
    interior-maximum: some level between the ends beats both ends.  first-lowest: the first level is below all others.
    not-rising: it falls between some neighbours.  flat: all pairs of levels are equal within the margin.
    peak-at: the level ``peak`` beats all others.
    """

    type: Literal["trend"]
    order: tuple[str, ...] = ()
    shape: Literal["rising", "falling", "interior-maximum", "first-lowest", "not-rising", "flat", "peak-at"]
    peak: str = ""

    @model_validator(mode="after")
    def _consistent(self):
        if self.shape == "flat" and not self.margin:
            raise ValueError("flat needs a margin above 0")
        if 0 < len(self.order) < 3 or not (self.order or (self.of_figure and self.along == "columns")):
            raise ValueError("order needs at least three levels, or a panel along whose columns it goes")
        if (self.shape == "peak-at") != bool(self.peak):
            raise ValueError("peak-at and peak need each other")
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
    def _bounded(self):
        if self.above is None and self.below is None and self.short_of_printed is None:
            raise ValueError("one of above, below and short_of_printed is needed")
        return self


class Cost(Predicate):
    """In every pair the first costs at most ``factor`` times the second.

    Rounds, seconds and communication up to a target enter as restricted means (``base.stats``); margin does not
    apply.
    """

    type: Literal["cost"]
    pairs: Annotated[tuple[tuple[str, str], ...], Field(min_length=1)]
    factor: Annotated[float, Field(gt=0)] = 1.0


AnyPredicate = Annotated[Ordering | Difference | Trend | Value | Cost, Field(discriminator="type")]
_ADAPTER = TypeAdapter(AnyPredicate)


def parse(entry: Mapping[str, Any], claim: str) -> AnyPredicate:
    """A predicate of the ledger. Raises UserError with the claim, the field and what is wrong with it."""
    try:
        return _ADAPTER.validate_python(dict(entry))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UserError(f"claim {claim}: predicate {field}", first["input"], first["msg"]) from None
