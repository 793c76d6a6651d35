"""The page of findings: complete, made of known claims, and equal to what the stored evidence gives."""

from __future__ import annotations

import pytest

from artifact.errors import UserError
from checks import runner, summary
from checks.conftest import LEDGER
from theory.kit.losses import SCENARIOS
from theory.kit.verdict import registry

FINDINGS = summary.load_findings()


def test_ten_findings_of_five_papers():
    assert len(FINDINGS) == 10
    assert {LEDGER[name].paper for finding in FINDINGS for name in finding.claims} == {c.paper for c in LEDGER.values()}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.claims[0])
def test_finding_names_checked_claims_and_a_figure(finding):
    assert all(name in LEDGER and name in registry.checks for name in finding.claims)
    assert finding.picture in SCENARIOS or finding.picture in registry.checks
    assert len(finding.meaning) > 80 and len(finding.claims) >= 2


def test_page_is_up_to_date():
    written = (summary.DOCS / "findings.md").read_text(encoding="utf-8")
    assert written == summary.page(FINDINGS, LEDGER, runner.stored())


def test_every_picture_of_the_page_exists():
    names = [f"loss-{f.figure}" if f.figure in SCENARIOS else f.picture for f in FINDINGS]
    assert all((summary.DOCS / "findings" / f"{name}.png").stat().st_size > 5000 for name in names)


def test_page_needs_stored_evidence(tmp_path):
    with pytest.raises(UserError, match="python -m checks"):
        summary.main(list(LEDGER.values()), docs=tmp_path, evidence=tmp_path)
    assert not (tmp_path / "findings.md").exists()


def test_unknown_field_is_refused(tmp_path):
    (tmp_path / "findings.toml").write_text('[[finding]]\ntitle = "t"\nclaims = ["a"]\nmeaning = "m"\ncolour = "red"\n')
    with pytest.raises(UserError, match="colour"):
        summary.load_findings(tmp_path / "findings.toml")


def test_section_shows_statement_verdicts_backing_and_meaning():
    finding = summary.Finding("A title", ("man-eq6", "man-eq7"), "A meaning.")
    entry = {"verdict": "repaired", "margin": 2.0, "repaired": "x <= 2", "evidence": {"counterexample": {"x": "3/2"}}}
    text = summary._section(3, finding, LEDGER, {"man-eq6": entry, "man-eq7": entry})
    for part in ("## 3. A title", LEDGER["man-eq6"].statement, "| repaired | 2 |", "x <= 2", "x = 3/2", "A meaning."):
        assert part in text
