r"""Reshuffled epochs: a round is one pass through a client's samples, as a trainer makes it.

Minibatches of one pass are neither independent nor unbiased given those before. But at the round's model their
gradients have the client's own gradient as their mean, so that their noise adds up to zero over the round: nothing of
it is left in the direction, and it enters through the drift alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import sympy as sp

from theory.inexact import runs, theorem
from theory.inexact.runs import Setting
from theory.inexact.statements import COUNT
from theory.inexact.theorem import NAMED_X, NOTATION, QUANTITIES, SMALL_X, n
from theory.kit.hypotheses import (
    MEANS,
    RESHUFFLED,
    bounded_below,
    cohorts,
    dissimilar,
    inexact,
    named,
    smooth,
    steps_of_minibatches,
)
from theory.kit.proof import Proof
from theory.kit.statement import Condition, Run, Statement

CASE = theorem.numbers(epochs=True)


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """The theorem on inexact local gradients, without noise in the direction."""
    proof, small_a, small_x = theorem.begin("FedAvg with inexact local gradients, one epoch a round", CASE)
    theorem.telescope(proof, CASE, small_a, small_x, left, right)
    return proof


def setting(rng: np.random.Generator) -> Setting:
    """A setting of the theorem; every second one has an epoch of at least two minibatches, with noise."""
    return replace(runs.any_setting(rng), epochs=True)


@cache
def random_runs(method: str, count: int = COUNT) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    return runs.random_runs(method, count, setting)


def statement(method: str = "fedsam") -> Statement:
    """One reshuffled epoch a round: cohorts without replacement, any perturbation of bounded error."""
    left, right = theorem.general(CASE)
    return Statement(
        name="inexact-gradients-epochs",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(Condition("", SMALL_X), Condition("", sp.Lt(n.L * n.A, 1)), NAMED_X),
        prove=prove,
        runs=partial(random_runs, method),
        keeps=(
            "reshuffled epochs",
            "heterogeneity",
            "partial participation without replacement",
            "any number of clients, minibatches and dimensions",
        ),
        method=method,
        hypotheses=(
            smooth("f_{i,k}", ", the loss of a minibatch"),
            bounded_below(),
            dissimilar(),
            steps_of_minibatches(),
            inexact(drawn=True),
            RESHUFFLED,
            cohorts(),
            named(NOTATION, "X"),
            MEANS,
        ),
        laws=partial(runs.laws, method, setting),
    )
