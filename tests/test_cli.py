"""The command line: bad input is one line and exit code 2 and leaves nothing behind; good input does what it says."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest

from artifact import algorithms, data
from artifact.__main__ import main
from artifact.base import paths
from artifact.base.docstrings import described
from artifact.base.errors import UserError
from artifact.cli import COMMANDS, commands
from artifact.data.sources import import_npz
from artifact.interface.added import register_file
from artifact.models.registry import MODELS
from artifact.runs import session
from artifact.runs.store import read_checkpoint
from artifact.training import config
from artifact.training.config import RunConfig

ROOT = paths.ROOT
SMALL = "run --model mlp-16 --rounds 2 --clients 4 --cohort 2 --train-size 100 --test-size 50 --quiet"
FEDAVG = f"{SMALL} --algorithm fedavg"
FEDSAM = f"{SMALL} --algorithm fedsam"
UNTRAINED = "run --algorithm fedavg --quiet"

#: entry of a replay case's meta or hyper-parameters and a number of its own, a bad value, what is allowed
BAD_META = [
    ("algo-0", 5, "string"),
    ("algo-1", None, "string"),
    ("algo-2", [], "string"),
    ("source-0", [], "string"),
    ("param_names-0", "fc1", "array"),
    ("param_names-1", ["fc1.weight"], "4 texts"),
    ("lr-0", math.nan, "finite number"),
    ("max_norm-0", -1, "greater than 0"),
    ("rho-0", "much", "number"),
]

#: command line, and what its one line must name: field, value, something that is allowed
BAD = [
    (f"{SMALL} --algorithm fedfoo", ("algorithm", "fedfoo", "fedsmoo")),
    (SMALL, ("algorithm", "nothing is given", "fedavg")),
    (f"{FEDAVG} --dataset cats", ("dataset", "cats", "fashion-mnist")),
    (f"{FEDAVG} --dataset officehome@2000", ("dataset", "officehome@2000", "8 to 512")),
    (f"{UNTRAINED} --model mlpx", ("model", "mlpx", "resnet18-gn")),
    (f"{UNTRAINED} --model cnn-cifar", ("model", "cnn-cifar", "larger input")),
    (f"{FEDAVG} --split zipf:2", ("split", "zipf:2", "dirichlet")),
    (f"{FEDAVG} --split dirichlet:-1", ("split", "dirichlet:-1", "dirichlet")),
    (f"{FEDAVG} --split dirichlet:nan", ("split", "dirichlet:nan", "dirichlet")),
    (f"{FEDAVG} --split pathological:11", ("split", "pathological:11", "10")),
    (f"{FEDAVG} --split domain:Art", ("split", "domain:Art", "domain")),
    (f"{FEDAVG} --sizes huge", ("sizes", "huge", "lognormal")),
    (f"{FEDSAM} --switch NOPE-1", ("switch", "NOPE-1", "SAM-4")),
    (f"{FEDSAM} --variant draft", ("variant", "draft", "released")),
    (f"{FEDSAM} --variant released --source gitlab", ("source", "gitlab", "fl-simulator")),
    (f"{FEDSAM} --source fl-simulator", ("source", "fl-simulator", "released")),
    (f"{SMALL} --algorithm fedsmoo --variant released --source fedlesam", ("source", "fedlesam", "fl-simulator")),
    (f"{SMALL} --algorithm globalfedsam --variant released", ("variant", "released", "paper")),
    (f"{FEDSAM} --rho -0.5", ("rho", "-0.5", "0")),
    (f"{FEDSAM} --rho nan", ("rho", "nan", "finite")),
    (f"{FEDSAM} --rho inf", ("rho", "inf", "finite")),
    (f"{FEDSAM} --rho much", ("rho", "much", "number")),
    (f"{FEDSAM} --rho=", ("rho", "''", "number")),
    (f"{FEDAVG} --rho 0.1", ("rho", "0.1", "server_lr")),
    (f"{SMALL} --algorithm mofedsam --beta 2", ("beta", "2", "1")),
    (f"{UNTRAINED} --clients 5000 --cohort 2", ("clients", "5000", "1437")),
    (f"{FEDAVG} --clients 200 --cohort 2", ("clients", "200", "100")),
    (f"{FEDAVG} --cohort 9", ("cohort", "9", "4")),
    (f"{FEDAVG} --clients 0", ("clients", "0", "greater than or equal to 1")),
    (f"{FEDAVG} --rounds 0", ("rounds", "0", "greater than or equal to 1")),
    (f"{FEDAVG} --rounds 2.5", ("rounds", "2.5", "integer")),
    (f"{FEDAVG} --local-steps 0", ("local_steps", "0", "greater than or equal to 1")),
    (f"{FEDAVG} --lr abc", ("lr", "abc", "number")),
    (f"{FEDAVG} --lr 0", ("lr", "0", "greater than 0")),
    (f"{FEDAVG} --lr 1e400", ("lr", "1e400", "finite")),
    (f"{FEDAVG} --lr-decay 1e200 --lr 1e-300 --rounds 4", ("lr_decay", "1e+200", "finite")),
    (f"{FEDAVG} --lr-decay 1e200 --lr 1e200 --rounds 2", ("lr_decay", "1e+200", "finite")),
    (f"{FEDAVG} --local-steps 1000000000000", ("local_steps", "1000000000000", "1 to ")),
    (f"{FEDAVG} --local-epochs 1000000000000", ("local_epochs", "1000000000000", "1 to ")),
    (f"{FEDAVG} --server-lr true", ("server_lr", "True", "number")),
    (f"{FEDAVG} --weight-decay -1", ("weight_decay", "-1", "greater than or equal to 0")),
    (f"{FEDAVG} --momentum 1", ("momentum", "1", "less than 1")),
    (f"{FEDAVG} --optimiser adamw", ("optimiser", "adamw", "momentum")),
    (f"{FEDAVG} --augment rotate", ("augment", "rotate", "flip-crop")),
    (f"{FEDAVG} --evaluate server,nobody", ("evaluate", "nobody", "active")),
    (f"{FEDAVG} --dtype float16", ("dtype", "float16", "bfloat16")),
    (f"{FEDAVG} --backend turbo", ("backend", "turbo", "batched")),
    (f"{FEDAVG} --backend products", ("backend", "products", "batched")),
    (f"{FEDAVG} --backend loop-graph", ("backend", "loop-graph", "loop")),
    (f"{FEDAVG} --device cpu --cuda-graphs", ("cuda_graphs", "CUDA")),
    (f"{FEDAVG} --device tpu", ("device", "tpu", "cpu")),
    (f"{FEDAVG} --seed -1", ("seed", "-1", "greater than or equal to 0")),
    (f"{UNTRAINED} --train-size 5000", ("5000", "1437")),
    (f"{FEDAVG} --checkpoint-seconds nan", ("checkpoint-seconds", "nan", "finite")),
    (f"{FEDAVG} --checkpoint-seconds soon", ("checkpoint-seconds", "soon", "float")),
    (f"{FEDAVG} --momentumm 0.5", ("option", "--momentumm", "--momentum")),
    (f"{FEDAVG} stray", ("stray",)),
    (f"{FEDAVG} --add {{missing}}.py", ("add", "missing.py", "existing")),
    (f"{FEDAVG} --add {{broken}}", ("add", "broken.py", "SyntaxError", "line 1)")),
    (f"{FEDAVG} --add={{empty}}", ("add", "empty.py", "method", "no class")),
    (f"{FEDAVG} --add={{raising}}", ("add", "raising.py", "ZeroDivisionError", "line 2)")),
    (f"{FEDAVG} --add={{stranger}}", ("add", "stranger.py", "method", "Mine in line 2")),
    (f"{FEDAVG} --dataset mnist --data {{folder}}", ("dataset", "mnist", "data fetch mnist")),
    (f"{FEDAVG} --dataset cifar10 --data {{corrupted}}", ("cifar10.npz", "undamaged")),
    (f"{FEDAVG} --dataset cifar10 --data {{altered}}", ("cifar10.npz", "sha256", "fetch it again")),
    (f"{UNTRAINED} --out {{file}}/out", ("out", "file", "written")),
    ("list everything", ("everything", "algorithms")),
    ("list claims --paper smith2020", ("paper", "smith2020", "kakoun2024")),
    ("list models --paper kakoun2024", ("paper", "kakoun2024", "models")),
    ("replay {case} --out {folder} --backend loop", ("out", "folder", "file")),
    ("report --out {file}/out/report", ("out", "file", "written")),
    ("fly", ("fly", "command")),
    ("table kakoun2024/9.9 --out {out}", ("table", "kakoun2024/9.9", "kakoun2024/5.3")),
    ("table smith2020/1 --out {out}", ("paper", "smith2020", "kakoun2024")),
    ("table kakoun2024/5.3 --profile huge --out {out}", ("profile", "huge", "laptop")),
    ("table discrepancies --profile paper --lookup --json", ("profile", "paper", "quick")),
    ("table kakoun2024/5.3 --out {file}/out --quiet", ("out", "file", "written")),
    ("table kakoun2024/5.3 --lookup --out {folder} --figures {file}/figures", ("file", "folder")),
    ("table kakoun2024/5.3 --lookup --out {missing}", ("out", "missing", "there")),
    ("variants --lookup --out {missing}", ("out", "missing", "there")),
    ("verdicts --out {missing}", ("out", "missing", "there")),
    ("sharpness {folder} --samples 0", ("samples", "0", "x>=2")),
    ("sharpness {folder} --seed -1", ("seed", "-1", "x>=0")),
    ("replay {missing}.npz --out {out}/t.npz", ("case", "missing.npz", "No such file")),
    ("replay {truncated} --out {out}/t.npz", ("case", "truncated.npz", "undamaged")),
    ("replay {pickled} --out {out}/t.npz", ("case", "pickled.npz", "without objects")),
    ("replay {wrong_meta} --out {out}/t.npz", ("meta", "wrong_meta.npz", "algo")),
    ("replay {no_text} --out {out}/t.npz", ("meta", "no_text.npz", "JSON")),
    ("replay {wrong_labels} --out {out}/t.npz", ("case", "wrong_labels.npz", "format")),
    ("replay {no_rates} --out {out}/t.npz", ("global_lr", "missing")),
    ("replay {fast} --out {out}/t.npz", ("lr_decay", "1e+300", "finite")),
    ("replay {hole} --out {out}/t.npz", ("X", "nan", "finite")),
    *[
        (
            f"replay {{bad_{name}}} --out {{out}}/t.npz",
            (name.rsplit("-", 1)[0], "nothing" if value is None else str(value), allowed),
        )
        for name, value, allowed in BAD_META
    ],
    (
        "sweep qu2022 --profile quick --dry-run --out {out} --checkpoint-seconds nan",
        ("checkpoint-seconds", "nan", "finite"),
    ),
    (
        "sweep qu2022 --profile quick --dry-run --out {out} --checkpoint-seconds inf",
        ("checkpoint-seconds", "inf", "finite"),
    ),
    ("sweep qu2022 --profile quick --dry-run --out {out} --cpus nan", ("cpus", "nan", "finite")),
    ("sweep qu2022 --profile quick --dry-run --out {out} --gpus inf", ("gpus", "inf", "finite")),
    ("figure qu2022/fig3 --lookup --out {out}/typo", ("out", "typo", "store that is there")),
    ("figure qu2022/fig3 --measure --out {out}/typo", ("out", "typo", "store that is there")),
    ("replay {case} --out {out}/t.npz --backend turbo", ("backend", "turbo", "batched")),
    ("replay {case} --out {file}/t.npz", ("out", "file", "written")),
    ("data status cats", ("dataset", "cats", "cifar10")),
    ("data import cifar10 {truncated} --data {out}", ("truncated.npz", "undamaged")),
    ("data import cifar10 {case} --data {out}", ("data file", "train_x")),
    (f"{FEDAVG} --split dirichlet:1e308", ("split", "dirichlet:1e308", "0.01 to 1000")),
    ("data split digits dirichlet:1e308 --clients 3", ("split", "dirichlet:1e308", "0.01 to 1000")),
    ("data import digits {case} --data {out}", ("digits", "other dataset")),
    ("bench --model abacus", ("model", "abacus", "lenet")),
    ("bench --rounds 0", ("rounds", "0", "1")),
]


#: files that are no method's, beside the broken and the empty one
FAULTY = (("raising", "x = 1\nx / 0\n"), ("stranger", "x = 1\nclass Mine:\n    pass\n"))


def _cifar(path: Path, **changes) -> Path:
    """A CIFAR-10 file of eight random images, with changed fields."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (8, 32, 32, 3), dtype=np.uint8), np.arange(8)
    fields = {"train_x": images, "train_y": labels, "test_x": images, "test_y": labels}
    np.savez(path, **(fields | changes))
    return path


def _case(path: Path, hp: dict | None = None, entries: dict | None = None, **changes) -> Path:
    """A replay case: three clients, a chain with one hidden layer, two rounds of FedAvg; with changed fields.

    hp: hyper-parameters in place of the format's.  entries: of the meta text or of its hyper-parameters.
    """
    rng = np.random.default_rng(1)
    shapes = [[4, 3], [4], [2, 4], [2]]
    rates = {"lr": 0.1, "lr_decay": 1.0, "global_lr": 1.0, "weight_decay": 0.0, "lamb": 0.1, "rho": 0.1, "alpha": 0.1}
    rates |= {"epsilon": 0.01, "alpha_coef": 0.1, "beta1": 0.9, "beta2": 0.99, "eta_asam": 0.2, "mu_mean": 0.1}
    hp = rates if hp is None else hp
    meta = {"algo": "FedAvg", "source": "repaired", "batch": 2, "epochs": 1, "hp": hp, "active": [[0, 1], [1, 2]]}
    meta |= {"param_names": ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"], "param_shapes": shapes}
    for name, value in (entries or {}).items():
        (meta if name in meta else hp)[name] = value
    fields = {
        "X": rng.normal(size=(7, 3)),
        "y": np.array([0, 1, 0, 1, 0, 1, 0]),
        "sizes": np.array([2, 3, 2]),
        "w0": rng.normal(size=26),
        "active_mask": np.array([[1, 1, 0], [0, 1, 1]]),
        "meta": np.array(json.dumps(meta)),
    }
    np.savez(path, **(fields | changes))
    return path


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> dict[str, Path]:
    """Files and folders that the bad command lines name."""
    folder = tmp_path_factory.mktemp("bad")
    paths = {name: folder / name for name in ("missing", "folder", "file", "corrupted", "altered")}
    paths["folder"].mkdir()
    paths["file"].write_text("a file, not a folder")
    for name, text in (("broken", "class FedFoo(:\n"), ("empty", "x = 1\n"), *FAULTY):
        paths[name] = folder / f"{name}.py"
        paths[name].write_text(text)
    paths["case"] = _case(folder / "case.npz")
    paths["truncated"] = folder / "truncated.npz"
    paths["truncated"].write_bytes(paths["case"].read_bytes()[:700])
    paths["pickled"] = _case(folder / "pickled.npz", X=np.array([{"a": 1}], dtype=object))
    paths["wrong_meta"] = _case(folder / "wrong_meta.npz", meta=np.array(json.dumps({"batch": 2})))
    paths["no_text"] = _case(folder / "no_text.npz", meta=np.array("{not JSON"))
    paths["no_rates"] = _case(folder / "no_rates.npz", hp={})
    paths["wrong_labels"] = _case(folder / "wrong_labels.npz", y=np.array([0, 1, 0, 1, 0, 1, 9]))
    paths["fast"] = _case(folder / "fast.npz", entries={"lr": 1e10, "lr_decay": 1e300})
    paths["hole"] = _case(folder / "hole.npz", X=np.full((7, 3), np.nan))
    for name, value, _ in BAD_META:
        paths[f"bad_{name}"] = _case(folder / f"bad_{name}.npz", entries={name.rsplit("-", 1)[0]: value})
    for name in ("corrupted", "altered"):
        import_npz("cifar10", _cifar(folder / "cifar.npz"), paths[name])
    stored = paths["corrupted"] / "cifar10.npz"
    stored.write_bytes(stored.read_bytes()[:-3000])  # with a sum that fits, so that reading it must find the damage
    stored.with_suffix(".sha256").write_text(f"{hashlib.sha256(stored.read_bytes()).hexdigest()}  cifar10.npz\n")
    _cifar(paths["altered"] / "cifar10.npz", train_y=np.zeros(8, np.int64))
    return paths


def _words(line: str, places: dict[str, Path], out: Path) -> list[str]:
    """The command line as arguments; a run writes to ``out`` unless the line says otherwise."""
    words = [word.format(**places, out=out) for word in line.split()]
    return [*words, "--out", str(out)] if words[0] == "run" and "--out" not in words else words


def _is_one_line(stderr: str, named: tuple[str, ...]) -> None:
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("error:")
    for text in named:
        assert text in lines[0], f"{text!r} is not named in: {lines[0]}"


@pytest.mark.parametrize(("line", "named"), BAD, ids=[line[-60:] for line, _ in BAD])
def test_bad_line_is_refused_in_one_line(line, named, places, tmp_path, capsys):
    out = tmp_path / "out"
    before = {path: path.read_bytes() for path in places["file"].parent.rglob("*") if path.is_file()}
    code = main(_words(line, places, out))
    _is_one_line(capsys.readouterr().err, named)
    assert code == 2
    assert not out.exists() or not list(out.iterdir())
    assert before == {path: path.read_bytes() for path in places["file"].parent.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "--algorithm", "fedavg", "--out", ""], "out"),
        (["run", "--algorithm", "fedavg", "--out="], "out"),
        (["table", "kakoun2024/5.3", "--figures", ""], "figures"),
        (["table", "kakoun2024/5.3", "--data", ""], "data"),
        (["readme", ""], "files"),
    ],
)
def test_an_empty_name_of_a_folder_is_refused_and_nothing_is_written(words, named, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    _is_one_line(capsys.readouterr().err, (f"{named}: ''",))
    assert list(tmp_path.iterdir()) == []


IN_A_PROCESS = [
    (f"{SMALL} --algorithm fedfoo", ("algorithm", "fedfoo", "fedsmoo")),
    (f"{FEDSAM} --rho -0.5", ("rho", "-0.5")),
    (f"{FEDAVG} --add {{broken}}", ("add", "broken.py")),
    (f"{FEDAVG} --dataset cifar10 --data {{altered}}", ("cifar10.npz", "sha256")),
    ("replay {pickled} --out {out}/t.npz", ("case", "pickled.npz")),
]


@pytest.mark.parametrize(("line", "named"), IN_A_PROCESS, ids=[line[-40:] for line, _ in IN_A_PROCESS])
def test_bad_line_in_a_process_of_its_own(line, named, places, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "artifact", *_words(line, places, out)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    _is_one_line(result.stderr, named)
    assert result.returncode == 2
    assert result.stdout == ""
    assert not out.exists() or not list(out.iterdir())


def test_checkpoint_that_is_no_safetensors_file(tmp_path, capsys):
    words = _words(FEDAVG, {}, tmp_path)
    assert main(words) == 0
    (folder,) = tmp_path.iterdir()
    (folder / "done").unlink()
    (folder / "checkpoint.safetensors").write_bytes(b"not a checkpoint, whatever its name says")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert main([*words, "--resume"]) == 2
    _is_one_line(capsys.readouterr().err, ("checkpoint", str(folder), "safetensors"))
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_archive_with_a_pickle_is_never_opened(tmp_path, capsys):
    """A file that would create a mark if anything unpickled it."""
    mark, bad = tmp_path / "mark", tmp_path / "evil.npz"

    class Payload:
        def __reduce__(self):
            return (Path.touch, (mark,))

    np.savez(bad, X=np.array([Payload()], dtype=object))
    with zipfile.ZipFile(bad) as archive:
        assert b"touch" in archive.read("X.npy")
    assert main(["replay", str(bad), "--out", str(tmp_path / "t.npz")]) == 2
    assert main(["data", "import", "cifar10", str(bad), "--data", str(tmp_path / "data")]) == 2
    assert not mark.exists()
    assert "allow_pickle" not in capsys.readouterr().err, "no advice to open it unsafely"


@pytest.mark.parametrize(
    ("encoding", "words", "printed"),
    [
        ("latin-1", "table kakoun2024/5.3 --lookup --out {empty}", b"\\u2013 /"),
        ("utf-8", f"{FEDAVG} --out {{out}}", b"/\\udcff/"),
    ],
)
def test_what_the_terminal_cannot_show_is_escaped(encoding, words, printed, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    assert main([word.format(empty=tmp_path, out=tmp_path / "\udcff") for word in words.split()]) == 0
    sys.stdout.flush()
    assert printed in sys.stdout.buffer.getvalue()


@pytest.mark.parametrize("words", ["artifact list claims", "artifact --help", "checks --readme", "notebooks --help"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(words):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", *words.split()]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_command_shows_the_commands(capsys):
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().out


def test_every_list_is_readable_by_a_program(capsys):
    expected = {"algorithms": algorithms.ALGORITHMS, "datasets": data.DATASETS, "models": MODELS}
    for what in ("algorithms", "datasets", "models", "experiments", "claims", "discrepancies"):
        assert main(["list", what, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        names = {row.get("name", row.get("id")) for row in rows}
        assert len(names) == len(rows) > 0
        assert names >= set(expected.get(what, ()))
        assert main(["list", what]) == 0
        assert len(capsys.readouterr().out.splitlines()) >= len(rows)


def test_a_method_of_ones_own_is_listed_without_released_form(capsys):
    register_file(ROOT / "examples" / "fedsign.py")
    try:
        assert main(["list", "algorithms", "--json"]) == 0
        rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
        assert rows["fedsign"]["released"] == [] != rows["fedsam"]["released"]
    finally:
        algorithms.ALGORITHMS.pop("fedsign", None)


def test_lists_that_name_papers_can_be_of_one(capsys):
    for what, name in (("claims", "paper"), ("experiments", "name")):
        assert main(["list", what, "--paper", "sun2023", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert rows and {row[name].split("/")[0] for row in rows} == {"sun2023"}


OWN = """from __future__ import annotations
from dataclasses import dataclass, field
import torch
from artifact.algorithms.base import FedAvg, Fraction
@dataclass(frozen=True)
class Mine(FedAvg):
    share: Fraction = 0.5
    def direction(self, g, c):
        return self.share * g
"""


@pytest.fixture
def mine(tmp_path, capsys):
    """mine(old, new, *words) -> (exit code, output, errors) of a run of OWN with a text in it replaced."""

    def run(old: str = "", new: str = "", *words: str) -> tuple[int, str, str]:
        algorithms.ALGORITHMS.pop("mine", None)
        (tmp_path / "mine.py").write_text(OWN.replace(old, new) if old else OWN)
        line = f"{SMALL} --algorithm mine --add {tmp_path / 'mine.py'} --out {tmp_path / 'out'}"
        code = main([*line.split(), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield run
    algorithms.ALGORITHMS.pop("mine", None)


def test_annotations_of_ones_own_method_may_be_texts(mine):
    assert mine("", "", "--share", "0.25")[0] == 0
    code, _, error = mine("", "", "--share", "2")
    assert code == 2
    _is_one_line(error, ("share", "2.0", "1"))


def test_a_method_that_is_added_twice_is_one_line(mine, tmp_path):
    code, _, error = mine("", "", "--add", str(tmp_path / "mine.py"))
    assert code == 2
    _is_one_line(error, ("add", "mine.py", "named once"))


def test_an_edited_method_is_not_looked_up(mine):
    assert [mine()[1].split()[0] for _ in range(2)] == ["trained", "found"]
    assert mine("self.share * g", "-self.share * g")[1].split()[0] == "trained"


def test_the_recorded_command_of_ones_own_method_finds_its_run(mine, tmp_path, capsys):
    assert mine()[0] == 0
    (folder,) = (tmp_path / "out").iterdir()
    recorded = shlex.split(json.loads((folder / "config.json").read_text())["command"])
    algorithms.ALGORITHMS.pop("mine")
    assert main([*recorded[3:], "--out", str(folder.parent)]) == 0
    assert capsys.readouterr().out.startswith("found")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("return self.share", "return unknown", ("add", "mine.py", "NameError", "unknown", "line 9")),
        ("return self.share * g", "pass", ("add", "mine.py")),
        ("self.share * g", "g.mean(-1)", ("add", "mine.py")),
        ("@dataclass(frozen=True)\n", "", ("mine", "@dataclass(frozen=True)", "mine.py, line 5")),
        ("share", "lr", ("hyper-parameter", "lr", "mine")),
        ("@dataclass", "raise SystemExit(0)\n@dataclass", ("add", "mine.py", "SystemExit", "line 5")),
        ("return self.share * g", "raise SystemExit(0)", ("add", "mine.py", "SystemExit", "line 9")),
        ("Fraction = 0.5", "Fraction = 2.0", ("share", "2.0", "less than or equal to 1")),
        ("share: Fraction = 0.5", "share: Fraction = 0.5\n    kind: str = 'a'", ("kind", "'a'", "finite number")),
        (
            "share: Fraction = 0.5",
            "share: Fraction = 0.5\n    pair: tuple = (1, 2)",
            ("pair", "(1, 2)", "finite number"),
        ),
        ("share: Fraction", "share: NoSuch", ("add", "mine.py", "NameError", "NoSuch")),
        ("Fraction = 0.5", "torch.Tensor = 0.5", ("add", "mine.py", "PydanticSchemaGenerationError", "torch.Tensor")),
        ("= 0.5", "= field(default=0.5, init=False)", ("share", "init=False", "mine")),
        (
            "= 0.5",
            "= 0.5\n    def __post_init__(self):\n        raise ValueError('too small')",
            ("add", "mine.py", "ValueError: too small, line 9"),
        ),
        (
            "= 0.5",
            "= 0.5\n    def __post_init__(self):\n        raise RuntimeError('too small')",
            ("add", "mine.py", "RuntimeError: too small, line 9"),
        ),
    ],
)
def test_a_mistake_in_ones_own_method_is_one_line(old, new, named, mine, tmp_path):
    code, out, error = mine(old, new)
    assert (code, out) == (2, "")
    _is_one_line(error, named)
    assert not list((tmp_path / "out").glob("*"))
    assert mine()[0] == 0


def test_run_is_looked_up_the_second_time(tmp_path, capsys):
    words = [*_words(FEDSAM, {}, tmp_path), "--json"]
    summaries = []
    for _ in range(2):
        assert main(words) == 0
        summaries.append(json.loads(capsys.readouterr().out))
    first, second = summaries
    assert (first.pop("found"), second.pop("found")) == (False, True)
    assert first == second
    assert first["rounds"] == 2 and 0 <= first["server"]["last"] <= 1
    assert main([*words[:-1], "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("trained ")
    assert len(list(tmp_path.iterdir())) == 2


def test_unfinished_run_goes_on_only_when_asked(tmp_path, capsys):
    words = _words(FEDAVG, {}, tmp_path)
    assert main(words) == 0
    (folder,) = tmp_path.iterdir()
    (folder / "done").unlink()
    capsys.readouterr()
    assert main(words) == 2
    _is_one_line(capsys.readouterr().err, ("resume", "--resume", folder.name))
    assert main([*words, "--resume"]) == 0
    assert (folder / "done").exists()


def test_command_that_a_run_records_makes_the_same_run(tmp_path, capsys):
    line = f"{FEDSAM} --rho 0.25 --split dirichlet:0.3 --evaluate server,active --switch SAM-4 --eval-train"
    assert main(_words(line, {}, tmp_path / "a")) == 0
    (folder,) = (tmp_path / "a").iterdir()
    recorded = json.loads((folder / "config.json").read_text())["command"].split()
    assert recorded[:3] == ["python", "-m", "artifact"]
    assert main([*recorded[3:], "--out", str(tmp_path / "b"), "--quiet"]) == 0
    (again,) = (tmp_path / "b").iterdir()
    assert again.name == folder.name
    first, second = (read_checkpoint(path / "checkpoint.safetensors")[0] for path in (folder, again))
    assert all(first[name].equal(second[name]) for name in first.keys() | second.keys())
    capsys.readouterr()


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "globalfedsam", "hyper": {"normalised": True}},
        {"algorithm": "globalfedsam-norm", "hyper": {"normalised": False}},
        {"algorithm": "fedavg", "split": "domain:Real World", "eval_train": True, "evaluate": ("server", "all")},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_recorded_command_line_is_read_as_the_same_config(options, monkeypatch):
    """A shell that splits it, and the options that read it; ``True`` is what Python calls a true value."""
    wanted, found = config.make(model="mlp-16", **options), []

    def execute(read, *_, **__):
        found.append(read)
        raise UserError("run", "it", "nothing, this test has seen enough")

    monkeypatch.setattr(session, "execute", execute)
    assert main(shlex.split(session.command(wanted))[3:]) == 2
    assert found == [wanted]


def test_checkpoint_seconds_is_not_part_of_the_key(tmp_path, capsys):
    for place, seconds in (("a", "0"), ("b", "60")):
        assert main([*_words(FEDAVG, {}, tmp_path / place), "--checkpoint-seconds", seconds]) == 0
    (first,), (second,) = (list((tmp_path / place).iterdir()) for place in ("a", "b"))
    assert first.name == second.name
    assert (first / "metrics.jsonl").read_bytes() == (second / "metrics.jsonl").read_bytes()
    capsys.readouterr()


def test_replay_writes_a_trajectory(places, tmp_path, capsys):
    out = tmp_path / "t.npz"
    assert main(["replay", str(places["case"]), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["arrays"]["server_params"] == [2, 26]
    with np.load(out, allow_pickle=False) as file:
        assert np.isfinite(file["server_params"]).all()


# ---- the commands and their options ----------------------------------------------------------------------------------


def _every_command() -> dict[str, click.Command]:
    """All commands, and those of groups, by the words that call them."""
    group = commands([])
    found = {name: group.get_command(click.Context(group), name) for name in COMMANDS}
    inner = {
        f"{name} {own}": c for name, g in found.items() if isinstance(g, click.Group) for own, c in g.commands.items()
    }
    return found | inner


def test_the_list_of_commands_says_what_each_says_of_itself():
    found = _every_command()
    for name, (_, text) in COMMANDS.items():
        assert found[name].name == name
        assert found[name].help.split("\n")[0] == text


def test_every_option_says_what_it_is_and_what_it_does_without_it():
    for name, command in _every_command().items():
        for option in command.params:
            if not isinstance(option, click.Option):
                continue
            assert option.help and option.help.endswith((".", "]")), f"{name} {option.opts[0]} has no help text"
            with_default = option.default is not None and not option.is_flag and not option.multiple
            default = option.to_info_dict()["default"] if with_default else None
            context = click.Context(command, **commands([]).context_settings)  # which every command inherits
            _, shown = option.get_help_record(context)
            assert default is None or "default: " in shown, f"{name} {option.opts[0]} does not say its default"


def test_run_help_has_text_default_and_allowed_values_from_the_fields(capsys):
    assert main(["run", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for field in RunConfig.model_fields.keys() - {"hyper"}:
        assert f"--{'switch' if field == 'switches' else field.replace('_', '-')} " in text
    assert "default ()" not in text and "default: ()" not in text
    assert "--lr TEXT Step size of a local step in the first round. [default: 0.1; allowed: a number above 0]" in text
    assert "--variant TEXT The method as its paper prints it" in text and "allowed: paper, released]" in text
    assert "default: 0.1 (fedadam), else 1.0; allowed: a number above 0]" in text  # of --server-lr


def test_every_field_is_described_where_it_is_declared():
    for cls in (RunConfig, *algorithms.ALGORITHMS.values()):
        fields = set(RunConfig.model_fields) if cls is RunConfig else {f.name for f in dataclasses.fields(cls)}
        assert fields == described(cls).keys(), cls
