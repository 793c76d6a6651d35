"""What readers asked the report and did not find: each answer, where it stands now."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from artifact.report.pages import reference


def text_of(site: Path, name: str) -> str:
    """What a reader sees of a page: no script, no tags."""
    page = (site / name).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", unescape(re.sub(r"(?s)<(script|style|math).*?</\1>|<[^>]+>", " ", page)))


# ---- which lines of released code differ, and what that costs --------------------------------------------------------


def test_every_discrepancy_names_the_files_and_lines_of_the_code_or_says_that_it_has_none(site, content):
    entries = reference.cited(content)
    assert set(content.code_lines) <= {row["id"] for row in entries}
    of_files = [row for row in entries if ".py" in row["where"]]
    assert len(of_files) > 30 and [row["id"] for row in of_files if not row["lines"]] == ["ASAM-2"]
    assert {row["no_lines"] for row in entries if row["id"] in ("ASAM-2", "SMOO-8")} == {
        "not known to us",
        "none: no released code takes part in this entry",
    }
    for row in (x for rows in content.code_lines.values() for x in rows):
        first, last = map(int, row["lines"].split("-"))
        assert 1 <= first <= last < first + 60 and re.fullmatch(r"[0-9a-f]{12}", row["commit"])
    every = (site / "discrepancies.html").read_text(encoding="utf-8")
    said = re.findall(r"<dt>File and lines of the code</dt><dd>(.*?)</dd>", every)
    assert len(said) == len(entries) and all(said)


def test_a_method_says_line_by_line_where_its_released_code_differs(site):
    page = (site / "method-fedsmoo.html").read_text(encoding="utf-8")
    assert page.count("FL-Simulator/blob/653ebb565e8b/utils.py#L32-L38") == 1
    assert "server/FedSMOO.py#L56-L60" in page and "client/fedsmoo.py#L38-L44" in page
    switches, lines = page.split('id="code-lines"')
    assert "FL-Simulator at 653ebb5, mended since" in re.search(r'#SMOO-11">SMOO-11</a></th>.*?</tr>', switches)[0]
    assert "<td></td></tr>" not in switches and len(re.findall(r"#SMOO-\d+", lines)) == 11


def test_what_a_whole_released_form_costs_is_told_apart_from_what_one_fault_costs(site):
    """FedLESAM has two numbers: its whole released form, and LESAM-1 as the only change; each with its scale and n."""
    page = text_of(site, "discrepancies.html")
    whole, alone = page.split("What one fault does by itself")
    number = r"(\S+ \[\S+ \S+\] points \(n=\d\))"
    one = re.search(rf"FedLESAM, released \(FedLESAM repository\) \S+ \S+ {number}", whole)[1]
    other = re.search(rf"FedLESAM, one scalar per tensor \(LESAM-1\) \S+ \S+ {number}", alone)[1]
    assert one != other
    assert re.search(r"Runs: [^.]*50 rounds , n=3", whole) and re.search(r"Runs: [^.]*100 rounds, n=6", alone)
    entry = page[page.index("LESAM-1: FedLESAM") : page.index("LESAM-2: FedLESAM")]
    by_itself, within = entry.split("Within released forms")
    assert "As the only change to a method (Fashion-MNIST, 5,000 training images" in by_itself and other in by_itself
    assert one in within and "a number is of all these differences together" in within
    assert "As the only change to a method" in page[page.index("SMOO-11: FedSMOO") :][:2_500]
    clipping = page[page.index("GEN-1: GENERAL") : page.index("GEN-2: GENERAL")]
    assert "As the only change" not in clipping and "of this entry by itself only at one switch" in clipping
    assert re.search(r"FedProx, released \(fedMAN\), 4 switches:", clipping)
    assert "what a whole released form costs" in text_of(site, "genealogy.html")
