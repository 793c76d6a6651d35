"""``fedsharp headlines``: what came out in a few sentences, and one forest plot as an SVG, for ``README.md``.

Every number is read from the ledger, the stored evidence and the stored runs of the laptop profile. The plot follows
the reader's light or dark mode, and its text is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from markupsafe import Markup

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.files import write_atomic
from artifact.base.options import Place
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments, table_results
from artifact.papers.declared import read_toml
from artifact.papers.table_results import Entry
from artifact.report import what_sam_buys
from artifact.report.content import Content, Counts, Record
from artifact.verdicts import setting
from artifact.verdicts.estimate import estimate
from artifact.verdicts.findings import scale_of, text_of
from artifact.verdicts.ledger import EMPIRICAL, PAPERS, TITLES, WEIGHTS
from artifact.verdicts.scales import SCALES

_READ = read_toml(paths.CLAIMS / "headlines.toml", "headlines")
#: the table of the plot, the metric that it compares, the row that all others are held against
TABLE, METRIC, REFERENCE = _READ["table"], _READ["metric"], _READ["reference"]
#: the cell of FedLESAM as its released code computes it, of which the length of the perturbation is shown
RELEASED = _READ["released"]
#: of the plot, in pixels: width, height of a row, left and right end of the axis, room above and below the rows
WIDTH, ROW, LEFT, RIGHT, TOP, BELOW = 720, 26, 130, 520, 58, 82
STYLE = """
.paper { fill: #ffffff; } text { font: 13px system-ui, sans-serif; fill: #1f2328; } .quiet { fill: #59636e; }
.axis { stroke: #1f2328; } .grid { stroke: #d1d9e0; } .ours { stroke: #0550ae; fill: #0550ae; stroke-width: 2.5; }
.theirs { fill: none; stroke: #9a3412; stroke-width: 1.6; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; } text { fill: #f0f6fc; } .quiet { fill: #9198a1; }
  .axis { stroke: #f0f6fc; } .grid { stroke: #3d444d; }
  .ours { stroke: #79c0ff; fill: #79c0ff; } .theirs { stroke: #ffb077; }
}"""


@dataclass(frozen=True)
class Gain:
    """One method against FedAvg over the columns of the table.

    mean: over the columns, seed by seed, with its 95 % interval over seeds. printed: the paper's mean difference.
    above, below: columns in which the interval of the difference lies on that side of zero. columns: their number.
    """

    label: str
    mean: Interval
    printed: float | None
    above: int
    below: int
    columns: int


@cache
def gains() -> list[Gain]:
    """The methods of the table with paired runs in every column that FedAvg has, the highest first."""
    rows: dict[str, dict[str, Entry]] = {}
    for entry in _entries(TABLE):
        if entry.cell.metric.id == METRIC and len(entry.values) > 1:
            rows.setdefault(entry.cell.row.label, {})[entry.cell.column.id] = entry
    reference = rows.pop(REFERENCE)
    found = [_gain(label, cells, reference) for label, cells in rows.items() if set(cells) == set(reference)]
    return sorted(found, key=lambda gain: -gain.mean.mean)


def _gain(label: str, cells: dict[str, Entry], reference: dict[str, Entry]) -> Gain:
    """``cells`` and ``reference``: column -> entry, of the same columns."""
    pairs = [(entry, reference[column]) for column, entry in cells.items()]
    columns = [{seed: value - r.values[seed] for seed, value in e.values.items() if seed in r.values} for e, r in pairs]
    seeds = sorted(set.intersection(*(set(column) for column in columns)))
    mean = t_interval([np.mean([column[seed] for column in columns]) for seed in seeds])
    numbers = [(e.paper, r.paper) for e, r in pairs]
    printed = [a.value - b.value for a, b in numbers if a and b and a.value is not None and b.value is not None]
    intervals = [t_interval(list(column.values())) for column in columns]
    above, below = (sum(one.excludes(0) and side * one.mean > 0 for one in intervals) for side in (1, -1))
    return Gain(label, mean, float(np.mean(printed)) if printed else None, above, below, len(pairs))


@cache
def _entries(name: str) -> list[Entry]:
    _, table = experiments.find(name)
    return table_results.look_up(table, "laptop", Content().finished["laptop"])


def _scale() -> str:
    """``CIFAR-10, 5,000 training images, LeNet, 60 rounds, n=3``, of the plot's runs."""
    runs = [run for entry in _entries(TABLE) for run in entry.runs]
    return setting.in_words(runs, min(gain.mean.n for gain in gains()))


# ---- sentences -------------------------------------------------------------------------------------------------------


def sentences() -> str:
    """Numbered lines, each with at most one interval, and a table of counts by paper."""
    content = Content()
    text = [f"{number}. **{about}.** {said}" for number, (about, said) in enumerate(said_in_short(content), 1)]
    return "\n".join([*_bought(), "", adds_up(content.counts()), "", *text, "", *_papers(content)])


def adds_up(counts: Counts) -> str:
    """How the numbers of statements hang together, for README and the front page."""
    paper, training = counts.on_paper, counts.in_training
    return (
        f"How the counts add up: the five papers make {counts.statements} statements that can be true or false. "
        f"{paper.total()} can be decided on paper and {training.total()} ask something of training; {counts.both} are "
        f"counted in both. On paper {paper['not-decided']} stay open; for training the runs of {training['not-run']} "
        f"have not been made. {counts.readings} questions that no paper states, the ledger's own, are counted apart."
    )


def _bought() -> list[str]:
    """What a sharpness-aware step buys on a fixed base: a sentence, the chart and the table."""
    return [
        f"**What adding a sharpness-aware step buys, in points of test accuracy.** {what_sam_buys.said()}",
        "",
        "![Test accuracy of each base without and with a sharpness-aware step, by setting](docs/sam.svg)",
        "",
        *what_sam_buys.table(),
        "",
        "*95 % intervals over the seeds, uncorrected; without one where there is one seed. The bases stay as they are. "
        "`python -m fedsharp fidelity` says which settings predict larger ones, and how surely.*",
    ]


def _rest(paper: Counter[str]) -> int:
    """Statements that are decided, and neither proved nor refuted."""
    return paper.total() - sum(paper[word] for word in ("not-decided", "proved", "refuted", "repaired"))


def said_in_short(content: Content) -> list[tuple[str, str]]:
    """(what about, what came out), for README and the front page; audits have no part in them."""
    counts = content.counts()
    paper, shown = counts.on_paper, _shown(content.decided.values())
    weights = counts.weights
    released = text_of(RELEASED)
    return [
        (
            "Theory",
            f"A program decides {counts.decided} statements. It proves {paper['proved']} as printed; {counts.changed} "
            f"printed sentences need a change, which for {weights['conclusion']} changes a conclusion and for "
            f"{weights['slip']} mends a slip; each paper's page has every weight. {weights['reading']} more read "
            f"more into the text than it says and change nothing in a paper. The other {_rest(paper)} are of the kinds "
            f"that `docs/verdicts.md` lists.",
        ),
        (
            "Training",
            f"Our runs speak of {counts.judged} claims, most at a small scale ({_listed(counts.scales, SCALES)}). "
            f"{shown.total()} of them rest on the paper's own setting or on one that predicts a larger one: "
            f"{_listed(shown, EMPIRICAL)}. The others take part in no headline; each stands with its claim. "
            f"No claim is called contradicted below full length.",
        ),
        (
            "What gains accuracy",
            f"In the {gains()[0].columns} settings of the papers' table ({_scale()}) FedAvg loses "
            f"{_where('to', {gain.label: gain.above / gain.columns for gain in gains()})}. It wins "
            f"{_where('against', {gain.label: gain.below / gain.columns for gain in gains()})} "
            f"(95 % intervals without zero, uncorrected).",
        ),
        (
            "Released code",
            f"FedLESAM's released code perturbs by {released} radii, not by one, in the last probed round "
            f"({scale_of(RELEASED)}). Another network has another number; discrepancy `LESAM-1` has the formula.",
        ),
        *_estimated(),
    ]


def _shown(records: Iterable[Record]) -> Counter[str]:
    """Findings on sentences of papers that may stand in a headline, counted by their words."""
    return Counter(
        found
        for record in records
        if (found := record.counted("in_training")) and found != "not-run" and (record.experiment or {}).get("predicts")
    )


def _listed(counted: Counter[str], names: Iterable[str]) -> str:
    """``3 seen, 2 undecided``, in the order of the names."""
    return ", ".join(f"{counted[name]} {name.replace('-', ' ')}" for name in names if counted[name])


def _where(side: str, shares: Mapping[str, float]) -> str:
    """The methods by their share of the settings: ``in all to A and B, in most to C, in some to D``."""
    groups: dict[str, list[str]] = {"all": [], "most": [], "some": []}
    for label, share in shares.items():
        if share:
            groups["all" if share == 1 else "most" if share > 0.5 else "some"].append(label)
    named = [(word, ", ".join(group[:-1]), group[-1]) for word, group in groups.items() if group]
    return ", ".join(f"in {word} {side} {' and '.join(filter(None, names))}" for word, *names in named)


@cache
def _estimated() -> list[tuple[str, str]]:
    """What the estimate says that the protocol declares; nothing before its runs are there."""
    table, first, second = _READ["estimate"]
    found = estimate(table, first, second, Content().finished["laptop"])
    if found is None:
        return []
    config = next(
        run.config() for entry in _entries(table) if entry.cell.row.id in (first, second) for run in entry.runs
    )
    mean = found.mean
    text = (
        f"After {config['rounds']} rounds {found.first} minus {found.second} is {mean.mean:+.2f} [{mean.low:+.2f}, "
        f"{mean.high:+.2f}] points, the mean over the columns of the papers' table (95 %, n={mean.n}; "
        f"{experiments.DATA_NAMES[config['dataset']]}, {setting.MODEL_NAMES[config['model']]}; `docs/protocol.md`)."
    )
    return [("FedSMOO and FedDyn", text)]


def _papers(content: Content) -> list[str]:
    """A line for every paper: what changes on paper by weight, and what the runs show."""
    body = []
    records = content.decided.values()
    weights = [name for name in WEIGHTS if name != "reading"]
    for paper in PAPERS:
        own = [record for record in records if record.claim.paper == paper]
        checked = Counter(v for record in own if (v := record.counted("on_paper")))
        changed: Counter[str] = Counter(r.claim.weight for r in own if r.counted("on_paper") in ("refuted", "repaired"))
        trained = _shown(own)
        all_of = checked.total() - checked["not-decided"]
        counted = [str(changed[name]) for name in weights]
        body.append(
            [TITLES[paper], f"{checked['proved']} of {all_of}", *counted, _listed(trained, EMPIRICAL) or "none yet"]
        )
    head = [
        "paper",
        "proved as printed",
        "conclusion changes",
        "proof",
        "constant",
        "slip",
        "runs that predict larger ones show",
    ]
    return markdown_table(head, body)


# ---- the plot --------------------------------------------------------------------------------------------------------


def _numbers(gain: Gain) -> str:
    ours = f"{gain.mean.mean:+.1f} [{gain.mean.low:+.1f}, {gain.mean.high:+.1f}]"
    return ours if gain.printed is None else f"{ours}, paper {gain.printed:+.1f}"


def height() -> int:
    """Height of the plot in pixels."""
    return TOP + ROW * len(gains()) + BELOW


def forest() -> str:
    """The plot as SVG: a row for every method, our interval and the paper's mark on one axis."""
    found = gains()
    values = [v for gain in found for v in (gain.mean.low, gain.mean.high, gain.printed or 0.0)]
    low, high = 2 * np.floor(min(values) / 2), 2 * np.ceil(max(values) / 2)
    bottom = height() - BELOW + 6

    def at(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (value - low) / (high - low)

    body = ['<rect class="paper" width="100%" height="100%"/>']
    body.append(_text(10, 20, "Test accuracy minus FedAvg's, in points", 'font-weight="600"'))
    body.append(_text(10, 40, f"ours: {_scale()}", 'class="quiet"'))
    for tick in np.arange(low, high + 1, 2):
        style = "axis" if tick == 0 else "grid"
        body.append(f'<line class="{style}" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{TOP}" y2="{bottom}"/>')
        body.append(_text(at(tick), bottom + 16, f"{tick:+g}" if tick else "0", 'text-anchor="middle" class="quiet"'))
    for position, gain in enumerate(found):
        y = TOP + ROW * (position + 0.6)
        ends = f'x1="{at(gain.mean.low):.1f}" x2="{at(gain.mean.high):.1f}"'
        body.append(_text(LEFT - 12, y + 4, gain.label, 'text-anchor="end"'))
        body.append(f'<line class="ours" {ends} y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<circle class="ours" cx="{at(gain.mean.mean):.1f}" cy="{y:.1f}" r="3.5"/>')
        if gain.printed is not None:
            body.append(_diamond(at(gain.printed), y))
        body.append(_text(RIGHT + 14, y + 4, _numbers(gain).split(", paper")[0], 'class="quiet"'))
    y = height() - 14
    body += [f'<circle class="ours" cx="{LEFT}" cy="{y - 24}" r="3.5"/>', _diamond(LEFT, y - 4)]
    body.append(_text(LEFT + 12, y - 20, f"ours, mean over {found[0].columns} settings, 95 % interval over seeds"))
    body.append(_text(LEFT + 12, y, "printed in the paper, full-size runs"))
    said = Markup.escape("; ".join(f"{gain.label} {_numbers(gain)}" for gain in found))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height()}" width="{WIDTH}" height="{height()}" '
        f'role="img">\n<title>Test accuracy minus FedAvg\'s, in points: {said}</title>\n<style>{STYLE}\n</style>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{Markup.escape(text)}</text>'


def _diamond(x: float, y: float) -> str:
    return f'<path class="theirs" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"/>'


@click.command("headlines", help="Say what came out in a few sentences, or draw it (the top of README.md).")
@click.option("--svg", type=Place(dir_okay=False), help="Write the forest plot to this file instead.")
@click.option("--sam-svg", type=Place(dir_okay=False), help="Write the chart of what a step buys to this file instead.")
def headlines_command(svg: Path | None, sam_svg: Path | None) -> None:
    if svg is None and sam_svg is None:
        click.echo(sentences())
    if svg is not None:
        write_atomic(svg, forest())
        click.echo(f"{svg}: {len(gains())} methods")
    if sam_svg is not None:
        write_atomic(sam_svg, what_sam_buys.dumbbells(STYLE))
        click.echo(f"{sam_svg}: {len(what_sam_buys.scenes())} settings")
