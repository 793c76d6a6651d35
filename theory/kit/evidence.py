"""Evidence of an author's own checks, by constructors that compare first and cannot say more than they compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
import torch

from artifact.algorithms.base import FedAvg
from artifact.training.rounds import simulate
from theory.kit import effort
from theory.kit.verdict import Verdict, decided

#: largest gap between two trajectories that count as the same, relative to the larger of 1 and the number itself
SAME = 1e-8


def identical(left: sp.Expr, right: sp.Expr) -> str:
    """The certificate ``left = right``, once a computer algebra system has reduced the difference to 0.

    left, right: sympy expressions of real numbers without units.  Raises ValueError where the difference does not
    reduce to 0, which need not mean that the sides differ.

    >>> x = sp.symbols("x")
    >>> identical((1 - x) ** 2, 1 - 2 * x + x**2)
    '(1 - x)**2 = x**2 - 2*x + 1'
    """
    rest = sp.simplify(sp.expand(left - right))
    if rest != 0:
        raise ValueError(f"the sides are not shown to be equal: their difference reduces to {rest}")
    return decided(f"{left} = {right}", "identity", same=left == right)


def refuting(left: float, right: float, relation: str = "<=", **instance: Any) -> Verdict:
    """The verdict ``refuted``, by an instance at which ``left relation right`` is false.

    left, right: both sides there.  relation: "<=", "<" or "==".  instance: the numbers that make it up, by their names.
    Raises ValueError where the relation holds there, or a side is not a number.

    >>> refuting(2.0, 1.0, x=1).verdict
    'refuted'
    """
    holds = {"<=": left <= right, "<": left < right, "==": left == right}[relation]
    if holds or left != left or right != right:
        raise ValueError(f"nothing is refuted: {left} {relation} {right}")
    return Verdict("refuted", {"counterexample": {**instance, "left": float(left), "right": float(right)}})


# ---- two programs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A small federated problem that both programs run.

    start: first server model [P].  curvature, centre: of the clients' losses [M, P].  cohorts: active clients of each
    round.  steps: local steps of each.  lr: local rate.  weight_decay: of the local steps.
    """

    start: np.ndarray
    curvature: np.ndarray
    centre: np.ndarray
    cohorts: list[list[int]]
    steps: int
    lr: float
    weight_decay: float

    @property
    def clients(self) -> int:
        return len(self.curvature)

    def gradient(self, client: int, w: np.ndarray, round: int, step: int) -> np.ndarray:
        """Gradient [P] of a client at a model [P]; a bend that differs from step to step stands for minibatches."""
        bend = 0.05 * np.cos(1 + client + round + step) * np.sin(w)
        return self.curvature[client] * (w - self.centre[client]) + bend


def drawn(seed: int, weight_decay: float = 0.0) -> Problem:
    """The problem of a seed: 3 to 6 clients in 2 to 5 rounds of 1 to 4 steps, with 1 to 4 parameters."""
    rng = np.random.default_rng(seed)
    clients, width = int(rng.integers(3, 7)), int(rng.integers(1, 5))
    rounds, active = int(rng.integers(2, 6)), int(rng.integers(1, clients + 1))
    cohorts = [sorted(rng.choice(clients, active, replace=False).tolist()) for _ in range(rounds)]
    curvature, centre = rng.uniform(0.5, 2, (clients, width)), rng.uniform(-1, 1, (clients, width))
    steps, lr = int(rng.integers(1, 5)), float(rng.uniform(0.01, 0.2))
    return Problem(rng.uniform(-2, 2, width), curvature, centre, cohorts, steps, lr, weight_decay)


def same_program(
    method: FedAvg,
    program: Callable[[Problem], np.ndarray],
    *,
    problems: int = 100,
    weight_decay: float = 0.0,
) -> Verdict:
    """``agrees`` where a method and an independent program have the same trajectories; else ``refuted``.

    method: as ``artifact.algorithms.build`` returns it.  program: problem -> server models [rounds + 1, P], written
    from the paper's formulas alone.  problems: how many random ones both run.  weight_decay: of the local steps.
    The refutation names the first problem, round and parameter at which they differ by more than 1e-8.

    >>> from artifact.algorithms import build
    >>> def mean(problem):
    ...     w, path = problem.start, [problem.start]
    ...     for t, cohort in enumerate(problem.cohorts):
    ...         local = []
    ...         for i in cohort:
    ...             v = w
    ...             for k in range(problem.steps):
    ...                 v = v - problem.lr * problem.gradient(i, v, t, k)
    ...             local.append(v)
    ...         w = np.mean(local, 0)
    ...         path.append(w)
    ...     return np.array(path)
    >>> same_program(build("fedavg"), mean, problems=20).verdict
    'agrees'
    """
    widest, count = 0.0, effort.problems(problems)
    for seed in range(count):
        problem = drawn(seed, weight_decay)
        theirs = np.asarray(program(problem), dtype=float)
        ours = _trajectory(method, problem)
        if theirs.shape != ours.shape:
            raise ValueError(f"the program returns {[*theirs.shape]}, and [rounds + 1, P] are {[*ours.shape]}")
        gap = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
        if not np.all(gap <= SAME):  # also where one of them is not a number
            round, parameter = np.argwhere(~(gap <= SAME))[0].tolist()
            return Verdict("refuted", {"counterexample": _difference(seed, round, parameter, ours, theirs)})
        widest = max(widest, float(gap.max()))
    return Verdict("agrees", {"problems": count, "largest_gap": widest, "tolerance": SAME})


def _difference(seed: int, round: int, parameter: int, ours: np.ndarray, theirs: np.ndarray) -> Mapping[str, Any]:
    left, right = float(ours[round, parameter]), float(theirs[round, parameter])
    return {"problem": seed, "round": round, "parameter": parameter, "method": left, "program": right}


def _trajectory(method: FedAvg, problem: Problem) -> np.ndarray:
    def gradient(W: torch.Tensor, clients: torch.Tensor, t: int, k: int) -> torch.Tensor:
        pairs = zip(clients.tolist(), W.numpy(), strict=True)
        return torch.stack([torch.as_tensor(problem.gradient(i, w, t, k)) for i, w in pairs])

    path = simulate(
        method,
        gradient,
        torch.as_tensor(problem.start),
        problem.clients,
        len(problem.cohorts),
        steps=problem.steps,
        lr=problem.lr,
        cohorts=problem.cohorts,
        weight_decay=problem.weight_decay,
    )
    return path.numpy()
