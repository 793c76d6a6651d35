"""Pages that a reader looks things up in: discrepancies, costs, provenance, glossary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mistune
from markupsafe import Markup

from artifact import algorithms
from artifact.algorithms.switches import OPTIONS, SAME_EQUATION, SWITCHES
from artifact.base.files import read_file
from artifact.base.tables_as_text import csv_table
from artifact.papers import experiments, variants
from artifact.papers.costs import COLUMNS, TABLE7
from artifact.papers.declared import read_csv
from artifact.report.content import Content
from artifact.report.numbers import Numbers
from artifact.report.site import Page, Site
from artifact.report.terms import anchor
from artifact.runs.session import summarise
from artifact.runs.store import Run
from artifact.training.config import RunConfig, as_json
from artifact.verdicts import setting


def build(site: Site) -> Iterator[Page]:
    yield _discrepancies(site)
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


# ---- discrepancies ---------------------------------------------------------------------------------------------------


def _discrepancies(site: Site) -> Page:
    whole = compared(site.numbers, variants.TABLE)
    alone = [found for table in FAULTS if (found := compared(site.numbers, table)).differences]
    rows = [row | _effect(row["id"], row["algorithm"], whole, alone) for row in cited(site.content)]
    for row in rows:
        row["replies"] = [(r.by, site.converter.inline(r.text)) for r in site.content.replies.get(row["id"], [])]
    context = {
        "title": "Discrepancies between papers and code",
        "rows": rows,
        "whole": whole,
        "alone": alone,
        "severities": sorted({row["severity"] for row in rows}),
        "kinds": sorted({row["kind"] for row in rows}),
        "methods": list(dict.fromkeys(row["algorithm"] for row in rows)),
        "pictures": [
            (picture, alt)
            for name, alt in PICTURES
            if (picture := site.pictures.find(f"{name}-{whole.profile}")) is not None
        ],
    }
    return Page("discrepancies.html", "discrepancies.html", context)


PICTURES = (
    (
        "variants",
        "Paired difference in test accuracy, released minus paper form, one line per method with its 95 % interval; "
        "the table above has the numbers.",
    ),
    (
        "fedlesam-perturbation",
        "FedLESAM's perturbation over rounds, paper and released form: its norm over rho, its cosine to the intended "
        "direction and to the global gradient.",
    ),
)


#: the tables in which one fault at a time is the only change to a method
FAULTS = ("discrepancies/faults", "discrepancies/travellers")


@dataclass(frozen=True)
class Compared:
    """A table of forms against papers' forms at the first profile that has runs. scale: of its runs, in words."""

    table: str
    profile: str
    differences: list[variants.Difference]
    scale: str = ""
    link: str = ""


def compared(numbers: Numbers, table: str) -> Compared:
    """The differences of a table such as ``discrepancies/variants``; without any where nothing is run."""
    for at in numbers.tables:
        if f"{at.table.paper}/{at.table.id}" == table and at.runs:
            found = variants.compare(at.entries)
            n = min((d.comparison.difference.n for d in found), default=0)
            return Compared(table, at.profile, found, setting.in_words(at.runs, n), at.link)
    return Compared(table, numbers.content.profile, [])


def _effect(id: str, method: str, whole: Compared, alone: list[Compared]) -> dict[str, Any]:
    """What the stored runs say of an entry: as the only change to a method, and within whole released forms.

    An entry that is another's equation in one method speaks of that method's forms alone.
    """
    switches = SAME_EQUATION.get(id, (id,) if id in SWITCHES else ())
    by_itself = [(at, d) for at in alone for d in at.differences if set(switches) & set(d.switches)]
    within = [d for d in whole.differences if set(switches) & set(d.switches)]
    if id in SAME_EQUATION and method in {d.method for d in whole.differences}:
        within = [d for d in within if d.method == method]
    if id in OPTIONS:
        said = f"An option of a run: {OPTIONS[id]}."
    elif not switches:
        said = "No switch: it changes the protocol, the notation or code that is not part of a method."
    elif not within and not by_itself:
        said = f"Switch {', '.join(switches)}; part of no released form that was run for this report."
    else:
        said = f"Switch {', '.join(switches)}."
    command = "python -m fedsharp variants" if switches else "python -m fedsharp list discrepancies"
    if by_itself:
        at = by_itself[0][0]
        command = f"python -m fedsharp table {at.table} --profile {at.profile} --lookup"
    return {"effect": said, "by_itself": by_itself, "within": within, "command": command}


def cited(content: Content) -> list[dict[str, Any]]:
    """The ledger's discrepancies, papers by name, each with the files and lines of released code."""
    return [
        {key: NUMBER.sub(lambda found: NAMES[found[1]], text) for key, text in row.items()}
        | {"lines": content.code_lines.get(row["id"], []), "no_lines": no_lines(row)}
        for row in content.discrepancies
    ]


def no_lines(row: Mapping[str, str]) -> str:
    """What is said of an entry for which no line of released code is named."""
    code = row["what the released code does"]
    of_code = re.search(r"repo|FL-Simulator|README|CLI|\.py", f"{row['where']} {code}")
    if code == "-" or code.startswith(("no code", "none of the three", "not implemented")) or not of_code:
        return "none: no released code takes part in this entry"
    return "not known to us"


def differs(row: Mapping[str, str]) -> bool:
    """Whether the released code computes otherwise than the printed lines say."""
    return row["differs"] == "yes"


def printed_at(row: Mapping[str, str]) -> str:
    """The places of the papers that an entry names, without the files of the code that it names beside them."""
    places = re.sub(r" vs (code|(FL-Simulator )?README)$", "", row["where"]).split("; ")
    return "; ".join(place for place in places if not re.search(r"repo\b|FL-Simulator|README|\.py", place))


#: how the list of discrepancies cites the papers
NAMES = {"0": "FedSMOO", "1": "MAN", "2": "Global FedSAM", "3": "FedSAM", "4": "FedLESAM"}
NUMBER = re.compile(r"(?<![\d.])00([0-4])(?![\d.])")


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
