"""The scripts of docs/performance on the smallest case, and the commands that the pages print."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import re
import shlex
import sys
from pathlib import Path

import aims
import bfloat16
import click
import door
import frameworks
import nodes
import numpy as np
import precision
import pytest
import round_profile
import scaling
import tables
import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from artifact import cli
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.bench import cases
from artifact.runs.session import load_data
from artifact.runs.store import environment
from artifact.training.config import make
from artifact.training.trainer import Trainer

PRINTED = [
    line
    for page in (paths.DOCS / "performance.md", paths.DOCS / "curvature.md")
    for line in re.findall(
        r"\bpython ((?:-m fedsharp|-m artifact|docs/performance/\w+\.py)\b[^#`;\n]*)",
        page.read_text(encoding="utf-8").replace("\\\n", " ").replace(" -->", ""),
    )
]


def exit_code(script, *words: str) -> int:
    """How a script's command ends."""
    with pytest.raises(SystemExit) as end:
        script.main(list(words))
    return end.value.code


def write(path: Path, **result) -> None:
    path.write_text(json.dumps({"environment": environment(torch.device("cpu"))} | result))


@pytest.mark.parametrize("line", PRINTED)
def test_a_printed_command_parses(line):
    words = shlex.split(line)
    if words[0] == "-m":
        group, (name, *words) = cli.commands(words[2:]), words[2:]
        command = group.get_command(click.Context(group), name)
    else:
        command = importlib.import_module(Path(words.pop(0)).stem).main
    command.make_context(command.name, words)


def test_profile_adds_up_and_knows_the_layers(digits, tmp_path):
    """mlp-200 on 64 pixels: two layers, whose products are the floor under the round's time."""
    result = round_profile.measure(["mlp-200"], ["explicit"])
    (one,) = result["profiles"]
    assert sum(one["shares"].values()) == pytest.approx(1) and one["shares"]["matrix products"] > 0
    assert min(one["shares"].values()) >= 0  # also on a busy machine
    assert [(layer["layer"], layer["weight"]) for layer in one["layers"]] == [("fc1", "200x64"), ("fc2", "10x200")]
    assert all(layer["forward_gflops"] > 0 and layer["backward_gflops"] > 0 for layer in one["layers"])
    assert one["floor"] == pytest.approx(4 * sum(layer["milliseconds"] for layer in one["layers"]) / 1000)
    assert "mlp-200" in round_profile.line(one)
    (tmp_path / "profile.json").write_text(json.dumps(result))
    text = tables.section(tmp_path / "profile.json")
    assert "| mlp-200 | explicit | float32 | fc1 | 64 | 200x64 |" in text and "products and convolutions alone" in text


def test_a_convolution_alone_does_what_the_network_does(monkeypatch):
    layer = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
    x = torch.rand(5, 3, 8, 8, requires_grad=True)
    for first, gradients in ((True, [False, True]), (False, [True, True])):
        times = itertools.chain([3.0] * 4, itertools.repeat(0.0))
        monkeypatch.setattr(round_profile, "_quiet", lambda call, times=times: next(times))
        seen = round_profile._Seen("conv", layer, (5, 3, 8, 8), first)
        calls = round_profile._convolution(seen, x.detach(), layer.weight.detach())
        assert round_profile._outputs(seen) == layer(x)[0].numel()
        assert torch.allclose(calls["forward"](), layer(x), atol=1e-6)
        assert [g is not None and g.numel() > 0 for g in calls["backward"]()][:2] == gradients


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
    monkeypatch.setitem(cases.CASES, "mlp-200", digits | {"train_size": 115})
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
    text = tables.section(tmp_path / "frameworks.json")
    assert "stand-in 1" in text and "| mlp-200 | ours | 1 | 2 |" in text


@pytest.mark.parametrize("python", ["no/such/python", sys.executable])
def test_an_environment_without_the_frameworks_is_one_line(digits, python, capsys):
    if importlib.util.find_spec("pfl"):
        pytest.skip("pfl is installed here")
    assert exit_code(frameworks, python, "--model", "mlp-200", "--rounds", "1") == 2
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
    text = tables.section(tmp_path / "scaling.json")
    assert "| nodes, local workers | 2 | 0.1000 [0.1000, 0.1000] |" in text
    assert "| nodes, Ray | 1 | 0.2500 [0.2500, 0.2500] |" in text


def test_a_cluster_that_cannot_be_had_leaves_the_panel_out(monkeypatch):
    monkeypatch.setattr(nodes.importlib.util, "find_spec", lambda _name: None)
    assert "fedsharp[cluster]" in nodes.missing()
    monkeypatch.undo()
    monkeypatch.setattr(nodes.importlib.util, "find_spec", lambda _name: "ray")
    monkeypatch.setattr(nodes.shutil, "which", lambda _name: None)
    assert "unshare" in nodes.missing()


def test_the_profile_leaves_out_a_type_without_kernels(digits, capsys, monkeypatch):
    """oneDNN refuses a product in bfloat16 on such a processor, at the end of minutes of measuring."""
    monkeypatch.setattr(round_profile, "HALVED", ("mlp-200",))
    monkeypatch.setattr(round_profile, "has_bfloat16", lambda _device: False)
    assert [one["dtype"] for one in round_profile.measure(["mlp-200"])["profiles"]] == ["float32"]
    assert "mlp-200 in bfloat16: left out" in capsys.readouterr().err


def test_aims_say_what_was_measured_and_what_is_reached(tmp_path, capsys):
    spread_of = dict(zip(("median", "min", "max", "n"), (2.0, 1.9, 2.1, 9), strict=True))
    below = spread_of | {"median": 1.99}
    quotient = {"algorithm": "fedavg", "contender": "auto", "train": spread_of, "whole": below}
    write(tmp_path / "amx-lenet.json", ratios=[quotient])
    write(tmp_path / "memory.json", rows=[{"peak_mib": 14000.0}])
    assert exit_code(aims, str(tmp_path)) == 0
    shown = capsys.readouterr().out.splitlines()
    of = {cells[0]: cells[1:] for cells in (line.strip("| ").split(" | ") for line in shown)}
    missing = "not measured"
    assert of["released code: LeNet"] == ["≥ 2", "**2.00** [1.90, 2.10], n=9", missing, missing]
    assert of["released code: LeNet, whole round, same evaluation"][1] == "1.99 [1.90, 2.10], n=9"
    assert of["released code: LeNet, ours in bfloat16"][1] == missing
    assert of["peak memory in GB: FedSMOO, ResNet-18-GN, 100 clients"] == ["≤ 14", missing, "14.68, n=1", missing]
    assert len(of) == len(shown) == 2 + len(aims.AIMS)


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"rows": '])
@pytest.mark.parametrize("script", [aims, tables])
def test_files_that_are_no_results_are_refused(script, content, tmp_path, capsys):
    (tmp_path / "amx-lenet.json").write_text(content)
    assert exit_code(script, str(tmp_path)) == 2
    assert "a result of bench --out" in capsys.readouterr().err


@pytest.mark.parametrize("script", [aims, tables])
def test_a_folder_without_results_is_refused(script, tmp_path, capsys):
    assert exit_code(script, str(tmp_path)) == 2
    assert capsys.readouterr().err.startswith("error: folder: ")


def test_scaling_refuses_a_place_that_cannot_be_written_before_it_measures(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(scaling, "measure", None)
    (tmp_path / "file").touch()
    assert exit_code(scaling, "--folder", str(tmp_path / "file")) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_precision_pairs_the_seeds(monkeypatch, tmp_path):
    small = {"model": "mlp-16", "dataset": "digits", "augment": "none", "train_size": 200, "test_size": 100}
    monkeypatch.setattr(precision, "SETTING", precision.SETTING | small | {"rounds": 4, "eval_every": 4})
    assert exit_code(precision, "--out", str(tmp_path / "precision.json")) == 0
    stored = json.loads((tmp_path / "precision.json").read_text())
    gaps = [half - whole for whole, half in zip(*stored["accuracy"].values(), strict=True)]
    assert [*stored["accuracy"]] == ["float32", "bfloat16"] and len(gaps) == 3
    assert stored["difference"]["mean"] == pytest.approx(np.mean(gaps))
    assert "n = 3." in tables.section(tmp_path / "precision.json")


def test_the_door_is_measured_against_bare_imports(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(door, "IMPORTS", {"libraries": "import click"})
    monkeypatch.setattr(door, "COMMANDS", {"--help": ("libraries", 100.0), "fly": ("libraries", None)})
    assert exit_code(door, "--turns", "2", "--out", str(tmp_path / "door.json")) == 0
    stored = json.loads((tmp_path / "door.json").read_text())
    first, second = stored["door"]
    assert stored["turns"] == first["seconds"]["n"] == 2 and first["ratio"]["min"] > 0
    assert [first["torch"], second["torch"], second["at_most"]] == [False, False, None]
    shown = capsys.readouterr().out
    assert "| `--help` |" in shown and "| 100 | no |" in shown and "| `fly` |" in shown
    assert shown.strip() in tables.section(tmp_path / "door.json")


def test_a_gradient_in_bfloat16_is_taken_apart(tmp_path, capsys):
    assert exit_code(bfloat16, "--turns", "1", "--out", str(tmp_path / "bfloat16.json")) == 0
    stored = json.loads((tmp_path / "bfloat16.json").read_text())
    names = [*bfloat16.PARTS, "the rest"]
    for parts in stored["parts_ms"].values():
        assert [*parts] == names and parts["convolutions, backward"] > 0 and parts["group norm"] > 0
    stored |= {"parts_ms": {"float32": dict.fromkeys(names, 2.0), "bfloat16": dict.fromkeys(names, 1.0)}}
    stored |= {"whole_ms": {"float32": 10.0, "bfloat16": 5.0}, "product_ratio": {"a": 3.0, "b": 5.0}}
    at_best = [row for row in bfloat16.rows(stored) if "as much as matrix products" in row]
    # three parts of 1 ms stay, and two convolutions of 2 ms gain a factor of 4
    assert at_best == ["| all, if convolutions gained as much as matrix products | 10.0 | 4.0 | 2.50 |"]
    assert capsys.readouterr().out.strip() in tables.section(tmp_path / "bfloat16.json")
