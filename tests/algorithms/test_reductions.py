"""Methods that must coincide: bit for bit on toy problems, and on real data through the engine (loop backend)."""

import pytest
import torch

from artifact.algorithms import ALGORITHMS, build, hyperparameters
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.rounds import simulate
from artifact.training.trainer import Trainer

CLIENTS, DIMENSION, ROUNDS = 5, 7, 4
COHORTS = [[0, 2, 3], [1, 2], [0, 3, 4], [1, 2, 4]]


def quadratics(seed=3):
    """Client losses 1/2 (w - b_i)' A_i (w - b_i) with minibatch noise that depends on client, round and step only."""
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(CLIENTS, DIMENSION, DIMENSION, generator=generator, dtype=torch.float64) / DIMENSION**0.5
    A, b = root @ root.mT + 0.1 * torch.eye(DIMENSION), torch.randn(CLIENTS, DIMENSION, generator=generator).double()
    noise = torch.randn(CLIENTS, ROUNDS, 4, DIMENSION, generator=generator, dtype=torch.float64)

    def gradient(W, clients, t, k):
        exact = torch.einsum("sij,sj->si", A[clients], W - b[clients])
        return exact + (noise[clients, t, k] if k >= 0 else 0.0)

    return gradient


def trajectory(name, variant="paper", source=None, switches=(), clip=None, **hyper):
    method = build(name, variant, source, switches, **hyper)
    start = torch.linspace(-1, 1, DIMENSION, dtype=torch.float64)
    options = {"steps": 3, "lr": 0.1, "lr_decay": 0.9, "cohorts": COHORTS, "weight_decay": 0.01, "clip": clip}
    return simulate(method, quadratics(), start, CLIENTS, ROUNDS, **options)


SAME = [
    (("fedsam", {"rho": 0.0}), ("fedavg", {})),
    (("fedlesam", {"rho": 0.0}), ("fedavg", {})),
    (("fedprox", {"lam": 0.0}), ("fedavg", {})),
    (("fedcm", {"beta": 1.0}), ("fedavg", {})),
    (("mofedsam", {"beta": 1.0, "rho": 0.2}), ("fedsam", {"rho": 0.2})),
    (("mofedsam", {"rho": 0.0}), ("fedcm", {})),
    (("fedgamma", {"rho": 0.0}), ("scaffold", {})),
    (("fedlesam-s", {"rho": 0.0}), ("scaffold", {})),
    (("fedlesam-d", {"rho": 0.0}), ("feddyn", {})),
    (("fedsmoo", {"rho": 0.0}), ("feddyn", {})),
    (("fedsmoo-admm", {"rho": 0.0}), ("feddyn", {})),
    (("feddyn-sam", {"rho": 0.0}), ("feddyn", {})),
    (("fedavg-corrected", {"rho": 0.0}), ("fedavg", {})),
    (("fedavg-signed", {"rho": 0.0}), ("fedavg", {})),
    (("scaffold-corrected", {"rho": 0.0}), ("scaffold", {})),
    (("scaffold-signed", {"rho": 0.0}), ("scaffold", {})),
    (("feddyn-signed", {"rho": 0.0}), ("feddyn", {})),
    (("fedcm-lesam", {"rho": 0.0}), ("fedcm", {})),
    (("fedcm-corrected", {"rho": 0.0}), ("fedcm", {})),
    (("fedcm-signed", {"rho": 0.0}), ("fedcm", {})),
    (("fedcm-corrected", {"rho": 0.2, "beta": 1.0}), ("fedavg-corrected", {"rho": 0.2})),
    (("fedcm-lesam", {"rho": 0.2, "beta": 1.0}), ("fedlesam", {"rho": 0.2})),
    (("fedspeed", {"variant": "released", "rho": 0.3}), ("feddyn-sam", {"variant": "released", "rho": 0.3})),
    (("fedspeed", {"rho": 0.0, "mixing": 0.0}), ("fedspeed", {"rho": 0.0})),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=lambda pair: f"{pair[0]}{pair[1]}")
def test_methods_coincide_bit_for_bit(one, other):
    assert torch.equal(trajectory(one[0], **one[1]), trajectory(other[0], **other[1]))


DIFFERENT = ["fedprox", "fedadam", "scaffold", "feddyn", "feddc", "fedcm", "mimelite", "fedspeed", "fedsam", "mofedsam"]


@pytest.mark.parametrize("name", [*DIFFERENT, "fedgamma", "fedsmoo", "fedsmoo-admm", "fedlesam", "globalfedsam"])
def test_defaults_are_not_fedavg(name):
    assert (trajectory(name) - trajectory("fedavg")).abs().max() > 1e-6


def test_fedsmoo_with_frozen_duals_is_feddyn_with_sam():
    """FedSMOO whose mu and s stay zero ascends along the plain minibatch gradient."""

    class Frozen(type(build("fedsmoo"))):
        def step_dual(self, c):
            return c.mu

        def estimate(self, mu, e):
            return mu * 0.0

    start = torch.linspace(-1, 1, DIMENSION, dtype=torch.float64)
    frozen = simulate(Frozen(rho=0.2), quadratics(), start, CLIENTS, ROUNDS, steps=3, cohorts=COHORTS)
    plain = simulate(build("feddyn-sam", rho=0.2), quadratics(), start, CLIENTS, ROUNDS, steps=3, cohorts=COHORTS)
    assert torch.equal(frozen, plain)


def final(algorithm, **options):
    values = {"dataset": "digits", "model": "mlp", "split": "dirichlet:0.3", "clients": 10, "cohort": 4, "rounds": 3}
    run = make(algorithm=algorithm, backend="loop", batch_size=16, lr=0.05, **(values | options))
    trainer = Trainer(run, load_data(run))
    for _ in range(run.rounds):
        trainer.play_round()
    return trainer.w


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"algorithm": "fedsam", "hyper": {"rho": 0.0}}, {"algorithm": "fedavg"}),
        ({"algorithm": "fedlesam", "hyper": {"rho": 0.0}}, {"algorithm": "fedavg"}),
        ({"algorithm": "mofedsam", "hyper": {"rho": 0.1, "beta": 1.0}}, {"algorithm": "fedsam", "hyper": {"rho": 0.1}}),
        ({"algorithm": "feddyn", "man_zeta": 0.0}, {"algorithm": "feddyn"}),
    ],
    ids=lambda v: v["algorithm"],
)
def test_reductions_on_real_data(one, other):
    assert torch.equal(final(**one), final(**other))


def test_man_changes_the_model():
    assert not torch.equal(final("fedavg", man_zeta=0.1), final("fedavg"))


def test_released_man_is_the_papers_with_half_the_coefficient():
    """MAN-1: the released code multiplies the penalty by mu_mean / 2."""
    half = final("fedavg", man_zeta=0.1)
    assert torch.equal(final("fedavg", man_zeta=0.2, switches=("MAN-1",)), half)
    assert not torch.equal(final("fedavg", man_zeta=0.2), half)


def test_man_layer_lists():
    """MAN-2 and MAN-3: three lists of layers, three different models."""
    models = {
        layers: final("fedavg", man_zeta=0.5, man_layers=layers, model="convnet-tiny", rounds=1, local_steps=2)
        for layers in ("hidden", "with-logits", "released-convnet")
    }
    assert not torch.equal(models["hidden"], models["with-logits"])
    assert not torch.equal(models["hidden"], models["released-convnet"])


#: where a method's own paper (or, for a baseline, the one that runs it) prints a value, that is the default
DEFAULTS = {
    "fedavg": {},
    "fedprox": {"lam": 0.01},  # FL-Simulator
    "fedadam": {"server_lr": 0.1, "beta1": 0.9, "beta2": 0.99, "tau": 0.01},  # Sun 2023, 5.1; FL-Simulator
    "scaffold": {},
    "feddyn": {"lam": 0.1},  # Sun 2023, Table 5: beta 10
    "feddc": {"lam": 0.01},  # Yashwanth 2023, alpha
    "fedcm": {"beta": 0.1},  # Qu 2022, 5.1
    "mimelite": {"beta": 0.1},  # Qu 2022, 5.1
    "fedrobust": {"ascent_lr": 0.05, "shift_penalty": 1.0},  # none printed (ROB-1)
    "fedspeed": {"lam": 0.1, "rho": 0.1, "mixing": 1.0},  # FL-Simulator (SPEED-1)
    "fedsam": {"rho": 0.5},  # Qu 2022, 5.1
    "fedasam": {"rho": 0.5, "eta_asam": 0.2},  # Yashwanth 2023, suppl. 7
    "mofedsam": {"rho": 0.5, "beta": 0.1},  # Qu 2022, 5.1
    "fedgamma": {"rho": 0.1},  # Fan 2024, 6.1
    "feddyn-sam": {"lam": 0.1, "rho": 0.1},  # as FedSMOO
    "fedsmoo": {"lam": 0.1, "rho": 0.1},  # Sun 2023, Table 5
    "fedsmoo-admm": {"lam": 0.1, "rho": 0.1},  # as FedSMOO
    "fedlesam": {"rho": 0.01},  # Fan 2024, 6.1
    "fedlesam-s": {"rho": 0.1, "correction_weight": 1.0},  # Fan 2024, 6.1
    "fedlesam-d": {"rho": 0.1, "lam": 0.1},  # Fan 2024, 6.1
    "globalfedsam": {"rho": 0.05, "normalised": False},  # not printed
    "globalfedsam-norm": {"rho": 0.05, "normalised": True},  # not printed
    # composed cells of the factorial: the defaults of the parts
    "fedavg-corrected": {"rho": 0.1},
    "fedavg-signed": {"rho": 0.05, "normalised": False},
    "scaffold-corrected": {"rho": 0.1},
    "scaffold-signed": {"rho": 0.05, "normalised": False},
    "feddyn-signed": {"lam": 0.1, "rho": 0.05, "normalised": False},
    "fedcm-lesam": {"rho": 0.01, "beta": 0.1},
    "fedcm-corrected": {"rho": 0.1, "beta": 0.1},
    "fedcm-signed": {"rho": 0.05, "beta": 0.1, "normalised": False},
}


def test_signed_cell_on_fedavg_is_global_fedsam_where_clients_are_alike():
    """With equal sizes the weights p_j are 1/S: the server's mean is FedAvg's."""
    signed = trajectory("fedavg-signed", rho=0.1)
    assert torch.allclose(signed, trajectory("globalfedsam", rho=0.1), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_defaults_are_those_of_the_papers(name):
    method = build(name)
    assert {option: getattr(method, option) for option in hyperparameters(name)} == {"server_lr": 1.0} | DEFAULTS[name]
