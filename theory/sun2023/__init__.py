"""Checks of FedSMOO (Sun et al., ICML 2023). Importing the package registers all of them."""

from theory.sun2023 import (
    algorithm,
    algorithm_runs,
    constants,
    descent,
    generalisation,
    lemmas,
    objectives,
    partitions,
    perturbation,
    remarks,
    tables,
    tables_rounds,
    theorem,
)

__all__ = [
    "algorithm",
    "algorithm_runs",
    "constants",
    "descent",
    "generalisation",
    "lemmas",
    "objectives",
    "partitions",
    "perturbation",
    "remarks",
    "tables",
    "tables_rounds",
    "theorem",
]
