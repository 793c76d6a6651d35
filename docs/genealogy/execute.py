"""``python docs/genealogy/execute.py --clones DIR``: runs the steps of public code that claims/genealogy.csv speaks of.

Every row names a file of a public repository at a commit. Only the class or function that the row names is taken from
that file, and it is run on a network of four small tensors and on ResNet-18. What comes out is measured and held
against the row. Then the code takes its part in a client, or server, that ``artifact.doctor`` watches, and the doctor's
alarms are held against the row, too. A row without a probe was only read: of it, the file, the object and its lines are
looked up. The code stays in the clones: nothing of it is stored here. ``--fetch`` makes the clones from github.com.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import inspect
import io
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import artifact  # noqa: E402
from artifact.base.console import OneLine  # noqa: E402
from artifact.base.errors import UserError  # noqa: E402
from artifact.base.tables_as_text import markdown_table  # noqa: E402
from artifact.diagnosis.report import Report  # noqa: E402
from artifact.models.networks import build  # noqa: E402

#: the faults, in the order of the page, and what each one is
FAULTS = {one["name"]: one["says"] for one in tomllib.loads((ROOT / "claims" / "faults.toml").read_text())["fault"]}
TABLE = ROOT / "claims" / "genealogy.csv"
RHO = 0.1
#: the network of the papers' tables, beside the small one
LARGE = "resnet18-gn"
#: measured numbers and the stored ones agree to this, which leaves room for rounding in the table
TOLERANCE = 0.005


def rows() -> list[dict[str, str]]:
    """The rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- the clones ------------------------------------------------------------------------------------------------------


def clone_of(clones: Path, repository: str) -> Path | None:
    """The git folder of OWNER/NAME, as ``git clone`` or ``git clone --bare`` leaves it."""
    flat = repository.replace("/", "+")
    places = (clones / repository, clones / flat, clones / flat / "repo")
    return next((p for p in places if (p / "HEAD").exists() or (p / ".git").exists()), None)


def fetched(clones: Path, repository: str) -> Path:
    """The clone, made anew where it is not there."""
    found = clone_of(clones, repository)
    if found is None:
        found = clones / repository.replace("/", "+")
        words = ["git", "clone", "--quiet", "--bare", f"https://github.com/{repository}", str(found)]
        if subprocess.run(words, check=False).returncode:
            raise UserError("repository", repository, "one that git can clone from github.com")
    return found


def source_of(clone: Path, commit: str, file: str) -> str:
    """Text of a file at a commit. Raises UserError where the clone does not hold it."""
    done = subprocess.run(["git", "-C", str(clone), "show", f"{commit}:{file}"], capture_output=True, check=False)
    if done.returncode:
        raise UserError("clone", f"{clone.name} {commit} {file}", "a clone that holds this commit and file")
    return done.stdout.decode("utf-8", "replace")


def found_in(source: str, name: str) -> ast.ClassDef | ast.FunctionDef:
    """The class or function of a source; ``Class.method`` is one inside of a class."""
    body: list[ast.stmt] = ast.parse(source).body
    node = None
    for part in name.split("."):
        fitting = (n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == part)
        node = next(fitting, None)
        if node is None:
            raise UserError("object", name, "a class or function of the file")
        body = node.body
    assert node is not None  # a name has one part at least
    return node


def lines_of(source: str, name: str) -> tuple[int, int]:
    """First and last line of the class or function."""
    node = found_in(source, name)
    return node.lineno, node.end_lineno or node.lineno


def taken(source: str, name: str, within: dict[str, Any]) -> Any:
    """The class or function of a source, run with the names of ``within``."""
    space = {"torch": torch, "F": F, "nn": nn, "Any": Any} | within
    exec(compile(ast.Module([found_in(source, name)], []), name, "exec"), space)  # the row asks for this very code
    return space[name]


# ---- the probes ------------------------------------------------------------------------------------------------------


def network(name: str = "small") -> nn.Module:
    """``small``: four tensors of different sizes, in float64. Else one of the papers' networks for CIFAR-10."""
    torch.manual_seed(0)
    if name != "small":
        return build(name, (3, 32, 32), 10, 0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4)).double()


def flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def shaped(model: nn.Module, vector: Tensor) -> list[Tensor]:
    """The vector in the shapes of the parameters: what a split of it should give."""
    sizes = [p.numel() for p in model.parameters()]
    return [part.reshape(p.shape) for part, p in zip(vector.split(sizes), model.parameters(), strict=True)]


def cosine(a: Tensor, b: Tensor) -> float:
    return float(F.cosine_similarity(a, b, dim=0))


class Staying(Tensor):
    """A tensor that stays on the CPU where code moves it to a GPU by name."""

    def to(self, *_device: Any, **_named: Any) -> Tensor:
        return self

    def cuda(self, *_device: Any, **_named: Any) -> Tensor:
        return self


def perturbation(made: Any, form: str) -> dict[str, float]:
    """Displacement by one ascent along a random update: its length over rho, and its cosine to the direction meant.

    form: the shape in which that code hands over the update: ``flat``, ``list`` or ``dict``. ``-`` before it: the
    update already points to where the ascent goes.
    """
    moved, meant = _moved(network(), made, form)
    large, _ = _moved(network(LARGE), made, form)
    return {
        "length/rho": float(moved.norm()) / RHO,
        "cosine": cosine(moved, meant),
        f"{LARGE}: length/rho": float(large.norm()) / RHO,
    }


def _moved(model: nn.Module, made: Any, form: str) -> tuple[Tensor, Tensor]:
    """(displacement, the direction meant), both [P]."""
    before = flat(model)
    torch.manual_seed(1)
    update = torch.randn(len(before), dtype=before.dtype)
    _first_step(made, model, form, update)
    return flat(model) - before, update if form.startswith("-") else -update


def _first_step(made: Any, model: nn.Module, form: str, update: Tensor) -> None:
    """The code's ascent along an update [P], which it is handed in its own shape."""
    names = [name for name, _ in model.named_parameters()]
    by_name = {name: part.as_subclass(Staying) for name, part in zip(names, shaped(model, update), strict=True)}
    given = {"flat": update, "list": shaped(model, update), "dict": by_name}
    step = made(model.parameters(), torch.optim.SGD(model.parameters(), lr=1.0), rho=RHO)
    wanted = {"g_update": given[form.removeprefix("-")], "model": model}
    step.first_step(*(wanted[name] for name in inspect.signature(step.first_step).parameters))


def gradient_ascent(made: Any, form: str) -> dict[str, float]:
    """Displacement by one ascent along the gradient of a loss.

    form: ``model`` for a helper that takes the optimizer and the model, ``duals`` for one that takes lists of duals,
    here zeros, ``around`` for an optimizer around another one, ``class`` for one that is given the other one's class.
    """
    model = network()
    torch.manual_seed(1)
    model(torch.randn(8, 6, dtype=torch.float64)).square().mean().backward()
    gradient = torch.cat([p.grad.reshape(-1).clone() for p in model.parameters() if p.grad is not None])
    before = flat(model)
    _ascended(made, model, form)
    moved = flat(model) - before
    return {"length/rho": float(moved.norm()) / RHO, "cosine": cosine(moved, gradient)}


def _ascended(made: Any, model: nn.Module, form: str) -> None:
    """The code's ascent along the gradients that the parameters hold."""
    base = torch.optim.SGD(model.parameters(), lr=1.0)
    wanted = inspect.signature(made.__init__).parameters
    if form == "model":
        made(base, model, RHO, *((0.0,) if "eta" in wanted else ())).ascent_step()
        return
    if form == "class":
        made(model.parameters(), torch.optim.SGD, rho=RHO, lr=1.0).first_step()
        return
    if form == "around":
        made(model.parameters(), base, rho=RHO, **({"num_classes": 4} if "num_classes" in wanted else {})).first_step()
        return
    zeros = [[torch.zeros_like(p) for p in model.parameters()] for _ in range(2)]
    device = (torch.device("cpu"),) if "device" in wanted else ()
    made(*device, model.parameters(), base, rho=RHO).first_step(*zeros)


def split(made: Any, _form: str) -> dict[str, float]:
    """A flat vector taken apart into the shapes of a model: the share of entries that lie where they belong."""
    return {"entries in place": _in_place(network(), made), LARGE: _in_place(network(LARGE), made)}


def _in_place(model: nn.Module, made: Any) -> float:
    vector = torch.arange(flat(model).numel(), dtype=torch.float64)
    device = (torch.device("cpu"),) if "device" in inspect.signature(made).parameters else ()
    parts = made(model, vector, *device)
    right = [(a == b).sum() for a, b in zip(parts, shaped(model, vector), strict=True)]
    return float(sum(right)) / len(vector)


def ramp(made: Any, _form: str) -> dict[str, float]:
    """The server's radius over a warm-up of ten rounds from 0.001 to 0.01, with clients' radius 0.2.

    Round five is meant to have 0.0055.
    """
    server = _server(made)
    return {"server radius at 5": server.server_rhos[5], "at 29": server.server_rhos[29]}


def _server(made: Any) -> Any:
    keywords = {"rho": 0.01, "rho_l": 0.2, "rho0": 0.001, "T_s": 10, "T": 30, "beta": 1.0, "tot_clients": 4}
    return made(network(), "sgd", 1.0, **keywords)


class _Client:
    """In place of the base class of a client: it keeps the model."""

    def __init__(self, args: Any, *_given: Any, **_named: Any) -> None:
        self.model = args.model


class _Server:
    """In place of the base class of a server, of which nothing is needed."""

    def __init__(self, *_given: Any, **_named: Any) -> None:
        pass


def momentum(made: Any, _form: str) -> dict[str, float]:
    """Weights with which two clients of three steps mix a server momentum of ones in, where 0.9 is meant each time."""
    model, delta = network(), torch.ones_like(flat(network())).as_subclass(Staying)
    weights = []
    for _client in range(2):
        minimizer = made(torch.optim.SGD(model.parameters(), lr=1.0), model, RHO, 0.1, delta)
        for _step in range(3):
            before = flat(model)
            for act in (minimizer.ascent_step, minimizer.descent_step):
                for p in model.parameters():
                    p.grad = torch.zeros_like(p)
                act()
            weights.append(float((before - flat(model)).mean()))
    return {"step 1": weights[0], "step 2": weights[1], "step 3": weights[2], "next client": weights[3]}


def variate(made: Any, _form: str) -> dict[str, float]:
    """How far the server's variate moves for five of ten clients whose variates move by 1 each; 0.5 is meant."""
    server = made.__new__(made)
    server.num_clients, server.c, server.set_model = 10, torch.zeros(4), lambda _model: None
    server.global_update([[torch.zeros(4), 1, torch.ones(4)] for _ in range(5)])
    return {"server's variate": float(server.c.mean())}


def built(made: Any, _form: str) -> dict[str, float]:
    """1 where a client can be made with every option that it reads, 0 where that raises an error."""
    options = {"rho": RHO, "adaptive": False, "local_learning_rate": LR, "lr_decay": 1.0, "momentum": 0.0, "wd": 0.0}
    try:
        made(SimpleNamespace(model=network(), **options), 0, 8, 8)
    except Exception:  # of the code that is looked at, which may raise anything
        return {"can be built": 0.0}
    return {"can be built": 1.0}


# ---- the same code under the doctor's eyes ---------------------------------------------------------------------------

LR = 0.1


def _put(model: nn.Module, w: Tensor) -> None:
    with torch.no_grad():
        for p, values in zip(model.parameters(), shaped(model, w), strict=True):
            p.copy_(values)


def _gradient(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """[P]; the gradients of the parameters hold it, too."""
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    return torch.cat([p.grad.reshape(-1).clone() for p in model.parameters() if p.grad is not None])


def _descended(model: nn.Module, w: Tensor, x: Tensor, y: Tensor) -> None:
    """SGD from w with the gradient at the present weights: the part of a step that the row does not speak of."""
    _put(model, w - LR * _gradient(model, x, y))


def doctor_of_update(made: Any, form: str) -> Report:
    """A FedLESAM client whose ascent is the code's ``first_step``."""

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        for x, y in batches:
            w = flat(model)
            if sent["update"] is not None:
                _first_step(made, model, form, -sent["update"] if form.startswith("-") else sent["update"])
            _descended(model, w, x, y)

    return artifact.doctor(client, "fedlesam", model=network(), data=_data(), lr=LR, rho=RHO)


def doctor_of_gradient(made: Any, form: str) -> Report:
    """A SAM step whose ascent is the code's."""

    def step(model: nn.Module, x: Tensor, y: Tensor) -> None:
        w = flat(model)
        _gradient(model, x, y)
        _ascended(made, model, form)
        _descended(model, w, x, y)

    return artifact.doctor(step, "fedsam", model=network(), data=_data(), lr=LR, rho=RHO)


def doctor_of_split(made: Any, _form: str) -> Report:
    """A FedSMOO client that reads its dual and the server's perturbation through the code's helper."""
    kept: dict[str, Tensor] = {}
    lam = 0.1

    def read(model: nn.Module, vector: Tensor) -> Tensor:
        device = (torch.device("cpu"),) if "device" in inspect.signature(made).parameters else ()
        return torch.cat([part.reshape(-1) for part in made(model, vector, *device)])

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        start = flat(model)
        stored, h = (kept.get(name, torch.zeros_like(start)) for name in ("mu", "h"))
        mu, s = read(model, stored), read(model, sent["s"])
        for x, y in batches:
            w = flat(model)
            q = _gradient(model, x, y) - mu - s
            e = RHO * q / q.norm()
            mu = mu + e - s
            _put(model, w + e)
            _put(model, w - LR * (_gradient(model, x, y) - h + lam * (w - start)))
        kept.update(mu=mu, h=h - lam * (flat(model) - start))

    return artifact.doctor(client, "fedsmoo", model=network(), data=_data(), lr=LR, rho=RHO, lam=lam)


def doctor_of_ramp(made: Any, _form: str) -> Report:
    """The server's own ascent along the last update, with the radius of its round; the meant one rises to 0.01."""
    low, high, rounds = 0.001, 0.01, 10
    server = _server(made)

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        names = [name for name, _ in model.named_parameters()]
        for x, y in batches:
            w = flat(model)
            if sent["update"] is not None:
                server.model = dict(zip(names, (p.data for p in model.parameters()), strict=True))
                server.delta_w_tilde = dict(zip(names, shaped(model, -sent["update"]), strict=True))
                server.t = sent["round"]
                server.ascent_step()
            _descended(model, w, x, y)

    meant = [low + (high - low) * min(t / rounds, 1) for t in range(rounds)]
    return artifact.doctor(client, "fedlesam", model=network(), data=_data(), lr=LR, rho=lambda t: meant[t])


# ---- whole clients of public code, measured by the doctor itself -----------------------------------------------------


class Loader:
    """The doctor's batches of a round, which are read once, in place of a loader; its length is what code logs."""

    def __init__(self, batches: Any) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        return ((x.as_subclass(Staying), y.as_subclass(Staying)) for x, y in self.batches)


def doctor_of_momentum(made: Any, _form: str) -> Report:
    """A MoFedSAM client whose minimizer is the code's; it gets a copy of the momentum in every round."""

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        sent_once = sent["momentum"].clone().as_subclass(Staying)
        minimizer = made(torch.optim.SGD(model.parameters(), lr=LR), model, RHO, 0.1, sent_once)
        for x, y in batches:
            _gradient(model, x, y)
            minimizer.ascent_step()
            F.cross_entropy(model(x), y).backward()
            minimizer.descent_step()

    return artifact.doctor(client, "mofedsam", model=network(), data=_data(), lr=LR, rho=RHO, beta=0.1)


def doctor_of_function(made: Any, _form: str) -> Report:
    """A function that trains a copy of the server's model with a loader of its own; here it gets model and batches."""

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        made(model, Loader(batches), 1, 8, LR, rho=RHO, weight_decay=0.0)

    return artifact.doctor(client, "fedsam", model=_with_statistics(), data=_data(), lr=LR, rho=RHO)


def doctor_of_trainer(made: Any, _form: str) -> Report:
    """A trainer that is made once and given the options of a command; it serves every client, as in that code."""
    options = {"client_optimizer": "sgd", "lr": LR, "lr_decay": 1.0, "momentum": 0.0, "wd": 0.0, "rho": RHO}
    args = SimpleNamespace(adaptive=False, epochs=1, **options)
    trainer = made.__new__(made)
    trainer.id = 0

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        trainer.model = model
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.train(batches, torch.device("cpu"), args, sent["round"])

    return artifact.doctor(client, "fedsam", model=_with_statistics(), data=_data(), lr=LR, rho=RHO)


def doctor_of_options(made: Any, _form: str) -> Report:
    """A client under ``--rho 0.1``: the main parser takes the option, the method's own parser gets what is left."""
    party = made.__new__(made)
    party.logger, party.test_dl = SimpleNamespace(info=lambda _text: None), []
    party.args = SimpleNamespace(rho=RHO, lr=LR, weight_decay=0.0, epochs=1)
    party.appr_args = made.extra_parser([])

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        vars(model)["cuda"] = lambda: model
        party.party2nets = {0: model}
        party.party2loaders = {0: Loader(batches)}
        party._local_training(0)

    return artifact.doctor(client, "fedsam", model=network(), data=_data(), lr=LR, rho=RHO)


def doctor_of_variates(made: Any, _form: str) -> Report:
    """A FedGAMMA client that keeps its own variate from round to round."""
    client_of = made.__new__(made)
    options = {"learning_rate": LR, "weight_decay": 0.0, "momentum": 0.0, "rho": RHO, "local_epochs": 1}
    vars(client_of).update(c_i=None, device="cpu", dataset="agnews", loss=F.cross_entropy, **options)

    def client(model: nn.Module, batches: Any, sent: dict[str, Any]) -> None:
        client_of.model, client_of.c, client_of.load_train_data = model, sent["c"], lambda: batches
        client_of.train()

    return artifact.doctor(client, "fedgamma", model=network(), data=_data(), lr=LR, rho=RHO)


def by_the_doctor(report: Report) -> dict[str, float]:
    """What a report says of a whole client, each the worst over its steps.

    statistics: how often the running statistics of BatchNorm moved in one step. error: of a step, over the meant step.
    """
    length = max((row.length / row.meant for row in report.rows), key=lambda ratio: abs(ratio - 1))
    measured = {"length/rho": length, "cosine": min(row.cosine for row in report.rows)}
    moved = max(row.moved for row in report.rows)
    if moved:
        measured["statistics"] = moved
    return measured | {"error of a step": max(row.error for row in report.rows)}


def _with_statistics() -> nn.Module:
    """A small convolutional network with BatchNorm2d, in float64, on six numbers."""
    torch.manual_seed(0)
    shaped_input = nn.Unflatten(1, (1, 2, 3))
    body = (nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(), nn.Linear(8, 4))
    return nn.Sequential(shaped_input, *body).double()


def _data() -> tuple[Tensor, Tensor]:
    stream = torch.Generator().manual_seed(2)
    return torch.randn(96, 6, dtype=torch.float64, generator=stream), torch.randint(4, (96,), generator=stream)


#: what stands in for names that the code imports
AROUND: dict[str, Any] = {
    "FedOptServer": _Server,
    "OrderedDict": dict,
    "defaultdict": defaultdict,
    "warnings": SimpleNamespace(warn=print),
    "param_to_vector": flat,
    "_BatchNorm": nn.modules.batchnorm._BatchNorm,
    "Aggregators": SimpleNamespace(fedavg_aggregate=lambda parts: sum(parts) / len(parts)),
    "ArgumentParser": ArgumentParser,
    "Client": _Client,
    "DataLoader": lambda dataset, **_named: dataset,
    "FedAvg": object,
    "FedAvgServerHandler": _Server,
    "ModelTrainer": object,
    "compute_accuracy": lambda *_given: (0.0, 0.0),
    "copy": SimpleNamespace(deepcopy=lambda thing: thing),
    "optim": torch.optim,
    "transforms": SimpleNamespace(
        **dict.fromkeys(("Compose", "RandomCrop", "RandomHorizontalFlip"), lambda *_, **__: 0)
    ),
}
PROBES: dict[str, Callable[[Any, str], dict[str, float]]] = {
    "perturbation": perturbation,
    "gradient": gradient_ascent,
    "split": split,
    "ramp": ramp,
    "momentum": momentum,
    "variate": variate,
    "built": built,
}
DOCTORS: dict[str, Callable[[Any, str], Report]] = {
    "perturbation": doctor_of_update,
    "gradient": doctor_of_gradient,
    "split": doctor_of_split,
    "ramp": doctor_of_ramp,
    "momentum": doctor_of_momentum,
    "function": doctor_of_function,
    "trainer": doctor_of_trainer,
    "options": doctor_of_options,
    "variates": doctor_of_variates,
}
#: in place of alarms, for a part that no client has
NOT_WATCHED = "not watched"


def text_of(measured: dict[str, float]) -> str:
    return "; ".join(f"{name} {value:.3f}" for name, value in measured.items())


def executed(row: dict[str, str], clones: Path, fetch: bool = False) -> tuple[str, str, str] | None:
    """(what was measured, lines of the object, the doctor's alarms) of a row; None where there is no clone of it."""
    clone = fetched(clones, row["repository"]) if fetch else clone_of(clones, row["repository"])
    if clone is None:
        return None
    source = source_of(clone, row["commit"], row["file"])
    lines = "-".join(map(str, lines_of(source, row["object"])))
    if not row["probe"]:
        return "", lines, ""
    around = dict(AROUND)
    for name in row["base"].split():
        file, _, own = name.rpartition(":")
        around[own] = taken(source_of(clone, row["commit"], file) if file else source, own, around)
    made = taken(source, row["object"], around)
    probe, _, form = row["probe"].partition(":")
    report = DOCTORS[probe](made, form) if probe in DOCTORS else None
    alarms = NOT_WATCHED if report is None else ", ".join(report.alarms) or "no alarm"
    measured = PROBES[probe](made, form) if probe in PROBES else by_the_doctor(report)
    return text_of(measured), lines, alarms


def same(measured: str, stored: str) -> bool:
    """Whether two measurements have the same names, and numbers that agree."""
    if not measured or not stored:
        return measured == stored
    ours, theirs = ([part.rsplit(" ", 1) for part in text.split("; ")] for text in (measured, stored))
    if [part[0] for part in ours] != [part[0] for part in theirs]:
        return False
    return all(
        abs(float(a[1]) - float(b[1])) <= TOLERANCE * max(1, abs(float(b[1])))
        for a, b in zip(ours, theirs, strict=True)
    )


@click.command(cls=OneLine)
@click.option("--clones", type=click.Path(path_type=Path, file_okay=False), help="Folder of clones.")
@click.option("--fetch", is_flag=True, help="Clone what is missing from github.com.")
@click.option("--write", is_flag=True, help="Store the measurements and lines in the table.")
def main(clones: Path | None, fetch: bool, write: bool) -> None:
    """Run every row's code and say whether it does what the row says. Exit code 1 where one does not."""
    if clones is None:
        raise UserError("clones", None, "a folder of clones")
    table, differing, missing, shown = rows(), 0, 0, []
    for row in table:
        found = executed(row, clones, fetch)
        if found is None:
            missing += 1
            continue
        measured, lines, alarms = found
        agrees = same(measured, row["measured"])
        if write:
            row |= {"measured": measured, "lines": lines, "doctor": alarms}
        elif not agrees or (lines, alarms) != (row["lines"], row["doctor"]):
            differing += 1
        shown.append([row["repository"], row["commit"], f"{row['file']}:{lines}", measured, alarms, row["verdict"]])
    if write:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
    click.echo("\n".join(markdown_table(["repository", "commit", "file", "measured", "doctor", "verdict"], shown)))
    read = sum(not row[3] for row in shown)
    text = f"{len(shown) - read} rows executed, {read} read only, {differing} differ from the table"
    click.echo(f"{text}, {missing} without a clone")
    if differing:
        raise click.exceptions.Exit(1)


if __name__ == "__main__":
    main()
