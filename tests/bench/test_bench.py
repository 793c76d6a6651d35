"""``fedsharp bench`` on the smallest case: contenders in processes of their own, what they report, what is refused."""

import json
import subprocess
import sys
import time
import tomllib
from functools import partial

import numpy as np
import pytest
import torch

from artifact.__main__ import main
from artifact.base import devices
from artifact.base.errors import UserError
from artifact.bench import cases, command, results
from artifact.bench.command import line, ratio_line
from artifact.bench.flops import limits, round_flops
from artifact.bench.measure import (
    Contender,
    busy_seconds,
    interleave,
    ratios,
    row,
    spread,
    take_turns,
    tree_seconds,
)
from artifact.runs.session import load_data
from artifact.runs.store import environment
from artifact.training.config import make
from artifact.training.trainer import Trainer


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
        assert all(sample["others"] >= 0 for sample in contender.samples)  # a share; coarse in such short rounds
        assert "n=2" in line(result)
    quotient = ratios(played[1], played[0])
    first = played[1].samples[0]["train"] / played[0].samples[0]["train"]
    assert quotient["train"]["min"] <= first <= quotient["train"]["max"]
    assert "reference / explicit" in ratio_line(quotient)


def test_operations_of_a_round_by_hand(digits):
    """mlp-12 on 64 pixels: forward 2 B (64*12 + 12*10), weights' gradients as much, inputs' of the second layer."""
    run = make(algorithm="fedavg", device="cpu", backend="loop", model="mlp-12", **digits)
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


def test_uncompiled_is_the_same_training_in_turns_of_several_rounds(digits, tmp_path):
    """The same bits without compiled loops, so a difference in time is theirs alone."""
    kinds, warm = ("auto", cases.UNCOMPILED), []
    asked = [
        cases.contender("mlp-200", "fedavg", kind) | {"weights": str(tmp_path / f"{kind}.npy"), "cores": 1}
        for kind in kinds
    ]
    played = take_turns([partial(Contender, one) for one in asked], 2, 3, lambda: warm.append(True))
    assert warm == [True] and [len(contender.samples) for contender in played] == [2, 2]
    assert all(sample["train"] > 0 and sample["passes"] == 1 for contender in played for sample in contender.samples)
    assert [contender.facts["loops"] for contender in played] == [True, False]
    assert played[0].facts["backend"] == played[1].facts["backend"]
    assert np.array_equal(*(np.load(tmp_path / f"{kind}.npy") for kind in kinds))


def test_seconds_of_a_process_and_its_children():
    loop = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    child = f"import subprocess, sys; print(1, flush=True); p = subprocess.Popen([sys.executable, '-c', {loop!r}]); "
    process = subprocess.Popen([sys.executable, "-c", child + "p.wait(); input()"], stdin=-1, stdout=-1, text=True)
    process.stdout.readline()
    started = tree_seconds(process.pid)
    deadline = time.monotonic() + 60
    while tree_seconds(process.pid) < started + 0.25 and time.monotonic() < deadline:
        time.sleep(0.05)
    used = tree_seconds(process.pid)
    process.communicate("\n")
    assert started + 0.25 <= used <= started + 3


def test_a_precision_that_the_machine_lacks_is_one_line(digits, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["bench", "--model", "mlp-200", "--algorithm", "fedavg", "--backend", "tf32"]) == 2
    error = capsys.readouterr().err
    assert "tf32 is a precision of CUDA devices" in error and len(error.splitlines()) == 1


def test_a_type_that_the_processor_computes_slowly_is_said_beforehand(digits, capsys, monkeypatch, tmp_path):
    """One line on stderr and the run is made all the same; nothing where it is fast, or for float32."""
    words = "run --algorithm fedavg --dataset digits --model mlp --rounds 1 --clients 10 --cohort 2 --quiet --json"
    run = words.split()
    for fast, lines in ((True, 0), (False, 1)):
        monkeypatch.setattr(devices, "has_bfloat16", lambda _device, fast=fast: fast)
        out = ["--out", str(tmp_path / str(fast))]
        assert main([*run, "--dtype", "bfloat16", *out]) == 0 and main([*run, *out]) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "bfloat16" in line]
        assert len(said) == lines and all("expect ten times the time of float32" in line for line in said)


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("artifact.bench.command.measure", None)
    (tmp_path / "file").touch()
    assert main(["bench", "--out", str(tmp_path / "file" / "x.json")]) == 2
    assert capsys.readouterr().err.startswith("error: out: ")


def test_the_fastest_backend_of_each_model_is_written(monkeypatch, tmp_path):
    """What a backend does that does not know the model, and so gives it to another one, does not count."""
    monkeypatch.setattr(command, "BACKENDS_FILE", tmp_path / "backends.toml")
    command.BACKENDS_FILE.write_text('# head\n\n[cpu]\n"*" = "batched"\n')
    monkeypatch.setattr(command, "measured_for", lambda _device: "cpu")
    known = {"lenet": ("loop", "batched"), "mlp-200": ("explicit", "loop")}

    def measured(models, algorithms, kinds, turns, **_asked):
        rows = [
            {
                "contender": kind,
                "backend": kind if kind in known[models[0]] else "loop",
                "train": {"median": s, "n": turns},
            }
            for s, kind in enumerate(kinds, 2)
        ]
        rows[-1]["train"]["median"] = 1.0  # batched of LeNet; onednn of the MLP, which is loop's work
        return {"environment": environment(torch.device("cpu")), "rows": rows}

    monkeypatch.setattr(command, "measure", measured)
    text = command.write_backends(3, ["lenet", "mlp-200"])
    assert command.BACKENDS_FILE.read_text() == text and "medians of 3 turns" in text
    assert tomllib.loads(text) == {"cpu": {"*": "batched", "lenet": "batched", "mlp-*": "loop"}}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--write", "--cores", "1"], ("cores", "nothing with --write")),
        (["--model", "lenet"], ("model", "lenet", "whose data are here")),
    ],
)
def test_what_bench_cannot_do_is_one_line(words, named, monkeypatch, capsys):
    monkeypatch.setattr(command, "available", lambda models: [])
    assert main(["bench", *words]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and all(word in error for word in named)


def test_the_folder_of_a_result_is_made_with_it(tmp_path):
    results.write(tmp_path / "new" / "a.json", {"environment": {}})
    assert results.read(tmp_path / "new" / "a.json") == {"environment": {}}


def test_a_roofline_counts_times_and_shows(digits, capsys, tmp_path):
    out = tmp_path / "roofline.json"
    words = ["bench", "--roofline", "--model", "mlp-200", "--algorithm", "fedavg", "--rounds", "1", "--out", str(out)]
    assert main(words) == 0
    assert "| mlp-200 | fedavg | float32 |" in capsys.readouterr().out
    (found,) = results.read(out)["rows"]
    assert found["operations"] == pytest.approx(2 * 20 * (2 * 64 * 200 + 3 * 200 * 10) * 2, rel=0.5)  # and evaluation
    assert found["share"] == pytest.approx(found["limit"] / found["seconds"])


def test_a_roofline_refuses_what_it_would_ignore(capsys):
    assert main(["bench", "--roofline", "--model", "mlp-200", "--cores", "1"]) == 2
    assert "roofline" in capsys.readouterr().err
