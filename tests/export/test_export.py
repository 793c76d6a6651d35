"""Exported files: short, alone, and the engine's numbers for every method in every form."""

from __future__ import annotations

import ast
import itertools
import json
import os
import runpy
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from artifact import algorithms
from artifact.__main__ import main
from artifact.algorithms import ALGORITHMS, RELEASED
from artifact.base import paths
from artifact.export.write import exported
from artifact.runs.replay import Case, method, perceptron, replay

VECTORS = paths.ROOT / "tests" / "vectors"
FORMS = [(name, "paper", None) for name in ALGORITHMS]
FORMS += [(name, "released", source) for source, names in RELEASED.items() for name in sorted(names)]
#: hyper-parameters of all methods in the names of the format, none at its default
HYPER = {"lr": 0.15, "lr_decay": 0.9, "weight_decay": 0.01, "global_lr": 0.8, "lamb": 0.3, "alpha_coef": 0.3} | {
    "rho": 0.2, "alpha": 0.4, "beta1": 0.8, "beta2": 0.95, "epsilon": 0.1, "eta_asam": 0.3, "eta2": 0.02,
    "lambda_robust": 0.7, "mu_mean": 0.2, "max_norm": 0.4,
}  # fmt: skip
#: owner of each repository in a case's ``source``
OWNERS = {"fl-simulator": "x/FL-Simulator@1", "fedlesam": "x/FedLESAM@1", "fedman": "x/fedMAN@1", None: "ours"}


def module(text: str) -> SimpleNamespace:
    """The names that an exported file defines."""
    names = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec", dont_inherit=True), names)
    return SimpleNamespace(**names)


def trajectory(case: Case, algorithm, man: float) -> np.ndarray:
    """[rounds, P], of the exported file on the data, batches and cohorts of a case."""
    file = module(exported(algorithm, man))
    model = perceptron(case.shapes).double()
    nn.utils.vector_to_parameters(case.w0.clone(), model.parameters())
    ends = np.cumsum([0, *case.sizes])
    data = [(case.X[a:b], case.y[a:b]) for a, b in itertools.pairwise(ends)]
    hp = case.hp
    clip = hp["max_norm"] if algorithm.clip_total else None
    setting = file.Setting(
        len(case.active), 0, case.meta.epochs, case.meta.batch, hp["lr"], hp["lr_decay"], hp["weight_decay"], clip
    )
    own = getattr(file, next(cls.__name__ for cls in type(algorithm).__mro__ if "__dataclass_fields__" in vars(cls)))
    return torch.stack(list(file.train(own(), model, data, setting, case.active, shuffle=False))).numpy()


@pytest.fixture(scope="module")
def ragged(tmp_path_factory):
    """A case with clients of six sizes, in which the clip acts."""
    folder = tmp_path_factory.mktemp("cases")
    with np.load(VECTORS / "fedavg-partial.npz") as stored:
        arrays = dict(stored)
    sizes = np.array([12, 9, 12, 7, 10, 11])
    kept = {"X": 3 * arrays["X"][: sizes.sum()], "y": arrays["y"][: sizes.sum()], "sizes": sizes}
    kept |= {"active_mask": np.array([[1, 0, 1, 1, 0, 0], [1, 1, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0]])}

    def write(name: str, source: str | None, man: bool):
        meta = json.loads(str(arrays["meta"])) | {"algo": name + "+man" * man, "batch": 5, "source": OWNERS[source]}
        meta["hp"] = HYPER
        path = folder / f"{name}-{source}-{man}.npz"
        np.savez(path, w0=arrays["w0"], **kept, meta=np.array(json.dumps(meta)))
        return path

    return write


#: with MAN's term as well, where a repository has it
WITH_MAN = [(*form, False) for form in FORMS] + [(*form, True) for form in FORMS if form[2] == "fedman"]


@pytest.mark.parametrize(("name", "variant", "source", "man"), WITH_MAN)
def test_the_file_has_the_engines_numbers(ragged, name, variant, source, man):
    path = ragged(name, source, man)
    case = Case(path)
    ours = trajectory(case, method(case, variant), HYPER["mu_mean"] if man else 0.0)
    assert np.abs(ours - replay(path, variant)["server_params"]).max() <= 1e-12


@pytest.mark.parametrize("path", sorted(VECTORS.rglob("*.npz")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_file_has_the_numbers_of_the_vectors(path):
    case = Case(path)
    case.hp.setdefault("max_norm", 10.0)
    with np.load(path) as stored:
        ours = trajectory(case, method(case), case.hp["mu_mean"] if case.man else 0.0)
        assert np.abs(ours - stored["server_params"]).max() <= 1e-12


@pytest.mark.parametrize(("name", "variant", "source"), FORMS)
def test_a_file_is_short_and_needs_torch_alone(name, variant, source):
    built = algorithms.build(name, variant, source)
    for text in [exported(built), *([exported(built, 0.15)] if name in RELEASED["fedman"] else [])]:
        assert len(text.splitlines()) <= 200
        assert max(map(len, text.splitlines())) <= 120
        tree = ast.parse(text)
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {one.split(".")[0] for one in imported} - {"torch"} <= sys.stdlib_module_names
        for id in built.switches:
            assert f"\n* {id}: " in text


#: runs every file of a folder as a program, with no package of ours to import
ALONE = """
import pathlib, runpy, sys
sys.modules["artifact"] = None
for file in sorted(pathlib.Path().glob("*.py")):
    print(file)
    runpy.run_path(str(file), run_name="__main__")
"""


def test_files_run_alone(tmp_path):
    for name in ALGORITHMS:
        assert main(["export", name, "--out", str(tmp_path / f"{name}.py")]) == 0
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, env=rest, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    last = {}
    for line in done.stdout.splitlines():
        if line.endswith(".py"):
            name = line.removesuffix(".py")
        last[name] = line
    assert last.keys() == ALGORITHMS.keys()
    assert all(float(line.split()[-1]) > 0.5 for line in last.values()), last


def test_a_method_of_ones_own(tmp_path, capsys):
    added = str(paths.ROOT / "examples" / "fedsign.py")
    try:
        assert main(["export", "fedsign", "--add", added]) == 0
    finally:
        ALGORITHMS.pop("fedsign", None)
    text = capsys.readouterr().out
    assert "sign = g.sign() * g.abs().mean(-1, keepdim=True)" in text
    compile(text, "fedsign.py", "exec")


OWN = """
from dataclasses import dataclass

from artifact.algorithms.base import FedAvg


@dataclass(frozen=True)
class FedOwnStep(FedAvg):
    '''No perturbation in the first step; a gradient that is scaled by the number of the step.'''

    def perturbation(self, W, G, c):
        return None if c.k == 0 else 0.1 * G(W)

    def direction(self, g, c):
        {direction}
"""


@pytest.mark.parametrize(
    ("direction", "code", "told"), [("return g / (1 + c.k)", 0, "round 20: "), ("return c.nothing + g", 2, "c.nothing")]
)
def test_a_written_file_has_run_before(direction, code, told, tmp_path, capsys):
    added, out = tmp_path / "own.py", tmp_path / "alone.py"
    added.write_text(OWN.replace("{direction}", direction))
    try:
        assert main(["export", "fedownstep", "--add", str(added), "--out", str(out)]) == code
    finally:
        ALGORITHMS.pop("fedownstep", None)
    said = capsys.readouterr()
    assert out.exists() == (code == 0)
    if code == 0:
        runpy.run_path(str(out), run_name="__main__")
        said = capsys.readouterr()
    assert told in said.out + said.err


def test_what_is_not_possible_is_told(tmp_path, capsys):
    for words, told in (
        (["fedfoo"], "fedsmoo"),
        (["globalfedsam", "--variant", "released"], "no code was released"),
        (["fedavg", "--out", str(tmp_path / "x.txt")], ".py"),
    ):
        assert main(["export", *words]) == 2
        assert told in capsys.readouterr().err
