"""A literal interpreter of Algorithm 1 that records every read of a quantity that nothing has written yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Memory:
    """Named quantities with the indices that Algorithm 1 prints; an undefined read is recorded and continued with 0."""

    cells: dict[tuple, Fraction] = field(default_factory=dict)
    undefined: list[tuple[str, str]] = field(default_factory=list)
    zero_over_zero: list[str] = field(default_factory=list)

    def write(self, name: tuple, value: Fraction) -> Fraction:
        self.cells[name] = value
        return value

    def read(self, name: tuple, line: str) -> Fraction:
        if name not in self.cells:
            self.undefined.append((line, name[0]))
            return Fraction(0)
        return self.cells[name]

    def unit(self, x: Fraction, line: str) -> Fraction:
        """x/||x|| in one dimension; 0/0 is recorded and continued with 0."""
        if x == 0:
            self.zero_over_zero.append(line)
            return Fraction(0)
        return Fraction(1 if x > 0 else -1)


@dataclass(frozen=True)
class Setting:
    """Scalar quadratic clients a_i (w - c_i)^2 / 2 and the inputs of Algorithm 1."""

    curvature: Sequence[Fraction]
    centre: Sequence[Fraction]
    active: Sequence[Sequence[int]]
    steps: int
    eta: Fraction
    beta: Fraction
    r: Fraction

    def gradient(self, i: int, w: Fraction) -> Fraction:
        return self.curvature[i] * (w - self.centre[i])


def run(setting: Setting, completed: bool) -> Memory:
    """Execute Algorithm 1 for the given active sets; ``completed`` adds the three repairs listed below.

    Repairs: s^0 = 0; line 13 reads the last perturbation computed, index K - 1; line 17 writes s^{t+1}.
    """
    memory, m = Memory(), len(setting.curvature)
    memory.write(("w", 0), Fraction(0))
    memory.write(("lambda", 0), Fraction(0))
    for i in range(m):
        memory.write(("lambda_i", i), Fraction(0))
        memory.write(("mu_i", i), Fraction(0))
    if completed:
        memory.write(("s", 0), Fraction(0))
    for t, active in enumerate(setting.active):
        for i in active:
            _client(memory, setting, i, t, completed)
        total = sum(memory.read(("s_tilde", i), "17") for i in active) / len(active)
        memory.write(("s", t + 1 if completed else t), setting.r * memory.unit(total, "17"))
        moves = sum(memory.read(("w_i", i), "18") - memory.read(("w", t), "18") for i in active)
        dual = memory.read(("lambda", t), "18") - moves / (setting.beta * m)
        memory.write(("lambda", t + 1), dual)
        models = sum(memory.read(("w_i", i), "19") for i in active) / len(active)
        memory.write(("w", t + 1), models - setting.beta * dual)
    return memory


def _client(memory: Memory, setting: Setting, i: int, t: int, completed: bool) -> None:
    """Lines 5 to 15."""
    sent = memory.read(("w", t), "5")
    s = memory.read(("s", t), "5")
    w = sent
    for k in range(setting.steps):
        direction = setting.gradient(i, w) - memory.read(("mu_i", i), "8") - s
        memory.write(("s_hat", i, t, k), setting.r * memory.unit(direction, "8"))
        perturbation = memory.read(("s_hat", i, t, k), "9")
        memory.write(("mu_i", i), memory.read(("mu_i", i), "9") + perturbation - s)
        corrected = setting.gradient(i, w + perturbation)
        w -= setting.eta * (corrected - memory.read(("lambda_i", i), "11") + (w - sent) / setting.beta)
    last = setting.steps - 1 if completed else setting.steps
    memory.write(("s_tilde", i), memory.read(("mu_i", i), "13") - memory.read(("s_hat", i, t, last), "13"))
    memory.write(("lambda_i", i), memory.read(("lambda_i", i), "14") - (w - sent) / setting.beta)
    memory.write(("w_i", i), w)
