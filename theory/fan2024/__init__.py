"""Checks of FedLESAM (Fan et al., ICML 2024). Importing the package registers all of them."""

from theory.fan2024 import (
    assumptions,
    descent,
    estimation,
    lemmas,
    objectives,
    printed_forms,
    settings,
    tables_accuracy,
    tables_efficiency,
    theorem1,
    theorem2,
    variants,
)

__all__ = [
    "assumptions",
    "descent",
    "estimation",
    "lemmas",
    "objectives",
    "printed_forms",
    "settings",
    "tables_accuracy",
    "tables_efficiency",
    "theorem1",
    "theorem2",
    "variants",
]
