"""The seventh paper, which came by the door: its method against the authors' code, and falsehoods that are planted."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from nightly import nightly

from artifact.base import paths
from artifact.runs import evidence

FOLDER = paths.ROOT / "audits" / "li2025"
SWITCHES = ("WMSAM-1", "WMSAM-2", "WMSAM-3", "WMSAM-4")
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
    options = {{name: hyper[name] for name in ("rho", "alpha", "smoothing")}} | {{"server_lr": hyper["global_lr"]}}
    found[path.stem] = {{}}
    for name in ("released", "paper", *{SWITCHES!r}):
        variant, flipped = "paper" if name == "paper" else "released", {{name}} & set({SWITCHES!r})
        made = build("fedwmsam", variant, None, flipped, **options)
        replay.method = lambda case, variant, made=made: made
        ours = replay.replay(path)
        distance = max(float(np.abs(ours[k] - executed[k]).max()) for k in ("server_params", "c", "c_i"))
        found[path.stem][name] = distance
print(json.dumps(found))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=paths.ROOT, check=False)


@pytest.fixture(scope="module")
def distances():
    done = run("-c", PROBE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def plant(path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


#: decides what can be decided without training, each check on 25 problems
DECIDE = """
import sys
from artifact.__main__ import main
from theory.kit import effort
with effort.at_most(25):
    sys.exit(main(["audit", "run", sys.argv[1], "--lookup", "--no-store", "--no-report", "--quiet"]))
"""


def decided(folder) -> dict[str, str]:
    """Verdicts that are not the expected ones."""
    done = run("-c", DECIDE, str(folder))
    assert done.returncode == 1, done.stdout + done.stderr
    return dict(re.findall(r"^!! (\S+) +(?!not-run)(\S+)", done.stdout, flags=re.MULTILINE))


@nightly
def test_planted_falsehoods_are_found(copy):
    """A refuted equation is said to be proved, and the independent program takes another point of the gradient."""
    claims = copy / "claims.toml"
    text = claims.read_text(encoding="utf-8")
    claims.write_text(re.sub(r'(id = "li2025-schedule".*?expected = )"refuted"', r'\1"proved"', text, flags=re.DOTALL))
    plant(copy / "statements.py", "at = y + rho * ahead / length", "at = y - rho * ahead / length")
    assert decided(copy) == {"li2025-schedule": "refuted", "li2025-program": "refuted"}


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
