"""How far is a theorem's bound from what is measured? For any network."""

from artifact.curvature.gauss_newton import GaussNewton
from artifact.looseness.directions import estimation, own_drift
from artifact.looseness.layers import BOUNDS, LayerBounds, Report, bounds
from artifact.looseness.structure import Chain, chain_of

__all__ = [
    "BOUNDS",
    "Chain",
    "GaussNewton",
    "LayerBounds",
    "Report",
    "bounds",
    "chain_of",
    "estimation",
    "own_drift",
]
