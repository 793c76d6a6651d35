"""Every method trains on real data: both kinds of partition, partial participation, both variants."""

import pytest
import torch

from artifact.algorithms import ALGORITHMS, UNRELEASED
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.trainer import Trainer

#: radii and rates at which no method diverges in two rounds on the digits
SETTINGS = {
    "dataset": "digits",
    "model": "mlp-16",
    "clients": 20,
    "cohort": 5,
    "rounds": 2,
    "lr": 0.02,
    "local_epochs": 2,
}
CASES = [(n, v) for n in ALGORITHMS for v in ("paper", "released") if v == "paper" or n not in UNRELEASED]


@pytest.mark.parametrize("split", ["dirichlet:0.1:replace", "pathological:3"])
@pytest.mark.parametrize(("name", "variant"), CASES)
def test_method_trains(name, variant, split):
    config = make(algorithm=name, variant=variant, split=split, **SETTINGS)
    trainer = Trainer(config, load_data(config))
    start = trainer.w.clone()
    lines = [trainer.play_round() for _ in range(config.rounds)]
    assert torch.isfinite(trainer.w).all()
    assert not torch.equal(trainer.w, start)
    assert all(0 <= line["server"]["accuracy"] <= 1 for line in lines)
    assert all(line["cost"]["gradients_per_step"] in (1.0, 2.0) for line in lines)
    assert all(line["cohort"] == 5 for line in lines)
