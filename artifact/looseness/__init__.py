"""How far is a theorem's bound from what is measured? For any network, and along training."""

from artifact.looseness.directions import Drift, Estimation, drift_of_client, estimation
from artifact.looseness.gauss_newton import GaussNewton
from artifact.looseness.layers import BOUNDS, LayerBounds, Report, bounds
from artifact.looseness.structure import Chain, chain_of

__all__ = [
    "BOUNDS",
    "Chain",
    "Drift",
    "Estimation",
    "GaussNewton",
    "LayerBounds",
    "Report",
    "bounds",
    "chain_of",
    "drift_of_client",
    "estimation",
]
