"""A method for a budget, and any two methods over all settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scipy import special

from artifact.report import charts
from artifact.report.settings import FEWEST, Setting, best, pairs
from artifact.report.site import Page, Site


def build(site: Site) -> Iterator[Page]:
    settings = site.settings
    site.files["static/settings.js"] = ("window.fedsharp = " + json.dumps(_as_data(settings)) + ";\n").encode()
    own = {"title": "Choose a method", "settings": settings, "budgets": [_budgets(one) for one in settings]}
    yield Page("choose.html", "choose.html", own)
    yield Page("pairs.html", "pairs.html", {"title": "Any two methods"} | _matrix(settings))


# ---- settings --------------------------------------------------------------------------------------------------------


def _as_data(settings: list[Setting]) -> dict[str, Any]:
    """For the pages' script. t: quantiles of Student's t at 97.5 % for 1, 2, ... degrees of freedom, as many as an
    interval over all seeds or all settings can ask for.

    fewest: settings that a pair needs for an interval over them.
    """
    labels = dict.fromkeys(label for setting in settings for label in setting.lines)
    seeds = {seed for setting in settings for line in setting.lines.values() for seed in line.ends}
    most = max(len(settings), len(seeds), 2)
    looks = {label: charts.look(label) for label in labels}
    rarer = {name for setting in settings for forms in setting.forms.values() for name in forms[1:]}
    return {
        "fewest": FEWEST,
        "t": [round(float(special.stdtrit(df, 0.975)), 5) for df in range(1, most)],
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
