"""Checks of Qu et al. 2022, "Generalized Federated Learning via Sharpness Aware Minimization" (FedSAM, MoFedSAM).

Importing the package registers every check.
"""

from theory.qu2022 import (
    algorithms,
    assumptions,
    constants,
    costs,
    descent,
    drift,
    generalisation,
    momentum,
    momentum_rates,
    networks,
    objective,
    preliminary,
    rates,
    tables,
    theorems,
)

__all__ = [
    "algorithms",
    "assumptions",
    "constants",
    "costs",
    "descent",
    "drift",
    "generalisation",
    "momentum",
    "momentum_rates",
    "networks",
    "objective",
    "preliminary",
    "rates",
    "tables",
    "theorems",
]
