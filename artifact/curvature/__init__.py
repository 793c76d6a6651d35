"""Curvature of a loss on a flat vector: numbers that carry their error."""

from artifact.curvature import figures
from artifact.curvature.density import SpectralDensity, spectral_density
from artifact.curvature.eigen import EigenResult, block_top_eigenvalue, power_iteration, top_eigenvalues
from artifact.curvature.gauss_newton import GaussNewton
from artifact.curvature.hessian import HessianOperator, dense_hessian
from artifact.curvature.landscape import (
    eigenvector_directions,
    filter_normalised_directions,
    landscape,
    orthogonal_directions,
)
from artifact.curvature.layers import LayerCurvature, activation_terms, layer_curvature, layer_slices
from artifact.curvature.risk import EmpiricalRisk, Risk, as_risk
from artifact.curvature.sharpness import (
    IteratedSharpness,
    Sharpness,
    iterated_sharpness,
    m_sharpness,
    sam_sharpness,
    sharpness_along,
)
from artifact.curvature.trace import TraceResult, trace

__all__ = [
    "EigenResult",
    "EmpiricalRisk",
    "GaussNewton",
    "HessianOperator",
    "IteratedSharpness",
    "LayerCurvature",
    "Risk",
    "Sharpness",
    "SpectralDensity",
    "TraceResult",
    "activation_terms",
    "as_risk",
    "block_top_eigenvalue",
    "dense_hessian",
    "eigenvector_directions",
    "figures",
    "filter_normalised_directions",
    "iterated_sharpness",
    "landscape",
    "layer_curvature",
    "layer_slices",
    "m_sharpness",
    "orthogonal_directions",
    "power_iteration",
    "sam_sharpness",
    "sharpness_along",
    "spectral_density",
    "top_eigenvalues",
    "trace",
]
