"""``replay`` against a second, independent implementation: the stored vectors, then new cases of every method.

The new cases have what the stored ones lack: full participation, an active clip, clients of unequal size, active lists
of unequal length, other widths and hyper-parameters.
"""

import itertools
import json

import numpy as np
import pytest
from reference import METHODS, Paper, Released

from artifact.accelerate.choose import BACKENDS
from artifact.algorithms import ALGORITHMS, COMPOSED
from artifact.base import paths
from artifact.runs.replay import FIELDS, replay

VECTORS = sorted((paths.ROOT / "tests" / "vectors").rglob("*.npz"))
TOLERANCE = 1e-10

FL = "woodenchild95/FL-Simulator@502bec65570165d1ff1a6ce76375297145c734e3"
LESAM = "MediaBrain-SJTU/FedLESAM@d6663cccf47cd672bff05d5d71f2383f8808c934"
MAN = "vcl-iisc/fedMAN@d38a10ef059b4504b27f2769fec9d05b7111d6d5:code"
OWN = "own reference implementation (repaired paper form; NOT released code)"

RELEASED = (
    [(name, FL) for name in ("FedAvg", "FedProx", "FedAdam", "SCAFFOLD", "FedCM", "FedDyn", "FedSAM", "MoFedSAM")]
    + [(name, FL) for name in ("FedGamma", "FedSpeed", "FedSMOO")]
    + [(name, LESAM) for name in ("FedLESAM", "FedLESAM_S", "FedLESAM_D", "MoFedSAM", "FedAvg", "FedDyn", "SCAFFOLD")]
    + [(name, MAN) for name in ("FedAvg", "FedProx", "SCAFFOLD", "FedDyn", "FedDC", "FedSpeed", "FedSAM", "FedASAM")]
    + [(f"{name}+MAN", MAN) for name in ("FedAvg", "FedDyn", "FedDC", "FedSpeed", "FedSAM", "FedASAM")]
)
REPAIRED = [(name, OWN) for name in METHODS] + [(f"{name}+MAN", OWN) for name in ("fedavg", "fedsmoo", "scaffold")]

HP = {
    "lr": 0.1,
    "lr_decay": 0.9,
    "weight_decay": 0.01,
    "global_lr": 1.0,
    "max_norm": 10.0,
    "lamb": 0.1,
    "rho": 0.1,
    "alpha": 0.1,
    "beta1": 0.9,
    "beta2": 0.99,
    "epsilon": 0.01,
    "mu_mean": 0.6,
    "alpha_coef": 0.01,
    "eta_asam": 0.2,
    "eta2": 0.05,
    "lambda_robust": 1.0,
}
PARTIAL = [[0, 2, 3], [1, 2, 5], [0, 1, 4]]
SIX = [[0, 1, 2, 3, 4, 5]] * 3
CASES = {
    "full": {
        "sizes": [12] * 6,
        "batch": 4,
        "active": SIX,
        "hp": {"lr": 0.07, "lr_decay": 0.8, "weight_decay": 0.003, "global_lr": 0.7, "rho": 0.4, "lamb": 0.3}
        | {"alpha": 0.35, "alpha_coef": 0.05, "beta1": 0.8, "beta2": 0.95, "epsilon": 0.02, "mu_mean": 0.9},
    },
    "clip": {
        "sizes": [12] * 6,
        "batch": 4,
        "active": PARTIAL,
        "scale": 25.0,
        "hp": {"lr": 0.05, "rho": 0.2, "alpha": 0.7, "lamb": 0.4, "eta2": 1e-5},
    },
    "ragged": {
        "sizes": [12, 9, 12, 7, 10, 11],
        "batch": 5,
        "active": [[0, 2, 3, 5], [1, 4], [0, 1, 4]],
        "hp": {"global_lr": 0.9, "lamb": 0.2, "alpha": 0.25, "alpha_coef": 0.1, "rho": 0.15, "eta2": 0.02},
    },
    # K = 3*ceil(9/4) = 9 differs from the clients' own 15, 6, 6, 12, 3 and 6.5 never appears; one client at a time, too
    "uneven": {
        "sizes": [20, 5, 8, 13, 4, 4],
        "batch": 4,
        "epochs": 3,
        "shapes": [[7, 5], [7], [3, 7], [3]],
        "active": [[4], [0, 1, 3, 4, 5], [0, 4], [1, 2, 3, 4, 5]],
        "scale": 6.0,
        "hp": {
            "lr": 0.15,
            "lr_decay": 0.7,
            "lamb": 0.5,
            "global_lr": 1.2,
            "alpha": 0.6,
            "alpha_coef": 0.2,
            "eta2": 1e-3,
        },
    },
}


def make(kind, algo, source, seed):
    """Fields of a new case file."""
    spec, generator = CASES[kind], np.random.default_rng(seed)
    shapes = spec.get("shapes", [[4, 5], [4], [3, 4], [3]])
    sizes = np.array(spec["sizes"])
    released = source != OWN
    hp = HP | spec["hp"] | ({"global_lr": 0.1} if algo.lower() == "fedadam" else {})
    hp |= {} if released else {"max_norm": None}
    mask = np.zeros((len(spec["active"]), len(sizes)), dtype=np.int64)
    for t, active in enumerate(spec["active"]):
        mask[t, active] = 1
    meta = {
        "algo": algo,
        "source": source,
        "param_names": ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"],
        "param_shapes": shapes,
        "batch": spec["batch"],
        "epochs": spec.get("epochs", 2),
        "hp": hp,
        "active": spec["active"],
    }
    parameters = sum(int(np.prod(shape)) for shape in shapes)
    return {
        "X": generator.normal(size=(sizes.sum(), 5)) * spec.get("scale", 1.0) + np.repeat(sizes, sizes)[:, None] / 20,
        "y": generator.integers(0, 3, sizes.sum()),
        "sizes": sizes,
        "w0": generator.normal(size=parameters) * 0.5,
        "active_mask": mask,
        "meta": np.array(json.dumps(meta)),
    }


def compare(reference, ours):
    for name, value in reference.items():
        assert ours[name].shape == value.shape, name
        assert np.abs(ours[name] - value).max() <= TOLERANCE * max(1.0, np.abs(value).max()), name


@pytest.mark.parametrize("path", VECTORS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_reference_reproduces_the_stored_vectors(path):
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    form = Paper if path.parent.name == "repaired" else Released
    ours = form(stored).run()
    for name in set(stored) - set(FIELDS):
        assert np.abs(ours[name] - stored[name]).max() <= 1e-12, name


#: backends in turn, one on from method to method, so that each meets every kind of case and methods of all sources
REPLAYED = [
    (*method, kind, BACKENDS[(turn + place) % len(BACKENDS)])
    for turn, method in enumerate(RELEASED + REPAIRED)
    for place, kind in enumerate(CASES)
]


@pytest.mark.parametrize(
    ("algo", "source", "kind", "backend"), REPLAYED, ids=lambda v: v.split("/")[-1].split("@")[0][:20]
)
def test_replay_agrees_with_the_reference(tmp_path, kind, algo, source, backend):
    """With the formulas, and with one of the backends."""
    case = make(kind, algo, source, seed=[len(algo), len(kind), len(source)])
    path = tmp_path / "case.npz"
    np.savez(path, **case)
    simulation = (Paper if source == OWN else Released)(case)
    expected = simulation.run()
    assert len(expected["server_params"]) == len(CASES[kind]["active"])
    if source != OWN:
        assert simulation.clipped > 5 if kind == "clip" else kind == "uneven" or simulation.clipped == 0
    for one in {"explicit", backend}:
        compare(expected, replay(path, backend=one))


def test_every_backend_replays_every_kind_of_case_and_most_methods():
    assert {(kind, backend) for _, _, kind, backend in REPLAYED} == set(itertools.product(CASES, BACKENDS))
    for backend in BACKENDS:
        assert len({algo for algo, _, _, one in REPLAYED if one == backend}) > 20


@pytest.mark.parametrize(("algo", "source"), [p for p in RELEASED if "MAN" not in p[1]][:14])
def test_paper_variant_of_a_released_file(tmp_path, algo, source):
    """The same file, asked for in the paper's form."""
    case = make("ragged", algo, source, seed=5)
    path = tmp_path / "case.npz"
    np.savez(path, **case)
    expected = Paper(case).run()["server_params"]
    assert np.abs(replay(path, "paper")["server_params"] - expected).max() <= TOLERANCE


def test_the_reference_knows_every_method_of_a_paper():
    """Composed pairs are held to their parts by the reductions."""
    assert set(METHODS) == set(ALGORITHMS) - COMPOSED


def test_reference_gradients_against_finite_differences():
    """Cross-entropy plus penalty, in the weights and in the inputs; central differences at a point without kinks."""
    case = make("ragged", "fedavg+MAN", OWN, seed=11)
    simulation = Paper(case)
    w, x, y = simulation.w, simulation.X[:6], simulation.y[:6]

    def loss(w, x):
        W1, b1, W2, b2 = simulation.tensors(w)
        hidden = np.maximum(x @ W1.T + b1, 0)
        logits = hidden @ W2.T + b2
        return (np.log(np.exp(logits).sum(1)) - logits[np.arange(6), y]).mean() + 0.6 * (hidden**2).mean()

    g, g_x = simulation.differentiate(w, x, y)
    step = 1e-6
    for j in range(len(w)):
        e = step * np.eye(len(w))[j]
        assert abs((loss(w + e, x) - loss(w - e, x)) / (2 * step) - g[j]) < 1e-8
    for j in range(5):
        e = np.zeros_like(x)
        e[2, j] = step
        assert abs((loss(w, x + e) - loss(w, x - e)) / (2 * step) - g_x[2, j]) < 1e-8
