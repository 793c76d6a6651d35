"""Every theorem that is a statement object, by the name under which its proof is exported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from theory.inexact import (
    decreasing,
    epochs,
    momentum,
    one_client,
    one_step,
    statements,
    strongly_convex,
    unequal,
    vanishing_radius,
)
from theory.kit.statement import Statement
from theory.sun2023 import lyapunov
from theory.yashwanth2023 import layers

#: corollaries first, as a reader needs them; the theorems with free weights last
MAKERS: tuple[Callable[[], Statement], ...] = (
    statements.exact,
    statements.full,
    epochs.statement,
    one_step.exact,
    one_step.statement,
    momentum.statement,
    momentum.printed_steps,
    lyapunov.theorem,
    partial(statements.printed_steps, "fedlesam"),
    partial(statements.printed_steps, "fedsam"),
    statements.thesis,
    vanishing_radius.statement,
    strongly_convex.statement,
    statements.sampled,
    unequal.statement,
    one_client.statement,
    decreasing.statement,
    lyapunov.general,
    momentum.general,
    statements.general,
    layers.layer,
    layers.layer_weights,
    layers.balance,
)


def theorems() -> dict[str, Statement]:
    """Name -> statement."""
    return {statement.name: statement for statement in (make() for make in MAKERS)}
