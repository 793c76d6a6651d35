"""The doctor: no alarm for any method, vector or optimiser of ours, and an alarm that names every planted fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import artifact
from artifact import algorithms
from artifact.__main__ import main
from artifact.algorithms import ALGORITHMS, RELEASED
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.runs.replay import Case, method, perceptron

sys.path.insert(0, str(Path(__file__).parent))

from patients import client_of, flat, put

FORMS = [(name, "paper", None) for name in ALGORITHMS]
FORMS += [(name, "released", source) for source, names in RELEASED.items() for name in sorted(names)]
VECTORS = paths.ROOT / "tests" / "vectors"


def values(algorithm):
    return {name: getattr(algorithm, name) for name in algorithms.hyperparameters(algorithm.name)}


# ---- the healthy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant", "source"), FORMS)
def test_every_method_is_healthy(name, variant, source):
    own = algorithms.build(name, variant, source)
    meant = {"variant": variant, "source": source, "lr": 0.1, "weight_decay": 0.01, "rounds": 3} | values(own)
    report = artifact.doctor(client_of(own, weight_decay=0.01), name, **meant)
    assert report.healthy, report
    assert max(row.error for row in report.rows) < 1e-9


@pytest.mark.parametrize("path", sorted(VECTORS.rglob("*.npz")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_methods_of_the_vectors_are_healthy_on_their_data(path):
    """Client 0 of the case with its model, data, batches and hyper-parameters; client 1 is the engine's."""
    case = Case(path)
    own, model, sizes = method(case), perceptron(case.shapes).double(), case.sizes[:2]
    assert sizes[0] == sizes[1]
    put(model, case.w0)
    decay, clip = case.hp["weight_decay"], 10.0 if own.clip_total else None
    steps = sizes[0] // case.meta.batch
    report = artifact.doctor(
        client_of(own, decay, clip, sizes=sizes, steps=steps), case.algorithm, model=model,
        data=(case.X[: sum(sizes)], case.y[: sum(sizes)]), batch_size=case.meta.batch, steps=steps, rounds=3,
        lr=case.hp["lr"], weight_decay=decay, clip=clip, variant="released" if case.source else "paper",
        source=case.source, **values(own),
    )  # fmt: skip
    assert report.healthy, report


@pytest.mark.parametrize("name", ["SAM", "ASAM", "LESAM"])
def test_our_optimisers_are_healthy(name):
    def optimiser(model):
        named = {"params": model.named_parameters() if name == "ASAM" else model.parameters()}
        known = {} if name == "LESAM" else {"model": model}
        return getattr(artifact.optim, name)(**named, **known, lr=0.2, rho=0.05, weight_decay=0.01)

    report = artifact.doctor(optimiser, f"fed{name.lower()}")
    assert report.healthy, report


# ---- steps written by hand -------------------------------------------------------------------------------------------

RHO, LR = 0.05, 0.1


def sam(model, x, y, fault=""):
    """A step of SAM as many write it, with a fault."""
    own = list(model.parameters())
    ascent = slice(0, len(y) // 2) if fault == "another minibatch" else slice(None)
    F.cross_entropy(model(x[ascent]), y[ascent]).backward()
    with torch.no_grad():
        size = torch.cat([p.grad.flatten() for p in own]).norm()
        shifts = [RHO * p.grad / (p.grad.norm() if fault == "by tensor" else size) for p in own]
        shifts = [-s for s in shifts] if fault == "downhill" else shifts
        for p, s in zip(own, shifts, strict=True):
            p.add_(s)
    if fault != "not cleared":
        model.zero_grad()
    layers = [m for m in model.modules() if hasattr(m, "momentum")] if fault != "statistics" else []
    before = [m.momentum for m in layers]
    for m in layers:
        m.momentum = 0.0
    F.cross_entropy(model(x), y).backward()
    for m, momentum in zip(layers, before, strict=True):
        m.momentum = momentum
    with torch.no_grad():
        for p, s in zip(own, shifts, strict=True):
            p.sub_(0 * s if fault == "not undone" else s)
            p.sub_(LR * p.grad)
    model.zero_grad()


def seen(fault, **options):
    def step(model, x, y):
        sam(model, x, y, fault)

    return artifact.doctor(step, rho=RHO, lr=LR, **options)


def test_a_step_written_by_hand_is_healthy():
    assert seen("").healthy


@pytest.mark.parametrize(
    ("fault", "checks"),
    [
        ("another minibatch", {"minibatch"}),
        ("by tensor", {"length", "cosine"}),
        ("downhill", {"cosine"}),
        ("statistics", {"statistics"}),
        ("not cleared", {"update"}),
        ("not undone", {"update"}),
    ],
)
def test_faults_of_a_step_are_told_apart(fault, checks):
    report = seen(fault)
    assert report.alarms.keys() == checks, report
    if fault == "not cleared":
        assert report.terms["gradient at the start, not cleared"][0] == pytest.approx(1, abs=0.02)
    if fault == "not undone":
        assert report.terms["perturbation left in the weights"][0] == pytest.approx(1, abs=0.02)


def test_an_optimiser_without_ascent_and_one_of_another_radius():
    plain = artifact.doctor(lambda model: torch.optim.SGD(model.parameters(), lr=LR), rho=RHO)
    assert "0.000 rho long" in plain.alarms["length"]
    other = artifact.doctor(lambda model: artifact.optim.SAM(model.parameters(), rho=0.1, model=model), rho=0.05)
    assert other.alarms.keys() == {"length"} and other.rows[0].length == pytest.approx(2)


def test_accumulated_gradients_are_one_gradient():
    def step(model, x, y):
        for part in (slice(0, 4), slice(4, 8)):
            (F.cross_entropy(model(x[part]), y[part]) / 2).backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(LR * p.grad)
        model.zero_grad()

    report = artifact.doctor(step, "fedavg", lr=LR, model=torch.nn.Linear(6, 4).double(), data=_data())
    assert report.healthy, report
    assert {row.evaluations for row in report.rows} == {1}


def _data():
    stream = torch.Generator().manual_seed(3)
    return torch.randn(48, 6, dtype=torch.float64, generator=stream), torch.randint(4, (48,), generator=stream)


# ---- the known faults ------------------------------------------------------------------------------------------------


def client(name, switches=(), meant=(), **options):
    """The engine's method with some switches, examined as the method with others."""
    own = algorithms.build(name, switches=switches, **options.pop("own", {}))
    told = {"lr": LR, "switches": meant} | values(algorithms.build(name, switches=meant)) | options
    return artifact.doctor(client_of(own, forgets=told.pop("forgets", False), clip=told.get("clip")), name, **told)


def test_the_scalar_per_tensor_of_fedlesam():
    report = client("fedlesam", ["LESAM-1"])
    assert report.alarms.keys() == {"length", "cosine"}
    last = report.rows[-1]
    assert last.length == pytest.approx(_scalars(), rel=0.5) and abs(last.cosine) < 0.9


def _scalars():
    """Length over rho by formula, for entries of one size: sqrt(sum of sizes) / number of tensors."""
    sizes = torch.tensor([30.0, 5, 5, 5, 20, 4])
    return float(sizes.sum().sqrt()) / len(sizes)


def test_the_missing_offset_of_fedsmoo():
    report = client("fedsmoo", ["SMOO-11"])
    assert report.alarms.keys() == {"cosine"}, report
    assert all(row.length == pytest.approx(1) for row in report.rows)


def test_the_lost_alpha_of_mofedsam():
    report = client("mofedsam", ["MOSAM-3"])
    assert report.alarms.keys() == {"update"}
    assert report.terms == {"gradient": (pytest.approx(10), 1.0)}


def test_the_correction_times_a_tenth_of_fedlesam_s():
    report = client("fedlesam-s", ["LESAMS-2"])
    assert report.alarms.keys() == {"update"}
    assert report.terms.keys() == {"c", "c_i"}
    assert [weight for weight, _ in report.terms.values()] == pytest.approx([0.1, 0.1])


def test_the_ramp_of_fedgloss():
    """The server's list of radii goes on from the end of the clients' list, as in claims/genealogy.csv."""
    meant = [0.001 + 0.0009 * t for t in range(11)]
    clients = [0.001 + 0.0199 * t for t in range(11)]
    found = [0.001] + [clients[-1] + 0.0009] * 10

    def ascent(radii):
        def step(model, batches, sent):
            for x, y in batches:
                own = artifact.optim.SAM(model.parameters(), lr=LR, rho=radii[sent["round"]], model=model)
                own.step(lambda own=own, x=x, y=y: (own.zero_grad(), F.cross_entropy(model(x), y).backward()))

        return artifact.doctor(step, lr=LR, rho=lambda t: meant[t])

    assert ascent(meant).healthy
    report = ascent(found)
    assert report.alarms.keys() == {"length"}
    assert [round(row.length, 1) for row in report.rows[::3]] == [1.0, 105.7, 71.8, 54.3]


@pytest.mark.parametrize(
    ("name", "switches", "check", "told"),
    [
        ("fedlesam-d", ["LESAMD-1"], "update", "dual_i has weight -1.000, meant 1 (opposite sign)"),
        ("fedsmoo", ["SMOO-1"], "cosine", "s has weight 1.00, meant -1.00"),
        ("scaffold", ["SCAF-1"], "update", "c_i has weight -1.000, meant 1 (opposite sign)"),
    ],
)
def test_signs_of_duals_and_corrections(name, switches, check, told):
    report = client(name, switches)
    assert told in report.alarms[check], report


@pytest.mark.parametrize(
    ("name", "check", "told"),
    [
        ("scaffold", "update", "c_i has weight 0.000, meant 1 (it is missing, or not kept between rounds)"),
        ("feddyn", "update", "dual_i has weight 0.000"),
        ("fedlesam", "length", "is state kept between rounds?"),
    ],
)
def test_a_client_that_forgets(name, check, told):
    report = client(name, forgets=True)
    assert told in report.alarms[check], report
    assert "round 1" in report.alarms[check]


@pytest.mark.parametrize(("switches", "meant"), [([], ["GEN-1"]), (["GEN-1"], [])])
def test_the_order_of_the_clip(switches, meant):
    own = {"lam": 2.0}
    report = client("feddyn", switches, meant, clip=0.3, own=own, **own)
    names = {True: "gradient and correction, before weight decay", False: "the gradient alone"}
    assert report.clip == names[bool(switches)]
    assert names[bool(meant)] in report.alarms["clip"]
    assert client("feddyn", meant, meant, clip=0.3, own=own, **own).healthy


def test_a_patient_that_does_nothing():
    assert artifact.doctor(lambda model, x, y: None, rho=0.05).alarms.keys() == {"gradients"}


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command(tmp_path, capsys):
    file = tmp_path / "own.py"
    text = "import torch\ndef optimiser(model):\n    return torch.optim.SGD(model.parameters(), lr=0.1)\n"
    file.write_text(f"{text}options = {{'method': 'fedavg'}}\n")
    assert main(["doctor", str(file)]) == 0
    assert "no alarm" in capsys.readouterr().out
    file.write_text(text)
    assert main(["doctor", str(file)]) == 2  # no length can be judged without a radius
    assert capsys.readouterr().err.startswith("error: rho: nothing is given; allowed: the radius of this fedsam")
    file.write_text(f"{text}options = {{'rho': 0.05}}\n")
    assert main(["doctor", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["alarms"].keys() == {"length"}
    file.write_text("options = {'rho': 0.05}\ndef step(model, x, y):\n    model.nothing()\n")
    assert main(["doctor", str(file)]) == 2
    assert "line 3" in capsys.readouterr().err
    file.write_text("x = 1")
    assert main(["doctor", str(file)]) == 2


def test_what_is_not_possible_is_told():
    with pytest.raises(UserError, match="batches, sent"):
        artifact.doctor(lambda a, b: None)
    with pytest.raises(UserError, match="data"):
        artifact.doctor(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]))
    assert flat(torch.nn.Linear(1, 1)).shape == (2,)
