"""The program that executes public code for docs/genealogy.md, on code of our own with the same faults."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "genealogy"))

import execute  # noqa: E402

#: an optimizer whose ascent takes DIRECTION of tensor j; NORM is what it divides by
ASCENT = """
import something_that_is_not_here


class Ascent:
    def __init__(self, params, base, rho):
        self.params, self.rho = list(params), rho

    @torch.no_grad()
    def first_step(self, g_update):
        parts = [DIRECTION for j, p in enumerate(self.params)]
        length = NORM
        for p, part in zip(self.params, parts):
            p.sub_(self.rho * part / length)
"""
ENTRY = ASCENT.replace("DIRECTION", "g_update[j] * torch.ones_like(p)").replace(
    "NORM", "sum(p.abs().max() for p in parts)"
)
WHOLE = ASCENT.replace("DIRECTION", "g_update[j]").replace("NORM", "sum(p.square().sum() for p in parts).sqrt()")
SPLIT = """
def apart(model, vector):
    parts, start = [], 0
    for p in model.parameters():
        parts.append(vector[start : start + p.numel()].reshape(p.shape))
        start += STEP
    return parts
"""
SERVER = """
class Server(FedOptServer):
    def __init__(self, model, opt, lr, rho, rho_l, rho0, T_s, T, beta, tot_clients):
        super().__init__(model, opt, lr)
        clients = [rho0 + (rho_l - rho0) * min(t / T_s, 1) for t in range(T)]
        self.server_rhos = [FROM + (rho - rho0) * min(t / T_s, 1) for t in range(T)]

    def ascent_step(self):
        length = sum(d.square().sum() for d in self.delta_w_tilde.values()).sqrt()
        for name, d in self.delta_w_tilde.items():
            self.model[name].add_(self.server_rhos[self.t] * d / length)
"""
MOMENTUM = """
class Minimizer:
    def __init__(self, optimizer, model, rho, beta, delta):
        self.optimizer, self.model, self.rho, self.beta, self.delta = optimizer, model, rho, beta, delta

    @torch.no_grad()
    def ascent_step(self):
        g = torch.cat([p.grad.reshape(-1) for p in self.model.parameters()])
        self.eps = [self.rho * p.grad / (g.norm() + 1e-16) for p in self.model.parameters()]
        for p, e in zip(self.model.parameters(), self.eps):
            p.add_(e)
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descent_step(self):
        start = 0
        for p, e in zip(self.model.parameters(), self.eps):
            part = self.delta[start : start + p.numel()].view(p.shape)
            start += p.numel()
            p.sub_(e)
            p.grad.mul_(self.beta).add_(part.TIMES(1 - self.beta))
        self.optimizer.step()
        self.optimizer.zero_grad()
"""
CLIENT = """
class Party(Client):
    def _norm(self):
        return torch.cat([p.grad.reshape(-1) for p in self.model.parameters()]).norm()

    def train(self):
        start = [p.detach().clone() for p in self.model.parameters()]
        if self.c_i is None:
            self.c_i = torch.zeros_like(param_to_vector(self.model))
        batches, steps = self.load_train_data(), 0
        for x, y in batches:
            self.model.zero_grad()
            self.loss(self.model(x), y).backward()
            up = [self.rho * p.grad / self._norm() for p in self.model.parameters()]
            self._move(up, 1)
            self.model.zero_grad()
            self.loss(self.model(x), y).backward()
            self._move(up, -1)
            self._move([p.grad for p in self.model.parameters()], -self.learning_rate)
            self._move_flat(self.c - self.c_i, -self.learning_rate)
            steps += 1
        now = torch.cat([(a - p.detach()).reshape(-1) for a, p in zip(start, self.model.parameters())])
        self.c_i = self.c_i - self.c + now / (steps * PER)

    @torch.no_grad()
    def _move(self, parts, by):
        for p, part in zip(self.model.parameters(), parts):
            p.add_(by * part)

    def _move_flat(self, vector, by):
        sizes = [p.numel() for p in self.model.parameters()]
        self._move([v.view(p.shape) for v, p in zip(vector.split(sizes), self.model.parameters())], by)
"""
HANDLER = """
class Handler(FedAvgServerHandler):
    def global_update(self, buffer):
        moved = Aggregators.fedavg_aggregate([one[2] for one in buffer]) / self.num_clients
        self.c += moved * TIMES
"""
FILES = {
    "fading.py": MOMENTUM.replace("TIMES", "mul_"),
    "steady.py": MOMENTUM.replace("TIMES", "mul"),
    "rated.py": CLIENT.replace("PER", "self.learning_rate"),
    "unrated.py": CLIENT.replace("PER", "1"),
    "mean.py": HANDLER.replace("TIMES", "1"),
    "sum.py": HANDLER.replace("TIMES", "len(buffer)"),
    "entry.py": ENTRY,
    "whole.py": WHOLE,
    "stuck.py": SPLIT.replace("STEP", "0"),
    "moving.py": SPLIT.replace("STEP", "p.numel()"),
    "ramp.py": SERVER.replace("FROM", "rho0"),
    "high.py": SERVER.replace("FROM", "clients[-1]"),
}


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """A folder with one repository, people/code."""
    folder = tmp_path_factory.mktemp("clones")
    code = folder / "people" / "code"
    code.mkdir(parents=True)
    for name, text in FILES.items():
        (code / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(code), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "code"]):
        subprocess.run([*git, *words], check=True)
    return folder


def row(file: str, name: str, probe: str, **known: str) -> dict[str, str]:
    first = {"repository": "people/code", "commit": "HEAD", "file": file, "object": name, "base": "", "probe": probe}
    return dict.fromkeys(execute.rows()[0], "") | first | known


@pytest.mark.parametrize(
    ("file", "name", "probe", "numbers", "alarms"),
    [
        ("whole.py", "Ascent", "perturbation:list", ["1.000", "1.000", "1.000"], "no alarm"),
        ("stuck.py", "apart", "split", ["0.508", "0.001"], "cosine"),
        ("moving.py", "apart", "split", ["1.000", "1.000"], "no alarm"),
        ("ramp.py", "Server", "ramp", ["0.006", "0.010"], "no alarm"),
        ("high.py", "Server", "ramp", ["0.205", "0.209"], "length"),
        ("steady.py", "Minimizer", "momentum", ["0.900"] * 4, "no alarm"),
        ("fading.py", "Minimizer", "momentum", ["0.900", "0.810", "0.729", "0.656"], "update"),
        ("rated.py", "Party", "variates", ["1.000", "1.000", "0.000"], "no alarm"),
        ("sum.py", "Handler", "variate", ["0.500"], "not watched"),
        ("mean.py", "Handler", "variate", ["0.100"], "not watched"),
    ],
)
def test_faults_and_right_code_are_told_apart(clones, file, name, probe, numbers, alarms):
    measured, _, told = execute.executed(row(file, name, probe), clones)
    assert told == alarms
    assert [part.rsplit(" ", 1)[1] for part in measured.split("; ")] == numbers


def test_a_variate_without_the_rate_is_an_error_of_the_second_round(clones):
    measured, _, told = execute.executed(row("unrated.py", "Party", "variates"), clones)
    assert told == "update"
    assert float(measured.rsplit(" ", 1)[1]) > 0.1


def test_of_a_row_that_was_only_read_the_object_is_looked_up(clones):
    assert execute.executed(row("rated.py", "Party.train", ""), clones) == ("", "6-23", "")
    with pytest.raises(execute.UserError, match=r"Party\.learn"):
        execute.executed(row("rated.py", "Party.learn", ""), clones)


def test_length_of_a_scalar_per_tensor(clones):
    measured, lines, alarms = execute.executed(row("entry.py", "Ascent", "perturbation:flat"), clones)
    assert alarms == "length, cosine"
    torch.manual_seed(1)
    q = torch.randn(30 + 5 + 20 + 4, dtype=torch.float64)[:4]
    n = torch.tensor([30.0, 5.0, 20.0, 4.0])
    by_hand = float((n * q.square()).sum().sqrt() / q.abs().sum())
    assert measured.startswith(f"length/rho {by_hand:.3f}; ") and lines == "5-14"


def test_a_row_that_is_wrong_or_lacks_its_clone(clones, monkeypatch, tmp_path, capsys):
    table = tmp_path / "genealogy.csv"
    monkeypatch.setattr(execute, "TABLE", table)
    right = {"measured": "entries in place 0.508; resnet18-gn 0.001", "lines": "2-7"} | {"doctor": "cosine"}
    for wanted, known, said in (
        (0, right, "1 rows executed, 0 read only, 0 differ"),
        (1, right | {"measured": "entries in place 1.000; resnet18-gn 0.001"}, "1 differ"),
        (1, right | {"lines": "3-7"}, "1 differ"),
        (1, right | {"doctor": "no alarm"}, "1 differ"),
        (0, right | {"repository": "nobody/nothing"}, "1 without a clone"),
    ):
        with table.open("w", encoding="utf-8", newline="") as file:
            one = {"repository": "people/code", "commit": "HEAD", "file": "stuck.py", "object": "apart", "base": ""}
            one |= {"probe": "split", "fault": "", "verdict": "faulty", "used_by": "", "first_seen": "", "mended": ""}
            one |= {"note": ""} | known
            writer = csv.DictWriter(file, fieldnames=list(one))
            writer.writeheader()
            writer.writerow(one)
        with pytest.raises(SystemExit) as ended:
            execute.main(["--clones", str(clones)])
        assert (ended.value.code or 0) == wanted
        assert said in capsys.readouterr().out


RIGHT = re.compile(r"entries in place 1.000|length/rho 1.000; cosine 1.000(?!; statistics 2)")


def test_every_row_is_whole():
    """A row that was run has numbers and a word of the doctor; one that was only read has neither."""
    for one in execute.rows():
        assert one["verdict"] in ("faulty", "faulty, not called", "clean"), one
        assert one["fault"] in execute.FAULTS and one["method"] and one["lines"] and one["first_seen"], one
        assert bool(one["probe"]) == bool(one["measured"]) == bool(one["doctor"]), one
        assert bool(one["used_by"]) or one["verdict"] != "faulty", one
        if one["verdict"] == "faulty" and not one["mended"]:
            assert one["mend"], one
        if one["doctor"] not in ("", execute.NOT_WATCHED):
            assert (one["verdict"] == "clean") == (one["doctor"] == "no alarm"), one
            assert RIGHT.search(one["measured"]) or one["verdict"] != "clean", one
    assert len({one["repository"] for one in execute.rows()}) >= 34
