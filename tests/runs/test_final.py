"""What a finished run keeps of its last model, checked against the evaluation beside it."""

import base64

import numpy as np
import pytest

from artifact.runs.session import execute
from artifact.runs.store import Run
from artifact.training.config import make


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    config = make(algorithm="fedavg", model="mlp", rounds=3, eval_every=2, eval_train=True, backend="loop")
    run = execute(config, tmp_path_factory.mktemp("store"), quiet=True)
    run = getattr(run, "run", run)
    return Run(run.root, run.key).metrics()


def test_only_the_last_line_has_them(lines):
    assert ["final" in line for line in lines] == [False, False, True]


def test_bits_count_the_right_samples(lines):
    bits = np.unpackbits(np.frombuffer(base64.b64decode(lines[-1]["final"]["right"]), dtype=np.uint8))
    samples = 360  # test images of the handwritten digits
    assert bits[samples:].sum() == 0
    assert bits[:samples].sum() / samples == pytest.approx(lines[-1]["server"]["accuracy"], abs=1e-12)


def test_training_fit_is_that_of_the_evaluation(lines):
    assert lines[-1]["final"]["train"] == lines[-1]["train"]
