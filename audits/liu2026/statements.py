"""Checks of FedNSAM's statements; the vectors hold what the authors' code computes (``vectors.py``)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import sympy as sp
import torch

from artifact.algorithms import build
from artifact.runs.replay import replay
from theory.kit.evidence import identical, same_program
from theory.kit.verdict import Replay, Verdict, check

VECTORS = Path(__file__).resolve().parent / "vectors"


@check("liu2026-line", mutations=[(2.0, "refuted")])
def line(scale: float = 1) -> Verdict:
    r"""
    Statement: w + gamma m - rho m / |m| = w + (gamma - rho / |m|) m.
    Assumptions: m is not 0.
    Method: Both sides are expanded, for one coordinate of w and m and the length of m.
    Verdict: proved.
    Reference: optimizer/Nesterov.py, first_step, in junkangLiu0/FedNSAM@c3c9e90.
    """
    w, m, rho, gamma, length = sp.symbols("w m rho gamma length", positive=True)
    left = w + gamma * m - sp.nsimplify(scale) * rho * m / length
    right = w + (gamma - rho / length) * m
    at = {w: 1, m: 1, rho: 1, gamma: 1, length: 1}
    if left.subs(at) != right.subs(at):
        return Verdict("refuted", {"counterexample": {"w": 1, "m": 1, "rho": 1, "gamma": 1}})
    return Verdict("proved", {"certificate": identical(left, right)})


def _ahead_again(evidence: dict) -> Replay:
    m, rho, gamma = (Fraction(evidence["counterexample"][name]) for name in ("m", "rho", "gamma"))
    assumptions = {"m > 0": m > 0, "rho > 0": rho > 0, "0 < gamma < 1": 0 < gamma < 1}
    return Replay(assumptions, Fraction(0), (gamma * m - rho) * m, relation="<")


@check("liu2026-ahead", replay=_ahead_again)
def ahead() -> Verdict:
    r"""
    Statement: <gamma m - rho m / |m|, m> > 0 for every m that is not 0.
    Assumptions: rho > 0, 0 < gamma < 1.
    Method: The product is gamma |m|^2 - rho |m|, below 0 where |m| < rho / gamma. With the published values, rho = 0.05
        and gamma = 0.85, clients look back along every momentum shorter than 1/17, and at that length they take plain
        steps of FedAvg.
    Verdict: refuted.
    Reference: Abstract; optimizer/Nesterov.py in junkangLiu0/FedNSAM@c3c9e90.
    """
    return Verdict("refuted", {"counterexample": {"m": "1/20", "rho": "1/20", "gamma": "17/20"}})


def by_hand(rho: float, gamma: float, begin_ahead: bool = False):
    """FedNSAM as an independent program; where it begins ahead, it has no ascent."""

    def program(problem) -> np.ndarray:
        w, path = problem.start, [problem.start]
        m = np.zeros_like(w)
        for t, cohort in enumerate(problem.cohorts):
            length = np.sqrt(m @ m)
            shift = gamma * m - (rho * m / length if length > 0 else 0)
            updates = []
            for client in cohort:
                begin = w + gamma * m if begin_ahead else w
                v = begin
                for k in range(problem.steps):
                    at = v if begin_ahead else v + shift
                    v = v - problem.lr * problem.gradient(client, at, t, k)
                updates.append(v - begin)
            m = gamma * m + np.mean(updates, axis=0)
            w = w + m
            path.append(w)
        return np.array(path)

    return program


@check("liu2026-program", mutations=[(2.0, "refuted")])
def program(scale: float = 1) -> Verdict:
    r"""
    Statement: The class FedNSAM of method.py and a program from the formulas alone have the same trajectories.
    Assumptions: The momentum is the mean update plus gamma times the last one; the server walks along it.
    Method: Both run 100 random problems with rho = 0.3 and gamma = 0.6.
    Verdict: agrees.
    Reference: Abstract; optimizer/Nesterov.py in junkangLiu0/FedNSAM@c3c9e90.
    """
    return same_program(build("fednsam", rho=0.3, gamma=0.6), by_hand(0.3 * scale, 0.6))


@check("liu2026-once", mutations=[(0.5, "refuted")])
def once(scale: float = 1) -> Verdict:
    r"""
    Statement: Clients that begin at w + gamma m give the server's trajectory of clients that shift every gradient.
    Assumptions: rho = 0, no weight decay.
    Method: The two local paths differ by gamma m throughout, so their updates are equal. Class and program run 100
        random problems with gamma = 0.6.
    Verdict: agrees.
    Reference: new_NSAM.py in junkangLiu0/FedNSAM@d41b5e6; main_FedNSAM.py, update_FedNesterov, at c3c9e90.
    """
    return same_program(build("fednsam", rho=0.0, gamma=0.6), by_hand(0.0, 0.6 * scale, begin_ahead=True))


def _executed(case: str) -> dict[str, np.ndarray]:
    """The arrays of a case, once method.py is found to compute the same."""
    path = VECTORS / f"fednsam-{case}.npz"
    executed, ours = np.load(path), replay(path, "paper" if case == "optimizer" else "released")
    if float(np.abs(ours["server_params"] - executed["server_params"]).max()) > 1e-6:
        gaps = np.abs(ours["server_params"] - executed["server_params"]).max(1)
        raise AssertionError(f"method.py is not what the executed code computes in the case {case}: {gaps}")
    return dict(executed)


@check("liu2026-released-ascent")
def released_ascent() -> Verdict:
    r"""
    Statement: The published code perturbs along the global momentum.
    Assumptions: Six clients of twelve samples, three of them in a round.
    Method: The published script and the published optimizer/Nesterov.py, which no script calls, were executed from the
        same start (vectors.py). The optimizer's trajectory is that of the class, the script's that of its switches. The
        two differ from the first round on, where the momentum is 0 and the script is already perturbed.
    Verdict: refuted.
    Reference: update_NSAM in main_FedNSAM.py of junkangLiu0/FedNSAM@c3c9e90.
    """
    along, newest = _executed("optimizer")["server_params"], _executed("newest")["server_params"]
    gap = float(np.abs(along[0] - newest[0]).max())
    if not gap > 1e-4:
        raise AssertionError("script and optimizer agree in the first round")
    return Verdict("refuted", {"counterexample": {"round": 1, "largest difference of a weight": gap}})


@check("liu2026-released-radius")
def released_radius() -> Verdict:
    r"""
    Statement: The command of the README trains with the radius that it names.
    Assumptions: Six clients of twelve samples, three of them in a round.
    Method: The authors' code was executed with rho = 0.01 and with rho = 0.1 (vectors.py); the trajectories are equal
        to the bit. The switch NSAM-2 computes both.
    Verdict: refuted.
    Reference: update_NSAM in main_FedNSAM.py of junkangLiu0/FedNSAM@c3c9e90, which assigns args.rho.
    """
    small, large = _executed("newest"), _executed("newest-radius")
    radii = [json.loads(str(case["meta"]))["hp"]["rho"] for case in (small, large)]
    if radii[0] == radii[1] or not np.array_equal(small["server_params"], large["server_params"]):
        raise AssertionError("the executed code heeds its radius")
    return Verdict("refuted", {"counterexample": {"radii given": radii, "difference of the trajectories": 0.0}})


@check("liu2026-released-share")
def released_share() -> Verdict:
    r"""
    Statement: With --gamma 0.5 clients begin at w + 0.5 m.
    Assumptions: Six clients of twelve samples, three of them in a round, each a process of its own, as under Ray.
    Method: The authors' code was executed with gamma = 0.5 (vectors.py). It is the released form of the class, whose
        clients begin at w + 0.85 m while the server keeps 0.5, up to 1e-6 of every weight.
    Verdict: refuted.
    Reference: update_NSAM and apply_weights_avgACG in main_FedNSAM.py of junkangLiu0/FedNSAM@c3c9e90.
    """
    _executed("newest-share")
    share = build("fednsam", "released", gamma=0.5).share()
    if share == 0.5:
        raise AssertionError("the executed code heeds its share")
    return Verdict("refuted", {"counterexample": {"gamma given": 0.5, "gamma of the clients": share}})


@check("liu2026-released-momentum")
def released_momentum() -> Verdict:
    r"""
    Statement: The server's momentum of the published code is gamma times the last one plus the mean update.
    Assumptions: Six clients of twelve samples, three of them in a round.
    Method: The authors' code was executed (vectors.py). From the second round on its momentum, which is the server's
        step, is 1 + gamma times the mean update: the loop multiplies gamma by the update and never by the momentum.
        The released form of method.py, whose NSAM-5 says so, has the same trajectory.
    Verdict: refuted.
    Reference: apply_weights_avgACG in main_FedNSAM.py of junkangLiu0/FedNSAM@c3c9e90.
    """
    executed = _executed("newest")
    path = np.vstack([executed["w0"], executed["server_params"]])
    steps = np.diff(path, axis=0)
    gamma = json.loads(str(executed["meta"]))["hp"]["gamma"]
    mean_update = steps[1] / (1 + gamma)
    gap = float(np.abs(steps[1] - (gamma * steps[0] + mean_update)).max())
    if not gap > 1e-4:
        raise AssertionError("the executed code keeps its momentum")
    return Verdict("refuted", {"counterexample": {"round": 2, "largest difference of a step": gap}})


def _momentum_alone(case: dict[str, np.ndarray]) -> np.ndarray:
    """FedAvg whose server keeps a momentum, on the problem of a case: clients neither look ahead nor ascend."""
    meta = json.loads(str(case["meta"]))
    hp, X, y = meta["hp"], torch.tensor(case["X"]), torch.tensor(case["y"])

    def gradient(w: torch.Tensor, rows: slice) -> torch.Tensor:
        w = w.clone().requires_grad_()
        A, a, B, b = torch.split(w, [20, 4, 12, 3])
        outputs = torch.relu(X[rows] @ A.view(4, 5).T + a) @ B.view(3, 4).T + b
        return torch.autograd.grad(torch.nn.functional.cross_entropy(outputs, y[rows]), w)[0]

    w, path = torch.tensor(case["w0"]), []
    m = torch.zeros_like(w)
    for active in meta["active"]:
        updates = []
        for client in active:
            v = w
            for k in range(meta["epochs"] * 12 // meta["batch"]):
                first = 12 * client + meta["batch"] * k % 12
                v = v - hp["lr"] * (gradient(v, slice(first, first + meta["batch"])) + hp["weight_decay"] * v)
            updates.append(v - w)
        m = hp["gamma"] * m + torch.stack(updates).mean(0)
        w = w + m
        path.append(w.numpy())
    return np.array(path)


@check("liu2026-first-torch2")
def first_torch2() -> Verdict:
    r"""
    Statement: With the PyTorch 2.1 of its README the first upload looks ahead and ascends.
    Assumptions: Six clients of twelve samples, three of them in a round.
    Method: The authors' code was executed (vectors.py). Its optimizer leaves out every parameter whose gradient is
        None, and since PyTorch 2.0 zero_grad leaves None; so no parameter is ever shifted. Besides, its line of the
        ascent is a comment. The trajectory is that of FedAvg with a momentum at the server, written here from scratch,
        to 1e-12.
    Verdict: refuted.
    Reference: Nesterov.first_step in optimizer/Nesterov.py of junkangLiu0/FedNSAM@d41b5e6, and its README.
    """
    case = dict(np.load(VECTORS / "fednsam-first-torch2.npz"))
    if float(np.abs(_momentum_alone(case) - case["server_params"]).max()) > 1e-12:
        raise AssertionError("the executed code is not FedAvg with a momentum at the server")
    gap = float(np.abs(_executed("optimizer")["server_params"] - case["server_params"]).max())
    if not gap > 1e-4:
        raise AssertionError("the shift does not show in the executed code")
    return Verdict("refuted", {"counterexample": {"largest difference of a weight after six rounds": gap}})
