"""``artifact bench`` on the smallest case: contenders in processes of their own, what they report, what is refused."""

import json
import os

import pytest

from artifact.__main__ import main
from artifact.bench import line, ratio_line
from artifact.benchmark import cases
from artifact.benchmark.flops import limits, round_flops
from artifact.benchmark.measure import Contender, busy_seconds, interleave, ratios, row, spread
from artifact.config import make
from artifact.engine import Trainer
from artifact.errors import UserError
from artifact.session import load_data

DIGITS = {"dataset": "digits", "train_size": 100, "test_size": 60, "clients": 5, "cohort": 2, "batch_size": 10}
DIGITS |= {"local_epochs": 1}


@pytest.fixture
def digits(monkeypatch):
    """The first case, on the digits that are always there."""
    monkeypatch.setitem(cases.CASES, "mlp-200", DIGITS)
    monkeypatch.setattr("artifact.bench.available", lambda models: list(models))


def test_contenders_take_turns_and_report(digits):
    asked = [cases.contender("mlp-200", "fedsam", kind) for kind in ("explicit", "loop")]
    played = interleave([a | {"cores": 1} for a in asked], 2)
    for contender, backend in zip(played, ("explicit", "loop"), strict=True):
        assert contender.process.poll() is not None
        assert len(contender.samples) == 2
        result = row(contender, limit=100.0)
        assert (result["backend"], result["contender"], result["cores"]) == (backend, backend, 1)
        assert contender.facts["threads"] == 1
        assert contender.facts["local_steps"] == 2 * 2
        assert result["train"]["min"] <= result["train"]["median"] <= result["train"]["max"]
        assert result["whole"]["median"] >= result["train"]["min"]
        assert result["examples_per_second"] == pytest.approx(2 * 2 * 10 / result["train"]["median"])
        assert result["gflop"] == pytest.approx(2 * contender.facts["flops_per_pass"] / 1e9)  # two gradients a step
        assert result["share_of_limit"] == pytest.approx(result["gflop"] / result["train"]["median"] / 100)
        assert result["peak_mib"] >= contender.facts["loaded_mib"] > 50
        assert all(0 <= sample["others"] <= os.cpu_count() + 0.5 for sample in contender.samples)
        assert "n=2" in line(result)
    quotient = ratios(played[1], played[0])
    first = played[1].samples[0]["train"] / played[0].samples[0]["train"]
    assert quotient["train"]["min"] <= first <= quotient["train"]["max"]
    assert "reference / explicit" in ratio_line(quotient)


def test_operations_of_a_round_by_hand():
    """mlp-12 on 64 pixels: forward 2 B (64*12 + 12*10), weights' gradients as much, inputs' of the second layer."""
    run = make(algorithm="fedavg", device="cpu", backend="loop", model="mlp-12", **DIGITS)
    trainer = Trainer(run, load_data(run))
    per_step = 2 * 10 * (2 * (64 * 12 + 12 * 10) + 12 * 10)
    assert round_flops(trainer) == 4 * per_step


def test_limits_of_the_machine():
    rates = limits(repeats=2)
    assert rates["limit"] == max(rates["matmul"], rates["convolution"]) > 1
    assert rates["matmul"] >= rates["matmul_median"] > 0


def test_spread_and_busy_seconds():
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": 3.0, "n": 3}
    assert busy_seconds() >= 0


def test_command(digits, tmp_path, capsys):
    out = tmp_path / "bench.json"
    words = ["bench", "--model", "mlp-200", "--algorithm", "fedavg", "--rounds", "1", "--out", str(out), "--json"]
    assert main(words) == 0
    stored = json.loads(out.read_text())
    assert stored == json.loads(capsys.readouterr().out)
    assert [r["algorithm"] for r in stored["rows"]] == ["fedavg"] and stored["ratios"] == []
    assert stored["environment"]["torch"] and stored["limits"]["limit"] > 0


def test_a_contender_that_ends_early_is_one_line():
    with pytest.raises(UserError, match="it ended before it did"):
        Contender(cases.contender("mlp-200", "no such method", "auto"))


def test_a_folder_without_the_simulator_is_refused(digits, tmp_path, capsys):
    assert main(["bench", "--model", "mlp-200", "--algorithm", "fedavg", "--reference", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "a checkout of woodenchild95/FL-Simulator" in error and len(error.splitlines()) == 1


@pytest.mark.parametrize("model", list(cases.CASES))
def test_every_case_is_a_valid_config(model):
    for algorithm in cases.METHODS:
        for kind in ("auto", "bfloat16", "reference"):
            run = make(**cases.contender(model, algorithm, kind)["config"])
            assert run.dtype == ("bfloat16" if kind == "bfloat16" else "float32")
            assert (run.clients, run.cohort, run.batch_size) == (100, 10, 50)
