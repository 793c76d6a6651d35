"""What adding a sharpness-aware step buys on a fixed base: the table and the chart of the first screen.

``claims/sam.toml`` names the pairs and the tables. A difference is paired by seed and is the mean over a
table's columns. The training accuracy of the bases says whether the network interpolates its training
data, which is where such steps are expected to pay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import markdown_table
from artifact.data.sources import classes_of
from artifact.papers import experiments
from artifact.papers.declared import read_toml
from artifact.runs.store import Run
from artifact.verdicts import fidelity, protocol, setting
from artifact.verdicts.lookup import Store, open_store
from artifact.verdicts.scales import scale

#: training accuracy in per cent from which a network is said to interpolate its training data
FITS = 95.0
#: of the chart, in pixels: width, height of a row, left end of the axes, right end, room above a panel
WIDTH, ROW, LEFT, RIGHT, HEAD, FOOT = 780, 22, 200, 580, 56, 30


@dataclass(frozen=True)
class Bought:
    """One pair in one table.

    base, other: test accuracy in per cent without the step and with it, the mean over columns and seeds.
    gain: in points, the mean over columns, with its 95 % interval over seeds.
    """

    pair: tuple[str, str]
    base: float
    other: float
    gain: Interval


@dataclass(frozen=True)
class Scene:
    """One table: the scale of its runs, what they are in words, and what the step buys for each pair.

    predicts: whether the setting predicts a larger one, None where that is not known.
    train: fewest and most per cent over the bases; None where no run stores it.
    """

    table: str
    scale: str
    words: str
    train: tuple[float, float] | None
    predicts: bool | None
    pairs: tuple[Bought, ...]

    @property
    def fits(self) -> str:
        """Whether the networks interpolate their training data, in words."""
        if self.train is None:
            return "not stored"
        low, high = self.train
        span = f"{low:.0f} %" if round(low) == round(high) else f"{low:.0f} to {high:.0f} %"
        word = "interpolates" if low >= FITS else "does not interpolate" if high < FITS else "some interpolate"
        return f"{span}: {word}"


@cache
def declared() -> Mapping[str, Any]:
    return read_toml(paths.CLAIMS / "sam.toml", "sam")


def pairs() -> list[tuple[str, str]]:
    return [(one["base"], one["other"]) for one in declared()["pairs"]]


@cache
def scenes() -> tuple[Scene, ...]:
    """The declared tables that have runs of at least one pair, in their order."""
    store = open_store("laptop")
    found = (_scene(store, entry) for entry in declared()["table"])
    return tuple(scene for scene in found if scene is not None)


def _scene(store: Store, entry: Mapping[str, Any]) -> Scene | None:
    _, table = experiments.find(entry["name"])
    columns = tuple(entry.get("columns", [column.id for column in table.columns]))
    labels = {row.label: row.id for row in table.rows}
    rows = {name: labels[label] for name in _names() if (label := entry.get("rows", {}).get(name, name)) in labels}
    values = {name: _values(store, entry["name"], row, columns) for name, row in rows.items()}
    values = _that_learn(store, entry["name"], columns, values)
    bought = [one for pair in pairs() if (one := _bought(pair, values)) is not None]
    if not bought:
        return None
    bases = list(dict.fromkeys(rows[one.pair[0]] for one in bought))
    runs = [run for base in bases for run in _runs(store, entry["name"], base, columns)]
    trained = [mean for base in bases if (mean := _train(store, entry["name"], base, columns)) is not None]
    size = scale([run.config() for run in runs], [entry["name"]])
    n = min(one.gain.n for one in bought)
    answer = fidelity.predicts(store, (entry["name"],), size)
    train = (min(trained), max(trained)) if trained else None
    config = runs[0].config()
    splits = len({run.config()["split"] for run in runs})
    words = (
        f"{setting.in_words(runs, n)}; {config['local_epochs']} local epochs, "
        f"{f'mean over {len(columns)} settings' if len(columns) > 1 and splits > 1 else setting_name(config)}"
    )
    return Scene(entry["name"], size, words, train, answer, tuple(bought))


def setting_name(config: Mapping[str, Any]) -> str:
    """``Dirichlet-0.1``, of ``dirichlet:0.1:replace``."""
    kind, _, rest = str(config["split"]).partition(":")
    return f"{kind.capitalize()}-{rest.split(':')[0]}" if rest else kind.upper()


def _that_learn(
    store: Store, table: str, columns: Sequence[str], values: Mapping[str, dict[str, dict[int, float]]]
) -> dict[str, dict[str, dict[int, float]]]:
    """The values without the columns in which a method has collapsed, by the protocol's rule."""
    _, declared = experiments.find(table)
    kept = {name: dict(found) for name, found in values.items()}
    for column in columns:
        cells = [store.cell(table, "laptop", row.id, column, declared.metrics[0].id) for row in declared.rows]
        numbers = {cell.row.label: list(found.values()) for cell in cells if (found := store.values(cell, "metric"))}
        means = {label: float(np.mean(ends)) for label, ends in numbers.items()}
        if not means:
            continue
        for name in protocol.collapsed(means, classes_of(cells[0].configs[0].dataset)):
            kept.get(name, {}).pop(column, None)
    return kept


def _names() -> list[str]:
    return list(dict.fromkeys(name for pair in pairs() for name in pair))


def _values(store: Store, table: str, row: str, columns: Sequence[str]) -> dict[str, dict[int, float]]:
    """Column -> seed -> accuracy, of the columns that have runs."""
    metric = experiments.find(table)[1].metrics[0].id
    found = {column: store.values(store.cell(table, "laptop", row, column, metric), "metric") for column in columns}
    return {column: dict(values) for column, values in found.items() if values}


def _runs(store: Store, table: str, row: str, columns: Sequence[str]) -> list[Run]:
    metric = experiments.find(table)[1].metrics[0].id
    cells = [store.cell(table, "laptop", row, column, metric) for column in columns]
    return [run for cell in cells for found in store.runs(cell).values() for run in found]


def _train(store: Store, table: str, row: str, columns: Sequence[str]) -> float | None:
    """Training accuracy in per cent at the end, the mean over the runs that store it."""
    found = [
        100 * float(np.mean(list(series.values())[-10:]))
        for run in _runs(store, table, row, columns)
        if (series := run.series("train.accuracy"))
    ]
    return float(np.mean(found)) if found else None


def _bought(pair: tuple[str, str], values: Mapping[str, Mapping[str, Mapping[int, float]]]) -> Bought | None:
    """Over the columns that both have, and the seeds that all of these share."""
    base, other = (values.get(name, {}) for name in pair)
    columns = [column for column in base if column in other]
    shared = [set(base[column]) & set(other[column]) for column in columns]
    seeds = sorted(set.intersection(*shared)) if shared else []
    if not seeds:
        return None
    before, after = ([float(np.mean([side[c][s] for c in columns])) for s in seeds] for side in (base, other))
    gain = t_interval(np.subtract(after, before))
    return Bought(pair, float(np.mean(before)), float(np.mean(after)), gain)


# ---- the table -------------------------------------------------------------------------------------------------------


def table() -> list[str]:
    """A row for every setting; a column for every pair."""
    body = []
    for scene in scenes():
        by_pair = {one.pair: in_points(one.gain) for one in scene.pairs}
        answer = {True: "yes", False: "no", None: "not known"}[scene.predicts]
        body.append([f"{scene.scale}: {scene.words}", scene.fits, *(by_pair.get(pair, "") for pair in pairs()), answer])
    head = ["our runs", "training accuracy of the bases"]
    return markdown_table([*head, *(f"{a} → {b}" for a, b in pairs()), "predicts larger runs"], body)


def in_points(gain: Interval) -> str:
    """``+0.40 [+0.31, +0.52]``; without an interval for one seed."""
    return f"{gain.mean:+.2f}" + (f" [{gain.low:+.2f}, {gain.high:+.2f}]" if gain.n > 1 else "")


def said() -> str:
    """The caveat in one sentence, and FedLESAM's null."""
    null = [one for scene in scenes() for one in scene.pairs if one.pair[1] == "FedLESAM" and one.gain.n > 1]
    without = [in_points(one.gain) for one in null if not one.gain.excludes(0)]
    fitting = [scene for scene in scenes() if scene.train is not None and scene.train[0] >= FITS]
    regime = (
        "Sharpness-aware steps are expected to pay where the network interpolates its training data, and "
        + (f"{len(fitting)} of these settings do" if fitting else "none of these settings is known to")
        + ": their numbers speak of their own scale."
    )
    flat = f" FedLESAM as printed adds nothing that can be told from zero ({' and '.join(without)} points)."
    return regime + flat * bool(without)


# ---- the chart -------------------------------------------------------------------------------------------------------


def height() -> int:
    """Height of the chart in pixels."""
    return 30 + sum(HEAD + ROW * len(scene.pairs) + FOOT for scene in scenes())


def dumbbells(style: str) -> str:
    """The chart as SVG: a panel for every setting, where the accuracy without the step is joined to that with it.

    style: the rules of the colours, for the reader's light and dark mode.
    """
    body = ['<rect class="paper" width="100%" height="100%"/>']
    body += [f'<circle class="base" cx="14" cy="16" r="4"/>{_text(26, 20, "the base")}']
    told = _text(116, 20, "with a sharpness-aware step; test accuracy in %")
    body += [f'<circle class="ours" cx="104" cy="16" r="4"/>{told}']
    top = 30.0
    for scene in scenes():
        body += _panel(scene, top)
        top += HEAD + ROW * len(scene.pairs) + FOOT
    gains = [f"{a} to {b} {in_points(one.gain)}" for scene in scenes() for one in scene.pairs for a, b in [one.pair]]
    title = Markup.escape("What a sharpness-aware step adds, in points: " + "; ".join(gains))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height()}" width="{WIDTH}" height="{height()}" '
        f'role="img">\n<title>{title}</title>\n<style>{style}\n'
        ".base { fill: none; stroke: #59636e; stroke-width: 2; }\n</style>\n" + "\n".join(body) + "\n</svg>\n"
    )


def _panel(scene: Scene, top: float) -> list[str]:
    values = [value for one in scene.pairs for value in (one.base, one.other)]
    low, high = np.floor(min(values)) - 1, np.ceil(max(values)) + 1

    def at(value: float) -> float:
        return float(LEFT + (RIGHT - LEFT) * (value - low) / (high - low))

    bottom = top + HEAD + ROW * len(scene.pairs)
    runs, _, where = f"{scene.scale}: {scene.words}".partition("; ")
    trained = f"{where}; training accuracy of the bases: {scene.fits}"
    body = [_text(10, top + 20, runs, 'font-weight="600"'), _text(10, top + 40, trained, 'class="quiet"')]
    for tick in np.linspace(low, high, 5):
        body.append(f'<line class="grid" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{top + HEAD - 6}" y2="{bottom}"/>')
        body.append(_text(at(tick), bottom + 16, f"{tick:.4g}", 'text-anchor="middle" class="quiet"'))
    for position, one in enumerate(scene.pairs):
        y = top + HEAD + ROW * (position + 0.5)
        body.append(_text(LEFT - 12, y + 4, f"{one.pair[0]} → {one.pair[1]}", 'text-anchor="end"'))
        body.append(f'<line class="ours" x1="{at(one.base):.1f}" x2="{at(one.other):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<circle class="base" cx="{at(one.base):.1f}" cy="{y:.1f}" r="4"/>')
        body.append(f'<circle class="ours" cx="{at(one.other):.1f}" cy="{y:.1f}" r="4"/>')
        body.append(_text(RIGHT + 14, y + 4, in_points(one.gain), 'class="quiet"'))
    return body


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{Markup.escape(text)}</text>'
