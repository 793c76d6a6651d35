"""Texts of strangers in the report: formulas keep to a list of elements, tables for spreadsheets hold no formulas."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.base.tables_as_text import csv_cell, csv_table
from artifact.report import site
from artifact.report.mathematics import ATTRIBUTES, ELEMENTS, LONGEST, Converter, mathml

TEMPLATES = Path(site.__file__).with_name("templates")
#: tags that the converter of texts writes itself
OWN = {"p", "ul", "li", "code", "sub", "sup", "span", *ELEMENTS}


class Seen(HTMLParser):
    """Tags and attributes of a piece of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize(
    "tex",
    [
        r"\href{javascript:alert(3)}{x}",
        r"\href{https://example.org}{x}",
        r"\style{position:fixed;inset:0}{y}",
        r"\class{lead}{y}",
        r"\color{red}{x}",
        r"\hspace{9999em}",
        r"\hspace{-99em}x\rule{99em}{99em}",
        r"\text{<script>alert(1)</script>}",
        r"\text{<maction actiontype='statusline'>a</maction>}",
        r"\text{<a href='x'>a</a>}",
        r"\text{<mi onclick='x'>a</mi>}",
        r"\text{<mi xlink:href='x'>a</mi>}",
        r"\text{<annotation-xml encoding='text/html'><b>b</b></annotation-xml>}",
        "x" * (LONGEST + 1),
        "{" * 2000 + "x" + "}" * 2000,
    ],
)
def test_a_formula_with_anything_else_is_shown_as_its_text(tex):
    converter = Converter()
    found = str(converter.inline(f"${tex}$"))
    seen = Seen(found)
    assert converter.failures and seen.tags == {"code"} and seen.attributes == {"class"}


@pytest.mark.parametrize("tex", [r"\frac{1}{2}", r"\text{&lt;script&gt;}", r"\left\|w\right\|^2", r"\boxed{a\,b}"])
def test_a_formula_of_the_list_is_a_formula(tex):
    root = ET.fromstring(re.sub("</?span[^>]*>", "", str(mathml(tex))))
    assert root.tag == "math"


PIECES = st.sampled_from(
    [
        *(r"\href{a}{b}", r"\style{a:b}{c}", r"\text{", r"\mathrm{", "}", "{", "$", "$$", "<b>", "</p>", "<!--", "]]>"),
        *("<img src=x onerror=alert(1)>", "&lt;", "&#60;script&#62;", '"', "'", "`", "\\", "_", "^", "\n", "x", "eta"),
        *(r"\frac12", r"\begin{matrix}", r"\end{matrix}", "&", r"\unicode{60}", r"\color{red}", "[l](javascript:x)"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=8).map("".join))
@settings(deadline=None, max_examples=300)
def test_whatever_a_text_holds_the_page_gets_paragraphs_and_formulas(text):
    for found in (Converter().html(text), Converter().inline(text)):
        seen = Seen(str(found))
        assert seen.tags <= OWN and seen.attributes <= {"class", *ATTRIBUTES}


def test_every_page_has_one_policy_that_runs_the_reports_own_scripts_alone():
    base = (TEMPLATES / "base.html").read_text(encoding="utf-8")
    head = base[: base.index("<script")]
    assert '<meta http-equiv="Content-Security-Policy" content="{{ policy }}">' in head  # before anything runs
    digest = b64encode(sha256(site.EARLY.encode()).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in site.POLICY and "default-src 'none'" in site.POLICY
    assert "unsafe-eval" not in site.POLICY and "script-src 'self' 'unsafe" not in site.POLICY


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.stem)
def test_a_template_needs_nothing_that_the_policy_stops(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<[^>]* on[a-z]+=", text) and "|safe" not in text and "<style" not in text
    assert all("src=" in found or "early" in text for found in re.findall(r"<script[^>]*>", text))


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", '=HYPERLINK("x")', "-x"])
def test_a_formula_of_a_spreadsheet_is_a_text_in_it(text):
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-1.5", "+3", "-1e-3", "-inf", "-", "", "a=b", "FedAvg", -1.5, None, 3])
def test_numbers_and_words_stay_as_they_are(value):
    assert csv_cell(value) is value


@given(st.lists(st.lists(st.text(max_size=6), min_size=2, max_size=2), max_size=4))
def test_no_cell_of_a_table_begins_a_formula(rows):
    text = csv_table(["a", "b"], rows)
    for cell in (cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row):
        if cell.lstrip(" ").startswith(("=", "+", "-", "@")) and cell not in ("-", "--"):
            float(cell)
