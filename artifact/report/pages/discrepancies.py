"""Where papers and released code differ: the ledger's list, and what each audit's own file declares."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from artifact import algorithms
from artifact.algorithms.switches import OPTIONS, SAME_EQUATION, SWITCHES, Switch
from artifact.papers import experiments, folders, variants
from artifact.report.content import Content
from artifact.report.numbers import Numbers
from artifact.report.python_source import highlighted
from artifact.report.site import Page, Site
from artifact.verdicts import setting


def build(site: Site) -> Iterator[Page]:
    whole = compared(site.numbers, variants.TABLE)
    alone = [found for table in FAULTS if (found := compared(site.numbers, table)).differences]
    rows = [row | _effect(row["id"], row["algorithm"], whole, alone) for row in cited(site.content)]
    own = [row for audit in folders.AUDITS.values() for row in of_audit(site, audit)]
    for row in rows + own:
        row["replies"] = [(r.by, site.converter.inline(r.text)) for r in site.content.replies.get(row["id"], [])]
    context = {
        "title": "Discrepancies between papers and code",
        "rows": rows + own,
        "of_audits": len(own),
        "whole": whole,
        "alone": alone,
        "severities": sorted({row["severity"] for row in rows + own}),
        "kinds": sorted({row["kind"] for row in rows + own}),
        "methods": list(dict.fromkeys(row["algorithm"] for row in rows + own)),
        "pictures": [
            (picture, alt)
            for name, alt in PICTURES
            if (picture := site.pictures.find(f"{name}-{whole.profile}")) is not None
        ],
    }
    yield Page("discrepancies.html", "discrepancies.html", context)


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
    within = [(whole.scale, d) for d in whole.differences if set(switches) & set(d.switches)]
    if id in SAME_EQUATION and method in {d.method for d in whole.differences}:
        within = [(scale, d) for scale, d in within if d.method == method]
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
    return {"effect": said, "by_itself": by_itself, "within": within, "command": command, "source": None}


def cited(content: Content) -> list[dict[str, Any]]:
    """The ledger's discrepancies, papers by name, each with the files and lines of released code."""
    return [
        {key: NUMBER.sub(lambda found: NAMES[found[1]], text) for key, text in row.items()}
        | {"lines": content.code_lines.get(row["id"], []), "no_lines": no_lines(row)}
        for row in content.discrepancies
    ]


def of_audit(site: Site, audit: folders.Audit) -> Iterator[dict[str, Any]]:
    """An entry for each switch that an audit's ``method.py`` declares, with the replaced lines beside the new ones.

    Its effect is read from the audit's own tables, in rows that are held ``against`` another.
    """
    about = audit.entry
    tables = experiments.load(audit.key).table if audit.key in experiments.papers() else []
    measured = [compared(site.numbers, f"{audit.key}/{table.id}") for table in tables]
    code = " at commit ".join(about[name] for name in ("code", "commit") if name in about)
    for switch, methods in algorithms.declared_in(audit.method):
        at_switch = [(at, d) for at in measured for d in at.differences if switch.id in d.switches]
        shown = at_switch[0][0] if at_switch else next(iter(measured), None)
        again = f"python -m fedsharp audit run {audit.folder}"
        if shown is not None:
            table = f"{shown.table}{folders.option(audit.key)}"
            again = f"python -m fedsharp table {table} --profile {shown.profile} --lookup"
        replaced, own = equations(switch)
        yield {
            "id": switch.id,
            "algorithm": ", ".join(algorithms.ALGORITHMS[name].__name__ for name in methods),
            "where": folders.TITLES[audit.key],
            "kind": "code" if switch.sources else switch.kind,
            "severity": "not judged",
            "what is printed": "",
            "what the released code does": switch.explanation,
            "repaired form": "",
            "consequence": "",
            "source": (replaced, own),
            "lines": [],
            "no_lines": f"{code or 'no address is given'}; here class {switch.mixin.__name__} of method.py",
            "effect": f"Switch {switch.id}." + ("" if at_switch else " No run of the audit's tables has it."),
            "by_itself": [(at, d) for at, d in at_switch if len(d.switches) == 1],
            "within": [(at.scale, d) for at, d in at_switch if len(d.switches) > 1],
            "command": again,
        }


def equations(switch: Switch) -> tuple[Markup, Markup]:
    """(the functions of the paper's form that a switch replaces, the functions of the switch), as coloured source."""
    names = [name for name, part in vars(switch.mixin).items() if inspect.isfunction(part)]
    base = switch.applies_to[0]
    printed = [inspect.getsource(getattr(base, name)) for name in names if hasattr(base, name)]
    own = [inspect.getsource(vars(switch.mixin)[name]) for name in names]
    return _joined(printed), _joined(own)


def _joined(functions: list[str]) -> Markup:
    return highlighted("\n".join(textwrap.dedent(function) for function in functions))


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
