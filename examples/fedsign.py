"""A method of one's own: clients step along the scaled sign of their gradient (signSGD, Bernstein et al. 2018)."""

from dataclasses import dataclass

from fedsharp.algorithms.base import FedAvg, Fraction


@dataclass(frozen=True)
class FedSign(FedAvg):
    """FedAvg with local steps along (1 - mix) g + mix sign(g) mean|g|; mix = 0 is FedAvg."""

    mix: Fraction = 1.0

    def direction(self, g, c):  # g: [S, P], one row per client
        sign = g.sign() * g.abs().mean(-1, keepdim=True)
        return (1 - self.mix) * g + self.mix * sign
