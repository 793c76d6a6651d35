"""What the tests of the papers that came by the door share: runs of a folder, and falsehoods planted in a copy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from artifact.base import paths

#: prints the largest distance of arrays from the executed code's: as released, as printed, one switch off
PROBE = """
import json, sys
from pathlib import Path
import numpy as np
from artifact.algorithms import build
from artifact.interface.added import register_file
from artifact.runs import replay
folder, method, switches, options, arrays = json.loads(sys.argv[1])
register_file(Path(folder) / "method.py")
found = {}
for path in sorted((Path(folder) / "vectors").glob("*.npz")):
    executed = np.load(path)
    hyper = json.loads(str(executed["meta"]))["hp"]
    given = {ours: hyper[theirs] for ours, theirs in options.items()}
    found[path.stem] = {}
    for name in ("released", "paper", *switches):
        variant, flipped = "paper" if name == "paper" else "released", {name} & set(switches)
        made = build(method, variant, None, flipped, **given)
        replay.method = lambda case, variant, made=made: made
        ours = replay.replay(path)
        found[path.stem][name] = max(float(np.abs(ours[array] - executed[array]).max()) for array in arrays)
print(json.dumps(found))
"""
#: decides what can be decided without training, each check on 25 problems
DECIDE = """
import sys
from artifact.__main__ import main
from theory.kit import effort
with effort.at_most(25):
    sys.exit(main(["audit", "run", sys.argv[1], "--lookup", "--no-store", "--no-report", "--quiet"]))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=paths.ROOT, check=False)


def distances(
    folder: Path, method: str, switches: Iterable[str], options: dict[str, str], arrays: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Case -> form -> largest distance from what the authors' code computed.

    options: name of an option of ours -> its name in the case's file.  arrays: names of what is compared.
    """
    done = run("-c", PROBE, json.dumps([str(folder), method, list(switches), options, list(arrays)]))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plant(path: Path, old: str, new: str) -> None:
    """Replace a text that stands once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


def expect(claims: Path, id: str, verdict: str) -> None:
    """Let the ledger of a folder expect another verdict of a claim."""
    text = claims.read_text(encoding="utf-8")
    found = re.subn(rf'(id = "{id}".*?expected = )"[a-z-]+"', rf'\1"{verdict}"', text, count=1, flags=re.DOTALL)
    assert found[1] == 1, id
    claims.write_text(found[0], encoding="utf-8")


def surprises(folder: Path) -> dict[str, str]:
    """Verdicts that are not the expected ones, but for runs that have not been made."""
    done = run("-c", DECIDE, str(folder))
    assert done.returncode == 1, done.stdout + done.stderr
    return dict(re.findall(r"^!! (\S+) +(?!not-run)(\S+)", done.stdout, flags=re.MULTILINE))
