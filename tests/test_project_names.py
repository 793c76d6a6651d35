"""``fedsharp`` and ``artifact`` name the same objects, and importing them changes nothing in the process."""

from __future__ import annotations

import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import artifact
import fedsharp
from artifact.base.paths import ROOT

#: modules of which users import names
OPEN = ("optim", "losses", "curvature", "interface.train", "algorithms.base", "base.errors", "models.networks")


@pytest.mark.parametrize("name", sorted(artifact.PUBLIC))
def test_public_names_are_the_same_objects(name):
    assert getattr(fedsharp, name) is getattr(artifact, name)


@pytest.mark.parametrize("name", OPEN)
def test_public_modules_and_all_that_they_offer_are_the_same(name):
    one, other = import_module(f"fedsharp.{name}"), import_module(f"artifact.{name}")
    assert one is other
    assert one.__spec__.name == one.__name__ == f"artifact.{name}"
    offered = getattr(one, "__all__", None) or [own for own in vars(one) if not own.startswith("_")]
    assert offered and all(getattr(one, own) is getattr(other, own) for own in offered)


def test_every_module_has_both_names():
    rooms = [one.name for one in pkgutil.iter_modules(artifact.__path__) if one.ispkg]
    assert len(rooms) > 15
    for room in rooms:
        assert import_module(f"fedsharp.{room}") is import_module(f"artifact.{room}")


def test_what_is_no_name_of_the_package_is_told_as_usual():
    with pytest.raises(ModuleNotFoundError, match=r"fedsharp\.nothing"):
        import_module("fedsharp.nothing")
    with pytest.raises(AttributeError, match="it has train"):
        _ = fedsharp.nothing
    assert fedsharp.__version__ == artifact.__version__
    assert sorted(fedsharp.__all__) == sorted(artifact.__all__) == sorted(artifact.PUBLIC)


def test_an_optimiser_imported_by_one_name_is_pickled_for_the_other():
    from fedsharp.optim import SAM

    assert pickle.loads(pickle.dumps(SAM)) is artifact.optim.SAM


@pytest.mark.parametrize("module", ["artifact", "fedsharp"])
def test_both_are_commands_and_say_their_version(module):
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, f"fedsharp {artifact.__version__}\n")
    done = subprocess.run([sys.executable, "-m", module, "fly"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


QUIET = """
import ctypes, os, sys, warnings
import scipy.sparse, scipy.stats, torch  # their own settings are theirs
called = []
class Library(ctypes.CDLL):
    def __init__(self, *words, **options):
        called.append(words)
        super().__init__(*words, **options)
ctypes.CDLL = Library
def seen():
    return (
        dict(os.environ), torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(), list(warnings.filters), sys.getrecursionlimit(),
        os.sched_getaffinity(0), os.getcwd(), [s for s in range(1, 32) if __import__("signal").getsignal(s) is None],
    )
before, loaded = seen(), list(called)
import fedsharp
for name in fedsharp.__all__:
    getattr(fedsharp, name)
after = seen()
assert before == after, [pair for pair in zip(before, after) if pair[0] != pair[1]]
assert not [words for words in called if words[:1] == (None,)], called
print("quiet")
"""


def test_importing_the_package_changes_nothing_in_the_process():
    """Environment, threads, malloc (reached by the C library itself), defaults of torch, warnings."""
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "quiet\n", done.stderr


@pytest.mark.parametrize("line", ["--version", "list algorithms", "run --help"])
def test_commands_work_without_docstrings_and_assertions(line):
    command = [sys.executable, "-OO", "-m", "fedsharp", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and done.stdout and not done.stderr, done.stderr


def test_training_without_docstrings_and_assertions_makes_the_same_run(tmp_path):
    files = []
    for words in ([], ["-OO"]):
        out = tmp_path / ("plain" if not words else "optimised")
        line = f"-m fedsharp run --algorithm fedsmoo --model mlp-16 --rounds 2 --quiet --out {out}"
        done = subprocess.run([sys.executable, *words, *line.split()], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        (folder,) = out.iterdir()
        files.append((folder.name, (folder / "metrics.jsonl").read_bytes()))
    assert files[0] == files[1]


def test_a_module_runs_by_the_projects_name():
    command = [sys.executable, "-m", "fedsharp.verdicts.tuning", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "PANELS" in done.stdout
