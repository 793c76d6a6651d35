"""The report: formulas, evidence in words, charts, the command; and its pages in a headless browser."""

from __future__ import annotations

import base64
import copy
import csv
import dataclasses
import functools
import html
import io
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from nightly import nightly
from stored import stores_now

from artifact import algorithms
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.papers import folders
from artifact.report import (
    charts,
    command,
    counterexamples,
    evidence,
    fingerprints,
    headlines,
    notebooks,
    places,
    prose,
    settings,
    values,
)
from artifact.report.build import build
from artifact.report.command import report_command
from artifact.report.content import ROOT, Content, Record
from artifact.report.mathematics import Converter, mathml, mended, typeset
from artifact.report.numbers import Numbers
from artifact.report.pages import claims, figures, genealogy, papers, reference, sam
from artifact.report.pages.choose import _budgets, _matrix
from artifact.report.pages.papers import statement_parts
from artifact.report.pages.training import _decided, _row, direction
from artifact.report.pictures import Pictures
from artifact.report.site import Page, Site
from artifact.report.terms import Linker
from artifact.runs.evidence import read_all
from artifact.verdicts import ledger

LEDGER = ledger.load()


# ---- formulas --------------------------------------------------------------------------------------------------------


def test_every_formula_of_the_ledger_and_of_the_stored_repairs_becomes_mathml():
    convert = Converter()
    for claim in LEDGER:
        html = convert.html(claim.statement, claim.id) + convert.html(claim.how_to_check, claim.id)
        assert "$" not in re.sub(r"<code>.*?</code>", "", html), claim.id
    for claim, stored in read_all(ROOT / "results" / "checks").items():
        convert.html(stored["repaired"] or "", claim)
    assert convert.converted > 3500
    assert convert.failures == []


def test_a_formula_that_cannot_be_converted_is_shown_as_text_and_counted():
    convert = Converter()
    html = convert.inline(r"before $\unknowncommand{x}$ after", "somewhere")
    assert html == r'before <code class="tex">\unknowncommand{x}</code> after'
    assert [(name, tex) for name, tex, _ in convert.failures] == [("somewhere", r"\unknowncommand{x}")]


def test_delimiters_are_mended():
    assert mended(r"a \(x\) b \[y\]") == "a $x$ b $$y$$"
    assert mended("costs 3$ in all") == r"costs 3\$ in all"
    assert Converter().inline("costs 3$ in all") == "costs 3$ in all"


def test_a_formula_is_one_element_and_a_long_one_has_a_box_that_scrolls():
    assert mathml("a+b").startswith("<math ")
    for long in (mathml("+".join("abcdefghijklmnop")), mathml("a", display=True)):
        assert long.startswith('<span class="wide"><math ') and long.count("<math") == 1


def test_letters_of_mathematical_alphabets_are_unicode():
    html = mathml(r"\mathbb R^d,\mathbb E,\mathcal E,\mathcal A,\mathbf x")
    assert all(letter in html for letter in "ℝ𝔼ℰ𝒜𝐱")
    assert "mathvariant" not in html


def test_text_is_escaped():
    assert Converter().inline("<b> `x < y`") == "&lt;b&gt; <code>x &lt; y</code>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("O(rho^2) and eta_g", "O(ρ<sup>2</sup>) and η<sub>g</sub>"),
        ("w_old - w^t", "w<sub>old</sub> - w<sup>t</sup>"),
        ("client_sd of the beta <= 1", "client_sd of the β &lt;= 1"),
        ("theta, not ether", "θ, not ether"),
    ],
)
def test_letters_and_indices_in_plain_text_are_typeset(text, shown):
    assert typeset(text) == shown


# ---- glossary --------------------------------------------------------------------------------------------------------

GLOSSARY = [
    {"word": "Client", "forms": ["client", "clients"], "meaning": "Holds <data>."},
    {"word": "Local step", "forms": ["local step", "step"], "meaning": "One step."},
]


def test_the_first_use_of_a_term_leads_to_the_glossary_and_every_claim_starts_afresh():
    html = "<p>client</p><main><p>Clients and a client take a local step.</p><article><p>client</p></article></main>"
    found = Linker(GLOSSARY).linked(html)
    assert found.startswith('<p>client</p><main><p><a class="term" href="glossary.html#client" title="Holds &lt;data')
    assert re.sub(r"<a class=[^>]*>|</a>", "", found) == html
    assert re.findall(r'#([a-z-]+)" title', found) == ["client", "local-step", "client"]


def test_terms_inside_links_code_headings_and_other_words_are_left_alone():
    html = '<main><h2>client</h2><p><a href="x">client</a> <code>client</code> client-side subclient</p></main>'
    assert Linker(GLOSSARY).linked(html) == html


def test_no_form_stands_for_two_entries(content):
    forms = [form.lower() for term in content.glossary for form in term["forms"]]
    assert len(forms) == len(set(forms))
    words = [term["word"].lower() for term in content.glossary]
    assert words == sorted(words)


# ---- evidence --------------------------------------------------------------------------------------------------------


def _record(verdict: str, **content) -> Record:
    return Record(LEDGER[0], verdict, content)


def test_tested_and_proved_are_never_confused():
    search = {"evaluations": 10, "worst_ratio": 0.5, "function_class": "quadratics", "seed": 1}
    held = " ".join(part.text + part.heading for part in evidence.parts(_record("holds", **search)))
    assert "not a proof" in held
    both = evidence.parts(_record("repaired", repair=search | {"certificate": "x - x = 0"}))
    headings = [part.heading for part in both]
    assert "The repaired statement was also tested" in headings
    assert "The repaired statement is proved" in headings
    tested = evidence.parts(_record("repaired", repair=search))
    assert "The repaired statement was tested, not proved" in [part.heading for part in tested]


def test_a_search_of_a_statement_with_an_open_constant_says_which_constant_covers_it():
    search = {"evaluations": 10, "worst_ratio": 1.5, "function_class": "f", "constant_that_covers_it": 4.0}
    text = next(p.text for p in evidence.parts(_record("repaired", repair=search)) if p.text.startswith("10 eval"))
    assert "1.5, with the constant 1; the constant 4 covers it" in text
    assert "violation" not in text


def test_no_tested_ratio_exceeds_one_without_a_constant_that_covers_it(content):
    for record in content.records.values():
        for search in (record.evidence, record.evidence.get("repair", {})):
            if "worst_ratio" in search and record.verdict in ("holds", "repaired"):
                assert float(search["worst_ratio"]) <= 1 + 1e-9 or search.get("constant_that_covers_it"), (
                    record.claim.id
                )


def test_printed_numbers_agree_when_the_derived_ones_round_to_them():
    rows = evidence.comparisons({"printed": ["52.03", "52.02", "x"], "derived": [52.02, 52.0249, "x"]})
    assert [row[3] for row in rows] == [False, True, True]


def test_no_card_contradicts_its_badge(content):
    seen = Counter()
    for record in content.records.values():
        if "printed" in record.evidence and "derived" in record.evidence:
            rows = evidence.comparisons(record.evidence, record.verdict)
            marks = {row[3] for row in rows}
            seen[record.verdict] += 1
            if record.verdict == "consistent":
                assert False not in marks, record.claim.id
            if record.verdict == "inconsistent":
                assert marks != {True}, record.claim.id
    assert seen["consistent"] > 20 and seen["inconsistent"] > 40


def test_different_texts_disagree_only_where_the_check_says_so():
    stored = {"printed": ["most of 16", "7", "3"], "derived": ["15 of 16", "7", ""]}
    marks = {v: [row[3] for row in evidence.comparisons(stored, v)] for v in ("consistent", "inconsistent")}
    assert marks == {"consistent": [None, True, None], "inconsistent": [False, True, None]}
    part = next(p for p in evidence.parts(_record("consistent", **stored)) if p.heading == "Printed against derived")
    assert part.text == "1 compared. 2 in words or as lists, which the check compares."


def test_disagreements_come_first_and_are_marked():
    stored = {"printed": ["1.0", "2.0"], "derived": [1.0, 3.0], "what": ["good", "bad"]}
    part = next(p for p in evidence.parts(_record("inconsistent", **stored)) if p.heading == "Printed against derived")
    assert part.rows[0] == ("bad", "2.0", "3")
    assert part.marks == (False, True)
    assert part.text.startswith("2 compared, 1 disagree")


def test_exact_fractions_show_their_decimal():
    assert values.value("1/10") == "1/10 (= 0.1)"
    assert values.value("1/3") == "1/3 (about 0.333333)"
    assert values.value([1, [2, 3]]) == "1; 2, 3"


def test_both_sides_of_a_counterexample_are_drawn():
    parts = evidence.parts(
        _record("refuted", counterexample={"x": 1}, sides={"left": 4, "right": "7/2", "relation": "<="})
    )
    sides = next(part for part in parts if part.heading == "Both sides")
    assert "left side is at most the right side" in sides.text
    assert "left side 4, right side 3.5" in sides.chart
    assert charts.sides(float("inf"), 1.0) == ""


def test_intervals_are_drawn_with_those_nearest_to_failing_first():
    rows = [{"label": f"row {i}", "mean": i, "low": i - 1.0, "high": i + 1.0, "margin": 0.0} for i in range(-5, 15)]
    drawn = charts.intervals([rows[-1], *rows], "points")
    assert "row -5" in drawn and "row 13" not in drawn and drawn.count("<circle") == charts.SHOWN
    assert drawn.count('circle class="bad"') == 4 and "points" in drawn
    assert charts.intervals([], "points") == ""


def test_an_interval_with_an_open_end_is_told_and_not_drawn(content):
    told = {"label": "told", "mean": 1.0, "low": 0.5, "high": 1.5, "margin": 0.0}
    untold = told | {"label": "untold", "low": None, "high": None}
    assert charts.intervals([untold], "rounds") == ""
    drawn = charts.intervals([told, untold], "rounds")
    assert "told: 1 from 0.5 to 1.5" in drawn and "untold" not in drawn
    record = next(iter(content.records.values()))
    found = dict.fromkeys(("says", "text", "setting"), "") | dict.fromkeys(("cells", "missing", "provisional"), ())
    found |= {"unit": "rounds", "comparisons": [untold], "omitted": (), "interval": None}
    parts = evidence.experiment(dataclasses.replace(record, experiment=found))
    assert [part.chart for part in parts if part.heading] == [""]


def test_labels_that_differ_at_the_end_are_drawn_whole():
    ends = ("to 68 %", "to 74 %")
    label = "FedLESAM-D costs less than FedGAMMA up to 38 % accuracy (CIFAR-10, 10% of 100, Dirichlet-0.1, {})"
    row = {"mean": 1.0, "low": 0.5, "high": 1.5, "margin": 0.0}
    drawn = charts.intervals([row | {"label": label.format(end)} for end in ends], "rounds")
    lines = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert all(len(line) <= charts.LINE for line in lines)
    assert all(label.format(end) in " ".join(lines) for end in ends)
    heights = [float(y) for y in re.findall(r'<text x="10.0" y="([0-9.]+)" text-anchor="start"', drawn)]
    dots = [float(y) for y in re.findall(r'cy="([0-9.]+)"', drawn)]
    assert heights[2] < dots[0] < heights[3] and heights[5] < dots[1]


def test_a_card_says_how_the_verdict_was_decided_and_which_steps_are_in_words():
    """Every label that a stored claim has stands on its card, with each step that no program decides."""
    seen = set()
    checked = read_all(ROOT / "results" / "checks")
    for claim in LEDGER:
        stored = checked[claim.id] if claim.decided_by == "checks" else {"evidence": {}}
        if label := stored["evidence"].get("label"):
            parts = evidence.parts(Record(claim, stored["verdict"], stored["evidence"]))
            (how,) = (part for part in parts if part.heading.startswith("How it was decided"))
            corrected = f"correction {label}, counterexample {stored['evidence'].get('refutation')}"
            said = corrected if "repair" in stored["evidence"] else label
            assert how.heading == f"How it was decided: {said}" and evidence.LABELS[label] in how.text
            words = stored["evidence"].get("parts", {}).get("in_words", [])
            assert [list(p.code) for p in parts if p.heading.startswith("Steps in words")] == [words] * bool(words)
            assert label != "derived" or words or stored["verdict"] in ("refuted", "vacuous")
            seen.add(label)
    assert seen == set(evidence.LABELS) - {"stated"}  # of an audit alone


@pytest.mark.parametrize(
    ("claim", "how"),
    [
        ("fan24-thm1", "replayed with 50 digits"),
        ("man-local-global-flat", "replayed exactly"),
        ("qu22-thm3.5-rho", "machine"),
    ],
)
def test_a_card_says_in_which_arithmetic_a_counterexample_was_replayed(claim, how):
    """Rationals, the 50 digits of mpmath where roots are taken, or machine numbers."""
    stored = read_all(ROOT / "results" / "checks")[claim]
    entry = next(c for c in LEDGER if c.id == claim)
    (said,) = [p.text for p in evidence.parts(Record(entry, stored["verdict"], stored["evidence"])) if how in p.text]
    assert ("with 50 digits" in said) == (how == "replayed with 50 digits")
    assert {type(side) for side in stored["evidence"]["sides"].values()} <= {str, int, float}


def _leaves(entry, place=()):
    if isinstance(entry, dict | list):
        for key, inner in entry.items() if isinstance(entry, dict) else enumerate(entry):
            yield from _leaves(inner, (*place, key))
    else:
        yield place, entry


def _slightly_other(entry):
    """A number whose last digit differs; a text whose last digit does, or that is longer."""
    if isinstance(entry, float):
        return math.nextafter(entry, math.inf)
    if not isinstance(entry, str):
        return not entry if isinstance(entry, bool) else (entry or 0) + 1
    digits = [at for at, letter in enumerate(entry) if letter in "0123456789"]
    return (
        entry[: digits[-1]] + str((int(entry[digits[-1]]) + 1) % 10) + entry[digits[-1] + 1 :]
        if digits
        else f"{entry}'"
    )


def test_a_page_shows_every_digit_of_what_a_check_stored(content):
    """Any stored number or text that changes in its last digit changes what the claim's page shows."""
    draw = random.Random(0)
    for record in content.records.values():
        if record.claim.decided_by != "checks":
            continue
        shown = evidence.parts(record)
        places = [place for place, _ in _leaves(record.evidence) if place[0] not in ("label", "refutation")]
        for *inside, last in draw.sample(places, min(len(places), 6)):
            changed = copy.deepcopy(record.evidence)
            spot = functools.reduce(lambda entry, key: entry[key], inside, changed)
            spot[last] = _slightly_other(spot[last])
            assert evidence.parts(dataclasses.replace(record, evidence=changed)) != shown, (
                record.claim.id,
                inside,
                last,
            )


def test_every_stored_piece_of_evidence_is_put_into_words(content):
    for record in content.records.values():
        shown = [*evidence.parts(record), *evidence.experiment(record)]
        assert any(part.text or part.code or part.rows for part in shown), record.claim.id


# ---- two verdicts, their scale and their levels ----------------------------------------------------------------------


def test_a_claim_has_a_verdict_on_paper_or_in_training_and_no_word_stands_for_both(content):
    assert not set(ledger.ON_PAPER) & set(ledger.EMPIRICAL)
    for record in content.records.values():
        assert record.on_paper or record.in_training, record.claim.id
        assert record.on_paper in ("", *ledger.ON_PAPER) and record.in_training in ("", *ledger.EMPIRICAL)


def test_the_lines_leave_out_audits_and_their_rows_say_so(content, monkeypatch):
    """As if one paper of the ledger were an audit; README has the lines without one."""
    every = Counter(r.counted("on_paper") for r in content.records.values())
    own = Counter(r.counted("on_paper") for r in content.of_paper("qu2022"))
    headlines.said_in_short(content)  # what it reads of the runs is kept: a paper of the ledger has no audit's folder
    monkeypatch.setitem(folders.AUDITS, "qu2022", None)
    theory = dict(headlines.said_in_short(content))["Theory"]
    proved = every["proved"] - own["proved"]
    assert own["proved"] and f"proves {proved} as printed" in theory
    rows = claims._matrix(content, "on_paper")["rows"]
    assert {row["paper"]: row["audit"] for row in rows} == {paper: paper == "qu2022" for paper in ledger.PAPERS}


def test_the_front_page_shows_the_two_pictures_that_it_speaks_of(site):
    """A second plot of the same name would be drawn over the first."""
    first, second = re.findall(
        r'<figure class="forest"[^>]*><img src="([^"]+)"', (site / "index.html").read_text("utf-8")
    )
    assert "FedAvg to FedSAM" in (site / first).read_text("utf-8") and first != second
    assert "FedAvg to FedSAM" not in (site / second).read_text("utf-8")


def test_every_decided_statement_is_in_one_count_of_the_line_on_theory(content):
    counts = content.counts()
    numbers = [int(n) for n in re.findall(r"(?<![\w-])\d+", dict(headlines.said_in_short(content))["Theory"])]
    decided, proved, changed, conclusions, slips, readings, rest = numbers
    assert decided == counts.decided == proved + changed + readings + rest
    assert conclusions == counts.weights["conclusion"] and slips == counts.weights["slip"]


@pytest.mark.parametrize("word, reasons, said", [
    ("undecided", ("3 seeds", "the loss surface depends on how far training has come: 60 of 800"), "the loss surface"),
    ("undecided", ("3 seeds",), ""),
    ("seen", ("the difference still moves: +0.6",), ""),
])  # fmt: skip
def test_an_open_claim_names_the_rule_that_keeps_it_open(word, reasons, said):
    found = evidence.why_open({"verdict": word, "provisional": reasons})
    assert found.startswith(said) and bool(found) == bool(said)


def test_the_front_page_says_how_its_counts_add_up(content, site):
    own = [record for record in content.decided.values() if record.asked == "by a paper"]
    both = sum(bool(record.on_paper) and bool(record.in_training) for record in own)
    assert content.counts().both == both > 0
    assert f"; {both} are counted in both." in (site / "index.html").read_text(encoding="utf-8")


def test_questions_that_no_paper_states_are_counted_apart(content, site):
    """The front page, the overview, a paper's page and the command say how many; a card and a row bear the mark."""
    own = [r for r in content.records.values() if r.claim.reading]
    trained = Counter(r.in_training for r in own if r.in_training)
    assert len(own) > 10 and trained.total() > 5
    front = (site / "claims.html").read_text(encoding="utf-8")
    assert front.count('data-asked="by the ledger"') == len(own)
    assert f"{len(own)} questions that no paper states are counted apart" in front
    text = (site / "training.html").read_text(encoding="utf-8")
    theirs = Counter(r.in_training for r in content.records.values() if r.in_training and not r.claim.reading)
    waiting = theirs["not-run"]
    assert f"They judge {theirs.total() - waiting} claims; {waiting} wait for a run" in text
    for asked, count in (("paper", theirs), ("ledger", trained)):
        found = re.findall(rf'in_training=([a-z-]+)&amp;asked=by\+\w+\+{asked}#claims">.*?</span> (\d+)</a>', text)
        assert {verdict: int(n) for verdict, n in found} == count
    assert f"Counted apart: {trained.total()} questions" in text
    assert text.count("the ledger's own question</span></td>") == trained.total()
    for paper in ledger.PAPERS:
        count = sum(r.claim.paper == paper for r in own)
        said = "that the paper does not state" in (site / f"paper-{paper}.html").read_text(encoding="utf-8")
        assert said == bool(count)
    for record in own:
        card = (site / record.page).read_text(encoding="utf-8").split(f'<article id="{record.claim.id}"')
        assert len(card) == 2 and "the ledger's own question" in card[1].split("</article>")[0], record.claim.id


SCALE = r"training images, [^,]+, [0-9 or]+ rounds, n=\d+(, the difference still moves)?$"


def test_a_training_verdict_names_the_level_of_its_interval_and_its_scale(content):
    found = [r.experiment for r in content.records.values() if r.in_training not in ("", "not-run")]
    assert len(found) > 80
    for one in found:
        assert re.search(r"\[[^]]*\][^\[]*\(9\d(\.\d+)? %(, level divided by \d+|, for its look)?, n=", one["text"]), (
            one["id"]
        )
        assert re.search(SCALE, one["setting"]), one["id"]
    moving = [one for one in found if any(reason.startswith("the difference still") for reason in one["provisional"])]
    assert all(one["setting"].endswith("still moves") for one in moving)
    assert {one["scale"] for one in found} <= {"toy", "short", "full-length", "paper"}


def test_a_verdict_in_training_is_told_in_words_and_counts_every_comparison_once(content):
    """The answer first, without an interval; what decided it stands in a table below."""
    seen = set()
    for id, record in content.records.items():
        if record.in_training in ("", "not-run"):
            continue
        parts = evidence.experiment(record)
        begins = evidence.OUTCOMES[record.in_training]
        if record.in_training == "undecided" and evidence.why_open(record.experiment):
            begins = "No finding, whatever the numbers: "
        told = next(part.text for part in parts if part.text.startswith(begins))
        assert "[" not in told and sum(part.heading == "What decided" for part in parts) == 1, id
        if counted := re.search(r"Of (\d+) comparisons, each alone at 95 %: (.*)\.", told):
            sides = [int(found) for found in re.findall(r"(\d+) (?:on|against|open)", counted[2])]
            assert sum(sides) == int(counted[1]), id
        seen.add(record.in_training)
    assert {"seen", "undecided", "untuned"} <= seen
    tab1 = evidence.headline(content.records["sun23-tab1"].experiment)
    assert re.match(r"[A-Z][^.]*\. Of 8 comparisons", tab1)


def test_no_interval_of_a_card_stands_without_its_level(content):
    for record in content.records.values():
        for part in evidence.experiment(record):
            if part.heading == "What decided":
                assert all(re.match(r"9\d(\.\d+)? %", row[part.head.index("level")]) for row in part.rows)
            elif part.chart or "low" in " ".join(part.head):
                assert "95 %" in part.heading + part.text + " ".join(part.head) + part.chart, record.claim.id


def test_a_card_says_on_which_side_each_comparison_lies(content):
    parts = evidence.experiment(content.records["fan24-abstract"])
    (sides,) = [part for part in parts if part.heading == "On which side"]
    assert {row[:2] for row in sides.rows} >= {("FedLESAM-S - FedGAMMA", "1 of 1"), ("FedLESAM-D - FedSMOO", "1 of 1")}


def test_a_card_counts_against_the_margin_and_not_against_zero():
    row = {"label": "A - B", "mean": -1.36, "low": -1.9, "high": -0.8, "margin": -2.0}
    part = evidence._tally([row, row | {"mean": -2.5, "low": -3.0, "high": -2.1}])
    assert part.rows == (("A - B", "1 of 2", "1", "1"),) and part.head[2] == "95 % interval above -2"


# ---- paragraphs that can be read once --------------------------------------------------------------------------------


class Prose(HTMLParser):
    """The paragraphs and list items of a report's cards and findings: (card, text).

    Left out is what is looked at: formulas, code, tables, charts, headings, the line of the place and the links.
    """

    BLOCKS = re.compile("p|li|dd|dt|div|figcaption|h[1-4]|[uod]l|table|details|summary|figure|article|form")
    LOOKED_AT = re.compile("math|code|svg|table|script|style|select|su[pb]|h[1-4]|fieldset|dl")
    VOID = {"img", "br", "input", "meta", "link", "hr"}

    def __init__(self, page: str):
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.open: list[tuple[str, bool]] = []
        self.card, self.depth, self.text = "", 0, ""
        self.feed(page)

    def _end(self):
        if self.card and self.text.strip():
            self.found.append((self.card, " ".join(self.text.split())))
        self.text = ""

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if self.BLOCKS.fullmatch(tag):
            self._end()
        if not self.card and (tag == "article" or (found.get("id") or "").startswith("finding-")):
            self.card, self.depth = found["id"], len(self.open)
        if tag not in self.VOID:
            apart = self.LOOKED_AT.fullmatch(tag) or found.get("class") in ("where", "links")
            self.open.append((tag, apart and found.get("class") != "glossary"))

    def handle_endtag(self, tag):
        if self.BLOCKS.fullmatch(tag):
            self._end()
        while self.open and self.open.pop()[0] != tag:
            pass
        if self.card and len(self.open) <= self.depth:
            self.card = ""

    def handle_data(self, data):
        index = bool(self.open) and self.open[-1][0] in ("sup", "sub")
        self.text += "" if index else " " if any(apart for _, apart in self.open) else data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Short.", [("Short.", ())]),
        (f"{'a ' * 60}end. {'B ' * 60}end.", [(f"{'a ' * 60}end.", ()), (f"{'B ' * 60}end.", ())]),
        (
            "Cost: A 1, B 2, C 3, D 4, E 5, F 6, G 7.",
            [("Cost:", ("A 1, B 2, C 3, D 4, E 5, F 6,", "G 7."))],
        ),
        ("A 1, 2 and 3; b (4, 5; 6), 7.", [("", ("A 1, 2 and 3;", "b (4, 5; 6), 7."))]),
        ("See Sec. 5 and $1, 2; 3, 4, 5, 6, 7$.", [("See Sec. 5 and $1, 2; 3, 4, 5, 6, 7$.", ())]),
        ("1 2 3 4 5 6 7", [("1 2 3 4 5 6 7", ())]),
    ],
)
def test_prose_is_broken_where_it_pauses(text, shown):
    assert list(prose.paragraphs(text)) == shown


def test_a_formula_counts_among_the_words_that_stand_together():
    formula = f"${'x + ' * 40}x$ is long."
    assert len(list(prose.paragraphs(f"{formula} {formula}"))) == 2


def test_long_assumptions_stand_one_below_the_other_and_conditions_above_what_follows():
    long = "$" + "x + " * 120 + "x$"
    assert list(prose.assumptions(f"Given: a is small; {long}; b. If c; d: {long}. Short.")) == [
        ("Given:", ("a is small;", f"{long};", "b.")),
        ("If c; d:", (f"{long}.",)),
        ("Short.", ()),
    ]


def test_breaking_keeps_every_word():
    for claim in LEDGER:
        for line in (claim.statement + "\n" + claim.how_to_check).splitlines():
            parts = [part for paragraph, points in prose.paragraphs(line) for part in (paragraph, *points)]
            assert " ".join(parts).split() == line.split(), claim.id


def test_numbers_are_counted_as_a_reader_meets_them():
    assert prose.counts("5,000 images, -0.3 [1e-3, 1/10] and w^2 of L2") == (9, 4)
    assert prose.counts("$1+2$ `3` CIFAR-10") == (1, 1)


# ---- miniatures ------------------------------------------------------------------------------------------------------


def test_a_column_is_headed_by_what_was_trained(site):
    text = (site / "tables-yashwanth2023.html").read_text(encoding="utf-8")
    assert '<th scope="col">CIFAR-10 (paper: CIFAR-100), Dirichlet-0.3</th>' in text
    text = (site / "tables-fan2024.html").read_text(encoding="utf-8")
    assert "Pathological-3, to 34 % (paper: to 68 %)</th>" in text
    text = (site / "tables-sun2023.html").read_text(encoding="utf-8")
    assert "to 38 % (paper: to 74 %)</th>" in text and "rounds to 74 %" not in text


def test_a_length_over_the_radius_names_its_network(content, site):
    """It depends on the network, so that the front page, a finding and the pages of code say whose it is."""
    front = (site / "index.html").read_text(encoding="utf-8")
    network = "perceptron of width 200 on Fashion-MNIST"
    front = re.sub("<[^>]*>", "", front)
    assert re.search(
        r"perturbs by \d+ to \d+ radii, not by one, in .* \(Fashion-MNIST, .*, perceptron of width 200, .*n=3\)", front
    )
    labels = [label for f in content.findings for label, _, _ in f.numbers if label.startswith("length of the pert")]
    assert labels and all(label.endswith(network) for label in labels)
    page = (site / "discrepancies.html").read_text(encoding="utf-8")
    assert re.search(r"Runs: Fashion-MNIST, [^.]*perceptron of width 200", page) and "in the runs of this table" in page
    assert "of ResNet-18 with group norm" in (site / "genealogy.html").read_text(encoding="utf-8")


# ---- charts ----------------------------------------------------------------------------------------------------------


def test_a_line_carries_its_mean_interval_and_number_of_seeds():
    found = charts.line("FedSAM", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
    assert found["mean"] == [2.0, 2.0]
    assert found["n"] == 2
    assert found["low"][0] < 1.0 < 3.0 < found["high"][0]
    assert (found["low"][1], found["high"][1]) == (2.0, 2.0)


def panel(*labels: str, y: str = "y", scale: float = 1.0) -> dict:
    lines = [charts.line(label, [1, 2, 3], scale * np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])) for label in labels]
    return {"title": "t", "lines": lines, "labels": ("x", y)}


def test_a_curve_has_a_band_a_dash_and_a_marker_of_its_own_and_says_its_values():
    svg = charts.lines_panel(**panel("FedSAM", "FedSAM+MAN", "MoFedSAM")).svg
    assert svg.count('class="band"') == svg.count('class="line"') == 3
    assert svg.count("stroke-dasharray") == 2 and svg.count('class="marker open"') > 1, "open marks: with MAN"
    outlines = re.findall(r'<g data-series="([^"]*)".*?class="marker[ open]*" d="([^"]*)"', svg)
    assert [name for name, _ in outlines] == ["FedSAM", "FedSAM+MAN", "MoFedSAM"]
    assert len(dict(outlines).values()) == 3 and dict(outlines)["FedSAM"] != dict(outlines)["MoFedSAM"]
    assert "<title>FedSAM at 3: 2 [-10.71, 14.71], 95 %, n=2</title>" in svg


def test_names_are_escaped_and_points_that_are_no_numbers_are_left_out():
    odd = charts.line("<b>", [1, 2, 3], np.array([[1.0, float("nan"), 2.0]]))
    svg = charts.lines_panel("t", [odd], ("x", "y")).svg
    assert "<b>" not in svg and "nan" not in svg
    assert len(re.findall(r"[ML][0-9.]+ [0-9.]+", re.search(r'class="line" d="([^"]*)"', svg)[1])) == 2


def test_ticks_and_points_of_a_chart_stand_at_their_values():
    plot = charts.Plot((1, 100), (0, 10), ("x", "y"), log=True, ticks=(1, 10, 100))
    left, top, right, bottom = charts.EDGES
    assert plot.at(1, 0) == (left, bottom) and plot.at(100, 10) == (right, top)
    assert plot.at(10, 5) == ((left + right) / 2, (top + bottom) / 2)
    assert re.findall(r'text-anchor="middle" >([^<]*)<', plot.svg("said"))[:3] == ["1", "10", "100"]


def test_no_label_of_an_axis_is_cut_off_or_covers_another():
    plot = charts.Plot((0.02, 0.9984), (0, 10), ("x", "y"), ticks=(0.02, 0.05, 0.2, 0.5, 0.9984))
    places = re.findall(r'<text x="([\d.]+)" y="218.0" text-anchor="middle" >([^<]*)<', plot.svg("said"))
    ends = [(float(x) - 3.5 * len(text), float(x) + 3.5 * len(text)) for x, text in places]
    assert [text for _, text in places] == ["0.02", "0.2", "0.5", "0.9984"], "0.05 stands under the first"
    assert all(b[0] > a[1] for a, b in pairwise(ends)) and ends[-1][1] <= charts.WIDTH
    assert str(plot.svg("said")).count('class="grid" x1') > 5, "every tick keeps its line"


def test_a_surface_is_darker_where_it_is_higher_and_holes_stay_open():
    side = np.linspace(-1, 1, 21)
    bowl = np.add.outer(side**2, side**2)
    svg = charts.surface_panel("t", {"x": side, "y": side, "z": bowl}, ("x", "y"), (0.0, 2.0)).svg
    levels = re.findall(r'class="level" d="([^"]*)"', svg)
    assert len(levels) == charts.LEVELS
    assert levels[0].count("M") == 2, "the edge of the plane and the hole around the minimum"
    assert levels[-1].count("M") == 4, "the four corners"


def test_counts_become_one_pixel_each_with_the_first_row_below():
    from PIL import Image

    svg = charts.counts_panel("t", np.array([[0, 9, 0], [0, 0, 0]]), ("client", "class"), 9).svg
    image = Image.open(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]*)", svg)[1])))
    assert image.size == (3, 2)
    bright = [(x, y) for x in range(3) for y in range(2) if image.getpixel((x, y))[0] > 200]
    assert bright == [(1, 1)]


def test_a_small_picture_keeps_its_pixels_and_its_colours(tmp_path):
    from PIL import Image

    wide = Image.fromarray(np.random.default_rng(0).integers(0, 256, (62, 124, 3), dtype=np.uint8))
    wide.save(tmp_path / "wide.png")
    pictures = Pictures((tmp_path,))
    found = pictures.find("wide", small=True)
    assert (found.width, found.height, found.pdf) == (124, 62, None)
    shown = Image.open(io.BytesIO(pictures.used[found.shown])).convert("RGB")
    assert np.array_equal(np.asarray(shown), np.asarray(wide))
    assert pictures.find("missing") is None


def test_pictures_of_the_front_page_have_the_colours_of_their_figures(site):
    from PIL import Image

    pairs = [(path, site / "figures" / f"{path.stem}.png") for path in (site / "figures" / "small").iterdir()]
    assert len(pairs) >= 10
    for small, figure in pairs:
        shown, drawn = (np.asarray(Image.open(path).convert("RGB")) for path in (small, figure))
        assert np.array_equal(shown, drawn), small.name
        assert small.stat().st_size < figure.stat().st_size


def test_settings_are_split_off_only_when_a_statement_follows():
    assert statement_parts("Setting (A). Text.\nClaim: x.") == ("Setting (A). Text.", "Claim: x.")
    assert statement_parts("Setting (A). Text.") == ("", "Setting (A). Text.")


def test_every_method_has_steps_and_every_text_a_method(content):
    methods = content.methods
    assert set(methods) <= set(algorithms.ALGORITHMS)
    assert all(method["steps"] and method["source"] and method["idea"] for method in methods.values())
    convert = Converter()
    for name, method in methods.items():
        for step in method["steps"]:
            convert.inline(step, name)
    assert convert.failures == []


def test_a_claim_links_to_its_notebook_once_that_has_been_rendered(content, tmp_path):
    names = notebooks.names()
    assert names
    claim = notebooks.claims_of(names[0])[0]
    assert Site(content, tmp_path).notebook(claim) is None
    (tmp_path / f"{names[0]}.html").write_text("<html></html>")
    assert Site(content, tmp_path).notebook(claim) == f"notebooks/{names[0]}.html#{claim}"


# ---- settings, pairs, budgets ----------------------------------------------------------------------------------------


def line(ends: dict[int, float], passes: float = 5.0) -> settings.Line:
    return settings.Line(
        ends, [1, 2, 3, 4], {seed: [end - 3, end - 2, end - 1, end] for seed, end in ends.items()}, passes, 2.0
    )


def setting(**lines: settings.Line) -> settings.Setting:
    return settings.Setting("D", "IID", "1 of 2 clients", "", 4, lines=lines)


def test_a_pooled_difference_counts_every_setting_once_and_none_with_one_seed():
    a, b = line({0: 3.0, 1: 5.0}), line({0: 1.0, 1: 3.0})
    two, four, lone = setting(A=a, B=b), setting(A=line({0: 5.0, 1: 7.0}), B=b), setting(A=line({0: 90.0}), B=b)
    one = settings.pairs([two, four, lone])["A", "B"].pooled
    assert (one.mean, one.n) == (3.0, 2) and one.low < 3.0 < one.high
    assert settings.pairs([two, four])["B", "A"].pooled.mean == -3.0
    assert settings.pairs([two])["A", "B"].pooled.n == 1, "one setting, however many seeds"
    assert settings.difference(lone, "A", "B").n == 1 and ("A", "B") not in settings.pairs([lone])


def test_a_pair_has_an_interval_from_three_settings_on(content):
    a, b, c = line({0: 3.0, 1: 5.0}), line({0: 1.0, 1: 3.0}), line({0: 4.0, 1: 6.0})
    found = [setting(A=a, B=b, C=c), setting(A=a, B=b, C=c), setting(A=a, C=c), setting(B=b, C=c)]
    page = Site(content, Path()).render(Page("pairs.html", "pairs.html", {"title": ""} | _matrix(found)))
    cells = re.findall(r'<a class="cell" href="pairs.html.a=(.).*?<span class="where">(\d)(.*?)</a>', page)
    assert {(first, int(n)): "[" in text for first, n, text in cells} == {
        ("A", 2): False,
        ("A", 3): True,
        ("B", 2): False,
        ("B", 3): True,
        ("C", 3): True,
    }


def in_groups(**means: float) -> list[settings.Setting]:
    """Three settings of every group, in which A minus B has about this mean."""
    b = line({0: 10.0, 1: 10.0})
    found = []
    for group, mean in means.items():
        for off in (-0.01, 0.0, 0.01):
            found.append(replace(setting(A=line({0: 10 + mean + off, 1: 10 + mean + off}), B=b), group=group))
    return found


def test_every_data_network_and_rounds_has_a_mean_and_a_pooled_number_over_both_signs_no_star(content):
    alike, mixed = in_groups(small=-2.0, large=-2.5), in_groups(small=-8.0, large=0.2)
    one = settings.pair(mixed, "A", "B")
    assert {group: (round(i.mean, 6), i.n) for group, i in one.groups.items()} == {
        "small": (-8.0, 3),
        "large": (0.2, 3),
    }
    assert all(i.excludes(0) for i in one.groups.values()) and one.mixed and not one.starred
    assert settings.pair(alike, "A", "B").starred and not settings.pair(alike, "A", "B").mixed
    strong = in_groups(small=-8.0, other=-8.1, third=-8.2, large=0.2)
    assert settings.pair(strong, "A", "B").pooled.excludes(0) and not settings.pair(strong, "A", "B").starred
    site = Site(content, Path())
    for found, starred in ((alike, True), (strong, False)):
        page = site.render(Page("pairs.html", "pairs.html", {"title": ""} | _matrix(found)))
        cells = re.findall(r'<a class="cell".*?</a>', page)
        assert cells and all(("*" in cell) == starred and ("mixed" in cell) != starred for cell in cells)


def test_a_setting_in_which_a_method_does_not_learn_is_left_out_of_its_pairs(content):
    a, b = line({0: 3.0, 1: 5.0}), line({0: 1.0, 1: 3.0})
    fallen = replace(setting(A=line({0: 90.0, 1: 92.0}), B=b), collapsed=("B",))
    assert settings.pair([setting(A=a, B=b), fallen], "A", "B").pooled.mean == 2.0
    assert settings.pair([fallen], "A", "B") is None and settings.difference(fallen, "A", "B").n == 2
    found = {label for one in settings.collect(Site(content, Path()).numbers) for label in one.collapsed}
    assert {"MimeLite", "FedSpeed", "FedSpeed+MAN"} <= found and not {"FedAvg", "FedSAM"} & found


def test_a_pair_takes_the_forms_that_one_table_trained():
    """The other table's FedAvg has another schedule; a form that does not learn is not taken."""
    usual, own = (replace(line({0: end, 1: end}), tables=[table]) for end, table in ((4.0, "one"), (5.0, "two")))
    other = replace(line({0: 7.0, 1: 7.0}), tables=["two"])
    both = setting(FedAvg=usual, MAN=other)
    both.lines["FedAvg (lr decay 0.9)"] = own
    both.forms = {"FedAvg": ["FedAvg", "FedAvg (lr decay 0.9)"]}
    assert both.forms_of("MAN", "FedAvg") == ("MAN", "FedAvg (lr decay 0.9)")
    assert settings.difference(both, "MAN", "FedAvg").mean == 2.0
    assert both.forms_of("FedAvg", "FedAvg (lr decay 0.9)") == ("FedAvg", "FedAvg (lr decay 0.9)")
    assert replace(both, collapsed=("FedAvg (lr decay 0.9)",)).forms_of("MAN", "FedAvg") == ("MAN", "FedAvg")


def test_a_setting_says_from_how_many_seeds_to_how_many():
    few, many = line({0: 1.0, 1: 2.0}), line({0: 1.0, 1: 2.0, 2: 3.0})
    assert (_budgets(setting(A=few, B=many))["n"], _budgets(setting(A=few, B=few))["n"]) == ("2 to 3", "2")


def rising(above: float, passes: float) -> settings.Line:
    """Twenty rounds, at round r the accuracy r + above; its number of the tables is the mean of 11 to 20."""
    rounds = list(range(1, 21))
    curves = {seed: [r + above + seed for r in rounds] for seed in (0, 1)}
    return settings.Line({seed: 15.5 + above + seed for seed in (0, 1)}, rounds, curves, passes, 2.0)


def test_a_budget_pays_for_fewer_rounds_of_a_dearer_method():
    dear, cheap = rising(1.0, passes=10.0), rising(0.0, passes=5.0)
    both = setting(dear=dear, cheap=cheap)
    assert settings.best(both).label == "dear" and not settings.best(both).level
    assert settings.best(both, passes=100.0).label == "cheap"
    assert settings.best(both, passes=1.0) is None
    assert dear.at(100.0, 100.0) == {0: 6.5, 1: 7.5}, "rounds 1 to 10"
    assert dear.at(120.0, 100.0) == {0: 8.5, 1: 9.5}, "rounds 3 to 12"
    assert dear.at(200.0, 100.0) == dear.ends


def test_a_budget_for_all_rounds_gives_the_tables_numbers(content):
    """So that the form, the pairs and the count of gains on the front page answer alike."""
    found = settings.collect(Site(content, Path()).numbers)
    lines = [line for one in found for line in one.lines.values()]
    assert len(lines) > 50
    for line in lines:
        assert line.at(float("inf"), float("inf")) == pytest.approx(line.ends, abs=0.002)


def test_every_judged_claim_shows_an_interval_and_a_claim_of_a_shape_the_comparison_that_decided(content):
    judged = [r for r in content.records.values() if r.in_training and r.experiment["interval"] is not None]
    rows = {record.claim.id: _row(record) for record in judged}
    assert all("[" in row["decided"] + row["size"] and "%" in row["decided"] + row["size"] for row in rows.values())
    best = rows["qu22-fig3c"]
    assert re.match(r"rho=\S+ \(FedSAM\) > rho=\S+ \(FedSAM\) \(1 of 16 comparisons\): \+", best["decided"])
    assert best["size"] == "" and best["direction"] == "as claimed"


@pytest.mark.parametrize(
    ("limit", "low", "high", "said"),
    [
        (0.0, 0.1, 2.0, "as claimed"),
        (0.0, -2.0, -0.1, "against the claim"),
        (0.0, -1.0, 1.0, "not told"),
        (5.0, 1.0, 3.0, "smaller than claimed"),
        (5.0, 1.0, 6.0, "as claimed"),
        (5.0, -3.0, -1.0, "against the claim"),
        (-2.0, -1.5, -0.5, "as claimed"),  # no worse than 2 points below
        (-2.0, -2.5, 1.0, "not told"),
        (-2.0, -4.0, -2.1, "against the claim"),
        (0.0, 0.1, None, "as claimed"),
    ],
)
def test_the_direction_is_that_of_the_interval_beside_the_limit(limit, low, high, said):
    assert direction({"interval": {"low": low, "high": high}, "limit": limit}) == said


def test_the_overview_of_training_has_one_row_a_claim_with_the_verdict_of_its_card(content, site):
    text = (site / "training.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row"><a href="[^"#]*#([^"]*)">.*?class="badge v-([a-z-]+)"', text, re.S)
    assert dict(rows) == {id: r.in_training for id, r in content.records.items() if r.in_training} and len(rows) > 90
    for record in content.records.values():
        if record.in_training in ("seen", "reversed") and record.experiment["limit"] == 0:
            wanted = "as claimed" if record.in_training == "seen" else "against the claim"
            assert direction(record.experiment) == wanted, record.claim.id


def test_the_overview_shows_the_interval_that_decided_beside_a_size_that_is_another(content, site):
    text = html.unescape((site / "training.html").read_text(encoding="utf-8"))
    shown = 0
    for id, record in content.records.items():
        found = record.experiment
        if not (found and found["size"] and found["interval"] and len(found["comparisons"]) > 1):
            continue
        own, size = found["interval"], found["size"]["interval"]
        if own == size or found["decided_by"] not in [row["label"] for row in found["comparisons"]]:
            continue
        row = re.search(rf'<tr><th scope="row"><a href="[^"]*#{re.escape(id)}".*?</tr>', text, re.S)[0]
        assert f"{own['mean']:+.3g} [" in row and f"{size['mean']:+.3g} [" in row, id
        assert f"1 of {len(found['comparisons'])} comparisons" in row and f"{100 * own['level']:.4g} %" in row, id
        shown += 1
    assert shown > 3


def test_the_mean_that_decides_is_none_of_the_comparisons():
    """It is the mean over all of them, at half the error rate; beside it stands the same mean at the whole one."""
    at = {"mean": -0.5, "low": -0.9, "high": -0.1, "n": 3, "level": 0.975}
    found = {
        "interval": at,
        "size": {"interval": at | {"level": 0.95}},
        "comparisons": [{"label": "a"}, {"label": "b"}],
    }
    assert _decided(found | {"decided_by": "mean of 2 comparisons"}).startswith("mean of 2 comparisons: -0.5 [")
    assert _decided(found | {"decided_by": "a"}).startswith("a (1 of 2 comparisons): -0.5 [")


def test_the_overview_says_when_the_mean_decides(content, site):
    text = (site / "training.html").read_text(encoding="utf-8")
    judged = [r.experiment for r in content.records.values() if r.in_training and r.experiment["interval"] is not None]
    means = [one for one in judged if one["decided_by"] not in {row["label"] for row in one["comparisons"]}]
    assert len(means) > 10
    assert "where the mean over all comparisons decides" in text and "the mean does not decide" not in text
    assert not re.search(r"mean of \d+ comparisons \(1 of", text)
    assert "python -m fedsharp verdicts --profile laptop --json" in text


def test_every_card_says_in_words_what_was_found(content):
    told = [id for id in content.records if len(notebooks.explained(id).split()) > 10]
    assert set(content.records) - set(told) == set()


def test_a_card_names_file_and_line_that_decide_it(content, site):
    """At the line stands the predicate of the claim, or the function that is registered for it."""
    seen = Counter()
    for id, record in content.records.items():
        place = places.predicate(record.claim, record.experiment, ROOT)
        assert bool(place) == bool(record.experiment and record.claim.predicate), id
        if place:
            file, line = place.split(", line ")
            lines = (ROOT / file).read_text(encoding="utf-8").splitlines()[: int(line)]
            entry = max(i for i, text in enumerate(lines) if text in ("[[claim]]", "[[judged]]"))
            assert lines[-1] in ("[claim.predicate]", "[judged.predicate]"), id
            assert {f'id = "{id}"', f'claim = "{id}"'} & set(lines[entry:]), id
            seen[file] += 1
        check = places.check(record.claim, ROOT)
        if record.claim.decided_by == "checks":
            file, line = check.split(", ")[:2]
            text = (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line.removeprefix("line ")) - 1]
            assert text.startswith("def ") or "check(" in text, (id, check)
            seen["checks"] += 1
        card = (site / record.page).read_text(encoding="utf-8").split(f'<article id="{id}"')[1].split("</article>")[0]
        assert all(html.escape(one) in card for one in (place, check)), id
    assert seen["claims/protocol.toml"] > 5 and seen["checks"] > 400 and len(seen) > 5
    assert places.predicate(record.claim, None, ROOT) == ""


#: what a reader needs who holds a verdict to be wrong
CONTEST = ("Assumptions", "Decide it again", "Evidence", "How to answer", "Where an author's reply stands")


def with_replies(content: Content, folder: Path, text: str) -> Content:
    """The same content with the authors' replies of a text."""
    (folder / "claims").mkdir()
    (folder / "claims" / "replies.toml").write_text(text, encoding="utf-8")
    changed = dataclasses.replace(content, root=folder)
    kept = ("decided", "records", "discrepancies")
    changed.__dict__.update({name: getattr(content, name) for name in kept})
    return changed


def test_an_authors_reply_stands_on_the_card_and_is_known_to_the_discrepancy(content, tmp_path):
    entry = "[[reply]]\nabout = ['man-eq6', 'LESAM-1']\nby = 'A. Author, 2026-12-01'\ntext = 'We read $x\\le1$ so.'\n"
    changed = with_replies(content, tmp_path, entry)
    (reply,) = changed.replies["man-eq6"]
    assert changed.replies["LESAM-1"] == [reply] and reply.about == ("man-eq6", "LESAM-1")
    site = Site(changed)
    article = papers._article(site, content.records["man-eq6"], []) | {"links": []}
    section = next(one for one in content.sections if "man-eq6" in one.claims)
    given = {"title": "", "paper": section.paper, "section": section, "records": [article], "around": (None, None)}
    page = site.render(Page(section.page, "section.html", given | {"settings": []}))
    assert "<h4>Reply of A. Author, 2026-12-01</h4><p>We read <math" in page and "none yet" not in page


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("[[reply]]\nabout = ['nothing']\nby = 'A'\ntext = 't'", "about"),
        ("[[reply]]\nabout = ['man-eq6']\nby = 'A'", "fields about, by and text"),
    ],
)
def test_a_reply_to_nothing_is_refused(content, tmp_path, entry, said):
    with pytest.raises(UserError, match=said):
        _ = with_replies(content, tmp_path, entry).replies


# ---- command ---------------------------------------------------------------------------------------------------------


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UserError, match="earlier report"):
        build(Content(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_unknown_profile_is_refused():
    result = CliRunner().invoke(report_command, ["--profile", "huge"])
    assert result.exit_code == 2
    assert "huge" in result.output


def test_a_report_whose_inputs_are_unchanged_is_kept(tmp_path, monkeypatch):
    built, state = [], ["a"]

    def fake(out, profile, notebooks):
        built.append(profile)
        out.mkdir(exist_ok=True)
        (out / "index.html").write_text("<html></html>")
        (out / command.MARK).write_text(json.dumps({"inputs": state[0]}))
        return {"pages": (), "claims": 0, "formulas": 0, "seconds": 0.0}

    monkeypatch.setattr(command, "_build", fake)
    monkeypatch.setattr(command, "_inputs", lambda profile, notebooks: state[0])
    words = ["--out", str(tmp_path / "report")]
    for more, expected in (([], 1), ([], 1), (["--force"], 2)):
        result = CliRunner().invoke(report_command, [*words, *more])
        assert len(built) == expected, result.output
        assert result.output.splitlines()[-1] == f"report: {tmp_path / 'report' / 'index.html'}"
    state[0] = "b"
    assert CliRunner().invoke(report_command, words).exit_code == 0 and len(built) == 3
    (tmp_path / "report" / "index.html").unlink()
    assert CliRunner().invoke(report_command, words).exit_code == 0 and len(built) == 4


def test_the_fingerprint_follows_profile_pictures_and_notebook_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprints, "ROOT", tmp_path)
    monkeypatch.setattr(fingerprints, "sources", list)
    (tmp_path / "pages").mkdir()
    seen = {command._inputs("laptop", tmp_path / "pages")}
    seen.add(command._inputs("paper", tmp_path / "pages"))
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    (tmp_path / "docs" / "figures" / "a.png").write_bytes(b"1")
    seen.add(command._inputs("laptop", tmp_path / "pages"))
    (tmp_path / "pages" / "n.html").write_text("x")
    seen.add(command._inputs("laptop", tmp_path / "pages"))
    assert len(seen) == 4
    assert command._inputs("laptop", tmp_path / "pages") in seen


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_every_counterexample_loss_has_a_chart_from_the_numbers_beside_its_figure(content):
    drawn = counterexamples.build(Site(content).pictures)
    assert {chart.id for chart in drawn} == {path.stem for path in (ROOT / "docs" / "findings").glob("loss-*.png")}
    for chart in drawn:
        assert chart.files is not None and len(chart.series) >= 3
        assert all(f'data-series="{label}"' in chart.panels[0].svg for label, _ in chart.series)


def landscape(title: str, lines: dict[str, float], surface: float = 1.0) -> dict:
    drawn = [{"label": label, "x": [0.5, 1.0], "values": [[v, 2 * v], [v, 3 * v]]} for label, v in lines.items()]
    square = (surface * np.add.outer(np.arange(5.0) ** 2, np.arange(5.0) ** 2)).tolist()
    shown = {"surface": square, "shown": title, "overlay": None, "overlay_surface": None}
    return {"kind": "landscape", "title": title, "lines": drawn, "texts": ["t"], "shows": "s", **shown}


def test_every_model_of_landscapes_has_one_surface():
    over = {"overlay": "FedSMOO", "overlay_surface": [[0.0]]}
    first, second, other = (landscape(name, {}, size) | over for name, size in (("A", 1), ("B", 1), ("C", 2)))
    first["overlay_surface"] = second["overlay_surface"] = np.eye(3).tolist()
    other |= {"shown": "A", "overlay": None, "overlay_surface": None}
    found = figures._surfaces([first, second, other])
    assert [panel.title.split(": loss")[0] for panel in found] == ["A", "FedSMOO", "B", "C: A"]
    assert len({re.search("one contour per (.*)", panel.title)[1] for panel in found}) == 1, "one scale"


def test_rises_share_a_panel_while_a_label_stands_for_one_model():
    one = figures._rises([landscape("A", {"A": 1.0}), landscape("B", {"A": 1.0, "B": 2.0})])
    assert [[line["label"] for line in panel["lines"]] for panel in one] == [["A", "B"]]
    two = figures._rises([landscape("A", {"A": 1.0}), landscape("B", {"A": 9.0})])
    assert [panel["title"] for panel in two] == ["A", "B"]


def test_only_panels_of_one_quantity_have_one_scale():
    def ticks(*panels: dict) -> list[list[str]]:
        drawn = charts.lines_chart("c", "t", panels, "").panels
        return [re.findall(r'text-anchor="end" >([^<]*)<', one.svg) for one in drawn]

    low, high = ticks(panel("a"), panel("a", scale=10.0))
    assert low == high
    low, high = ticks(panel("a"), panel("a", y="z", scale=10.0))
    assert low != high


def test_texts_of_panels_are_said_once():
    records = [landscape("A", {}), landscape("B", {}), landscape("C", {}) | {"shows": "other"}]
    assert figures._by_panel(records, "texts") == ["t"]
    assert figures._by_panel(records, "shows") == ["A, B: s", "C: other"]


# ---- the site --------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Ids, links, sources, article ids and words of a page; a formula's letters and operators are a word each."""

    #: entries of a list that only a search brings up lie in a template; the head and the menu are on every page
    NOT_READ = ("head", "header", "script", "style", "svg", "template")

    def __init__(self, text: str):
        super().__init__()
        self.words: list[str] = []
        self.moved: dict[str, str] = {}
        self.unread: list[str] = []
        self.ids: Counter[str] = Counter()
        self.articles: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag in self.NOT_READ:
            self.unread.append(tag)
        if found.get("data-moved"):
            self.moved[found["id"]] = found["data-moved"]
        if found.get("id"):
            self.ids[found["id"]] += 1
            if tag == "article":
                self.articles.append(found["id"])
        if tag in ("a", "link") and found.get("href"):
            (self.links if tag == "a" else self.sources).append(found["href"])
        if found.get("src"):
            self.sources.append(found["src"])
        if tag == "img":
            self.images.append(found)

    def handle_endtag(self, tag):
        if self.unread and tag == self.unread[-1]:
            self.unread.pop()

    def handle_data(self, data):
        if not self.unread:
            self.words += data.split()


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Elements]:
    return {path.name: Elements(path.read_text(encoding="utf-8")) for path in sorted(site.glob("*.html"))}


def test_every_claim_is_an_article_on_exactly_one_page_and_no_other_id_is(pages):
    counted = Counter(id for page in pages.values() for id in page.articles)
    assert counted == Counter(claim.id for claim in LEDGER)


def test_ids_are_unique_on_every_page(pages):
    assert [(name, id) for name, page in pages.items() for id, n in page.ids.items() if n > 1] == []


def test_every_internal_link_anchor_and_source_resolves_and_nothing_is_fetched_from_outside(site, pages):
    """Lines of released code are linked to their repositories; whoever follows such a link leaves the report."""
    of_code = re.compile(r"(genealogy|discrepancies|method-.*)\.html")
    broken = []
    for name, page in pages.items():
        leaving = {one for one in page.links if of_code.fullmatch(name) and one.startswith("https://github.com/")}
        for target in [*(one for one in page.links if one not in leaving), *page.sources]:
            path, _, anchor = target.partition("#")
            path = path.partition("?")[0] or name
            inside = ":" not in path and not path.startswith("/") and (site / path).is_file()
            known = not anchor or path not in pages or anchor in pages[path].ids
            if not target.startswith("data:") and not (inside and known):
                broken.append((name, target))
    assert broken == []


def test_every_table_has_its_numbers_as_csv(site, pages):
    for name, page in pages.items():
        linked = [link for link in page.links if link.endswith(".csv")]
        assert all((site / link).read_text(encoding="utf-8").count("\n") > 1 for link in linked)
        assert linked or not re.match(r"tables?-", name), name


def test_every_image_has_size_and_description(pages):
    for name, page in pages.items():
        for image in page.images:
            assert image["width"] and image["height"] and len(image["alt"]) > 20, (name, image)


def test_every_page_is_a_few_clicks_from_the_front_page(pages):
    reached, waiting = {"index.html": 0}, ["index.html"]
    for name in waiting:
        for link in pages[name].links:
            page = re.split("[#?]", link)[0]
            if page in pages and page not in reached:
                reached[page] = reached[name] + 1
                waiting.append(page)
    assert reached.keys() == pages.keys() and max(reached.values()) <= 3


def test_every_run_stands_in_a_file_with_its_settings_and_machine(site, content):
    runs, machines = (
        list(csv.DictReader((site / "csv" / name).open(encoding="utf-8"))) for name in ("runs.csv", "machines.csv")
    )
    assert {row["key"] for row in runs} == {run.key for _, run in content.runs}
    assert {row["machine"] for row in runs} == {row["machine"] for row in machines}
    _, one = content.runs[0]
    row = next(row for row in runs if row["key"] == one.key)
    assert row["method"] == one.config()["algorithm"] and row["seed"] == str(one.config()["seed"])


def test_the_corrected_bound_of_the_sliders_is_the_proved_one(site, content):
    script = (site / "static" / "break.js").read_text(encoding="utf-8")
    proved = content.records["fan24-thm1"].evidence["repair"]["statements"][0]["latex"]
    for number in re.search(r"CORRECTED = \{ gap: (\d+) / (\d+), radius: (\d+) / (\d+) \}", script).groups():
        assert number in proved
    printed = content.records["fan24-thm1"].claim.statement
    for number in re.search(r"PRINTED = \{ gap: (\d+), radius: (\d+), half: 1 / 2, less: (\d+) \}", script).groups():
        assert number in printed


def test_a_gain_is_paired_by_seed_and_weighs_settings_alike():
    """Two settings with seeds 0, 1, 2 and 0, 1: over the two shared seeds, by hand."""

    def setting(base: dict[int, float], other: dict[int, float]) -> settings.Setting:
        found = settings.Setting("d", "s", "h", "w", 10, group="g")
        found.lines = {name: settings.Line(ends, [10], {}, 1, 2) for name, ends in (("A", base), ("B", other))}
        return found

    both = [setting({0: 50, 1: 60, 2: 70}, {0: 52, 1: 61, 2: 90}), setting({0: 10, 1: 20}, {0: 14, 1: 19})]
    found = sam.gain("g", both, "A", "B")
    # seed 0: (2 + 4)/2 = 3, seed 1: (1 - 1)/2 = 0
    assert found.mean.mean == 1.5 and found.mean.n == 2 and found.settings == 2 and found.seeds == (2, 3)
    assert found.base == pytest.approx((60 + 15) / 2)
    assert sam.gain("g", [setting({0: 1}, {1: 1})], "A", "B") is None


def test_the_papers_gain_is_that_of_test_accuracies(content):
    """FedLESAM over FedAvg in Fan et al.: 16 columns of Table 2, 20 of Table 3, 4 of Table 4, which has gains, too."""
    by_hand = (16 * 1.75 + 20 * 0.98 + 4 * 1.54) / 40
    assert sam.printed(Numbers(content), "FedAvg", "FedLESAM") == pytest.approx(by_hand, abs=0.01)


def test_firm_verdicts_are_those_that_are_decided_and_not_provisional(site, content):
    page = (site / "firm.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'<th scope="row"><a href="[^"#]*#([^"]+)"', page))
    records = content.records.items()
    final = {id: r.experiment for id, r in records if r.in_training and not r.provisional}
    speak = {id for id, found in final.items() if found["predicts"]}
    assert shown == {id for id in speak if final[id]["verdict"] not in ("not-run", "undecided", "untuned")} != set()


@nightly
def test_a_second_build_gives_the_same_bytes(content, stored, site, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    (tmp_path / "link").symlink_to(again)
    build(content, tmp_path / "link")
    assert (tmp_path / "link").is_symlink(), "the folder behind a link is replaced, not the link"
    if stores_now() != stored:
        pytest.skip("runs ended or were measured meanwhile")
    first, second = ({str(p.relative_to(f)): p for p in f.rglob("*") if p.is_file()} for f in (site, again))
    assert first.keys() == second.keys()
    changed = [name for name, path in first.items() if path.read_bytes() != second[name].read_bytes()]
    assert changed == []


# ---- faults that travel ----------------------------------------------------------------------------------------------

WITH_AUDIT = """
from pathlib import Path
from artifact.papers.folders import open_audit
open_audit(Path("audits/caldarola2025"))
from artifact.report.content import Content
from artifact.report.pages import genealogy, reference, tables
from artifact.report.site import Site
site = Site(Content())
(page,) = genealogy.build(site)
print(site.render(page))
(table,) = [page for page in tables.build(site) if page.name == "tables-caldarola2025.html"]
print("the table:", site.render(table))
costs = next(page for page in reference.build(site) if page.name == "costs.html")
print("the costs:", [row["title"] for row in costs.context["rows"] if row["name"] == "fedgloss"])
"""


def _genealogy() -> list[dict[str, str]]:
    with (paths.ROOT / "claims" / "genealogy.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_of_faults_names_every_repository_with_its_lines(site):
    page = (site / "genealogy.html").read_text(encoding="utf-8")
    rows = _genealogy()
    for row in rows:
        first, last = row["lines"].split("-")
        assert f"/{row['repository']}/blob/{row['commit']}/{row['file']}#L{first}-L{last}" in page, row
    for how, expected in ((genealogy.BY_DOCTOR, 50), (genealogy.BY_EXECUTION, 2), (genealogy.READ, 1)):
        assert page.count(f"<td>{how}</td>") == sum(genealogy.how(row) == how for row in rows) >= expected
    living = {row["repository"] for row in rows if row["verdict"] == "faulty" and not row["mended"]}
    assert f"in {len(living)} repositories." in page
    read = html.unescape(re.sub(r"<[^>]+>", "", page))
    for row in rows:
        if row["verdict"] == "faulty" and not row["mended"]:
            assert row["mend"].replace("`", "") in read, row
    assert "`" not in read


def test_the_page_of_faults_shows_each_effect_as_the_tables_do():
    """Eight pairs of the paper in its own folder."""
    words = [sys.executable, "-c", WITH_AUDIT]
    out = subprocess.run(words, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    page, _, _ = out.partition("the table:")
    assert "the costs: ['FedGloSS', 'FedGloSS']" in out
    ramp = page[page.index('<h2 id="GLOSS-1">') :]
    assert ramp.count('<td class="num">8</td>') == 2
    assert "No runs of it" not in page
    assert "--audit audits/caldarola2025 --profile laptop --lookup" in ramp


def test_a_run_of_a_method_that_only_an_audit_knows_has_no_row_among_the_costs():
    config = {"algorithm": "a-method-of-an-audit", "variant": "paper", "source": None, "switches": []}
    assert not reference._plain(config)
    assert reference._plain(config | {"algorithm": "fedavg"})


def test_no_page_shows_a_thing_of_its_template(site):
    """A macro that has the name of a value is printed in place of it."""
    shown = {
        path.name
        for path in site.glob("*.html")
        if re.search("&lt;(Macro|built-in|bound method|function) ", path.read_text())
    }
    assert shown == set()
