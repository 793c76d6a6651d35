"""Recorded local steps on the CPU, where a replay calls what a GPU would replay: on the recording's own tensors."""

import functools
import importlib.util
import json
import os
import subprocess
import sys

import pytest
import torch
from switched import SWITCHED

from artifact.algorithms import ALGORITHMS
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.recorded_steps import RecordedSteps
from artifact.training.trainer import Trainer

SMALL = {"dataset": "digits", "train_size": 60, "test_size": 20, "clients": 3, "cohort": 2, "rounds": 3}
SMALL |= {"model": "mlp-5", "dtype": "float64", "device": "cpu", "lr": 0.05, "lr_decay": 0.8, "weight_decay": 0.05}
SMALL |= {"backend": "explicit", "batch_size": 8, "local_epochs": 2, "clip": 0.5}


@functools.lru_cache
def data():
    return load_data(make(algorithm="fedavg", **SMALL))


def played(recorded, monkeypatch=None, **options):
    """A trainer after three rounds; where the steps are recorded in one thread, what became of each of them."""
    run = make(**(SMALL | options))
    trainer, said = Trainer(run, data()), []
    trainer.oracle.cuda_graphs = recorded
    if monkeypatch is not None:
        trainer.oracle.work_inline()
        for name in ("_watched", "_recorded"):
            monkeypatch.setattr(RecordedSteps, name, told(getattr(RecordedSteps, name), said.append, name))
    lines = [trainer.play_round() for _ in range(3)]
    return trainer, [line["cost"] for line in lines], said


def told(function, say, name):
    def wrapped(*given):
        say(name)
        return function(*given)

    return wrapped


CASES = [(name, ()) for name in ALGORITHMS] + [(name, (id,)) for name, id in SWITCHED]


@pytest.mark.parametrize(("name", "switches"), CASES)
def test_recorded_steps_have_the_bits_of_plain_ones(name, switches):
    """Equal pools with a short last batch, a decaying rate, and a clip that acts."""
    plain, cost, _ = played(False, algorithm=name, switches=switches)
    ours, counted, _ = played(True, algorithm=name, switches=switches)
    assert counted == cost
    expected, found = plain.tensors(), ours.tensors()
    assert found.keys() == expected.keys()
    assert all(torch.equal(value, found[key]) for key, value in expected.items())


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
@pytest.mark.parametrize("name", ["fedsam", "fedsmoo"])
def test_optimisers_with_buffers(name, optimiser):
    plain, ours = (played(recorded, algorithm=name, optimiser=optimiser)[0] for recorded in (False, True))
    assert torch.equal(plain.w, ours.w)


@pytest.mark.parametrize("options", [{"backend": "batched", "model": "cnn-emnist"}, {"sizes": "lognormal:0.6"}])
def test_dropout_and_unequal_pools(options):
    """Uniforms are inputs of a recording; steps of which some clients have no part are not recorded."""
    plain, ours = (played(recorded, algorithm="fedsam", **options)[0] for recorded in (False, True))
    assert torch.equal(plain.w, ours.w)


@pytest.mark.parametrize(("name", "watched", "recorded"), [("fedsam", 2, 2), ("fedrobust", 0, 0)])
def test_a_shape_is_watched_once_and_recorded_once(name, watched, recorded, monkeypatch):
    """20 samples in batches of 8: two lengths of a batch, three rounds of two epochs."""
    _, _, said = played(True, monkeypatch, algorithm=name)
    assert (said.count("_watched"), said.count("_recorded")) == (watched, recorded)


def test_a_method_that_reads_the_step_has_a_recording_for_each(monkeypatch):
    _, _, said = played(True, monkeypatch, algorithm="mofedsam", switches=("MOSAM-5",))
    assert said.count("_recorded") == said.count("_watched") == 6  # steps of a round


def test_what_leaves_a_round_is_not_overwritten_by_the_next():
    run = make(**(SMALL | {"algorithm": "fedsmoo"}))
    trainer = Trainer(run, data())
    trainer.oracle.cuda_graphs = True
    left = []
    finish = type(trainer.algorithm).finish
    object.__setattr__(
        trainer.algorithm,
        "finish",
        lambda s, c, w, W, C: left.append((W, c.e, c.mu)) or finish(trainer.algorithm, s, c, w, W, C),
    )
    trainer.play_round()
    kept = [t.clone() for t in left[0]]
    trainer.play_round()
    assert all(torch.equal(old, now) for old, now in zip(kept, left[0], strict=True))


KERNEL = """
import json, torch
from artifact.accelerate.sgd_step import sgd_step
torch.manual_seed(0)
W, d, lr = torch.randn(3, 700), torch.randn(3, 700), torch.tensor(0.3)
expected = W.double() - 0.3 * (d.double() + 0.1 * W.double())
kept = W.data_ptr()
found = sgd_step(W, d, 0.1, lr, W)
print(json.dumps([found.data_ptr() == kept, float((found - expected).abs().max())]))
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="there is no Triton here")
def test_the_interpreted_kernel_descends_in_place():
    told = os.environ | {"TRITON_INTERPRET": "1"}
    ended = subprocess.run([sys.executable, "-c", KERNEL], env=told, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    in_place, off = json.loads(ended.stdout)
    assert in_place and 0 < off < 1e-6
