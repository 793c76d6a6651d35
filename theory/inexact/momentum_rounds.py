r"""Why MoFedSAM's printed steps need a number of rounds of the order beta^-4.

One client, one local step, exact gradients, no perturbation, F(w) = L w^2/2: MoFedSAM is then heavy ball,
m <- (1 - beta) m + beta L w, w <- w - A m. In units of L its squared gradients add up to a closed form. With A = beta x
and a small beta the mean of them over R rounds is (1 + 1/x) L Delta/(beta R), while a bound C/A Delta/R, which the
printed steps turn into C beta L Delta/sqrt(R K N), is C/x L Delta/(beta R). So no constant C holds where x > C - 1. The
printed A = sqrt(KN)/(sqrt(R) beta L) has x = sqrt(KN)/(sqrt(R) beta^2): below R = KN/((C - 1)^2 beta^4) rounds the
bound is false, and the condition R >= 16 KN/beta^4 of the corrected theorem can lose a factor, but no power of beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from theory.inexact import momentum

#: the printed bound's constant in front of beta L Delta/sqrt(RKN), as the theorem proves it for many rounds
CONSTANT = momentum.printed_sides()[1][0].as_coeff_Mul()[0]


@dataclass(frozen=True)
class Instance:
    """MoFedSAM on F(w) = w^2/2 from w = 1, N = K = L = 1, with the printed steps.

    beta: its momentum. root_R: square root of the number of rounds. first: rounds whose gradients are added up exactly.
    """

    beta: Fraction
    root_R: int
    first: int

    @property
    def step(self) -> Fraction:
        """The server's A = 1/(sqrt(R) beta)."""
        return 1 / (self.root_R * self.beta)

    @property
    def squares(self) -> Fraction:
        """Squared gradients of the first rounds, added up: at most those of all R rounds."""
        w, m, total = Fraction(1), Fraction(0), Fraction(0)
        for _ in range(self.first):
            total += w * w
            m = (1 - self.beta) * m + self.beta * w
            w -= self.step * m
        return total

    @property
    def bound(self) -> Fraction:
        """R times the proved right side, Delta = 1/2; its other terms are zero."""
        return Fraction(int(CONSTANT.p), int(CONSTANT.q)) * self.beta * self.root_R / 2

    @property
    def other_conditions(self) -> bool:
        """Whether all conditions hold but R >= 16 KN/beta^4."""
        return 0 < self.beta <= 1 and self.root_R * self.beta >= 10 and self.first <= self.root_R**2

    @property
    def violates(self) -> bool:
        """Whether the bound fails although every other condition holds.

        >>> INSTANCE.violates
        True
        """
        return self.other_conditions and self.squares > self.bound


#: R = 25,600 rounds are 100/beta^2; 16/beta^4 are 1,048,576
INSTANCE = Instance(Fraction(1, 16), 160, 200)


def sum_of_squares() -> tuple[sp.Expr, sp.Symbol, sp.Symbol]:
    """(sum over all rounds of w^2 for w = 1, m = 0, L = 1 at the start; beta; A), where heavy ball converges.

    The first entry of the P that solves P = e e' + M' P M, with M one round and e the model. Raises ValueError where
    the closed form does not solve it.
    """
    b, A = sp.symbols("beta A", positive=True)
    turn = sp.Matrix([[1 - A * b, -A * (1 - b)], [b, 1 - b]])
    own = b * (A * b + 2 * b - 4)
    first, mixed = (2 * A * b - 2 * A + b**2 - 2 * b) / (A * own), (b - 1) * (A + b - 2) / own
    P = sp.Matrix([[first, mixed], [mixed, A * (b - 2) * (b - 1) ** 2 / (b * own)]])
    left_over = P - turn.T * P * turn - sp.Matrix([[1, 0], [0, 0]])
    if any(sp.cancel(entry) != 0 for entry in left_over):
        raise ValueError("the closed form does not solve the equation of the sum")
    return first, b, A


def over_bound(constant: sp.Expr) -> tuple[sp.Expr, sp.Symbol]:
    """(limit for beta -> 0 of the sum of squared gradients over constant/A Delta, at A = beta x; x)."""
    total, b, A = sum_of_squares()
    x = sp.Symbol("x", positive=True)
    gradients, bound = total.subs(A, b * x), constant / (b * x) / 2
    return sp.simplify(sp.limit(sp.cancel(gradients / bound), b, 0)), x
