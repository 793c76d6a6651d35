"""The eighth paper, which came by the door: its method against the authors' code, and falsehoods that are planted."""

from __future__ import annotations

import shutil

import by_the_door
import pytest
from by_the_door import expect, plant, run, surprises
from nightly import nightly

from artifact.base import paths

FOLDER = paths.ROOT / "audits" / "liu2026"
SWITCHES = ("NSAM-1", "NSAM-2", "NSAM-3", "NSAM-4", "NSAM-5")


@pytest.fixture(scope="module")
def distances():
    options = {name: name for name in ("rho", "gamma")}
    return by_the_door.distances(FOLDER, "fednsam", SWITCHES, options, ("server_params",))


def test_each_form_is_what_the_authors_code_computes(distances):
    """Of optimizer/Nesterov.py up to the 1e-7 that it adds to the length of the momentum."""
    assert distances["fednsam-optimizer"]["paper"] < 1e-6
    for case in ("fednsam-newest", "fednsam-newest-radius", "fednsam-newest-share"):
        assert distances[case]["released"] < 1e-12, case


@pytest.mark.parametrize(
    ("case", "switches"),
    [
        ("fednsam-newest", ("NSAM-1", "NSAM-2", "NSAM-5")),
        ("fednsam-newest-radius", ("NSAM-1", "NSAM-2", "NSAM-5")),
        ("fednsam-newest-share", ("NSAM-1", "NSAM-4", "NSAM-5")),
    ],
)
def test_no_form_without_one_of_its_switches_computes_it(distances, case, switches):
    assert min(distances[case][name] for name in ("paper", *switches)) > 1e-4


def test_where_clients_begin_shows_by_the_weight_decay_alone(distances):
    assert 1e-7 < distances["fednsam-newest"]["NSAM-3"] < 1e-3


@pytest.fixture
def copy(tmp_path):
    """The folder without its runs."""
    return shutil.copytree(FOLDER, tmp_path / "liu2026", ignore=shutil.ignore_patterns("results"))


#: prints the verdicts of two checks on 25 problems
CHECKS = """
import importlib.util, sys
from pathlib import Path
from artifact.interface.added import register_file
from theory.kit import effort
folder = Path(sys.argv[1])
register_file(folder / "method.py")
spec = importlib.util.spec_from_file_location("planted", folder / "statements.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
with effort.at_most(25):
    print(module.program().verdict, module.once().verdict)
"""


def verdicts(folder) -> list[str]:
    done = run("-c", CHECKS, str(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_ascent_of_the_other_sign_and_a_shorter_look_ahead_are_found(copy):
    assert verdicts(copy) == ["agrees", "agrees"]
    plant(copy / "statements.py", "shift = gamma * m - (rho", "shift = gamma * m + (rho")
    plant(copy / "statements.py", "begin = w + gamma * m if", "begin = w + gamma * m / 2 if")
    assert verdicts(copy) == ["refuted", "refuted"]


def test_a_released_form_that_keeps_its_momentum_is_told(copy):
    plant(copy / "method.py", "(1 + self.gamma) * Delta", "self.gamma * m + Delta")
    done = run("-m", "artifact", "audit", "check", str(copy))
    told = done.stdout + done.stderr
    assert done.returncode == 2
    assert "liu2026-released-momentum" in told and "statements.py, line" in told


@nightly
def test_false_claims_about_code_formula_and_runs_are_found(tmp_path):
    copy = shutil.copytree(FOLDER, tmp_path / "liu2026")
    for name, word in {"ahead": "proved", "released-momentum": "proved", "better": "reversed"}.items():
        expect(copy / "claims.toml", f"liu2026-{name}", word)
    wrong = {"ahead": "refuted", "released-momentum": "refuted", "better": "seen"}
    assert surprises(copy) == {f"liu2026-{name}": verdict for name, verdict in wrong.items()}
