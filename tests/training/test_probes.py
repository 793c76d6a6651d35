"""Probes of a round: each against an independent computation, and none of them changes a number of the run."""

from __future__ import annotations

import functools
import math
from contextlib import nullcontext
from types import SimpleNamespace
from typing import get_args

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call

from artifact import algorithms, curvature, looseness
from artifact.algorithms.cohort import Context
from artifact.base.errors import UserError
from artifact.base.flat import unit
from artifact.data import Dataset
from artifact.data.augment import normalise
from artifact.runs.session import load_data
from artifact.training import probes
from artifact.training.config import Measured, make
from artifact.training.trainer import Trainer, draw_cohort

DOUBLE = torch.float64


def config(**options):
    small = {"algorithm": "fedsam", "dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3}
    small |= {"rounds": 3, "batch_size": 8, "model": "mlp-12", "dtype": "float64", "device": "cpu", "backend": "loop"}
    return make(**(small | options))


@functools.lru_cache
def data() -> Dataset:
    return load_data(config())


def train(rounds, **options):
    trainer = Trainer(config(**options), data())
    return trainer, [trainer.play_round() for _ in range(rounds)]


def loss_over(trainer, pools):
    """F by hand: the mean cross-entropy over these samples as a function of the flat vector."""
    index = torch.cat(pools)
    x, y = normalise(trainer.data.train_x[index], trainer.data, DOUBLE), trainer.data.train_y[index]

    def loss(w):
        trainer.model.eval()
        value = F.cross_entropy(functional_call(trainer.model, trainer.oracle.layout.views(w), (x,)), y)
        trainer.model.train()
        return value

    return loss


# ---- what a probe must not do ---------------------------------------------------------------------------------------


def test_the_config_names_every_probe():
    assert get_args(Measured) == tuple(probes.PROBES)
    assert all(name in probes.__doc__ for name in probes.PROBES), "every cost is stated"
    with pytest.raises(UserError, match="probes"):
        config(probes=("temperature",))


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "fedsmoo", "sizes": "lognormal:0.6"},
        {"algorithm": "fedlesam-s", "variant": "released"},
        {"algorithm": "globalfedsam", "model": "mlp"},
        {"algorithm": "fedavg", "model": "cnn-fmnist"},
    ],
    ids=lambda o: o["algorithm"],
)
def test_all_probes_together_change_no_other_number(options):
    plain, unwatched = train(2, **options)
    watched, metrics = train(2, **options, probes=tuple(probes.PROBES))
    assert torch.equal(plain.w, watched.w)
    assert all(torch.equal(value, watched.tensors()[name]) for name, value in plain.tensors().items())
    without = [{k: v for k, v in line.items() if k not in probes.PROBES} for line in metrics]
    assert without == unwatched, "accuracies, norms and counted costs included"
    assert all(line.keys() >= set(probes.PROBES) for line in metrics)


def test_probes_run_on_evaluated_rounds_only():
    _, metrics = train(3, eval_every=2, probes=("consistency",))
    assert ["consistency" in line for line in metrics] == [False, True, True]


# ---- drift ----------------------------------------------------------------------------------------------------------


def test_drift_of_full_batch_clients_by_hand():
    """Two full-batch steps of FedSAM: perturbations and virtual global models recomputed from F and the f_i."""
    trainer, metrics = train(
        1, probes=("drift",), batch_size=90, local_steps=2, hyper={"rho": 0.05}, split="dirichlet:0.3"
    )
    fresh = Trainer(trainer.config, data())
    members, w = draw_cohort(0, 0, 5, 3, "fixed").tolist(), fresh.w
    own = [torch.func.grad(loss_over(fresh, [fresh.pools[i]])) for i in members]
    whole = torch.func.grad(loss_over(fresh, fresh.pools))
    W, distances = [w.clone() for _ in members], []
    for _ in range(2):
        e = [0.05 * unit(g(v)) for g, v in zip(own, W, strict=True)]
        truth = 0.05 * unit(whole(torch.stack(W).mean(0)))
        distances += [float((truth - part).norm()) / (2 * 0.05) for part in e]
        W = [v - 0.1 * g(v + part) for g, v, part in zip(own, W, e, strict=True)]
    found = metrics[0]["drift"]
    assert found["drift"] == pytest.approx(sum(distances) / 6, rel=1e-9)
    assert found["full_passes"] == 2 and found["none"] == 0.0


def test_one_client_with_all_data_has_no_drift():
    _, metrics = train(1, clients=1, cohort=1, batch_size=90, local_steps=3, probes=("drift",))
    assert metrics[0]["drift"]["drift"] < 1e-7
    assert metrics[0]["drift"]["cosine"] == pytest.approx(1.0)


def fake_round(w, rows, **parts):
    """A round on F(w) = |w|^2 / 2, whose gradient is w."""
    C = SimpleNamespace(
        clients=torch.arange(rows), K=torch.full((rows, 1), 1.0), t=7, p=torch.full((rows, 1), 1 / rows)
    )
    method = algorithms.build("fedsam")
    risk = curvature.as_risk(lambda v: 0.5 * v @ v)
    entries = dict.fromkeys(("weights", "atypicality", "client_gradients", "cohort_of", "last_seen")) | parts
    return probes.Round(method, C, w, risk=lambda *which: risk, uncounted=nullcontext, radius=0.1, **entries)


@pytest.mark.parametrize(("sign", "expected"), [(1.0, 0.0), (-1.0, 1.0)])
def test_drift_lies_between_agreement_and_opposition(sign, expected):
    w = torch.tensor([3.0, 4.0], dtype=DOUBLE)
    probe = probes.DriftProbe(fake_round(w, 2))
    c = Context(w, 0.1)
    c.e = torch.stack([sign * 0.01 * w, torch.zeros(2, dtype=DOUBLE)])
    probe.after(w.repeat(2, 1), c, None)
    found = probe.results(None)
    assert found["drift"] == pytest.approx(expected, abs=1e-7)
    assert found["none"] == 0.5, "a client without a perturbation is counted apart"


def test_drift_probes_few_of_many_steps():
    _, metrics = train(1, algorithm="fedsam", local_steps=23, probes=("drift",))
    assert metrics[0]["drift"]["full_passes"] == probes.DRIFT_STEPS
    _, metrics = train(1, algorithm="fedavg", probes=("drift",))
    found = metrics[0]["drift"]
    assert (found["drift"], found["cosine"], found["none"], found["full_passes"]) == (None, None, None, 0)
    assert 0 < found["own"] <= found["own_bound"], "a direction turns without a perturbation, too"


def test_first_visits_of_fedlesam_have_no_perturbation():
    _, metrics = train(2, algorithm="fedlesam", clients=5, cohort=5, probes=("drift",))
    assert [line["drift"]["none"] for line in metrics] == [1.0, 0.0]
    assert metrics[0]["drift"]["drift"] is None and 0 < metrics[1]["drift"]["drift"] < 1


# ---- the others -----------------------------------------------------------------------------------------------------


def test_estimation_bias_is_that_of_theorem_2():
    trainer, metrics = train(1, algorithm="fedavg", probes=("estimation",))
    start = Trainer(trainer.config, data()).w
    truth = unit(torch.func.grad(loss_over(trainer, trainer.pools))(trainer.w))
    assert metrics[0]["estimation"]["bias"] == pytest.approx(float((unit(start - trainer.w) - truth).norm()), rel=1e-9)


def test_consistency_has_both_readings():
    w, end = torch.zeros(2, dtype=DOUBLE), torch.tensor([1.0, 0.0], dtype=DOUBLE)
    W = torch.tensor([[2.0, 0.0], [0.0, 2.0]], dtype=DOUBLE)
    view = fake_round(w, 2)
    found = probes.ConsistencyProbe(view).results(probes.End(end, W, view))
    assert found == {"to_sent": 4.0, "to_next": 3.0, "to_mean": 2.0}


def test_staleness_counts_the_rounds_since_the_last_visit():
    cohorts = {6: [0, 5], 5: [1], 4: [0, 1], 3: [7]}
    view = fake_round(torch.zeros(2), 3, cohort_of=lambda t: torch.tensor(cohorts.get(t, [9])))
    found = probes.StalenessProbe(view).results(None)
    assert found == {"age": 1.5, "oldest": 2, "first": pytest.approx(1 / 3), "distance": None}


def test_staleness_measures_the_distance_of_fedlesam():
    trainer, metrics = train(3, algorithm="fedlesam", variant="released", probes=("staleness",))
    assert metrics[0]["staleness"]["first"] == 1.0 and metrics[0]["staleness"]["distance"] is None
    assert metrics[2]["staleness"]["distance"] > 0 and trainer.last_seen is not None


def test_dissimilarity_of_equal_and_of_opposite_clients():
    w = torch.ones(2, dtype=DOUBLE)
    equal = fake_round(w, 2, client_gradients=lambda v: torch.ones(4, 2, dtype=DOUBLE))
    assert probes.DissimilarityProbe(equal).results(None) == {
        "ratio": pytest.approx(1.0),
        "variance": 0.0,
        "norm": pytest.approx(math.sqrt(2)),
    }
    opposite = fake_round(w, 2, client_gradients=lambda v: torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=DOUBLE))
    assert probes.DissimilarityProbe(opposite).results(None) == {"ratio": None, "variance": 1.0, "norm": 0.0}


def test_ratios_are_those_that_global_fedsam_uses():
    options = {"sizes": "lognormal:0.6", "split": "dirichlet:0.3"}
    _, metrics = train(1, probes=("ratios",), **options)
    trainer = Trainer(config(algorithm="globalfedsam", **options), data())
    clients = draw_cohort(0, 0, 5, 3, "fixed")
    C = trainer.cohort(clients, [1, 1, 1])
    r = trainer.algorithm.begin({}, trainer.w, C)["r"]
    found = metrics[0]["ratios"]
    assert [found[n] for n in ("mean", "lowest", "highest")] == pytest.approx(
        [float(f(r)) for f in (torch.mean, torch.min, torch.max)]
    )
    assert -1 <= found["cosine"] <= 1
    unlike = torch.from_numpy(trainer.partition.atypicality(data().train_y))[clients]
    assert found["atypical"] == pytest.approx(float(torch.corrcoef(torch.stack([r[:, 0].double(), unlike]))[0, 1]))


def test_radii_of_equal_clients_are_correlated_with_nothing():
    w, same = torch.ones(2, dtype=DOUBLE), torch.tensor([0.2, 0.5], dtype=DOUBLE)
    equal = fake_round(w, 2, client_gradients=lambda v: torch.ones(2, 2, dtype=DOUBLE), atypicality=same)
    assert probes.RatiosProbe(equal).results(None)["atypical"] is None


def test_sharpness_probe_is_the_rise_at_the_next_model():
    trainer, metrics = train(1, probes=("sharpness",), probe_radius=0.2)
    loss = loss_over(trainer, trainer.pools)
    step = 0.2 * unit(torch.func.grad(loss)(trainer.w))
    found = metrics[0]["sharpness"]
    assert found["one_step"] == pytest.approx(float(loss(trainer.w + step) - loss(trainer.w)), rel=1e-9)
    longer = curvature.sam_sharpness(loss, trainer.w, 0.2, exact=True, restarts=2)
    assert found["one_step"] <= found["ascent"] <= longer.value * (1 + 1e-6)
    delta, rises = torch.zeros_like(trainer.w), []
    for _ in range(5):
        delta = 0.2 * unit(torch.func.grad(loss)(trainer.w + delta))
        rises.append(float(loss(trainer.w + delta) - loss(trainer.w)))
    assert found["ascent"] == pytest.approx(max(rises), rel=1e-9)


def test_iterated_sharpness_finds_the_maximum_of_a_convex_quadratic():
    """At the minimum side of a bowl the rise on the sphere ends at the top eigenvector: rho^2 lambda / 2."""
    d = torch.tensor([1.0, 2.0, 9.0], dtype=DOUBLE)
    loss = lambda w: 0.5 * (d * w * w).sum()  # noqa: E731
    found = curvature.iterated_sharpness(loss, torch.full((3,), 1e-6, dtype=DOUBLE), 0.5, steps=12)
    assert found.ascent == pytest.approx(0.5 * 9 * 0.25, rel=1e-4) and found.ascent >= found.one_step
    flat = curvature.iterated_sharpness(loss, torch.zeros(3, dtype=DOUBLE), 0.5)
    assert flat.ascent == flat.one_step == 0.0, "no gradient, no step"
    with pytest.raises(UserError, match="steps"):
        curvature.iterated_sharpness(loss, torch.zeros(3, dtype=DOUBLE), 0.5, steps=0)


def test_value_and_gradient_are_one_pass_of_both():
    trainer, _ = train(0)
    risk = trainer.risk()
    value, gradient = risk.value_and_gradient(trainer.w)
    assert float(value) == pytest.approx(float(risk(trainer.w)), rel=1e-14)
    assert torch.allclose(gradient, risk.gradient(trainer.w), rtol=0, atol=1e-16)


def test_layers_are_those_of_the_curvature_package():
    trainer, metrics = train(1, probes=("layers",))
    found = metrics[0]["layers"]["each"]
    expected = curvature.layer_curvature(trainer.risk(probes.LAYER_SAMPLES), trainer.w)
    assert list(found) == [layer.name for layer in expected]
    for layer in expected:
        assert found[layer.name]["top"] == pytest.approx(float(layer.top.values[0]), rel=0.02)
        assert found[layer.name]["ratio"] == pytest.approx(layer.ratio, rel=0.02)
    assert metrics[0]["layers"]["top"] == max(row["top"] for row in found.values())
    assert metrics[0]["layers"]["ratio"] == max(row["ratio"] for row in found.values())


def test_a_loss_that_is_not_finite_has_no_layers():
    trainer, lines = train(1, probes=("layers",), hyper={"server_lr": 1e300})
    assert not math.isfinite(float(trainer.risk(10)(trainer.w)))
    assert lines[0]["layers"] == {"top": None, "ratio": None, "each": {}}


def test_the_risk_counts_a_doubled_sample_twice():
    trainer, _ = train(0, split="dirichlet:0.1:replace")
    assert len(torch.cat(trainer.pools).unique()) < len(trainer.risk())
    assert float(trainer.risk()(trainer.w)) == pytest.approx(float(loss_over(trainer, trainer.pools)(trainer.w)))
    first, again = trainer.risk(20), trainer.risk(20)
    assert len(first) == 20 and torch.equal(first.data[0], again.data[0])


@pytest.mark.parametrize("model", ["mlp-12", "cnn-fmnist"])
def test_layers_have_every_bound_and_none_is_violated(model):
    """The networks of the registry are chains: their ``forward`` has an option, which must not hide that."""
    _, metrics = train(1, model=model, probes=("layers",), dtype="float32")
    found = metrics[0]["layers"]
    assert found["violated"] == []
    for entry in found["each"].values():
        assert entry["bounds"].keys() >= {"sample", "spectral", "frobenius", "am-gm"}
        assert all(entry["measured"] <= bound * (1 + 1e-3) + entry["residual"] for bound in entry["bounds"].values())
    worst = min(entry["measured"] / entry["bounds"]["spectral"] for entry in found["each"].values())
    assert found["spectral"] == pytest.approx(worst), "where it is loosest"


def test_a_violated_bound_of_a_layer_is_named_and_warned_of(monkeypatch):
    real = looseness.layers._bounds
    halved = lambda *a: ({**real(*a)[0], "spectral": 1e-9}, "")  # noqa: E731
    monkeypatch.setattr(looseness.layers, "_bounds", halved)
    with pytest.warns(UserWarning, match="fc1: spectral: the bound lies below"):
        _, metrics = train(1, probes=("layers",))
    assert "fc1: spectral" in metrics[0]["layers"]["violated"]


def test_drift_and_estimation_carry_their_bounds():
    _, metrics = train(1, probes=("drift", "estimation"))
    drift, found = metrics[0]["drift"], metrics[0]["estimation"]
    assert 0 < drift["own"] <= drift["own_bound"] <= 4 and drift["printed"] > 0
    assert found["bias"] <= found["bound"] <= 2 and found["floor"] <= found["floor_bound"]
    assert drift["violated"] == found["violated"] == []
    _, plain = train(1, algorithm="fedavg", probes=("estimation",))
    assert plain[0]["estimation"]["floor"] is None
