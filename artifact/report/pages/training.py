"""What training says: every claim in a row, and the verdicts that are firm on one sheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from artifact.papers import experiments
from artifact.report.content import Record
from artifact.report.site import Page, Site
from artifact.verdicts import fidelity
from artifact.verdicts.decide import NOT_FLAT, one_of
from artifact.verdicts.ledger import EMPIRICAL, PAPERS, TITLES
from artifact.verdicts.lookup import Store, open_store
from artifact.verdicts.setting import in_words

#: labels of a check's evidence that leave nothing to a reader: a program replayed all of it
FIRM = "machine"


def build(site: Site) -> Iterator[Page]:
    records = [record for record in site.content.records.values() if record.in_training]
    rows = [_row(record) for record in records]
    context: dict[str, Any] = {"title": "What training says", "rows": rows}
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
    firm = [row for row in rows if _firm(row["record"])]
    shown = _on_paper(site)
    own: dict[str, Any] = {"title": "Firm verdicts", "rows": firm, "papers_shown": shown}
    own["false_here"] = sum(len(refuted) for _, refuted, _ in shown)
    own["proved_here"] = sum(len(proved) for _, _, proved in shown)
    yield Page("firm.html", "firm.html", own)
    yield _fidelity()


def _firm(record: Record) -> bool:
    """Final, said by a setting that predicts a larger one, and neither open nor untuned."""
    says = record.in_training not in ("not-run", "undecided", "untuned")
    return says and not record.provisional and bool((record.experiment or {}).get("predicts"))


def _fidelity() -> Page:
    """How well each setting predicts a larger one, and how that grows with rounds and scale."""
    store = open_store("laptop")
    shown = []
    for rung in fidelity.rungs():
        rows = [fidelity.fields(one) for one in fidelity.over_rounds(store, rung)]
        groups: dict[str, list[dict[str, str]]] = {}
        for row in rows:
            groups.setdefault(row["against"], []).append(row)
        shown.append((rung, _setting_of(store, rung.table), groups))
    context = {"title": "Which settings predict larger ones", "rungs": shown, "does_not": fidelity.DOES_NOT}
    return Page("fidelity.html", "fidelity.html", context)


def _setting_of(store: Store, table: str) -> str:
    """Data, network and rounds of a table's runs, in words."""
    cells = experiments.cells(experiments.find(table)[1], "laptop")
    runs = [run for cell in cells for found in store.runs(cell).values() for run in found]
    return in_words(runs, len({run.config()["seed"] for run in runs})) if runs else "no runs"


def _on_paper(site: Site) -> list[tuple[str, list[Record], list[Record]]]:
    """Paper, its statements that are false by a counterexample which a program replays with every assumption, and those
    that are proved as printed by a proof which a program replays."""
    found = []
    for paper in PAPERS:
        own = [r for r in site.content.of_paper(paper) if not r.claim.reading and r.claim.weight != "reading"]
        refuted = [r for r in own if r.on_paper in ("refuted", "repaired") and r.evidence.get("refutation") == FIRM]
        proved = [r for r in own if r.on_paper == "proved" and r.evidence.get("label") == FIRM]
        if refuted or proved:
            found.append((TITLES[paper], refuted, proved))
    return found


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
    scale, _, seeds = found["setting"].removesuffix(", the difference still moves").rpartition(", n=")
    return {
        "record": record,
        "scale": f"{found['scale']}: {scale}" if found["scale"] else scale,
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
        return rising
    return "flat" if found["unit"] == "points" else "not asked"
