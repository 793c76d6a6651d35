"""The page of findings: complete, made of known claims, and equal to what the stored evidence gives."""

from __future__ import annotations

import json
import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.verdicts.decide import decide_all
from artifact.verdicts.findings import Fact, Finding, load
from checks import drawings, findings, repeats, runner
from checks.conftest import LEDGER
from theory.kit.verdict import registry

FINDINGS = load()


def test_eleven_findings_of_five_papers():
    assert len(FINDINGS) == 11
    assert {LEDGER[name].paper for finding in FINDINGS for name in finding.claims} == {c.paper for c in LEDGER.values()}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.claims[0])
def test_finding_names_checked_claims_and_a_figure(finding):
    assert all(name in LEDGER for name in finding.claims)
    decided = all(LEDGER[name].empirical if finding.numbers else name in registry.checks for name in finding.claims)
    assert decided, finding.claims
    assert picture(finding).stat().st_size > 5000
    assert len(finding.meaning) > 80 and len(finding.claims) >= 2


def test_page_is_up_to_date():
    written = (findings.DOCS / "findings.md").read_text(encoding="utf-8")
    assert written == findings.page(FINDINGS, LEDGER, runner.stored())
    repeated = (findings.DOCS / "findings" / repeats.FILE).read_text(encoding="utf-8")
    assert repeated == repeats.page(runner.stored())


def test_theorems_stand_first_and_training_last():
    text = findings.theorems_section()
    assert len(re.findall(r"^\*\*.*\*\* ", text, re.M)) >= 8
    papers = [bool(finding.numbers) for finding in FINDINGS]
    assert papers == sorted(papers)  # training last
    assert "images" in FINDINGS[-1].meaning[:60]  # its scale comes first


def test_repeated_cells_stand_side_by_side():
    """The cells, not their count alone."""
    text = repeats.page(runner.stored())
    assert "128 of 128" in text
    assert "| 51.49, 8744, 53.39, 9056 |" in text and "| EMNIST FedSAM | 95.73" in text


def test_findings_of_the_review_are_on_the_page():
    """The orbit from 97/5, zeta, Lemma C.3, the factor K1 K2, the penalty (3.9) and the constant of Lemma 2."""
    (finding,) = [f for f in FINDINGS if f.claims[0] == "qu22-thmD.4"]
    assert {"sun23-zeta-pos", "sun23-lemC3", "man-thm3-alpha", "thesis-eq3.8-sharp", "thesis-lem2"} < set(
        finding.claims
    )
    assert runner.stored()["qu22-thmD.4"]["evidence"]["without_perturbation"]["start"] == "97/5"


def test_every_picture_in_the_folder_of_the_page_is_on_it():
    written = (findings.DOCS / "findings.md").read_text(encoding="utf-8")
    assert [path.name for path in (findings.DOCS / "findings").glob("*.png") if path.name not in written] == []


def test_two_numbers_of_one_name_are_refused():
    cell = "sun2023/1/feddyn/cifar-10-10-of-100-dirichlet-0.1/accuracy"
    twice = Finding(title="", claims=("sun23-tab1",), meaning="", numbers={"one": cell, "other": cell})
    with pytest.raises(UserError, match="FedDyn minus FedAvg"):
        twice.differences()


def picture(finding):
    (target,) = re.findall(r"^!\[.*\]\((.*)\)$", findings._place(1, finding, runner.stored())[-1].strip())
    return findings.DOCS / target


def test_the_training_finding_says_what_its_numbers_say():
    (finding,) = [f for f in FINDINGS if f.figure == "numbers-training"]
    found = finding.differences()
    rows = {k: k.split(" minus ")[0] for k in found}
    few = {k for k in found if " of 200 clients" in k}
    assert all("fashion-mnist" in k and k.split(" (")[0].endswith(("FedAvg", "FedDyn")) for k in found)
    gains, losses = {k for k, d in found.items() if d.low > 0}, {k for k, d in found.items() if d.high < 0}
    assert {rows[k] for k in gains - few} == {"SCAFFOLD", "FedGAMMA", "FedDyn", "FedSAM", "FedSMOO"}
    assert {rows[k] for k in losses - few} == {"FedCM"} and {rows[k] for k in losses & few} == {"FedDyn"}
    mean = {k.split(" (")[0]: d.mean for k, d in found.items() if k not in few}
    assert 0 < mean["FedSMOO minus FedDyn"] < mean["FedSAM minus FedAvg"] < mean["FedDyn minus FedAvg"] < 2
    assert mean["FedDyn minus FedAvg"] < mean["SCAFFOLD minus FedAvg"] < mean["FedGAMMA minus FedAvg"]
    shown = [value for _, value in finding.measured()]
    assert all(f"{d.mean:+.1f} [{d.low:+.1f}, {d.high:+.1f}] (95 %, n={d.n})" in shown for d in found.values())
    at_full_length = [float(value.split()[0]) for value in shown if value.endswith("(n=1)")]
    feddyn, fedsmoo, own_feddyn, own_fedlesam_d = at_full_length  # no part of the figure
    assert fedsmoo - feddyn > 1 and own_feddyn > 3 and abs(own_fedlesam_d) < 0.5


def test_a_number_without_runs_is_refused():
    finding = Finding("t", ("man-eq6",), "m", numbers={"x": "sun2023/1/fedsam/cifar-100-nowhere/accuracy"})
    with pytest.raises(UserError, match="cifar-100-nowhere"):
        finding.measured()


@pytest.mark.parametrize("at", [("sides", "middle"), ("sides", "left", "x"), ("rows", "99", "4"), ("rows", "a")])
def test_a_fact_without_evidence_is_refused(at):
    evidence = {"sides": {"left": 1}, "rows": [[1]]}
    with pytest.raises(UserError, match="fact of man-eq6"):
        Fact("l", "man-eq6", at).value(evidence)


def test_every_measured_number_of_a_finding_comes_from_a_program():
    """What is left in the words are symbols and what a title or a setting states."""
    for finding in FINDINGS:
        assert finding.facts or finding.numbers, finding.title
        assert not re.search(r"\d\.\d|\d{4}", finding.meaning.replace("5,000", "")), finding.title
    values = {(f.claim, f.at): f.value(runner.stored()[f.claim]["evidence"]) for one in FINDINGS for f in one.facts}
    assert values["qu22-thmD.4", ("without_perturbation", "start")] == "97/5" and len(values) > 30


def test_the_words_of_the_theory_findings_say_what_their_numbers_say():
    value = {
        f.label: float(Fraction(f.value(runner.stored()[f.claim]["evidence"])))
        for one in FINDINGS
        for f in one.facts
        if not isinstance(f.value(runner.stored()[f.claim]["evidence"]), list)
    }
    fedsam = value["rounds until FedSAM's gradient is down to 1/1000 and stays there"]
    assert all(v > fedsam for k, v in value.items() if k.startswith("the same for MoFedSAM"))
    assert value["its top eigenvalue"] * 10 < value["bound on the top eigenvalue of a trained digits network"]
    assert value["penalty after it"] < value["penalty before the rescaling of the counterexample"]
    assert value["trace of the Hessian after it"] > value["trace of the Hessian before it"]
    assert value["smallest squared gradient in them"] > value["the printed bound on it"]
    assert min(v for k, v in value.items() if k.startswith("smallest value, of")) > 1
    assert value["error of a memorising network"] > value["the printed bound on it, with the constant 100"]
    assert value["mean |r_k| in its last round"] < value["mean |r_k| in the first round of a run"]
    assert value["the experiments' beta = 10 over the printed limit (Dirichlet-0.6, 10 of 100 clients)"] > 10_000


def test_the_finding_on_the_released_code_says_what_its_numbers_say():
    (finding,) = [f for f in FINDINGS if f.claims[0] == "fan24-vasso"]
    found = dict(finding.measured())
    lengths = [value.split() for label, value in found.items() if label.startswith("length of the perturbation")]
    assert len(lengths) == 3 and all(10 < float(least) <= float(most) for least, _to, most, _n in lengths)
    below = {label.split(" minus ")[0] for label, d in finding.differences().items() if d.high < 0}
    assert len(below) == 2 and all("-S" in label or "-D" in label for label in below)


def test_page_needs_stored_evidence(tmp_path):
    with pytest.raises(UserError, match="python -m checks"):
        findings.main(list(LEDGER.values()), docs=tmp_path, evidence=tmp_path)
    assert not (tmp_path / "findings.md").exists()


def test_unknown_field_is_refused(tmp_path):
    (tmp_path / "findings.toml").write_text('[[finding]]\ntitle = "t"\nclaims = ["a"]\nmeaning = "m"\ncolour = "red"\n')
    with pytest.raises(UserError, match="colour"):
        load(tmp_path / "findings.toml")


def test_section_shows_statement_verdicts_backing_and_meaning():
    finding = Finding("A title", ("man-eq6", "man-eq7"), "A meaning.")
    entry = {"verdict": "repaired", "margin": 2.0, "repaired": "x <= 2", "evidence": {"counterexample": {"x": "3/2"}}}
    text = findings._section(3, finding, LEDGER, {"man-eq6": entry, "man-eq7": entry})
    for part in ("## 3. A title", LEDGER["man-eq6"].statement, "| repaired | 2 |", "x <= 2", "x = 3/2", "A meaning."):
        assert part in text


def test_the_numbers_of_the_counterexample_losses_are_current():
    for name in findings.SCENARIOS:
        written = json.loads((findings.DOCS / "findings" / f"loss-{name}.json").read_text(encoding="utf-8"))
        now = json.loads(findings.scenario_json(name))
        assert written.keys() == now.keys()
        for one, other in zip(written["points"], now["points"], strict=True):
            assert one["name"] == other["name"]
            assert [*one["at"], one["loss"]] == pytest.approx([*other["at"], other["loss"]], abs=1e-4)
            assert one["curvature"] == pytest.approx(other["curvature"], rel=1e-3, abs=1e-3)
        for key in ("x", "y", "z"):
            np.testing.assert_allclose(written.get(key, []), now.get(key, []), rtol=1e-4, atol=1e-4)
        for key, values in now.get("losses", {}).items():
            np.testing.assert_allclose(written["losses"][key], values, rtol=1e-4, atol=1e-4)
        for before, after in zip(written.get("paths", []), now.get("paths", []), strict=True):
            np.testing.assert_allclose([before["x"], before["y"]], [after["x"], after["y"]], rtol=1e-3, atol=1e-3)


def test_figures_of_checks_are_drawn_once_and_again_when_their_evidence_changes(tmp_path, monkeypatch):
    names = ["qu22-ass1", "thesis-data-dir"]
    few = [one for one in drawings.drawings() if one.name in names]
    monkeypatch.setattr(drawings, "drawings", lambda: few)
    assert sorted(drawings.draw_missing(tmp_path)) == names
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert list(drawings.draw_missing(tmp_path)) == []
    few[0] = replace(few[0], fingerprint="of other evidence")
    assert list(drawings.draw_missing(tmp_path)) == [few[0].name]


def test_a_process_that_has_registered_no_check_draws_a_claim(tmp_path):
    one = next(one for one in drawings.drawings() if one.stored is not None)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        assert fresh.submit(one.draw, tmp_path).result() == one.name
    assert one.is_in(tmp_path) and (tmp_path / f"{one.name}.png").stat().st_size > 1000


def test_a_verdict_in_training_that_is_not_final_is_marked():
    page = (paths.DOCS / "findings.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `") and ", n=" in line]
    assert rows
    for row in rows:
        (verdict,) = decide_all([LEDGER[row[0].strip("|` ")]])
        assert (row[2] == f"{verdict.verdict}, provisional") == bool(verdict.provisional), row[0]
