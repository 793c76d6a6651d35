"""What came out of training: every claim in a row, any two methods over all settings, and a method for a budget."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from scipy import special

from artifact.report import charts
from artifact.report.content import Record
from artifact.report.settings import FEWEST, Setting, best, collect, pairs
from artifact.report.site import Page, Site
from artifact.verdicts.decide import NOT_FLAT, one_of
from artifact.verdicts.ledger import EMPIRICAL

#: seeds up to which the pages know the quantile of Student's t
SEEDS = 30


def build(site: Site) -> Iterator[Page]:
    records = [record for record in site.content.records.values() if record.in_training]
    context: dict[str, Any] = {"title": "Training verdicts", "rows": [_row(record) for record in records]}
    counts = site.content.counts()
    context |= {"judged": counts.judged, "waiting": counts.in_training["not-run"], "provisional": counts.provisional}
    context["totals"] = [(v, n) for v in EMPIRICAL if (n := counts.in_training[v])]
    context["apart"] = [
        (asked, [(v, n) for v in EMPIRICAL if (n := sum(r.in_training == v and r.asked == asked for r in records))])
        for asked in dict.fromkeys(r.asked for r in records if r.asked != "by a paper")
    ]
    context["reasons"] = _reasons(r for r in records if r.asked == "by a paper")
    context["means"] = next(term["meaning"] for term in site.content.glossary if term["word"] == "Provisional")
    yield Page("training.html", "training.html", context)
    settings = collect(site.numbers)
    site.files["static/settings.js"] = ("window.fedsharp = " + json.dumps(_as_data(settings)) + ";\n").encode()
    own = {"title": "Choose a method", "settings": settings, "budgets": [_budgets(one) for one in settings]}
    yield Page("choose.html", "choose.html", own)
    yield Page("pairs.html", "pairs.html", {"title": "Any two methods"} | _matrix(settings))


def _reasons(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Why verdicts are provisional, each with its number of claims, the most frequent first."""
    found: Counter[str] = Counter()
    for record in records:
        reasons = (record.experiment or {}).get("provisional", ())
        found.update({NOT_FLAT if reason.startswith(NOT_FLAT) else reason.lstrip("0123456789 ") for reason in reasons})
    return found.most_common()


# ---- one row a claim -------------------------------------------------------------------------------------------------


def _row(record: Record) -> dict[str, Any]:
    found = record.experiment or {}
    scale, _, seeds = found["setting"].removesuffix(", curves not yet flat").rpartition(", n=")
    return {
        "record": record,
        "scale": scale,
        "n": seeds,
        "direction": direction(found),
        "decided": _decided(found),
        "size": _size(found),
        "curve": _curve(found),
    }


def direction(found: Any) -> str:
    """Where the interval that decided lies, in words."""
    interval = found["interval"]
    if interval is None:
        return "not run"
    low, high, limit = interval["low"], interval["high"], found["limit"]
    if high is not None and high < limit:
        return "against the claim" if limit <= 0 or high < 0 else "smaller than claimed"
    return "as claimed" if low is not None and low > min(0, limit) else "not told"


def _decided(found: Any) -> str:
    """The comparison that decided with its interval; empty where that is the mean effect, which stands beside it."""
    interval = found["interval"]
    if interval is None or (found["size"] and found["size"]["interval"] == interval):
        return ""
    among = one_of(found["decided_by"], [row["label"] for row in found["comparisons"]])
    return found["decided_by"] + f" (1 of {among} comparisons)" * (among > 1) + f": {_in_figures(interval)}"


def _in_figures(interval: Any, unit: str = "") -> str:
    ends = ("open" if interval[end] is None else f"{interval[end]:+.3g}" for end in ("low", "high"))
    return f"{interval['mean']:+.3g} [{', '.join(ends)}] {unit}".strip() + f", {100 * interval['level']:.4g} %"


def _size(found: Any) -> str:
    """The mean effect's interval with its unit and level, and the paper's number; empty for claims of a shape."""
    size = found["size"]
    if size is None:
        return ""
    text = _in_figures(size["interval"], found["unit"])
    stated = [v for v in (size["claimed"], size["printed"]) if v is not None]
    return f"{text}; paper {stated[-1]:+.3g}" if stated else text


def _curve(found: Any) -> str:
    """Whether the curves behind a verdict have ended level."""
    if found["interval"] is None:
        return ""
    rising = next((reason for reason in found["provisional"] if reason.startswith(NOT_FLAT)), None)
    if rising is not None:
        return rising.removeprefix("curves ")
    return "flat" if found["unit"] == "points" else "not asked"


# ---- settings --------------------------------------------------------------------------------------------------------


def _as_data(settings: list[Setting]) -> dict[str, Any]:
    """For the pages' script. t: quantiles of Student's t at 97.5 % for 1, 2, ... degrees of freedom.

    fewest: settings that a pair needs for an interval over them.
    """
    labels = dict.fromkeys(label for setting in settings for label in setting.lines)
    looks = {label: charts.look(label) for label in labels}
    rarer = {name for setting in settings for forms in setting.forms.values() for name in forms[1:]}
    return {
        "fewest": FEWEST,
        "t": [round(float(special.stdtrit(df, 0.975)), 5) for df in range(1, SEEDS)],
        "looks": {
            label: {"colour": k.colour, "dash": charts.dash(k), "mark": charts.outline(k.marker)}
            | {"open": k.open or label in rarer}
            for label, k in looks.items()
        },
        "settings": [
            {
                "data": one.data,
                "split": one.split,
                "share": one.share,
                "group": one.group,
                "flat": one.flat,
                "collapsed": one.collapsed,
                "forms": {label: names for label, names in one.forms.items() if len(names) > 1},
                "horizon": one.horizon,
                "tables": [[at.link, f"{at.paper.title}, {at.table.location or at.table.id}"] for at in one.tables],
                "lines": {label: vars(line) for label, line in one.lines.items()},
            }
            for one in settings
        ],
    }


def _budgets(setting: Setting) -> dict[str, Any]:
    """Who is highest with the same rounds, and with the gradients or the traffic that FedAvg needs for all of them."""
    line = setting.lines.get("FedAvg") or next(iter(setting.lines.values()))
    passes, models = (setting.horizon * rate for rate in (line.passes, line.models))
    counts = [len(one.ends) for one in setting.lines.values()]
    return {
        "setting": setting,
        "passes": passes,
        "models": models,
        "rounds": best(setting),
        "gradients": best(setting, passes=passes),
        "traffic": best(setting, models=models),
        "n": " to ".join(map(str, dict.fromkeys((min(counts), max(counts))))),
    }


def _matrix(settings: list[Setting]) -> dict[str, Any]:
    """Pooled differences of the methods that were trained in several settings, row minus column."""
    labels = dict.fromkeys(label for setting in settings for label in setting.lines)
    trained = {label: sum(label in setting.lines for setting in settings) for label in labels}
    often = sorted((label for label in labels if trained[label] >= FEWEST), key=lambda label: -trained[label])
    context = {"often": often, "trained": trained, "labels": sorted(labels), "fewest": FEWEST}
    return context | {"pairs": pairs(settings), "settings": settings}
