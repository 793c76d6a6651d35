"""Checks of Yashwanth et al. 2024 (MAN); importing the package registers them."""

from theory.yashwanth2023 import (
    activation_bounds,
    composition,
    convergence,
    convolution,
    costs,
    formulation,
    gershgorin,
    kronecker,
    measured,
    regulariser,
    statements,
    tables,
)

__all__ = [
    "activation_bounds",
    "composition",
    "convergence",
    "convolution",
    "costs",
    "formulation",
    "gershgorin",
    "kronecker",
    "measured",
    "regulariser",
    "statements",
    "tables",
]
