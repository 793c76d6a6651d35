"""The theorem on radii that vanish with the gradient, on the class GlobalFedSAM itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
import torch

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.inexact import vanishing_radius
from theory.inexact.theorem import n
from theory.inexact.vanishing_radius import Quadratics, measured, nu, statement
from theory.kit.prover import Prover
from theory.kit.statement import drawn


def test_the_theorem_is_proved_and_leaves_no_floor():
    """With exact gradients and one local step the right side is what remains of the start, and falls as 1/T."""
    found = statement()
    assert found.label == "machine"
    exact = sp.Add(*found.right).subs({nu: 0, n.sigma_l: 0, n.X: 0})
    assert sp.simplify(exact * n.T).diff(n.T) == 0
    assert sp.expand(found.left.coeff(vanishing_radius.Gamma)) == 1 - sp.Rational(109, 53) * n.rho**2 * n.L**2


@pytest.mark.parametrize("seed", [1, 2])
def test_no_run_of_global_fedsam_violates_it(seed):
    """Weighted clients, concave ones among them, of radii of both signs; noise, any number of local steps."""
    runs = drawn(measured, "Gamma", 60, seed)
    found = replace(statement(), runs=lambda: runs)
    assert 0.2 < found.ratios().max() <= 1
    assert any(run["rho"] > 0 and run["K"] > 1 for run in runs) and any(run["sigma_l"] > 0 for run in runs)


def test_some_of_these_problems_have_negative_radii():
    """A client whose gradient opposes the mean of all."""
    rng, negative = np.random.default_rng(3), 0
    for _ in range(40):
        problem = Quadratics.draw(rng)
        gradients = problem.q * (problem.start - problem.c)
        negative += bool((gradients @ (problem.p * gradients).sum(0) < 0).any())
    assert negative > 3


def path(normalised: bool, rounds: int) -> torch.Tensor:
    """F = w^2/2, two clients of unequal size, rho = 0.3."""
    method = build("globalfedsam", rho=0.3, normalised=normalised, server_lr=1.0)
    start = torch.ones(1, dtype=torch.float64)
    return simulate(method, lambda W, i, t, k: W.clone(), start, 2, rounds, lr=0.5, sizes=[1.0, 9.0])


def test_radii_of_constant_length_keep_the_floor_that_the_theorem_excludes():
    """|r_k| = 1, not the gradient's length: the mean squared gradient of 2,000 rounds is above the theorem's bound."""
    bound = 108 * 0.5 / (53 * 0.5 * 2000) / (1 - 109 * 0.09 / 53)
    squares = [float((path(normalised, 2000)[:-1] ** 2).mean()) for normalised in (False, True)]
    assert squares[0] < bound < squares[1]


def test_the_sizes_of_clients_weigh_the_server_mean():
    """One round of one step, lr 1, rho 0: two clients whose gradients are 1 and -1, of sizes 1 and 3, move by 1/2."""
    method = build("globalfedsam", rho=0.0, server_lr=1.0)
    slope = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    start = torch.zeros(1, dtype=torch.float64)
    moved = simulate(method, lambda W, i, t, k: slope[i], start, 2, 1, lr=1.0, sizes=[1.0, 3.0])
    assert moved[-1].tolist() == [0.5]


def test_a_smaller_share_of_the_gradient_is_not_proved():
    found = statement()
    half = found.left.subs(sp.Rational(109, 53), sp.Rational(109, 106))
    left = vanishing_radius.Gamma * (1 - sp.Rational(109, 106) * n.L**2 * n.rho**2)
    assert half != found.left
    assert Prover(found.proof, []).broken(found.prove(left, found.right))[0]
