"""Pages that a reader looks things up in: costs, provenance, glossary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import mistune
from markupsafe import Markup

from artifact import algorithms
from artifact.base.files import read_file
from artifact.base.tables_as_text import csv_table
from artifact.papers import experiments
from artifact.papers.costs import COLUMNS, TABLE7
from artifact.papers.declared import read_csv
from artifact.report.site import Page, Site
from artifact.report.terms import anchor
from artifact.runs.session import summarise
from artifact.runs.store import Run
from artifact.training.config import RunConfig, as_json


def build(site: Site) -> Iterator[Page]:
    yield _costs(site)
    _provenance(site)
    text = Markup(_markdown()(read_file(site.content.root / "CONTRIBUTING.md").decode()))
    yield Page("contributing.html", "contributing.html", {"title": "Contributing", "text": text})
    terms = [term | {"anchor": anchor(term["word"])} for term in site.content.glossary]
    yield Page("glossary.html", "glossary.html", {"title": "Glossary", "terms": terms})


class _Offline(mistune.HTMLRenderer):
    """Headings with anchors; links to other files of the project are shown as their names, which a report lacks."""

    def heading(self, text: str, level: int, **attributes: Any) -> str:
        return f'<h{level} id="{anchor(text)}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if url.startswith("#"):
            return f'<a href="{url}">{text}</a>'
        return f"<code>{text}</code>" if text == url else f"{text} (<code>{url}</code>)"


def _markdown() -> mistune.Markdown:
    return mistune.create_markdown(renderer=_Offline())


# ---- costs -----------------------------------------------------------------------------------------------------------


def _costs(site: Site) -> Page:
    counted = _counted(site)
    specified = {row["algorithm"]: row for row in read_csv(site.content.root / "claims/costs.csv")}
    printed: dict[str, dict[str, float]] = {}
    for row in read_csv(site.content.root / "claims/tables/fedlesam_table7.csv"):
        printed.setdefault(algorithms.canonical(row["algorithm"]), {})[TABLE7[row["metric"]]] = float(row["value"])
    rows = []
    for name in algorithms.ALGORITHMS:
        for variant in ("paper", "released"):
            if variant == "released" and not algorithms.has_code(name):
                continue
            cost, run = counted.get((name, variant), (None, None))
            wanted = specified.get(name) if variant == "paper" else None
            rows.append(
                {
                    "name": name,
                    "title": site.content.methods.get(name, {"title": algorithms.ALGORITHMS[name].__name__})["title"],
                    "variant": variant,
                    "key": None if run is None else run.key,
                    "data": "" if run is None else experiments.DATA_NAMES.get(run.config()["dataset"], "digits"),
                    "values": [None if cost is None else round(cost[column], 2) for column in COLUMNS],
                    "specified": None if wanted is None else [float(wanted[column]) for column in COLUMNS],
                    "table7": _beside(printed.get(name, {}), cost) if variant == "paper" else [],
                }
            )
    return Page("costs.html", "costs.html", {"title": "Costs", "rows": rows, "columns": COLUMNS})


def _beside(printed: Mapping[str, float], cost: Mapping[str, float] | None) -> list[tuple[str, float, float | None]]:
    """(quantity, printed, ours where it differs): Table 7 counts the larger direction, and what is held in a round."""
    if cost is None:
        return [(name, value, None) for name, value in printed.items()]
    ours = {"gradients": cost["gradients_per_step"], "communication": max(cost["up"], cost["down"])}
    ours["memory"] = cost["client_memory"] + cost["down"]
    differs = {name: abs(ours[name] - value) > 0.01 for name, value in printed.items()}
    return [(name, value, ours[name] if differs[name] else None) for name, value in printed.items()]


def _counted(site: Site) -> dict[tuple[str, str], tuple[Mapping[str, float], Run]]:
    """(method, variant) -> (cost that the engine counted in the last round, the run).

    A method that only miniatures ran has its costs from one, which are the same: they are counted in gradients and
    models.
    """
    found: dict[tuple[str, str], tuple[Mapping[str, float], Run]] = {}
    for run in (*(run for _, run in site.content.runs), *site.content.miniatures):
        config = run.config()
        place = (config["algorithm"], config["variant"])
        if place not in found and _plain(config) and run.completed():
            found[place] = (run.cost(), run)
    return found


def _plain(config: Mapping[str, Any]) -> bool:
    """A variant as it stands: the paper's form without single switches, or one repository's whole released form.

    A store may hold runs of a method that an audit brought, which is known only where that audit is open.
    """
    name = config["algorithm"]
    if name not in algorithms.ALGORITHMS:
        return False
    released = config["variant"] == "released"
    expected = algorithms.resolve(name, config["variant"], config["source"] if released else None, ())
    return set(config["switches"]) == set(expected)


# ---- provenance ------------------------------------------------------------------------------------------------------

#: columns of csv/runs.csv, in their order
RUN = (
    *("key", "store", "method", "variant", "data", "model", "split", "seed", "accuracy (%)"),
    *("rounds", "seconds", "machine", "settings", "command"),
)


def _provenance(site: Site) -> None:
    """Two files of the site: every run behind the numbers, and the versions and hardware that runs name."""
    machines: dict[str, int] = {}
    rows = []
    for store, run in site.content.runs:
        environment = json.dumps(run.environment(), sort_keys=True)
        rows.append(_run(store, run, machines.setdefault(environment, len(machines) + 1)))
    site.files["csv/runs.csv"] = (csv_table(RUN, rows) + "\n").encode()
    known = [json.loads(text) for text in machines]
    names = list(dict.fromkeys(name for one in known for name in one))
    body = [[str(i), *(_text(one.get(name, "")) for name in names)] for i, one in enumerate(known, 1)]
    site.files["csv/machines.csv"] = (csv_table(["machine", *names], body) + "\n").encode()


def _run(store: str, run: Run, machine: int) -> list[str]:
    config, summary = run.config(), summarise(run)
    defaults = RunConfig.model_fields
    changed = {k: v for k, v in config.items() if k not in defaults or v != as_json(defaults[k].default)}
    settings = "; ".join(f"{name} = {_text(v)}" for name, v in changed.items() if name != "command")
    named = (config[name] for name in ("algorithm", "variant", "dataset", "model", "split", "seed"))
    measured = [_accuracy(summary), str(summary["rounds"]), f"{summary['seconds']:.0f}", str(machine)]
    command = f"{config.get('command', '')} --out {store}".strip()
    return [run.key, store, *map(str, named), *measured, settings, command]


def _accuracy(summary: Mapping[str, Any]) -> str:
    """Per cent on the test images: the mean of the last ten evaluations, of the server's model where there is one."""
    if summary["diverged"]:
        return "diverged"
    model = next((name for name in ("server", "active", "all") if name in summary), None)
    return "" if model is None else f"{100 * summary[model]['mean_last_10']:.2f}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
