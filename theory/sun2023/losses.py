"""One-dimensional losses with exact neighbourhood maxima: the toy landscapes behind Sun et al. 2023, Figure 1.

A continuous piecewise linear loss with rational knots has a piecewise linear neighbourhood maximum, so the minimisers
of
the FedSAM objective (mean of maxima, eq. (5)) and of the global SAM objective (maximum of the mean, eq. (2) applied to
eq. (1)) are found exactly, in rational arithmetic, by looking at finitely many breakpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise


@dataclass(frozen=True)
class PiecewiseLinear:
    """Continuous piecewise linear function on the real line.

    knots: increasing abscissae. values: ordinates at the knots. left, right: slopes outside the knots.
    """

    knots: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    left: Fraction = Fraction(-10)
    right: Fraction = Fraction(10)

    @classmethod
    def through(cls, points: Sequence[tuple[int, int]], left: int = -10, right: int = 10) -> PiecewiseLinear:
        """Function through the points (abscissa, ordinate) with the given outer slopes."""
        ordered = sorted((Fraction(x), Fraction(y)) for x, y in points)
        return cls(tuple(x for x, _ in ordered), tuple(y for _, y in ordered), Fraction(left), Fraction(right))

    def __call__(self, w: Fraction) -> Fraction:
        knots, values = self.knots, self.values
        if w <= knots[0]:
            return values[0] + self.left * (w - knots[0])
        if w >= knots[-1]:
            return values[-1] + self.right * (w - knots[-1])
        k = next(k for k in range(1, len(knots)) if w <= knots[k])
        share = (w - knots[k - 1]) / (knots[k] - knots[k - 1])
        return values[k - 1] + share * (values[k] - values[k - 1])

    def neighbourhood_maximum(self, w: Fraction, r: Fraction) -> Fraction:
        """max of f over [w - r, w + r]: attained at an end or at a knot inside."""
        inside = [value for knot, value in zip(self.knots, self.values, strict=True) if abs(knot - w) <= r]
        return max([self(w - r), self(w + r), *inside])

    def sharpness(self, w: Fraction, r: Fraction) -> Fraction:
        """max over |s| <= r of f(w + s) - f(w)."""
        return self.neighbourhood_maximum(w, r) - self(w)

    def breakpoints(self, r: Fraction) -> list[Fraction]:
        """Points between which the neighbourhood maximum is linear.

        Between two neighbours of {knot, knot - r, knot + r} the maximum is one of finitely many linear functions (the
        two
        ends and the constant knot values inside); their crossings complete the list.
        """
        base = sorted({knot + shift for knot in self.knots for shift in (-r, Fraction(0), r)})
        points = set(base)
        for low, high in pairwise(base):
            middle = (low + high) / 2
            lines = [(self(low + s), self(high + s)) for s in (-r, r)]
            lines += [(v, v) for k, v in zip(self.knots, self.values, strict=True) if abs(k - middle) <= r]
            for (a, b), (c, d) in combinations(lines, 2):
                if (a - c) * (b - d) < 0:
                    points.add(low + (high - low) * (a - c) / ((a - c) - (b - d)))
        return sorted(points)


def mean(functions: Sequence[PiecewiseLinear]) -> PiecewiseLinear:
    """Average of piecewise linear functions."""
    knots = tuple(sorted({knot for f in functions for knot in f.knots}))
    count = len(functions)
    return PiecewiseLinear(
        knots,
        tuple(sum((f(k) for f in functions), Fraction(0)) / count for k in knots),
        sum((f.left for f in functions), Fraction(0)) / count,
        sum((f.right for f in functions), Fraction(0)) / count,
    )


def fedsam_objective(functions: Sequence[PiecewiseLinear], w: Fraction, r: Fraction) -> Fraction:
    """Mean of the clients' neighbourhood maxima, eq. (5)."""
    return sum((f.neighbourhood_maximum(w, r) for f in functions), Fraction(0)) / len(functions)


def minimisers(functions: Sequence[PiecewiseLinear], r: Fraction) -> dict[str, tuple[Fraction, Fraction]]:
    """Exact (leftmost) minimiser and minimum of the FedSAM objective and of the global SAM objective."""
    average = mean(functions)
    local = sorted({point for f in functions for point in f.breakpoints(r)})
    fedsam = min((fedsam_objective(functions, w, r), w) for w in local)
    sam = min((average.neighbourhood_maximum(w, r), w) for w in average.breakpoints(r))
    return {"fedsam": (fedsam[1], fedsam[0]), "sam": (sam[1], sam[0])}


#: Figure 1 (a): clients that agree. Both losses have a sharp minimum at 0 and a flat one at 4; they differ by a little.
CONSISTENT = (
    PiecewiseLinear.through([(-2, 8), (0, 0), (2, 8), (3, 2), (5, 2), (7, 8)]),
    PiecewiseLinear.through([(-2, 9), (0, 0), (2, 9), (3, 2), (5, 2), (7, 9)]),
)

#: Figure 1 (b): clients whose minima (at 2 and at -1) disagree; local flatness leads to a place where the mean is
#: sharp.
INCONSISTENT = (
    PiecewiseLinear.through(list(zip(range(-3, 4), (5, 4, 6, 6, 6, 0, 4), strict=True))),
    PiecewiseLinear.through(list(zip(range(-3, 4), (1, 5, 0, 5, 5, 1, 4), strict=True))),
)
