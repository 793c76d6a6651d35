"""``replay`` against the trajectories in tests/vectors: released codes as they ran, and the repaired paper forms."""

import json
from pathlib import Path

import numpy as np
import pytest

from artifact.__main__ import main
from artifact.oracle import KINDS
from artifact.replay import FIELDS, replay

VECTORS = Path(__file__).parent / "vectors"
CASES = sorted(VECTORS.rglob("*.npz"))
TOLERANCE = 1e-10


def test_all_vectors_are_there():
    assert len(CASES) == 40


@pytest.mark.parametrize("backend", KINDS)
@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_array(path, backend):
    ours = replay(path, backend=backend)
    with np.load(path) as stored:
        for name in set(stored.files) - set(FIELDS):
            assert ours[name].shape == stored[name].shape, name
            assert np.abs(ours[name] - stored[name]).max() <= TOLERANCE, name


@pytest.mark.parametrize(
    ("file", "variant"), [("fedsmoo-partial.npz", "released"), ("repaired/fedsmoo-partial.npz", "paper")]
)
def test_command_writes_the_trajectory(tmp_path, file, variant):
    out = tmp_path / "out.npz"
    assert main(["replay", str(VECTORS / file), "--out", str(out), "--variant", variant, "--backend", "loop"]) == 0
    with np.load(out, allow_pickle=False) as ours, np.load(VECTORS / file) as stored:
        assert np.abs(ours["server_params"] - stored["server_params"]).max() <= TOLERANCE
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    "file",
    ["feddyn", "fedspeed", "fedlesam-d", "fedman_scaffold", "fedman_fedavg", "repaired/feddc", "repaired/fedspeed"],
)
def test_a_rate_that_is_not_used_has_no_effect(tmp_path, file):
    """The format keeps all keys; dual methods and fedMAN ignore the server's rate, whatever it says."""
    with np.load(VECTORS / f"{file}-partial.npz") as stored:
        arrays = dict(stored)
    meta = json.loads(str(arrays["meta"]))
    meta["hp"]["global_lr"] = 0.0
    np.savez(tmp_path / "case.npz", **arrays | {"meta": np.array(json.dumps(meta))})
    ours = replay(tmp_path / "case.npz", backend="explicit")["server_params"]
    assert np.abs(ours - arrays["server_params"]).max() <= TOLERANCE


def test_the_other_variant_differs():
    path = VECTORS / "fedlesam-partial.npz"
    difference = replay(path, "paper")["server_params"] - replay(path, "released")["server_params"]
    assert np.abs(difference).max() > 1e-3
