"""``replay`` against the trajectories in tests/vectors: released codes as they ran, and the repaired paper forms."""

import json

import numpy as np
import pytest

from artifact.__main__ import main
from artifact.accelerate.choose import BACKENDS
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.runs.replay import FIELDS, replay

VECTORS = paths.ROOT / "tests" / "vectors"
CASES = sorted(VECTORS.rglob("*.npz"))
TOLERANCE = 1e-10


def test_all_vectors_are_there():
    assert len(CASES) == 40


@pytest.mark.parametrize("backend", BACKENDS)
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


def test_the_released_form_clips_to_ten_where_a_file_names_no_bound(tmp_path):
    """Rows as long as these give gradients beyond 10."""
    path = VECTORS / "repaired" / "fedspeed-partial.npz"
    unnamed, ten, none = (
        replay(_changed(path, tmp_path, stretched=30, max_norm=bound), "released")["server_params"]
        for bound in (None, 10.0, 1e9)
    )
    assert np.array_equal(unnamed, ten)
    assert np.abs(ten - none).max() > 1e-3


@pytest.mark.parametrize(
    "names", [["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"], ["W1", "b1", "W2", "b2"]]
)
def test_names_of_parameters_do_not_matter(tmp_path, names):
    """FedASAM scales weights and not biases; which is which follows from their order."""
    path = VECTORS / "fedman_fedasam-partial.npz"
    ours = replay(_changed(path, tmp_path, names=names))["server_params"]
    with np.load(path) as stored:
        assert np.abs(ours - stored["server_params"]).max() <= TOLERANCE


@pytest.mark.parametrize("name", ["y", "sizes", "active_mask"])
@pytest.mark.parametrize("bad", [0.5, np.nan])
def test_what_counts_or_numbers_is_whole(tmp_path, name, bad):
    with np.load(VECTORS / "fedsam-partial.npz") as stored:
        arrays = {field: stored[field] for field in stored.files}
    np.savez(tmp_path / "case.npz", **arrays | {name: arrays[name] + bad})
    with pytest.raises(UserError, match=name):
        replay(tmp_path / "case.npz")
    np.savez(tmp_path / "case.npz", **arrays | {name: arrays[name].astype(float)})
    assert np.array_equal(
        replay(tmp_path / "case.npz")["server_params"], replay(VECTORS / "fedsam-partial.npz")["server_params"]
    )


def test_the_other_variant_differs():
    path = VECTORS / "fedlesam-partial.npz"
    difference = replay(path, "paper")["server_params"] - replay(path, "released")["server_params"]
    assert np.abs(difference).max() > 1e-3


def _changed(path, folder, absent=(), names=None, stretched=1, **hp):
    """A copy of a case with other hyper-parameters, without the absent ones; other names of tensors, longer rows."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files} | {"X": stretched * stored["X"]}
    meta = json.loads(str(arrays["meta"]))
    meta["param_names"] = names or meta["param_names"]
    meta["hp"] = {name: value for name, value in (meta["hp"] | hp).items() if name not in absent}
    copy = folder / "changed.npz"
    np.savez(copy, **(arrays | {"meta": np.array(json.dumps(meta))}))
    return copy


NEEDED = [("fedsam", "rho"), ("fedavg", "global_lr"), ("feddyn", "lamb"), ("fedcm", "alpha"), ("fedadam", "epsilon")]
NEEDED += [("fedlesam-s", "lamb"), ("fedman_feddyn", "alpha_coef"), ("repaired/fedrobust", "eta2")]


@pytest.mark.parametrize("absent", [True, False], ids=["absent", "null"])
@pytest.mark.parametrize(("file", "name"), NEEDED)
def test_no_default_stands_in_for_a_hyperparameter_of_the_case(tmp_path, file, name, absent):
    path = VECTORS / f"{file}-partial.npz"
    with pytest.raises(UserError, match=name):
        replay(_changed(path, tmp_path, [name] if absent else [], **{name: None}))


#: what a file needs besides rates and clip, by the format; the dual methods and fedMAN ignore the server's rate
ENOUGH = {"fedavg": {"global_lr"}, "fedprox": {"global_lr", "lamb"}, "fedsam": {"global_lr", "rho"}}
ENOUGH |= {"fedadam": {"global_lr", "beta1", "beta2", "epsilon"}, "feddyn": {"lamb"}, "fedsmoo": {"lamb", "rho"}}
ENOUGH |= {"fedman_fedavg": set(), "fedman_fedprox": {"lamb"}, "fedman_feddyn-man": {"alpha_coef", "mu_mean"}}
ENOUGH |= {"repaired/mimelite": {"alpha"}, "repaired/fedlesam-s": {"global_lr", "rho"}}


@pytest.mark.parametrize("file", ENOUGH)
def test_only_the_hyperparameters_of_the_method_are_looked_at(tmp_path, file):
    path = VECTORS / f"{file}-partial.npz"
    used = ENOUGH[file] | {"lr", "lr_decay", "weight_decay", "max_norm"}
    with np.load(path) as stored:
        absent = set(json.loads(str(stored["meta"]))["hp"]) - used
        ours = replay(_changed(path, tmp_path, absent))
        assert np.abs(ours["server_params"] - stored["server_params"]).max() <= TOLERANCE
