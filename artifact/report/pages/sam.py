"""*Does SAM help?* What adding a sharpness-aware step buys on each base method, by data, network and rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from artifact.base.stats import Interval, t_interval
from artifact.report import charts
from artifact.report.numbers import Numbers
from artifact.report.settings import SAME, Setting, difference
from artifact.report.site import Page, Site
from artifact.verdicts.decide import untuned

#: base method -> the same with a sharpness-aware step, by the names that tables print
BASES = {
    "FedAvg": ("FedSAM", "FedASAM", "FedLESAM"),
    "SCAFFOLD": ("FedGAMMA", "FedLESAM-S"),
    "FedDyn": ("FedSMOO", "FedDyn + SAM", "FedLESAM-D"),
    "FedCM": ("MoFedSAM",),
}


@dataclass(frozen=True)
class Gain:
    """What a sharpness-aware step adds at one scale.

    group: data, network and rounds. settings: how many settings (split and share of clients) have both methods.
    seeds: fewest and most seeds of these. mean: points of test accuracy over the settings, paired by seed, with its
    interval over the seeds that all settings share; over one seed it has none. base: accuracy of the base, per cent.
    untuned: what nobody tuned for the tables of these settings; empty where every table was tuned or names its own.
    """

    group: str
    settings: int
    seeds: tuple[int, int]
    mean: Interval
    base: float
    untuned: str = ""

    @property
    def tested(self) -> bool:
        return self.mean.n > 1


def build(site: Site) -> Iterator[Page]:
    pairs = [_pair(site, base, other) for base, others in BASES.items() for other in others]
    shown = [pair for pair in pairs if pair["gains"]]
    context: dict[str, Any] = {"title": "Does SAM help?", "pairs": shown, "panels": _panels(shown)}
    context["short"] = list(in_short(shown))
    context["tally"] = [_tally(scale, shown) for scale in dict.fromkeys(g.group for p in shown for g in p["gains"])]
    yield Page("sam.html", "sam.html", context)


def _pair(site: Site, base: str, other: str) -> dict[str, Any]:
    groups: dict[str, list[Setting]] = {}
    for setting in site.settings:
        if difference(setting, other, base) is None or set(setting.forms_of(other, base)) & set(setting.collapsed):
            continue
        groups.setdefault(setting.group, []).append(setting)
    gains = [gain(group, found, base, other) for group, found in groups.items()]
    return {
        "base": base,
        "other": other,
        "gains": sorted((g for g in gains if g is not None), key=lambda g: -g.mean.n),
        "printed": printed(site.numbers, base, other),
        "link": f"pairs.html?{urlencode({'a': other, 'b': base})}",
    }


def gain(group: str, settings: list[Setting], base: str, other: str) -> Gain | None:
    """The mean over settings, seed by seed; over the seeds that every setting has, so that settings weigh the same."""
    columns = []
    for setting in settings:
        own, against = (setting.lines[label].ends for label in setting.forms_of(other, base))
        columns.append({seed: own[seed] - against[seed] for seed in own if seed in against})
    seeds = sorted(set.intersection(*map(set, columns)))
    if not seeds:
        return None
    mean = t_interval([float(np.mean([column[seed] for column in columns])) for seed in seeds])
    bases = [np.mean(list(setting.lines[setting.forms_of(other, base)[1]].ends.values())) for setting in settings]
    counts = [len(column) for column in columns]
    tables = [f"{at.table.paper}/{at.table.id}" for setting in settings for at in setting.tables]
    knobs = [untuned((name,)) for name in tables]
    knob = (knobs and all(knobs) and knobs[0]) or ""
    return Gain(group, len(settings), (min(counts), max(counts)), mean, float(np.mean(bases)), knob)


def printed(numbers: Numbers, base: str, other: str) -> float | None:
    """The papers' own mean difference of test accuracy, over all columns of their tables that print both methods."""
    found: list[float] = []
    for table in {f"{at.table.paper}/{at.table.id}": at for at in numbers.tables}.values():
        if table.table.paper in ("horizon", "campaign", "discrepancies"):
            continue  # they repeat numbers of the papers' own tables
        tested = [one.id for one in table.table.metrics if one.quantity == "accuracy" and one.model != "train"]
        cells: dict[str, dict[str, float]] = {}
        for entry in table.entries:
            # the first accuracy of a table counts: a second accuracy is of training images, or a gain
            if entry.cell.metric.id in tested[:1] and entry.paper and entry.paper.value is not None:
                label = SAME.get(entry.cell.row.label, entry.cell.row.label)
                cells.setdefault(label, {})[entry.cell.column.id] = entry.paper.value
        own, against = cells.get(other, {}), cells.get(base, {})
        found += [own[column] - against[column] for column in own if column in against]
    return float(np.mean(found)) if found else None


def _panels(pairs: list[dict[str, Any]]) -> list[charts.Panel]:
    """A panel for each scale: the gain of each sharpness-aware method over its base."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for pair in pairs:
        for one in pair["gains"]:
            mean = one.mean
            row = {"label": f"{pair['other']} against {pair['base']}", "printed": pair["printed"]}
            row |= {"mean": mean.mean, "low": mean.low, "high": mean.high, "n": mean.n}
            rows.setdefault(one.group, []).append(row)
    span = charts.span([0.0, *(row["mean"] for own in rows.values() for row in own)])
    wide = charts.span([*span, *(p["printed"] for p in pairs if p["printed"] is not None), *_ends(pairs)])
    names = sorted(rows, key=lambda group: -max(row["n"] for row in rows[group]))
    return [charts.differences_panel(group, rows[group], "points of test accuracy", wide) for group in names]


def _ends(pairs: list[dict[str, Any]]) -> Iterator[float]:
    for pair in pairs:
        for one in pair["gains"]:
            if one.tested:
                yield from (one.mean.low, one.mean.high)


def in_short(pairs: list[dict[str, Any]]) -> Iterator[str]:
    """The answer, a sentence for every scale that was tuned, and what is missing for a general one.

    pairs: as the page shows them, each with ``gains`` by scale.
    """
    for group in dict.fromkeys(g.group for pair in pairs for g in pair["gains"] if not g.untuned):
        found = [(pair, g) for pair in pairs for g in pair["gains"] if g.group == group]
        tested = [g.mean.mean for _, g in found if g.tested]
        if not tested:
            one = ", ".join(f"{pair['other']} − {pair['base']} {g.mean.mean:+.2f}" for pair, g in found)
            yield f"{group}: one seed each, not tested: {one} points."
            continue
        gained = [f"{pair['other']} {g.mean.mean:+.2f}" for pair, g in found if g.tested and g.mean.low > 0]
        lost = [f"{pair['other']} {g.mean.mean:+.2f}" for pair, g in found if g.tested and g.mean.high < 0]
        yield (
            f"{group}, pairs of methods: {len(gained)} of {len(tested)} with a gain{_listed(gained)}; {len(lost)} with "
            f"a loss{_listed(lost)}; {len(tested) - len(gained) - len(lost)} that cannot be told from zero."
        )


def _listed(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _tally(group: str, pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of one scale: how many pairs gain, lose, and cannot be told."""
    found = [g for pair in pairs for g in pair["gains"] if g.group == group]
    tested = [g for g in found if g.tested]
    gained, lost = sum(g.mean.low > 0 for g in tested), sum(g.mean.high < 0 for g in tested)
    knob = (found and all(g.untuned for g in found) and found[0].untuned) or ""
    return {"untuned": knob} | {
        "group": group,
        "pairs": len(found),
        "gained": gained,
        "lost": lost,
        "open": len(tested) - gained - lost,
    }
