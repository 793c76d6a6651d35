"""The eighth paper, which came by the door: its method against the authors' code, and falsehoods that are planted."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from nightly import nightly

from artifact.base import paths

FOLDER = paths.ROOT / "audits" / "liu2026"
SWITCHES = ("NSAM-1", "NSAM-2", "NSAM-3", "NSAM-4", "NSAM-5")
#: prints the largest distance of the server models from the executed code's: as released, as printed, one switch off
PROBE = f"""
import json
from pathlib import Path
import numpy as np
from artifact.algorithms import build
from artifact.interface.added import register_file
from artifact.runs import replay
register_file({str(FOLDER / "method.py")!r})
found = {{}}
for path in sorted(Path({str(FOLDER / "vectors")!r}).glob("*.npz")):
    executed = np.load(path)
    hyper = json.loads(str(executed["meta"]))["hp"]
    options = {{name: hyper[name] for name in ("rho", "gamma")}}
    found[path.stem] = {{}}
    for name in ("released", "paper", *{SWITCHES!r}):
        variant, flipped = "paper" if name == "paper" else "released", {{name}} & set({SWITCHES!r})
        made = build("fednsam", variant, None, flipped, **options)
        replay.method = lambda case, variant, made=made: made
        ours = replay.replay(path)
        found[path.stem][name] = float(np.abs(ours["server_params"] - executed["server_params"]).max())
print(json.dumps(found))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=paths.ROOT, check=False)


@pytest.fixture(scope="module")
def distances():
    done = run("-c", PROBE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def plant(path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


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


#: decides what can be decided without training, each check on 25 problems
DECIDE = """
import sys
from artifact.__main__ import main
from theory.kit import effort
with effort.at_most(25):
    sys.exit(main(["audit", "run", sys.argv[1], "--lookup", "--no-store", "--no-report", "--quiet"]))
"""


@nightly
def test_false_claims_about_code_formula_and_runs_are_found(tmp_path):
    copy = shutil.copytree(FOLDER, tmp_path / "liu2026")
    claims = copy / "claims.toml"
    text = claims.read_text(encoding="utf-8")
    false = {"ahead": "proved", "released-momentum": "proved", "better": "reversed"}
    for name, word in false.items():
        expected = rf'(id = "liu2026-{name}".*?expected = )"[a-z-]+"'
        text = re.sub(expected, rf'\1"{word}"', text, count=1, flags=re.DOTALL)
    claims.write_text(text, encoding="utf-8")
    done = run("-c", DECIDE, str(copy))
    assert done.returncode == 1, done.stdout + done.stderr
    found = dict(re.findall(r"^!! (\S+) +(\S+)", done.stdout, flags=re.MULTILINE))
    wrong = {"ahead": "refuted", "released-momentum": "refuted", "better": "seen"}
    assert found == {f"liu2026-{name}": verdict for name, verdict in wrong.items()}
