"""Pairs of a base and a perturbation that no paper names, composed of the parts of those that have names.

The factorial (experiments/factorial.toml) asks what each perturbation buys on each base:

| base     | own gradient | last global step | corrected          | signed radius   |
|----------|--------------|------------------|--------------------|-----------------|
| FedAvg   | FedSAM       | FedLESAM         | CorrectedSAM       | SignedSAM       |
| SCAFFOLD | FedGAMMA     | FedLESAM-S       | ScaffoldCorrected  | ScaffoldSigned  |
| FedDyn   | FedDynSAM    | FedLESAM-D       | FedSMOO            | FedDynSigned    |
| FedCM    | MoFedSAM     | FedCMLESAM       | FedCMCorrected     | FedCMSigned     |
"""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.duals import FedDyn
from artifact.algorithms.lesam import FedLESAM
from artifact.algorithms.momentum import FedCM
from artifact.algorithms.sam import CorrectedSAM, SignedSAM
from artifact.algorithms.variates import Scaffold


@dataclass(frozen=True)
class ScaffoldCorrected(CorrectedSAM, Scaffold):
    """SCAFFOLD's control variates with FedSMOO's corrected perturbation."""


@dataclass(frozen=True)
class ScaffoldSigned(SignedSAM, Scaffold):
    """SCAFFOLD's control variates with Global FedSAM's signed radii."""


@dataclass(frozen=True)
class FedDynSigned(SignedSAM, FedDyn):
    """FedDyn's duals with Global FedSAM's signed radii."""


@dataclass(frozen=True)
class FedCMLESAM(FedLESAM, FedCM):
    """FedCM's momentum with FedLESAM's perturbation, the last global step that the client saw."""


@dataclass(frozen=True)
class FedCMCorrected(CorrectedSAM, FedCM):
    """FedCM's momentum with FedSMOO's corrected perturbation."""


@dataclass(frozen=True)
class FedCMSigned(SignedSAM, FedCM):
    """FedCM's momentum with Global FedSAM's signed radii."""
