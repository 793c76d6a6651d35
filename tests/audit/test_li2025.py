"""The seventh paper, which came by the door: its method against the authors' code, and falsehoods that are planted."""

from __future__ import annotations

import re
import shutil

import by_the_door
import pytest
from by_the_door import expect, plant, run, surprises
from nightly import nightly

from artifact.base import paths
from artifact.runs import evidence

FOLDER = paths.ROOT / "audits" / "li2025"
SWITCHES = ("WMSAM-1", "WMSAM-2", "WMSAM-3", "WMSAM-4")


@pytest.fixture(scope="module")
def distances():
    options = {name: name for name in ("rho", "alpha", "smoothing")} | {"server_lr": "global_lr"}
    return by_the_door.distances(FOLDER, "fedwmsam", SWITCHES, options, ("server_params", "c", "c_i"))


def test_the_released_form_is_what_the_authors_code_computes(distances):
    assert sorted(distances) == ["fedwmsam-clip", "fedwmsam-small"]
    assert all(found["released"] < 1e-13 for found in distances.values())


def test_the_printed_form_and_one_without_a_switch_are_not(distances):
    """Each switch moves the numbers of a case by more than rounding; WMSAM-4 only where the clip acts."""
    for found in distances.values():
        assert min(found[name] for name in ("paper", *SWITCHES[:3])) > 1e-3
    assert distances["fedwmsam-clip"]["WMSAM-4"] > 1e-3 and distances["fedwmsam-small"]["WMSAM-4"] < 1e-13


@pytest.fixture
def copy(tmp_path):
    """The folder without its runs."""
    return shutil.copytree(FOLDER, tmp_path / "li2025", ignore=shutil.ignore_patterns("results"))


@nightly
def test_planted_falsehoods_are_found(copy):
    """A refuted equation is said to be proved, and the independent program takes another point of the gradient."""
    expect(copy / "claims.toml", "li2025-schedule", "proved")
    plant(copy / "statements.py", "at = y + rho * ahead / length", "at = y - rho * ahead / length")
    assert surprises(copy) == {"li2025-schedule": "refuted", "li2025-program": "refuted"}


def test_a_class_that_is_no_longer_the_executed_code_is_told(copy):
    plant(copy / "method.py", "c.alpha * g + (1 - c.alpha) * c.momentum", "c.alpha * g - (1 - c.alpha) * c.momentum")
    done = run("-m", "artifact", "audit", "check", str(copy))
    assert done.returncode == 2
    assert "WMSAM-1 to WMSAM-5 are not what the executed code computes" in done.stdout + done.stderr


def test_a_row_that_no_table_has_and_an_open_brace_are_told_with_their_lines(copy):
    plant(copy / "claims.toml", 'pairs = [["FedWMSAM, released",', 'pairs = [["FedWMSAM, as sold",')
    plant(copy / "claims.toml", r"$\alpha_{r+1}$ of box C.", r"$\alpha_{r+1$ of box C.")
    done = run("-m", "artifact", "audit", "check", str(copy))
    told = done.stdout + done.stderr
    assert done.returncode == 2
    assert "FedWMSAM, as sold" in told and len(re.findall(r"claims\.toml, line \d+", told)) == 2


def test_every_statement_has_evidence_beside_the_runs():
    stored = set(evidence.read_all(FOLDER / "results" / "checks"))
    text = (FOLDER / "statements.py").read_text(encoding="utf-8")
    assert len(stored) == text.count("@check(") == 8
    assert all(f'"{id}"' in text for id in stored)
