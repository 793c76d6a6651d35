"""``artifact bench`` on the smallest case: contenders in processes of their own, what they report, what is refused."""

import importlib.util
import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from artifact.__main__ import main
from artifact.accelerate.cpu.fourier_convolutions import FourierConv2d
from artifact.accelerate.cpu.tiled_convolutions import Tiling
from artifact.base import devices
from artifact.base.errors import UserError
from artifact.bench import aims, cases, frameworks, nodes, page, profile, scaling
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

DIGITS = {"dataset": "digits", "train_size": 100, "test_size": 60, "clients": 5, "cohort": 2, "batch_size": 10}
DIGITS |= {"local_epochs": 1}


@pytest.fixture
def digits(monkeypatch):
    """The first case, on the digits that are always there."""
    monkeypatch.setitem(cases.CASES, "mlp-200", DIGITS)
    monkeypatch.setattr("artifact.bench.command.available", lambda models: list(models))


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


def test_uncompiled_is_the_same_training(digits, tmp_path):
    """The same bits without compiled loops, so a difference in time is theirs alone."""
    kinds = ("auto", cases.UNCOMPILED)
    played = interleave(
        [cases.contender("mlp-200", "fedavg", k) | {"weights": str(tmp_path / f"{k}.npy"), "cores": 1} for k in kinds],
        1,
    )
    assert [contender.facts["loops"] for contender in played] == [True, False]
    assert played[0].facts["backend"] == played[1].facts["backend"]
    assert np.array_equal(*(np.load(tmp_path / f"{kind}.npy") for kind in kinds))


def test_turns_of_several_rounds(digits):
    """One uncounted round, then two turns of three: seven rounds in all, a sample per turn."""
    asked = cases.contender("mlp-200", "fedavg", "explicit") | {"cores": 1}
    warm = []
    (played,) = take_turns([lambda: Contender(asked)], 2, 3, lambda: warm.append(True))
    assert len(played.samples) == 2 and warm == [True]
    assert all(0 < sample["train"] < 1 and sample["passes"] == 1 for sample in played.samples)


def test_profile_adds_up_and_knows_the_layers(digits, tmp_path):
    """mlp-200 on 64 pixels: two layers, whose products are the floor under the round's time."""
    result = profile.measure(["mlp-200"], ["explicit"])
    (one,) = result["profiles"]
    assert sum(one["shares"].values()) == pytest.approx(1) and one["shares"]["matrix products"] > 0
    assert [(layer["layer"], layer["weight"]) for layer in one["layers"]] == [("fc1", "200x64"), ("fc2", "10x200")]
    assert all(layer["forward_gflops"] > 0 and layer["backward_gflops"] > 0 for layer in one["layers"])
    assert one["floor"] == pytest.approx(4 * sum(layer["milliseconds"] for layer in one["layers"]) / 1000)
    assert "mlp-200" in profile.line(one)
    (tmp_path / "profile.json").write_text(json.dumps(result))
    text = page.section(tmp_path / "profile.json")
    assert "| mlp-200 | explicit | float32 | fc1 | 64 | 200x64 |" in text and "products and convolutions alone" in text


@pytest.mark.parametrize(
    "layer", [torch.nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), FourierConv2d(3, 4, 3, padding=1, bias=False)]
)
def test_a_convolution_alone_does_what_the_network_does(layer, monkeypatch):
    x = torch.rand(5, 3, 8, 8, requires_grad=True)
    for first, gradients in ((True, [False, True]), (False, [True, True])):
        times = itertools.chain([3.0] * 4, itertools.repeat(0.0))  # of the two layouts, then spectra are the fastest
        monkeypatch.setattr(profile, "_quiet", lambda call, times=times: next(times))
        seen = profile._Seen("conv", layer, (5, 3, 8, 8), first, None)
        calls = profile._convolution(seen, x.detach(), layer.weight.detach())
        assert profile._outputs(seen) == layer(x)[0].numel()
        assert torch.allclose(calls["forward"](), layer(x), atol=1e-6)
        assert [g is not None and g.numel() > 0 for g in calls["backward"]()][:2] == gradients


def test_a_convolution_by_tiles_alone_is_its_products(monkeypatch):
    layer, x = torch.nn.Conv2d(3, 4, 3, bias=False), torch.rand(5, 3, 8, 8)
    tiling, times = Tiling(3, 4, (3, 3), (8, 8), 2), itertools.chain([3.0] * 4, itertools.repeat(0.0))
    monkeypatch.setattr(profile, "_quiet", lambda call: next(times))
    seen = profile._Seen("conv", layer, (5, 3, 8, 8), False, tiling)
    calls = profile._convolution(seen, x, layer.weight.detach())
    _, kept = tiling.forward(x.permute(1, 2, 3, 0)[None], layer.weight.detach()[None])
    assert torch.equal(calls["forward"](), kept.candidates.flatten(1, 2))
    assert [product.shape for product in calls["backward"]()] == [kept.matrix.shape, kept.patches.shape]
    assert profile._outputs(seen) == 4 * 6 * 6


# ---- other frameworks -----------------------------------------------------------------------------------------------


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


def test_exported_work_is_the_work_of_our_trainer(digits, tmp_path):
    """Plain SGD on the exported batches, written out here, ends at our trainer's weights."""
    asked = frameworks.export("mlp-200", 2, tmp_path)
    run = make(**asked["config"])
    assert run.augment == "none" and run.clip is None and not run.eval_train
    trainer = Trainer(run, load_data(run))
    x, y, w, cohorts, batches = (
        torch.from_numpy(np.load(tmp_path / f"{n}.npy")) for n in ("x", "y", "w", "cohorts", "batches")
    )
    facts = json.loads((tmp_path / "work.json").read_text())
    assert facts == {"lr": run.lr, "weight_decay": run.weight_decay, "model": "mlp-200"}
    assert cohorts.shape == (2, 2) and batches.shape == (2, 2, 2, 10) and torch.equal(w, trainer.w)
    for t in range(2):
        trainer.play_round()
        ends = []
        for slot in range(2):
            v = w.clone().requires_grad_()
            for batch in batches[t, slot]:
                tensors = trainer.oracle.layout.views(v)
                loss = cross_entropy(functional_call(trainer.model, tensors, (x[batch],)), y[batch])
                v = (v - run.lr * (torch.autograd.grad(loss, v)[0] + run.weight_decay * v)).detach().requires_grad_()
            ends.append(v.detach())
        w = torch.stack(ends).mean(0)
    assert torch.allclose(w, trainer.w, atol=1e-6) and not torch.allclose(
        w, torch.from_numpy(np.load(tmp_path / "w.npy"))
    )


def test_uneven_batches_are_not_exported(digits, monkeypatch, tmp_path):
    monkeypatch.setitem(cases.CASES, "mlp-200", DIGITS | {"train_size": 115})
    with pytest.raises(UserError, match="divides every client's number of samples"):
        frameworks.export("mlp-200", 1, tmp_path)


def test_our_side_of_the_comparison_and_a_driver_that_follows_the_protocol(digits, monkeypatch, tmp_path):
    """In the place of a framework: a driver that does the exported work with the shared parts alone."""
    driver = tmp_path / "driver.py"
    driver.write_text(
        f"import sys; sys.path.insert(0, {str(frameworks.DRIVERS)!r})\n"
        "from pathlib import Path\nimport torch, torch.nn.functional as F\nimport shared\n"
        "shared.perceptron = lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 200), "
        "torch.nn.ReLU(), torch.nn.Linear(200, 10))\n"
        "asked, out = shared.begin(sys.argv[1])\nwork = shared.Work.read(Path(asked['work']))\n"
        "turns, w = shared.Turns(out, Path(asked['weights']), 0), work.w\nturns.ready({})\n"
        "for t in range(len(work.cohorts)):\n"
        "    if not turns.wait(): break\n"
        "    ends = []\n"
        "    for batches in work.batches[t]:\n"
        "        model = work.network(True); shared.load(model, w)\n"
        "        sgd = work.optimiser(model.parameters(), True)\n"
        "        for batch in batches:\n"
        "            sgd.zero_grad(); F.cross_entropy(model(work.images(True)[batch]), work.y[batch]).backward()\n"
        "            sgd.step(); turns.steps += 1\n"
        "        ends.append(torch.from_numpy(shared.flat(model)))\n"
        "    w = torch.stack(ends).mean(0); turns.done(w.numpy())\n"
    )
    settings = {"tuned": True, "workers": 1, "threads": 1}
    monkeypatch.setitem(frameworks.ROUNDS_PER_TURN, "mlp-200", 2)
    monkeypatch.setattr(
        frameworks, "contenders", lambda python, cores: {"stand-in": ([str(python), str(driver)], settings)}
    )
    monkeypatch.setattr(frameworks, "versions", lambda python: {"stand-in": "1"})
    result = frameworks.measure(Path(sys.executable), ["mlp-200"], 2, 1)
    ours, other = result["frameworks"]
    assert (ours["contender"], other["contender"]) == ("ours", "stand-in")
    assert ours["steps"] == other["steps"] == 5 * 2 * 2 and ours["rounds"] == 5
    assert ours["difference_after_one"] == 0 and 0 < other["difference_after_one"] < 1e-5
    assert ours["difference"] == 0 and 0 < other["difference"] < 1e-5
    assert ours["ratio"] == {"median": 1.0, "min": 1.0, "max": 1.0, "n": 2} and other["ratio"]["min"] > 0
    assert ours["processor"] >= 0 and "stand-in" in frameworks.line(other)
    (tmp_path / "frameworks.json").write_text(json.dumps(result))
    text = page.section(tmp_path / "frameworks.json")
    assert "stand-in 1" in text and "| mlp-200 | ours | 1 | 2 |" in text


@pytest.mark.parametrize("python", ["no/such/python", sys.executable])
def test_an_environment_without_the_frameworks_is_one_line(digits, python, capsys):
    if importlib.util.find_spec("pfl"):
        pytest.skip("pfl is installed here")
    words = ["bench", "--model", "mlp-200", "--frameworks", python, "--rounds", "1"]
    assert main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_drivers_are_valid_python_and_pinned():
    for path in frameworks.DRIVERS.glob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    pins = (frameworks.DRIVERS / "requirements.txt").read_text(encoding="utf-8")
    lines = [entry for entry in pins.splitlines() if not entry.startswith("#")]
    assert {entry.split("==")[0].split("[")[0] for entry in lines} == set(frameworks.PACKAGES)
    assert all(re.fullmatch(r"[a-z\[\]]+==[\d.]+", entry) for entry in lines)


def test_scaling_shows_nodes_beside_local_workers(tmp_path):
    """Points of four sweeps: a table line each, two curves in the figure's last panel."""
    sweeps = [(1, False, 0.2), (1, True, 0.25), (2, False, 0.1), (2, True, 0.15)]
    points = [{"x": n, "ray": ray, "train": s, "min": s, "max": s} for n, ray, s in sweeps]
    round_points = [{"x": t, "train": 0.1, "cpu": 0.2} for t in (2, 3)]
    panels = {"rounds": {"label": "round", "points": round_points}, "nodes": {"label": "nodes", "points": points}}
    result = {"environment": environment(torch.device("cpu")), "rounds": 1, "panels": panels}
    scaling.draw(result, tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".pdf", ".png"}
    (tmp_path / "scaling.json").write_text(json.dumps(result))
    text = page.section(tmp_path / "scaling.json")
    assert "| nodes, local workers | 2 | 0.1000 [0.1000, 0.1000] |" in text
    assert "| nodes, Ray | 1 | 0.2500 [0.2500, 0.2500] |" in text


def test_a_cluster_that_cannot_be_had_leaves_the_panel_out(monkeypatch):
    monkeypatch.setattr(nodes.importlib.util, "find_spec", lambda _name: None)
    assert "fedsharp[cluster]" in nodes.missing()
    monkeypatch.undo()
    monkeypatch.setattr(nodes.importlib.util, "find_spec", lambda _name: "ray")
    monkeypatch.setattr(nodes.shutil, "which", lambda _name: None)
    assert "unshare" in nodes.missing()


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


def test_the_profile_leaves_out_a_type_without_kernels(digits, capsys, monkeypatch):
    """oneDNN refuses a product in bfloat16 on such a processor, at the end of minutes of measuring."""
    monkeypatch.setattr(profile, "HALVED", ("mlp-200",))
    monkeypatch.setattr(profile, "has_bfloat16", lambda _device: False)
    assert [one["dtype"] for one in profile.measure(["mlp-200"])["profiles"]] == ["float32"]
    assert "mlp-200 in bfloat16: left out" in capsys.readouterr().err


def test_aims_say_what_was_measured_and_what_is_reached(tmp_path, capsys):
    spread_of = dict(zip(("median", "min", "max", "n"), (2.0, 1.9, 2.1, 9), strict=True))
    below = spread_of | {"median": 1.99}
    quotient = {"algorithm": "fedavg", "contender": "auto", "train": spread_of, "whole": below}
    write(tmp_path / "amx-lenet.json", ratios=[quotient])
    write(tmp_path / "memory.json", rows=[{"peak_mib": 14000.0}])
    assert main(["bench", "--aims", str(tmp_path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    of = {cells[0]: cells[1:] for cells in (line.strip("| ").split(" | ") for line in shown)}
    missing = "not measured"
    assert of["released code: LeNet"] == ["≥ 2", "**2.00** [1.90, 2.10], n=9", missing, missing]
    assert of["released code: LeNet, whole round, same evaluation"][1] == "1.99 [1.90, 2.10], n=9"
    assert of["released code: LeNet, ours in bfloat16"][1] == missing
    assert of["peak memory in GB: FedSMOO, ResNet-18-GN, 100 clients"] == ["≤ 14", missing, "14.68, n=1", missing]
    assert len(of) == len(shown) == 2 + len(aims.AIMS)


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"rows": '])
@pytest.mark.parametrize("option", ["--aims", "--tables"])
def test_results_that_bench_has_not_written_are_refused(option, content, tmp_path, capsys):
    (tmp_path / "amx-lenet.json").write_text(content)
    assert main(["bench", option, str(tmp_path)]) == 2
    assert "a result of bench --out" in capsys.readouterr().err


def test_a_folder_without_results_reaches_no_aims(tmp_path, capsys):
    assert main(["bench", "--aims", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: aims: ")


@pytest.mark.parametrize("option", ["--out", "--scaling"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(option, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("artifact.bench.measure", None)
    monkeypatch.setattr("artifact.bench.scaling_curves", None)
    (tmp_path / "file").touch()
    assert main(["bench", option, str(tmp_path / "file" / "x.json")]) == 2
    assert capsys.readouterr().err.startswith("error: out: ")


def test_a_folder_without_results_has_no_tables(tmp_path, capsys):
    assert main(["bench", "--tables", str(tmp_path)]) == 2
    assert "results of bench --out" in capsys.readouterr().err


def write(path, **result):
    path.write_text(json.dumps({"environment": environment(torch.device("cpu"))} | result))
