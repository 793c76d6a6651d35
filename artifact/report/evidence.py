"""Stored evidence in words: what was done, what was found, and the numbers, for every verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from artifact.base.stats import Interval
from artifact.papers import table_results
from artifact.report import charts, remainder
from artifact.report.content import Record
from artifact.report.values import cut, exact, flat, number, value
from artifact.verdicts.decide import WITHOUT_A_FINDING, level_text
from artifact.verdicts.printed_numbers import as_float, compared_rows, comparisons, labels

SYMBOLS = {
    "proved": "∎",
    "holds": "○",
    "agrees": "≡",
    "refuted": "✗",
    "repaired": "↻",
    "vacuous": "∅",
    "consistent": "=",
    "inconsistent": "≠",
    "on-toy-data": "◦",
    "not-decided": "–",
} | table_results.SYMBOLS
MEANINGS = {
    "proved": "true: a symbolic identity, an exact computation or a solver certificate is stored",
    "holds": "tested, not proved: no violation in an adversarial search over the stated functions",
    "agrees": "tested, not proved: two independent programs have the same trajectories on random problems",
    "refuted": "false: a counterexample satisfies every assumption",
    "repaired": "false as printed; a corrected statement is given and is itself proved or tested",
    "vacuous": "true but empty: its right side diverges, exceeds the trivial bound or is far too large",
    "consistent": "the paper's own numbers agree with each other",
    "inconsistent": "the paper's own numbers disagree with each other",
    "on-toy-data": "a check trained toy problems for it; the claim's page says what came out",
    "not-decided": "no check can decide it; the reason is given",
    "reproduced": "seen at full length or at the paper's scale, with five seeds or more",
    "seen": "our runs show it at their scale, which is smaller than the paper's",
    "mostly-seen": "our runs show it in the mean and in most comparisons",
    "no-difference": "our runs show a difference that is smaller than the smallest effect of interest",
    "undecided": "our runs cannot tell",
    "reversed": "our runs show the opposite at their scale, which is smaller than the paper's",
    "contradicted": "runs at full length or at the paper's scale exclude it, with five seeds or more",
    "untuned": "a setting that the claim hangs on was not tuned for our runs",
    "not-run": "not decided at this profile; the reason is given",
}
#: a verdict of the stored runs in words
OUTCOMES = {
    "reproduced": "As claimed.",
    "seen": "As claimed, at this scale.",
    "mostly-seen": "As claimed in the mean and in most comparisons, at this scale.",
    "no-difference": "No difference of interest, at this scale.",
    "undecided": "These runs cannot tell.",
    "reversed": "The opposite, at this scale.",
    "contradicted": "Against the claim.",
    "untuned": "No finding: a setting that the claim hangs on was not tuned for these runs.",
}
READING = "The paper does not contain this sentence: it is the ledger's own reading, and its verdict is counted apart."
ASSUMPTION = "An assumption is not wrong. This one cannot hold for {}. What can be assumed instead is given."
REFUTED_PROOF = (
    "Refuted is the proof as printed, not the inequality for the algorithm: the instance takes values that the "
    "algorithm does not produce, although the proof allows them."
)
LABELS = {
    "machine": "A program replays every step from named facts.",
    "computed": "Identities, exact arithmetic or a solver show it.",
    "derived": "A program decides parts; the steps below are in words.",
    "trivial": "The sides are identical; there is nothing to prove.",
    "tested": "A search or runs speak for it. Nothing is proved.",
    "arithmetic": "Printed numbers against numbers computed from them.",
    "stated": "The audit's file states the search; no program of this run made it.",
}
REPLAYED = {
    "machine": "Counterexample replayed {}, every assumption tested.",
    "derived": "Counterexample replayed {}; some assumptions hold by construction.",
    "tested": "Counterexample replayed in machine numbers.",
}
RELATIONS = {"<=": "at most", ">=": "at least", "==": "equal to", "<": "less than", ">": "greater than"}
SEARCH = ("evaluations", "worst_ratio", "function_class", "seed", "argument", "history", "quantiles")
SAID = {"counterexample", "repair", "sides", "certificate", "reason", "printed", "derived", "rows", "disagreeing"}
SAID |= {"label", "parts", "formulas", "refutation", "instance", "assumptions", *SEARCH, "constant_that_covers_it"}
ROWS, LONG = 60, 280
#: entries of a theorem that have a place of their own
LISTED = ("hypotheses", "constants")
#: letters of a step of a certificate that are shown; the evidence file has all of it
PIECE = 220


@dataclass(frozen=True)
class Part:
    """One piece of evidence: a heading, then a sentence, a list, a table or a chart; folded when it is long.

    marks: per table row, True (agrees), False (disagrees) or None.
    """

    heading: str = ""
    text: str = ""
    code: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    marks: tuple[bool | None, ...] = ()
    chart: str = ""
    folded: bool = False


def parts(record: Record) -> list[Part]:
    """The evidence of a claim, most important first."""
    evidence, verdict = record.evidence, record.verdict
    found: list[Part] = []
    if record.on_paper == "on-toy-data":
        found = [Part(text=f"On the toy data of the check: {OUTCOMES[verdict][0].lower()}{OUTCOMES[verdict][1:]}")]
    if verdict in ("refuted", "repaired"):
        assumption = record.claim.kind == "assumption"
        if assumption:
            found = [Part(text=ASSUMPTION.format(record.claim.cannot_hold_for or "the case that the numbers describe"))]
        elif record.claim.refutes == "proof":
            found = [Part(text=REFUTED_PROOF)]
    if record.claim.reading:
        found.insert(0, Part(text=READING))
    found += _decided(evidence)
    if "formulas" in evidence and verdict != "repaired":  # a corrected statement shows its own
        found.append(Part("As the check decides it", "; ".join(f"${text}$" for text in evidence["formulas"])))
    found += _measured(evidence)
    if "reason" in evidence:
        found.append(Part("Reason" if verdict == "not-run" else "Why", str(evidence["reason"])))
    if "worst_ratio" in evidence and "evaluations" in evidence:
        found.append(_search(evidence, "Search"))
    if "counterexample" in evidence:
        found += _counterexample(evidence)
    if "repair" in evidence:
        found += _repair(evidence["repair"])
    if "certificate" in evidence:
        found.append(_certificate(evidence["certificate"], "Certificate"))
    if "printed" in evidence and "derived" in evidence:
        found.append(_comparison(evidence, verdict))
    said = SAID | ({"interval", "n", "profile"} if "interval" in evidence else {labels(evidence)[0]})
    rest = {key: entry for key, entry in evidence.items() if key not in said}
    for key in [key for key, entry in rest.items() if _is_table(entry)]:
        body = rest.pop(key)
        head = tuple(str(name).replace("_", " ") for name in body[0])
        cells = tuple(tuple(value(cell) for cell in row.values()) for row in body[:ROWS])
        found.append(Part(key.replace("_", " ").capitalize(), head=head, rows=cells, folded=True))
    if record.claim.decided_by == "checks":
        found += _remainder(evidence, verdict)
    return found


def _remainder(evidence: Mapping[str, Any], verdict: str) -> Iterator[Part]:
    """One table, behind all others, of what they leave out, cut short or round."""
    tables = {key for key, entry in evidence.items() if _is_table(entry) and key not in SAID} | {"counterexample"}
    if "printed" in evidence and "derived" in evidence:
        tables |= {"rows"} if compared_rows(evidence) else {"printed", "derived", labels(evidence)[0]}
    rows = tuple(remainder.rows(evidence, tables, ROWS, PIECE, formulas=verdict != "repaired"))
    if rows:
        yield Part("Also stored, with every digit", head=("entry", "value"), rows=rows, folded=True)


def _theorems(statements: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Each theorem of a correction: what it says and assumes, its runs, and how loose each term of its bound is."""
    for one in statements:
        conditions = f" It holds if {'; '.join(one['conditions'])}." if one["conditions"] else ""
        others = {name: entry for name, entry in one.items() if name not in ("name", "latex", "conditions", *LISTED)}
        said = (f"{name}: {exact(entry)}" for name, entry in others.items())
        yield Part(
            f"The theorem {one['name']}",
            f"${one['latex']}$.{conditions}",
            code=(*said, *(f"hypothesis: {text}" for text in one["hypotheses"])),
            head=("term", "factor proved", "factor that some run needs"),
            rows=tuple(tuple(map(exact, row.values())) for row in one.get("constants", ())),
            folded=True,
        )


def _is_table(entry: Any) -> bool:
    """Whether a stored value is a list of several mappings with the same names."""
    return (
        isinstance(entry, list)
        and len(entry) > 1
        and all(isinstance(row, Mapping) and list(row) == list(entry[0]) for row in entry)
    )


def experiment(record: Record) -> list[Part]:
    """What the stored runs say: the rule, the outcome in words, its scale, every comparison, and the cells."""
    found = record.experiment
    if found is None:
        return []
    parts = [Part(text=f"Tested: {found['says']}.")] if found["says"] else []
    parts.append(Part(text=headline(found)))
    if found["setting"]:
        parts.append(Part(text=f"Scale: {found['scale']} ({found['setting']})."))
    if found.get("against"):
        parts.append(Part(text=f"Reversed, each at its share of the level: {'; '.join(found['against'][:ROWS])}."))
    if len(found.get("evidence", ())) > 1:
        rows = tuple(
            (e["scale"], e["finding"], f"{e['k']} of {e['K']}", str(e["n"]), e["setting"], e["text"])
            for e in found["evidence"]
        )
        head = ("scale", "finding", "on the claimed side", "seeds", "runs", "what decided")
        parts.append(Part("At every scale that has runs", head=head, rows=rows))
    if found["provisional"]:
        parts.append(Part(text=f"Provisional: {'; '.join(found['provisional'])}."))
    if found["omitted"]:
        parts.append(Part(text=f"Left out, since they did not learn: {', '.join(found['omitted'])}."))
    if found["interval"] is not None:
        parts.append(_decisive(found))
    if found["comparisons"]:
        one_by_one = "Every comparison alone, at 95 %, not adjusted for their number."
        drawable = sum(None not in (row["mean"], row["low"], row["high"]) for row in found["comparisons"])
        if drawable > charts.SHOWN:
            one_by_one += f" Drawn are the {charts.SHOWN} of {drawable} that are nearest to failing."
        if len(found["comparisons"]) > 1:
            parts.append(_tally(found["comparisons"]))
        drawn = charts.intervals(found["comparisons"], found["unit"])
        parts.append(Part("Paired differences and their 95 % intervals", one_by_one, chart=drawn))
    if found["missing"]:
        parts.append(Part("Missing", code=tuple(map(str, found["missing"][:ROWS])), folded=True))
    return parts


def why_open(found: Mapping[str, Any]) -> str:
    """The rule by which a claim has no finding although its runs have numbers; empty where the numbers leave it open.

    Example:
        >>> why_open({"verdict": "untuned", "provisional": ("3 seeds", "not tuned for these runs: radius")})
        'not tuned for these runs: radius'
    """
    if found["verdict"] not in ("undecided", "untuned"):
        return ""
    return next((reason for reason in found["provisional"] if reason.startswith(WITHOUT_A_FINDING)), "")


def headline(found: Mapping[str, Any]) -> str:
    """A verdict in training in words: which way it went, and how many comparisons go which way, each alone."""
    if found["interval"] is None:
        return str(found["text"])
    text = OUTCOMES[found["verdict"]]
    if found["verdict"] == "undecided" and (reason := why_open(found)):
        text = f"No finding, whatever the numbers: {reason}."
    known = [row for row in found["comparisons"] if None not in (row["low"], row["high"])]
    if len(known) < 2:
        return text
    above, below = sum(r["low"] > r["margin"] for r in known), sum(r["high"] < r["margin"] for r in known)
    rest = len(known) - above - below
    sides = f"{above or 'none'} on the claim's side, {below or 'none'} against it" + f", {rest} open" * (rest > 0)
    return f"{text} Of {len(known)} comparisons, each alone at 95 %: {sides}."


def _decisive(found: Mapping[str, Any]) -> Part:
    """The comparison that decided, with its interval and level, and what the paper states beside it."""
    one, size = found["interval"], found["size"]
    ends = ("open" if one[end] is None else f"{one[end]:+.3g}" for end in ("low", "high"))
    level = level_text(Interval(**one))
    row = (found["decided_by"], f"{one['mean']:+.3g}", *ends, level, str(one["n"]), f"{found['limit']:g}")
    stated = [v for v in (size["claimed"], size["printed"]) if v is not None] if size else []
    text = f"In {found['unit']}." if found["unit"] else ""
    if stated:
        text += f" The paper states {stated[-1]:+.3g}."
    head = ("comparison", "mean", "low", "high", "level", "n", "must exceed")
    return Part("What decided", text.strip(), head=head, rows=(row,))


def _tally(comparisons: Sequence[Mapping[str, Any]]) -> Part:
    """On which side of its margin each comparison lies, by what is compared with what, over all places."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in comparisons:
        if None not in (row["mean"], row["low"], row["high"]):
            groups.setdefault(re.sub(r" \([^()]*\)$", "", row["label"].split(";")[0]), []).append(row)
    counted = [
        (
            label,
            f"{sum(row['mean'] > row['margin'] for row in rows)} of {len(rows)}",
            *(
                str(sum(test) or "")
                for test in ([r["low"] > r["margin"] for r in rows], [r["high"] < r["margin"] for r in rows])
            ),
        )
        for label, rows in groups.items()
    ]
    margins = {row["margin"] for rows in groups.values() for row in rows}
    limit = f"{margins.pop():g}" if len(margins) == 1 else "its margin"
    head = ("claimed", f"mean above {limit}", f"95 % interval above {limit}", f"95 % interval below {limit}")
    return Part("On which side", head=head, rows=tuple(counted[:ROWS]), folded=len(counted) > 14)


def _decided(evidence: Mapping[str, Any]) -> Iterator[Part]:
    """How the verdict was decided, and which steps are in words."""
    label, refutation = evidence.get("label"), evidence.get("refutation")
    how = "with 50 digits" if "." in str(evidence.get("sides")) else "exactly"  # a fraction has no point
    said = [*([LABELS[label]] if label else []), *([REPLAYED[refutation].format(how)] if refutation else [])]
    if said:
        both = f"correction {label}, counterexample {refutation}" if refutation and "repair" in evidence else label
        yield Part(f"How it was decided: {both}", " ".join(said))
    steps = evidence.get("parts", {})
    counted = [f"{count} by {kind}" for kind, count in steps.get("by_program", {}).items()]
    counted += [f"{steps['same']} with identical sides"] if steps.get("same") else []
    if counted:
        yield Part(text=f"Steps that a program decided: {', '.join(counted)}.")
    if words := tuple(steps.get("in_words", ())):
        yield Part(f"Steps in words: {len(words)}", code=words, folded=True)


def _measured(evidence: Mapping[str, Any]) -> Iterator[Part]:
    """Intervals that a check measured on toy problems, with the number of seeds."""
    if evidence.get("interval") is not None:
        text = f"95 % intervals over n = {evidence.get('n')} seeds; {evidence.get('profile')}."
        head = ("quantity", "mean", "low (95 %)", "high (95 %)")
        yield Part("Measured", text, head=head, rows=tuple(_intervals(evidence)))


def _intervals(evidence: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Rows (name, mean, low, high): one for a single interval, one each for named ones."""
    interval = evidence["interval"]
    if isinstance(interval, Mapping) and "low" not in interval:
        for name, entry in interval.items():
            yield (name, *_ends(entry))
    else:
        yield ("difference", *_ends(interval))


def _ends(interval: Any) -> tuple[str, str, str]:
    if isinstance(interval, Mapping):
        mean, low, high = (number(interval.get(name, "")) for name in ("mean", "low", "high"))
        return mean, low, high
    if isinstance(interval, list | tuple):
        low, high = interval[0], interval[-1]
        return number(interval[1] if len(interval) == 3 else (low + high) / 2), number(low), number(high)
    return number(interval.mean), number(interval.low), number(interval.high)


def _search(evidence: Mapping[str, Any], heading: str) -> Part:
    """A search in words. A statement in O(.) leaves a constant open; the stored one says what covers the search."""
    ratio, constant = evidence["worst_ratio"], evidence.get("constant_that_covers_it")
    limit = (
        "a violation would exceed 1"
        if constant is None
        else f"with the constant 1; the constant {constant:g} covers it"
    )
    text = (
        f"{evidence['evaluations']:,} evaluations over {evidence['function_class']}; the largest left side over right "
        f"side is {number(ratio)}, {limit} (seed {evidence.get('seed', 0)}). A test, not a proof."
    )
    chart = charts.search(evidence.get("history", ()), evidence.get("quantiles", ()), ratio)
    return Part(heading, text, chart=chart)


def _counterexample(evidence: Mapping[str, Any]) -> Iterator[Part]:
    example = evidence["counterexample"]
    pairs = example if isinstance(example, Mapping) else {"value": example}
    rows = tuple(flat(pairs))
    yield Part("Counterexample", head=("quantity", "value"), rows=rows[:ROWS], folded=len(rows) > 14)
    if "instance" in evidence:
        yield Part("Losses, start and steps", str(evidence["instance"]))
        held = tuple((str(name), str(how)) for name, how in evidence["assumptions"].items())
        yield Part("Assumptions in the replay", head=("assumption", "how it is met"), rows=held)
    sides = evidence.get("sides") or {"relation": "", **{k: pairs[k] for k in ("left", "right") if k in pairs}}
    left, right = as_float(sides.get("left")), as_float(sides.get("right"))
    if left is None or right is None:
        return
    relation = RELATIONS.get(str(sides.get("relation")), "")
    said = f"The printed statement says that the left side is {relation} the right side. " if relation else ""
    text = f"{said}Here the left side is {number(left)} and the right side is {number(right)}."
    yield Part("Both sides", text, chart=charts.sides(left, right))


def _repair(repair: Mapping[str, Any]) -> Iterator[Part]:
    if "evaluations" in repair:
        heading = "was also tested" if "certificate" in repair else "was tested, not proved"
        yield _search(repair, f"The repaired statement {heading}")
    if "certificate" in repair:
        yield _certificate(repair["certificate"], "The repaired statement is proved")
    yield from _theorems(repair.get("statements", ()))


def _certificate(text: Any, heading: str) -> Part:
    pieces = [piece.strip() for piece in re.split(r";\s+|(?<=\))\.\s+", str(text)) if piece.strip()]
    return Part(heading, code=tuple(cut(piece, PIECE) for piece in pieces), folded=len(str(text)) > LONG)


# ---- printed against derived -----------------------------------------------------------------------------------------


def _comparison(evidence: Mapping[str, Any], verdict: str) -> Part:
    rows = sorted(comparisons(evidence, verdict), key=lambda row: row[3] is not False)
    wrong, undecided = (sum(row[3] is mark for row in rows) for mark in (False, None))
    text = f"{len(rows) - undecided} compared" + (f", {wrong} disagree; those come first." if wrong else ".")
    if undecided:
        text = f"{text} " if undecided < len(rows) else ""
        text += f"{undecided} in words or as lists, which the check compares."
    shown = rows[:ROWS]
    if len(rows) > ROWS:
        text += f" The first {ROWS} are shown; all are in the evidence file."
    cells = tuple(tuple(map(value, (where, printed, derived))) for printed, derived, where, _ in shown)
    marks = tuple(row[3] for row in shown)
    head: tuple[str, ...] = ("where", "printed", "derived")
    if not any(row[0] for row in cells):
        head, cells = head[1:], tuple(row[1:] for row in cells)
    return Part("Printed against derived", text, head=head, rows=cells, marks=marks, folded=len(shown) > 12)
