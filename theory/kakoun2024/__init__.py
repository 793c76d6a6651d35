"""Al Kakoun 2024, master thesis on Global FedSAM: every statement of the ledger ``claims/kakoun2024.toml`` as a
check.
"""

from theory.kakoun2024 import (
    assumptions,
    formulation,
    landscape,
    methods,
    nonconvex,
    proof_convex,
    radius,
    rate_convex,
    scope,
    tables,
)

__all__ = [
    "assumptions",
    "formulation",
    "landscape",
    "methods",
    "nonconvex",
    "proof_convex",
    "radius",
    "rate_convex",
    "scope",
    "tables",
]
