"""Checks of FedWMSAM's statements; the vectors hold what the authors' code computes (``vectors.py``)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import sympy as sp
import torch

import artifact
from artifact.algorithms import build
from artifact.runs.replay import replay
from theory.kit.evidence import identical, same_program
from theory.kit.verdict import Replay, Verdict, check

VECTORS = Path(__file__).resolve().parent / "vectors"


@check("li2025-server-step", mutations=[(-1.0, "refuted")])
def server_step(scale: float = 1) -> Verdict:
    r"""
    Statement: With the upload of box B and the server of the left column, the server's model moves along the clients'
        mean update.
    Assumptions: eta_g, eta_l > 0 and a mean update that is not 0.
    Method: The step is -eta_g Delta_{r+1} with Delta_{r+1} = mean / eta_l, so its product with the mean update is
        -(eta_g / eta_l) mean^2, below 0. With the other sign, per step and rate, it is eta_g mean^2.
    Verdict: repaired.
    Reference: poster, left column and box B.
    """
    eta_g, eta_l, B, mean = sp.symbols("eta_g eta_l B mean", positive=True)
    Delta = -mean / (eta_l * B)  # in gradient units
    repaired = -sp.nsimplify(scale) * eta_g * eta_l * B * Delta
    if (repaired * mean).subs({eta_g: 1, mean: 1}) < 0:
        counter = {"eta_g": 1, "mean update": 1, "left": 0.0, "right": float(scale)}
        return Verdict("refuted", {"counterexample": counter})
    text = identical(repaired, eta_g * mean)
    return Verdict(
        "repaired",
        {
            "counterexample": {"eta_g": 1, "eta_l": "1/10", "clients' mean update": 1, "server's step": -10},
            "repair": {"certificate": text},
        },
        repaired=r"With $\Delta_{r+1}=-\frac1{\eta_lB|P_r|}\sum_k\Delta_r^k$ and "
        r"$x_{r+1}=x_r-\eta_g\eta_lB\,\Delta_{r+1}$, the server's model moves by $\eta_g$ times the clients' mean "
        r"update.",
    )


def _momentum_weight(alpha: Fraction, smoothing: Fraction, similarity: Fraction) -> Fraction:
    """1 - alpha_{r+1} of box C."""
    clipped = max(Fraction(1, 10), min(similarity, Fraction(9, 10)))
    return 1 - ((1 - smoothing) * alpha + smoothing * clipped)


def _schedule_again(evidence: dict) -> Replay:
    given = {name: Fraction(value) for name, value in evidence["counterexample"].items()}
    low, high = given["lower similarity"], given["higher similarity"]
    left, right = (_momentum_weight(given["alpha"], given["lambda"], s) for s in (low, high))
    assumptions = {"-1 <= lower < higher <= 1": -1 <= low < high <= 1, "0 < lambda < 1": 0 < given["lambda"] < 1}
    return Replay(assumptions | {"0 < alpha < 1": 0 < given["alpha"] < 1}, left, right)


@check("li2025-schedule", replay=_schedule_again)
def schedule() -> Verdict:
    r"""
    Statement: In box C the weight 1 - alpha_{r+1} of the momentum does not fall as the similarity rises.
    Assumptions: 0 < alpha_r < 1, 0 < lambda < 1.
    Method: alpha_{r+1} rises with the similarity between 0.1 and 0.9, so the weight of the momentum falls.
    Verdict: refuted.
    Reference: poster, box C and line 16 of box B.
    """
    given = {"alpha": "1/10", "lambda": "1/100", "lower similarity": "1/5", "higher similarity": "4/5"}
    return Verdict("refuted", {"counterexample": given})


def _spread(alpha: Fraction, gradients: list[Fraction]) -> Fraction:
    """Of two clients' directions in the second round, boxes A, B and D, for linear losses and one local step."""
    eta = Fraction(1, 10)
    uploads = [-eta * alpha * g for g in gradients]  # box B; the momentum and c_k are 0
    c = [-upload / eta for upload in uploads]  # box D with B = 1
    momentum = sum(c) / len(c)
    v = [alpha * g + (1 - alpha) * (momentum + alpha / (1 - alpha) * own) for g, own in zip(gradients, c, strict=True)]
    return max(v) - min(v)


def _correction_again(evidence: dict) -> Replay:
    given = {name: Fraction(value) for name, value in evidence["counterexample"].items()}
    alpha, gradients = given["alpha"], [given["gradient 1"], given["gradient 2"]]
    left, right = _spread(alpha, gradients), alpha * (max(gradients) - min(gradients))
    return Replay({"0 < alpha < 1": 0 < alpha < 1, "the gradients differ": gradients[0] != gradients[1]}, left, right)


@check("li2025-correction", replay=_correction_again)
def correction() -> Verdict:
    r"""
    Statement: The correction of boxes A and D does not drive two clients further apart than no correction.
    Assumptions: linear losses, both clients in both rounds, one local step (B = 1), all states 0 before the first
        round, the same alpha in both.
    Method: Box D gives c_k = alpha g_k after the first round, because the upload x_B - x_r points down. Box A adds
        alpha c_k to the direction, so the difference is alpha (1 + alpha) (g_1 - g_2), where alpha (g_1 - g_2) stands
        without a correction.
    Verdict: refuted.
    Reference: poster, boxes A, B and D.
    """
    return Verdict("refuted", {"counterexample": {"alpha": "1/2", "gradient 1": "1", "gradient 2": "-1"}})


@check("li2025-first-step")
def first_step() -> Verdict:
    r"""
    Statement: Box B gives the point of the gradient in every local step b = 0, 1, ...
    Assumptions: Every client begins a round at x_r.
    Method: In step b = 0 the delta of box B is x_r - x_r = 0, and its quotient by its norm is 0/0. The published code
        adds 1e-7 to what it divides by, which is the convention 0/0 = 0; then each round's first gradient is taken at
        x_r, whatever rho is.
    Verdict: repaired.
    Reference: poster, box B.
    """
    executed = np.load(VECTORS / "fedwmsam-small.npz")["shift"]
    if np.abs(executed[:, 0]).max() != 0 or np.abs(executed[1:, 1:]).max(-1).min() == 0:
        raise AssertionError("the executed code moves in the first step, or in none")
    return Verdict(
        "repaired",
        {
            "counterexample": {"b": 0, "delta": 0, "norm": 0, "value": "0/0"},
            "repair": {"certificate": "for a delta that is not 0 the quotient of box B has the length 1"},
        },
        repaired=r"With $0/0=0$, box B holds in every local step; the first of a round is not perturbed.",
    )


def by_hand(rho: float, alpha: float, smoothing: float):
    """FedWMSAM as an independent program, from boxes A to D and the repaired server step."""

    def program(problem) -> np.ndarray:
        x, path, weight = problem.start, [problem.start], alpha
        m, c, c_k = np.zeros_like(x), np.zeros_like(x), np.zeros((problem.clients, len(x)))
        for t, active in enumerate(problem.cohorts):
            mean_directions, likeness = [], []
            for k in active:
                personal = m + weight / (1 - weight) * (c - c_k[k])
                y = x.copy()
                for b in range(problem.steps):
                    ahead = x + b * personal - y
                    length = np.sqrt(ahead @ ahead)
                    at = y + rho * ahead / length if length > 0 else y
                    v = weight * problem.gradient(k, at, t, b) + (1 - weight) * personal
                    y = y - problem.lr * v
                mean_directions.append((x - y) / (problem.steps * problem.lr))
                lengths = np.linalg.norm(x - y) * np.linalg.norm(m)
                likeness.append((x - y) @ m / lengths if lengths > 0 else 0.0)
            new = {k: c_k[k] - c + g for k, g in zip(active, mean_directions, strict=True)}
            c = c + sum(new[k] - c_k[k] for k in active) / problem.clients
            for k in active:
                c_k[k] = new[k]
            m = np.mean(mean_directions, axis=0)
            x = x - problem.steps * problem.lr * m
            weight = (1 - smoothing) * weight + smoothing * min(max(np.mean(likeness), 0.1), 0.9)
            path.append(x)
        return np.array(path)

    return program


@check("li2025-program", mutations=[(2.0, "refuted")])
def program(scale: float = 1) -> Verdict:
    r"""
    Statement: The class FedWMSAM of method.py and a program from the boxes alone have the same trajectories.
    Assumptions: The readings that li2025-server-step, li2025-correction and li2025-first-step give.
    Method: Both run 100 random problems with rho = 0.3, alpha = 0.2 and lambda = 0.1.
    Verdict: agrees.
    Reference: poster, boxes A to D.
    """
    return same_program(build("fedwmsam", rho=0.3, alpha=0.2, smoothing=0.1), by_hand(0.3 * scale, 0.2, 0.1))


def _executed(case: str) -> dict[str, np.ndarray]:
    """The arrays of a case, once the released form of method.py is found to compute the same."""
    path = VECTORS / f"fedwmsam-{case}.npz"
    executed, ours = np.load(path), replay(path, "released")
    if max(float(np.abs(ours[name] - executed[name]).max()) for name in ("server_params", "c", "c_i")) > 1e-12:
        raise AssertionError("the switches WMSAM-1 to WMSAM-5 are not what the executed code computes")
    return dict(executed)


@check("li2025-released-ascent")
def released_ascent() -> Verdict:
    r"""
    Statement: The published code takes the gradient at x + rho delta / |delta|.
    Assumptions: Six clients of twelve samples, three of them in a round, as in vectors/fedwmsam-small.npz.
    Method: The authors' code was executed (vectors.py). In the second step of the second round it goes another length
        than rho, and every tensor is shifted by one number. The switches WMSAM-1 and WMSAM-2 compute the same.
    Verdict: refuted.
    Reference: WMSAM.first_step in Huang-Yongzhi/NeurlPS_FedWMSAM@a922a1d; poster, box B.
    """
    executed = _executed("small")
    rho = float(json.loads(str(executed["meta"]))["hp"]["rho"])
    shift = executed["shift"][1, 1]
    first_tensor = np.unique(np.round(shift[:20], 12))
    sides = {"left": float(np.linalg.norm(shift)), "right": rho}
    if len(first_tensor) != 1 or abs(sides["left"] - sides["right"]) < 0.01 * rho:
        raise AssertionError("the executed ascent is the printed one")
    where = {"round": 2, "step": 2, "different numbers in the first tensor of 20": len(first_tensor)}
    return Verdict("refuted", {"counterexample": where | sides})


@check("li2025-released-schedule")
def released_schedule() -> Verdict:
    r"""
    Statement: The published code computes the alpha_{r+1} of box C.
    Assumptions: As in vectors/fedwmsam-small.npz, lambda = 0.01.
    Method: The clients' directions of the second round follow from the executed control variates, and with them box C.
        The executed weight is that of 1 minus the mean cosine.
    Verdict: refuted.
    Reference: global_update and postprocess of FedWMSAM's server in Huang-Yongzhi/NeurlPS_FedWMSAM@a922a1d.
    """
    executed = _executed("small")
    active = [np.flatnonzero(row) for row in executed["active_mask"]]
    g = [executed["c_i"][0][active[0]], executed["c_i"][1] - executed["c_i"][0] + executed["c"][0]]
    m, directions = g[0].mean(0), g[1][active[1]]
    cosine = float(np.mean(directions @ m / np.linalg.norm(directions, axis=1) / np.linalg.norm(m)))
    before, after = executed["alpha"][:2]
    printed, other = (0.99 * before + 0.01 * min(max(s, 0.1), 0.9) for s in (cosine, 1 - cosine))
    if abs(other - after) > 1e-12 or abs(printed - after) < 1e-6:
        raise AssertionError("the executed weight is not that of 1 minus the cosine")
    where = {"round": 2, "mean cosine": cosine, "alpha before": float(before)}
    return Verdict("refuted", {"counterexample": where | {"left": float(after), "right": float(printed)}})


@check("li2025-one-gradient")
def one_gradient() -> Verdict:
    r"""
    Statement: A local step of FedWMSAM evaluates one gradient, as FedAvg's; FedSAM's evaluates two.
    Assumptions: None.
    Method: Three methods are trained for three rounds; the engine counts the gradients of a step while they run.
    Verdict: consistent.
    Reference: poster, box B.
    """
    torch.manual_seed(0)
    x, y = torch.randn(40, 3), torch.arange(40) % 2
    clients = [(x[i::4], y[i::4]) for i in range(4)]
    counted = {
        name: artifact.train(torch.nn.Linear(3, 2), clients, method=name, rounds=3, cohort=2).metrics[-1]
        for name in ("fedavg", "fedwmsam", "fedsam")
    }
    found = {name: row["gradients_per_step"] for name, row in counted.items()}
    printed = {"fedavg": 1.0, "fedwmsam": 1.0, "fedsam": 2.0}
    return Verdict("consistent" if found == printed else "inconsistent", {"printed": printed, "derived": found})
