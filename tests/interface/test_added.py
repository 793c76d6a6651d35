"""``--add FILE``: methods, networks and data sets of a user's own, by the names that the file gives them."""

from __future__ import annotations

import json
import re
import warnings

import pytest
import torch

import artifact
from artifact.__main__ import main
from artifact.algorithms import ALGORITHMS, build, has_code
from artifact.base.errors import UserError
from artifact.base.own_code import run_file
from artifact.base.registered import ADDED
from artifact.data import DATASETS
from artifact.interface import own_method, remarks
from artifact.interface.added import register_file
from artifact.models.networks import BUILDERS
from artifact.models.registry import MODELS
from artifact.runs import session
from artifact.runs.archive import finished
from artifact.runs.lookup import find_run, finished_runs
from artifact.training import config
from artifact.training.rounds import simulate

METHOD = """from dataclasses import dataclass
from artifact.algorithms import FedAvg

@dataclass(frozen=True)
class FedHalf(FedAvg):
    share: float = 0.5

    def direction(self, g, c):
        return self.share * g
"""
OWN = """import math
import torch
from torch import nn
import artifact


@artifact.network
def wide_net(shape, classes):
    '''two layers'''
    layers = nn.Linear(math.prod(shape), 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, classes)
    return nn.Sequential(nn.Flatten(), *layers)


@artifact.dataset
def rings(root):
    '''inside and outside of a ring'''
    x = torch.randn(300, 2, generator=torch.Generator().manual_seed(0))
    y = (x.norm(dim=1) > 1.2).long()
    return (x[:200], y[:200]), (x[200:], y[200:])


@artifact.dataset
def pixels(root):
    x = torch.randint(256, (60, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return (x[:40].numpy(), [0, 1] * 20), (x[40:].numpy(), [0, 1] * 10)
"""
RUN = {"clients": 5, "cohort": 3, "rounds": 2, "batch_size": 20}
WORDS = [f"--{name.replace('_', '-')}={value}" for name, value in RUN.items()] + ["--algorithm=fedsam", "--quiet"]


@pytest.fixture(autouse=True)
def _forgotten():
    """The registries are as before after every test."""
    registries = (ALGORITHMS, MODELS, BUILDERS, DATASETS, ADDED)
    before = [dict(one) for one in registries]
    yield
    for one, old in zip(registries, before, strict=True):
        one.clear()
        one.update(old)


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_a_file_with_a_method_of_ones_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(METHOD, encoding="utf-8")
    assert register_file(path) == ["fedhalf"]
    x, y = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    clients, model = [(x[:20], y[:20]), (x[20:], y[20:])], torch.nn.Linear(3, 2)
    half = artifact.train(model, clients, method="fedhalf", share=1.0).model
    whole = artifact.train(model, clients, method="fedavg").model
    assert torch.equal(half.weight, whole.weight)
    with pytest.raises(UserError):
        register_file(path)


def test_what_python_remarks_on_a_file_is_said_once_it_has_run(tmp_path):
    """A refused file has the one line of its error."""
    path = tmp_path / "mine.py"
    path.write_text("def never():\n    return 'a'()\n\n\nraise ValueError('no')\n", encoding="utf-8")
    with warnings.catch_warnings(record=True) as said, pytest.raises(UserError, match="no, line 5"):
        run_file(path, "add")
    assert not said
    path.write_text("x = 1 is 1\n", encoding="utf-8")
    with pytest.warns(SyntaxWarning, match="is"):
        run_file(path, "add")


@pytest.mark.parametrize("names", [["FedGSAM"], ["Fed_SAM"], ["DR"], ["Fine", "FedLESAM_S"], ["FedNew", "Fed_New"]])
def test_a_class_whose_name_means_another_method_is_refused(names, tmp_path):
    """--algorithm NAME would train that one: case and underscores do not matter, and papers have several spellings."""
    path = tmp_path / "mine.py"
    classes = [f"@dataclass(frozen=True)\nclass {name}(FedAvg):\n    share: float = 0.5\n" for name in names]
    head = "from dataclasses import dataclass\nfrom artifact.algorithms import FedAvg\n"
    path.write_text("\n".join([head, *classes]))
    before = list(ALGORITHMS)
    with pytest.raises(UserError, match=rf"^add: .*new names, unlike {names[-1]}, which means"):
        register_file(path)
    assert list(ALGORITHMS) == before


def test_a_file_says_its_encoding_and_keeps_to_it(tmp_path):
    """Python itself lets a wrong byte in a comment pass; the file's text is read, too."""
    path = tmp_path / "mine.py"
    path.write_bytes(METHOD.encode() + b"    # \xf7\n")
    with pytest.raises(UserError, match=r"mine\.py.*UnicodeDecodeError"):
        register_file(path)
    path.write_bytes(b"# coding: latin-1\n" + METHOD.encode() + b"    # \xf7\n")
    assert register_file(path) == ["fedhalf"]


def test_a_network_and_data_of_ones_own_are_trained_by_name_and_found_again(own, tmp_path, capsys):
    words = ["run", "--add", str(own), "--dataset", "rings", "--model", "wide-net", "--rho", "0.1", *WORDS]
    assert main([*words, "--out", str(tmp_path / "runs"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert not first["found"]
    (run,) = finished(tmp_path / "runs")
    assert run.verify()
    assert run.config()["command"].count(f"--add {own}") == 1
    same = config.make(algorithm="fedsam", dataset="rings", model="wide-net", hyper={"rho": 0.1}, **RUN)
    assert find_run(same, finished_runs(tmp_path / "runs")).key == run.key
    assert session.execute(same, tmp_path / "runs").found


def test_an_edited_file_is_another_network(own, tmp_path):
    register_file(own)
    first = session.execute(config.make(algorithm="fedavg", model="wide-net", **RUN), tmp_path / "runs").run
    for registry, name in ((MODELS, "wide-net"), (BUILDERS, "wide-net"), (DATASETS, "rings"), (DATASETS, "pixels")):
        del registry[name]
    own.write_text(OWN.replace("16", "17"), encoding="utf-8")
    register_file(own)
    again = config.make(algorithm="fedavg", model="wide-net", **RUN)
    assert find_run(again, finished_runs(tmp_path / "runs")) is None
    assert session.execute(again, tmp_path / "runs").run.key != first.key


def test_images_of_ones_own_fit_the_networks_of_the_project(own, tmp_path):
    register_file(own)
    asked = config.make(algorithm="fedavg", dataset="pixels", model="cnn-fmnist", augment="flip-crop", **RUN)
    assert session.execute(asked, tmp_path / "runs").summary["rounds"] == 2


TEXT = """import torch
from torch import nn
import artifact


class Mean(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.embed, self.head = nn.Embedding(50, 8), nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.embed(x).mean(1))


@artifact.network
def bag(shape, classes):
    return Mean(classes)


@artifact.dataset
def words(root):
    x = torch.randint(50, (600, 12), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    y = ((x > 24).sum(1) > 6).long()
    return (x[:500], y[:500]), (x[500:], y[500:])
"""


def test_tokens_of_a_text_are_trained_on_by_name(tmp_path):
    path = tmp_path / "text.py"
    path.write_text(TEXT)
    register_file(path)
    setting = RUN | {"rounds": 60, "clients": 5, "cohort": 5, "lr": 2.0}
    asked = config.make(algorithm="fedsam", dataset="words", model="bag", hyper={"rho": 0.1}, **setting)
    assert session.execute(asked, tmp_path / "runs").summary["server"]["last"] > 0.9


def test_bounds_open_a_run_with_network_and_data_of_ones_own(own, tmp_path, capsys):
    words = ["--add", str(own), "--out", str(tmp_path / "runs")]
    assert main(["run", *words, "--dataset", "rings", "--model", "wide-net", *WORDS]) == 0
    (run,) = finished(tmp_path / "runs")
    for registry, name in ((MODELS, "wide-net"), (DATASETS, "rings"), (DATASETS, "pixels")):
        del registry[name]
    capsys.readouterr()
    assert main(["bounds", run.key, *words, "--data-size", "50", "--no-power", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert "rings wide-net" in row["model"]


def test_lists_show_what_a_file_adds(own, capsys):
    assert main(["list", "models", "--add", str(own)]) == 0
    assert "wide-net" in capsys.readouterr().out


HEAD = "import torch\nfrom torch import nn\nimport artifact\n\n"
NETWORK = f"{HEAD}@artifact.network\ndef mine(shape, classes):\n    return "
CLASS = f"{HEAD}from artifact.algorithms.base import FedAvg, dataclass\n\n@dataclass(frozen=True)\nclass Mine"
FINISH = f"{CLASS}(FedAvg):\n    def finish(self, state, c, w, W, C):\n        {{}}"
DATA = f"{HEAD}@artifact.dataset\ndef mine(root):\n    return "


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (f"{NETWORK}nn.Linear(8, undefined)", ["--model", "mine"], "NameError: .*line 7"),
        (f"{NETWORK}nn.Flatten()", ["--model", "mine"], "parameter"),
        (f"{NETWORK}nn.Sequential(nn.Flatten(), nn.Linear(3, 3))", ["--model", "mine"], r"RuntimeError.*line 5\)"),
        (f"{NETWORK}nn.Linear(8, 3)", ["--model", "mine"], r"outputs \[2, 10\].*line 5\)"),
        (f"{NETWORK}3", ["--model", "mine"], r"int.*torch.nn.Module.*line 5\)"),
        (f"{DATA}1 / 0", ["--dataset", "mine"], "ZeroDivisionError.*line 7"),
        (f"{DATA}torch.zeros(3), 2", ["--dataset", "mine"], r"\(train_x, train_y\).*line 5\)"),
        (
            f"{DATA}(torch.ones(4, 2), torch.ones(4)), (torch.ones(4, 2), torch.ones(4))",
            ["--dataset", "mine"],
            "integers",
        ),
        (
            f"{DATA}(-torch.ones(4, 2).long(), torch.ones(4).long()), (torch.ones(4, 2).long(), torch.ones(4).long())",
            ["--dataset", "mine"],
            "tokens that are integers from 0 on",
        ),
        (f"{NETWORK}(".replace("mine", "lenet"), [], "SyntaxError.*line 7"),
        (f"{NETWORK}3".replace("mine", "lenet"), [], r"lenet.*new names.*line 5\)"),
        (f"{DATA}3".replace("mine", "mnist"), [], r"mnist.*new names.*line 5\)"),
        (f"{DATA}3".replace("mine(root)", "mine()"), ["--dataset", "mine"], "TypeError.*line 5"),
        ("def f(): ...", [], r"f in line 1 is none"),
        (f"{CLASS}(FedAvg):\n    momentum: float = 0.9", ["--algorithm", "mine"], r"'momentum'.*mine.py, line 7\)"),
        (
            FINISH.format("pass"),
            ["--algorithm", "mine"],
            r"finish: 'None, no tensor, 0 models.*tensor \[\d+\] of .*mine.py, line 7\)",
        ),
        (FINISH.format("return W"), ["--algorithm", "mine"], r"finish: 'torch.Size\(\[3, \d+\]\).*mine.py, line 7\)"),
        (FINISH.format("return W.mean(0)"), ["--algorithm", "mine"], r"finish: '.*past the channel.*C\.mean.*line 9\)"),
        (
            FINISH.format("return w + 0 * C.mean(W - w).double()"),
            ["--algorithm", "mine"],
            r"torch.float64, 1 models.*of torch.float32,.*mine.py, line 7\)",
        ),
        (
            f"{CLASS}(FedAvg):\n    def finish(self, state, c, w):\n        return w",
            ["--algorithm", "mine"],
            r"finish: 'finish\(self, state, c, w\)' .*finish\(self, state, c, w, W, C\) \(.*mine.py, line 9\)",
        ),
        (
            FINISH.format("return w").replace("finish", "finsh"),
            [],
            r"Mine: 'finsh'.*nearest is finish.*mine.py, line 9\)",
        ),
        (f"{CLASS}(FedAvg):\n    mom = 0.9", [], r"Mine: 'mom = 0.9'.*mom: float = 0.9.*mine.py, line 9\)"),
        (f"{CLASS}(FedAvg):\n    server_lr = 0.5", [], r"server_lr: float = 0.5, a setting.*mine.py, line 9\)"),
    ],
)
def test_a_faulty_file_is_told_with_its_line(text, words, said, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    assert main(["run", "--add", str(path), *WORDS, *words, "--out", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert re.search(said, error), error
    assert not list((tmp_path / "runs").glob("[!.]*"))


def test_a_method_that_is_refused_in_a_later_round_leaves_no_folder(tmp_path, capsys):
    path, runs = tmp_path / "mine.py", tmp_path / "runs"
    turn = "state['n'] = state.get('n', torch.zeros(1)) + 1; return w if state['n'] < 2 else W"
    path.write_text(FINISH.format(turn), encoding="utf-8")
    words = ["run", "--add", str(path), *WORDS, "--algorithm", "mine", "--rounds", "3", "--out", str(runs)]
    assert main(words) == 2
    assert "finish: 'torch.Size([" in capsys.readouterr().err
    assert not list(runs.glob("[!.]*"))


@pytest.mark.parametrize(
    ("lines", "fair"),
    [
        ("C.mean(W[:, :3]); return W.mean(0)", False),
        ("C.mean(c.w * torch.ones_like(W)); return w + 0.1 * (W - w).mean(0).sign()", False),
        ("state['v'] = W.mean(0); return w + C.mean(W - w)", True),
        ("state['v'] = W.mean(0); return w + C.mean(c.w * torch.ones_like(W))", False),
        ("C.sum(W); return W.median(0).values", True),
        ("return w + C.mean((W - w).sign())", True),
        ("return w + torch.nn.functional.pad(C.mean((W - w)[:, :3]), (0, len(w) - 3))", True),
        ("return w + C.mean(W - w) + 1e-3 * torch.randn_like(w)", True),
        ("print('once'); state['v'] = state.get('v', 0) + C.mean(W - w); return w + state['v']", True),
    ],
)
def test_what_the_server_takes_of_the_clients_is_what_they_have_sent(lines, fair, tmp_path, capsys):
    """The traffic that a run reports is what the cohort's channel counts, so nothing may pass beside it."""
    path = tmp_path / "mine.py"
    path.write_text(FINISH.format(lines), encoding="utf-8")
    words = ["run", "--add", str(path), *WORDS, "--algorithm", "mine", "--out", str(tmp_path / "runs")]
    assert main(words) == (0 if fair else 2)
    out, error = capsys.readouterr()
    assert ("past the channel" in error and "line 9)" in error) != fair
    assert out.count("once") == 2 * ("once" in lines)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            "[1, 2, 3, 4]",
            r"mine, training: labels 1 to 4, .*: class 0 has no sample; are they numbered from 0\?",
        ),
        ("[0, 9, 0, 9]", "mine, training: labels 0 to 9, 10 classes: classes 1, 2, 3, 4, 5 and 3 more have no sample"),
        ("[0, 1, 2, 0]", None),
    ],
)
def test_classes_without_a_sample_are_named(labels, said, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(f"{DATA}(torch.ones(4, 2), {labels}), (torch.ones(2, 2), [0, 1])", encoding="utf-8")
    remarks.once.cache_clear()
    assert main(["data", "split", "mine", "iid", "--add", str(path), "--clients", "2"]) == 0
    error = capsys.readouterr().err.splitlines()
    assert [bool(re.fullmatch(said, line)) for line in error] == [True] if said else error == []


def test_a_training_that_diverges_says_in_which_round(tmp_path, capsys):
    words = ["run", *WORDS, "--out", str(tmp_path / "runs"), "--rounds", "9", "--model", "mlp-8", "--lr", "1e30"]
    for found in (False, True):
        assert main(words) == 0
        out, error = capsys.readouterr()
        assert re.fullmatch(r"diverged: the model is not finite after round 1; the training ended there\n", error)
        assert ("found" in out) == found
    assert remarks.not_finite([{"round": 1, "server": {"loss": 0.0}}, {"round": 2}]) == ""
    lines = [{"round": 1, "server": {"loss": 2.0}}, {"round": 2, "server": {"loss": None}}]
    assert remarks.not_finite(lines) == "diverged: the test loss is not finite after round 2; the model still is"
    x, y = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    with pytest.warns(UserWarning, match="diverged: the model is not finite after round 1"):
        artifact.train(torch.nn.Linear(3, 2), [(1e30 * x, y)], lr=1e30)
    with pytest.warns(UserWarning, match="class 0 has no sample; are they numbered from 0"):
        artifact.train(torch.nn.Linear(3, 3), [(x, y + 1)], rounds=1)


def test_training_warns_of_a_gap_in_the_clients_labels_as_run_does():
    x, y = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    with pytest.warns(UserWarning, match="clients: labels 0 to 3, 4 classes: classes 1, 2 have no sample$"):
        artifact.train(torch.nn.Linear(3, 4), [(x, 3 * y)], rounds=1)
    with pytest.warns(UserWarning, match="3 classes: class 2 has no sample$"):  # the test alone has one
        artifact.train(torch.nn.Linear(3, 4), [(x, y)], test=(x, 2 * y), rounds=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        artifact.train(torch.nn.Linear(3, 4), [(x, y), (x, y + 1)], test=(x, y), rounds=1)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        (name, variant)
        for name in sorted(ALGORITHMS.keys() - {"fedrobust"})  # which asks for images
        for variant in ("paper", "released")
        if variant == "paper" or has_code(name)
    ],
)
def test_no_method_of_the_project_takes_what_was_not_sent(name, variant):
    method = build(name, variant)
    finish = own_method.watched(type(method).finish, " (here)")
    object.__setattr__(method, "finish", finish.__get__(method))
    goals = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    simulate(method, lambda W, clients, t, k: W - goals[clients], goals[0] / 2, 4, 1, steps=2)
