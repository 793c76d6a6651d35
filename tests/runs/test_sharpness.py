"""The commands ``sharpness`` and ``landscape`` on small stored runs: numbers, records, files and refusals."""

from __future__ import annotations

import json
import os
import re
import shlex

import pytest
import torch

from artifact import algorithms, curvature
from artifact.__main__ import main
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.runs import session
from artifact.runs.measure_sharpness import (
    Measurement,
    Options,
    command_line,
    matching,
    measure,
    record,
    text,
)
from artifact.runs.store import read_checkpoint
from artifact.runs.stored_model import find, open_target
from artifact.training.config import make

ROOT = paths.ROOT
PARTS = ["--parts", "top,trace"]


def config(**options):
    small = {"algorithm": "fedsam", "train_size": 80, "test_size": 40, "clients": 4, "cohort": 2, "rounds": 2}
    return make(**(small | {"model": "mlp-8", "batch_size": 20, "device": "cpu"} | options))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    for seed in (0, 1):
        session.execute(config(seed=seed), root, quiet=True)
    return root


def keys(store):
    return sorted(path.parent.name for path in store.glob("*/done"))


def run(capsys, *words) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---- sharpness ------------------------------------------------------------------------------------------------------


def test_all_parts_agree_with_the_package(store, capsys):
    key = keys(store)[0]
    code, out, _ = run(
        capsys,
        "sharpness",
        key,
        "--out",
        store,
        "--json",
        "--dtype",
        "float64",
        "--k",
        3,
        "--tol",
        1e-6,
        "--samples",
        900,
    )
    assert code == 0
    (found,) = json.loads(out)
    target = open_target(key, store)
    risk, w = target.trainer.risk(), target.w.double()
    H = curvature.dense_hessian(risk, w)
    eigenvalues = torch.linalg.eigvalsh(H)
    assert [row["value"] for row in found["top"]["values"]] == pytest.approx(eigenvalues.flip(0)[:3].tolist(), rel=1e-5)
    assert found["negative"]["values"][0]["value"] == pytest.approx(float(eigenvalues[0]), rel=1e-5)
    assert abs(found["trace"]["value"] - float(H.trace())) <= 4 * found["trace"]["standard_error"]
    assert found["trace"]["standard_error"] <= 0.02 * found["trace"]["value"] and found["trace"]["reached"]
    assert found["data"] == 80 and found["loss"] == pytest.approx(float(risk(w)))
    assert found["sam"]["ascent"] >= found["sam"]["one_step"] > 0
    assert [row["layer"] for row in found["layers"]] == list(curvature.layer_slices(risk))
    assert set(found["seconds"]) == {"top", "negative", "trace", "density", "layers", "sam"}
    assert found["peak_memory_bytes"] > 1e6 and len(found["density"]["grid"]) == 200


def test_folder_key_and_checkpoint_are_the_same_model(store, capsys):
    key = keys(store)[0]
    references = (key, store / key, store / key / "checkpoint.safetensors")
    values = []
    for reference in references:
        code, out, _ = run(capsys, "sharpness", reference, "--out", store, *PARTS, "--data-size", 50, "--json")
        assert code == 0
        values.append(json.loads(out)[0]["top"]["values"][0]["value"])
    assert values[0] == values[1] == values[2]


def test_a_link_to_a_run_is_the_run(store, tmp_path, monkeypatch):
    key = keys(store)[0]
    (tmp_path / "best").symlink_to(store / key)
    assert open_target(str(tmp_path / "best"), tmp_path).name == key
    monkeypatch.chdir(store / key)
    assert open_target(".", tmp_path).name == key


def test_a_lone_checkpoint_needs_no_run_folder(store, tmp_path):
    source = store / keys(store)[0] / "checkpoint.safetensors"
    copy = tmp_path / "model.safetensors"
    copy.write_bytes(source.read_bytes())
    target = open_target(str(copy), store)
    assert target.run is None and torch.equal(target.w, open_target(source.parent.name, store).w)
    options = Options(parts=("top", "trace"))
    with pytest.raises(UserError, match="finished run"):
        record(target, measure(target.trainer.risk(), target.w, options), None, options)


def test_only_the_model_is_read(tmp_path):
    """A checkpoint of FedDyn holds a vector per client; measuring the model needs none of them."""
    folder = session.execute(config(algorithm="feddyn"), tmp_path, quiet=True).run.folder
    path = folder / "checkpoint.safetensors"
    whole, part = read_checkpoint(path)[0], read_checkpoint(path, ("w", "statistics"))[0]
    assert len(whole) > 1 and set(part) == {"w"}
    target = open_target(str(folder), tmp_path)
    assert torch.equal(target.w, whole["w"]) and target.trainer.completed == 2


def test_a_finished_run_can_give_up_its_clients_state(tmp_path):
    run = session.execute(config(algorithm="feddyn"), tmp_path, quiet=True).run
    whole = read_checkpoint(run.checkpoint_file)
    size = run.checkpoint_file.stat().st_size
    run.slim()
    tensors, metadata = read_checkpoint(run.checkpoint_file)
    assert run.checkpoint_file.stat().st_size < size / 2
    assert set(tensors) == {"w"} and torch.equal(tensors["w"], whole[0]["w"]) and metadata == whole[1]
    assert torch.equal(open_target(str(run.folder), tmp_path).w, whole[0]["w"])
    assert session.execute(config(algorithm="feddyn"), tmp_path, quiet=True).found


def test_record_and_selection(store, capsys):
    both = ["sharpness", "--where", "model=mlp-8", "--where", "rounds=2", "--out", store, "--record", *PARTS]
    code, out, _ = run(capsys, *both)
    assert code == 0 and out.count("top (") == 2
    for key in keys(store):
        content = json.loads((store / key / "curvature.json").read_text())
        assert content["top_eigenvalue"]["converged"] and content["top_eigenvalue"]["residual"] > 0
        assert content["trace"]["samples"] >= 24 and content["data"] == 80 and key in content["command"]
    code, out, error = run(capsys, *both)
    assert code == 0 and out == "" and error.count("recorded before") == 2, "what is there is not measured again"
    assert len(matching(store, ["seed=1"])) == 1


def test_a_recorded_command_keeps_every_digit(store):
    target = open_target(keys(store)[0], store)
    words = command_line(target, None, "float32", Options(seed=1234567, rho=0.12345678)).split()
    assert words[words.index("--seed") + 1] == "1234567" and words[words.index("--rho") + 1] == "0.12345678"


def test_a_recorded_command_measures_the_same(store, capsys):
    key = keys(store)[0]
    words = ["sharpness", store / key, *PARTS, "--data-size", 40, "--tol", 1e-4]
    (store / key / "curvature.json").unlink(missing_ok=True)
    assert run(capsys, *words, "--record")[0] == 0
    content = json.loads((store / key / "curvature.json").read_text())
    again = content["command"].removeprefix("python -m fedsharp ").split()
    assert again[again.index("--out") + 1] == os.path.relpath(store)
    code, out, _ = run(capsys, *again, "--json")
    assert code == 0
    assert json.loads(out)[0]["top"]["values"][0]["value"] == content["top_eigenvalue"]["value"]


def test_an_unconverged_number_is_no_value(store):
    target = open_target(keys(store)[0], store)
    few = curvature.top_eigenvalues(target.trainer.risk(), target.w, 1, tol=1e-6, max_iterations=2)
    found = Measurement(
        1.0, 80, "float32", {"top": {"values": few.rows(), "iterations": 2, "products": 3}}, {"top": 0.1}
    )
    assert "not converged; an eigenvalue lies in [" in text(found) and few.rows()[0]["value"] is None
    found.found["trace"] = {"value": 1.0, "standard_error": 0.1, "samples": 5}
    path = record(target, found, None, Options())
    content = json.loads(path.read_text())
    path.unlink()
    assert "top_eigenvalue" not in content and len(content["top_eigenvalue_within"]) == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["sharpness"], ("checkpoint", "nothing", "--where")),
        (["sharpness", "{key}", "--parts", "sam", "--rho", "1e300"], ("rho", "1e+300", "finite")),
        (["sharpness", "nowhere"], ("checkpoint", "nowhere", "run folder")),
        (["sharpness", "{key}", "--parts", "top,mass"], ("parts", "top,mass", "density")),
        (["sharpness", "{key}", "--parts", "top", "--record"], ("parts", "top", "top,trace")),
        (["sharpness", "{key}", "--samples", "1"], ("samples", "1", "x>=2")),
        (["sharpness", "{key}", "--k", "0"], ("k", "0", "x>=1")),
        (["sharpness", "{key}", "--tol", "-1"], ("tol", "-1", "x>0")),
        (["sharpness", "{key}", "--data-size", "0"], ("data-size", "0", "x>=1")),
        (["sharpness", "--where", "colour=red"], ("where", "colour=red", "algorithm")),
        (["sharpness", "--where", "seed=77"], ("where", "seed=77", "finished run")),
        (["landscape", "{key}", "--points", "4"], ("points", "4", "odd")),
        (["landscape", "{key}", "--reach", "0"], ("reach", "0", "x>0")),
        (["landscape", "{key}", "--ceiling", "nan"], ("ceiling", "nan", "finite")),
        (["landscape", "{key}", "--name", "a/b"], ("name", "a/b", "--folder")),
        (["landscape", "{key}", "{key}"], ("run", "every model once")),
        (["landscape", "{key}", "--label", "a", "--label", "b"], ("label", "1 labels")),
    ],
    ids=lambda w: " ".join(w) if isinstance(w, list) else "",
)
def test_bad_input_is_one_line(store, capsys, words, named):
    words = [word.format(key=keys(store)[0]) for word in words]
    code, _, error = run(capsys, *words, "--out", store)
    assert code == 2 and len(error.strip().splitlines()) == 1
    assert all(part in error for part in named), error


def test_other_files_are_refused(store, tmp_path):
    (tmp_path / "notes.txt").write_text("no checkpoint")
    with pytest.raises(UserError, match="safetensors"):
        open_target(str(tmp_path / "notes.txt"), store)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(UserError, match="checkpoint is still there"):
        find(str(tmp_path / "run"), store)


# ---- landscape ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("directions", "axes"), [("filter", 2), ("orthogonal", 2), ("eigenvectors", 1)])
def test_landscape_stores_data_and_figures(store, tmp_path, capsys, directions, axes):
    options = ["--directions", directions, "--axes", axes, "--points", 5, "--data-size", 40, "--name", "s"]
    code, out, _ = run(capsys, "landscape", *keys(store), "--out", store, "--folder", tmp_path, *options)
    assert code == 0 and out.count("mean rise") == 2
    document = json.loads((tmp_path / "s.json").read_text())
    kinds = ("contour", "surface") if axes == 2 else ("profile",)
    assert all((tmp_path / f"s-{kind}{end}").stat().st_size > 1000 for kind in kinds for end in (".png", ".pdf"))
    for key, model in zip(keys(store), document["models"], strict=True):
        target = open_target(key, store)
        values = torch.tensor(model["values"])
        assert values.shape == (5,) * axes
        assert model["loss"] == pytest.approx(float(target.trainer.risk(40)(target.w)), rel=1e-5)
        assert float(values[(2,) * axes]) == pytest.approx(model["loss"])
    assert len({model["label"] for model in document["models"]}) == 2


def test_the_command_that_a_landscape_records_makes_it_again(store, tmp_path, capsys):
    options = ["--axes", 1, "--points", 5, "--reach", 0.5, "--seed", 3, "--data-size", 40, "--label", "a b"]
    surfaces = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        words = ["landscape", keys(store)[0], *options]
        assert run(capsys, *words, "--out", store, "--folder", folder, "--name", "s")[0] == 0
        document = json.loads((folder / "s.json").read_text())
        surfaces.append([(model["label"], model["values"]) for model in document["models"]])
        options = shlex.split(document["command"])[5:]
    assert surfaces[0] == surfaces[1]


def test_a_method_of_ones_own_is_measured_with_its_file(tmp_path, capsys):
    add, common = ["--add", ROOT / "examples" / "fedsign.py"], ["--data-size", 20, "--out", tmp_path]
    small = ["--train-size", 40, "--test-size", 20, "--model", "mlp-8", "--clients", 2, "--cohort", 2, "--rounds", 1]
    try:
        assert run(capsys, "run", *add, "--algorithm", "fedsign", *small, "--out", tmp_path)[0] == 0
        algorithms.ALGORITHMS.pop("fedsign")
        (key,) = keys(tmp_path)
        assert run(capsys, "sharpness", key, *add, *common, "--parts", "top", "--k", 1)[0] == 0
        algorithms.ALGORITHMS.pop("fedsign")
        assert run(capsys, "sharpness", key, *add, *common, "--parts", "top,trace", "--k", 1, "--record")[0] == 0
        algorithms.ALGORITHMS.pop("fedsign")
        place = ["--folder", tmp_path, "--name", "s"]
        assert run(capsys, "landscape", key, *add, *common, "--points", 3, "--axes", 1, *place)[0] == 0
        for file in (tmp_path / key / "curvature.json", tmp_path / "s.json"):
            algorithms.ALGORITHMS.pop("fedsign")
            words = shlex.split(json.loads(file.read_text())["command"])[3:]
            assert run(capsys, *words, *(place if words[0] == "landscape" else ()))[0] == 0
    finally:
        algorithms.ALGORITHMS.pop("fedsign", None)


def test_landscape_needs_one_architecture(store, tmp_path, capsys):
    other = session.execute(config(model="mlp-9"), tmp_path / "other", quiet=True).run.folder
    code, _, error = run(capsys, "landscape", keys(store)[0], other, "--out", store, "--folder", tmp_path)
    assert code == 2 and "one architecture" in error and not list(tmp_path.glob("*.json"))


# ---- use from Python ------------------------------------------------------------------------------------------------


def test_the_example_of_the_documentation_runs(capsys):
    page = (ROOT / "docs" / "curvature.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", page, flags=re.S)[1]  # the first is a network for ``bounds``
    exec(compile(example, "docs/curvature.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "standard error" in printed and "+-" in printed


def test_from_loader_reads_once_and_equals_the_constructor():
    reads = []

    class Loader:
        def __iter__(self):
            reads.append(1)
            generator = torch.Generator().manual_seed(0)
            return iter([(torch.randn(n, 3, generator=generator), torch.arange(n) % 2) for n in (5, 3)])

    model = torch.nn.Linear(3, 2)
    risk = curvature.EmpiricalRisk.from_loader(model, None, Loader())
    other = curvature.EmpiricalRisk(model, None, Loader())
    assert len(risk) == 8 and float(risk(risk.weights)) == pytest.approx(float(other(other.weights)))
    risk.gradient(risk.weights)
    assert len(reads) == 2, "once by from_loader, once by the constructor's pass"
    with pytest.raises(UserError, match="without samples"):
        curvature.EmpiricalRisk.from_loader(model, None, [])
