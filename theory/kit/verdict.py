"""The record that a check returns, and the registry that finds checks by claim id.

A check is a function without required arguments whose docstring has the five headings of ``HEADINGS``.
Its verdict must be backed by what ``VERDICTS`` says; ``Verdict`` refuses evidence that lacks one of its parts,
so a search cannot be shown as "proved" by mistake. Whether a certificate covers its statement is for a reader.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from theory.kit import effort

HEADINGS = ("Statement:", "Assumptions:", "Method:", "Verdict:", "Reference:")

#: verdict -> keys that its evidence must hold
VERDICTS: dict[str, tuple[str, ...]] = {
    "proved": ("certificate",),  # symbolic identity, exact arithmetic, solver certificate
    "holds": ("evaluations", "worst_ratio", "function_class", "seed"),  # adversarial search, never "proved"
    "agrees": ("problems", "largest_gap"),  # two programs with the same trajectories, on so many problems
    "refuted": ("counterexample",),  # numbers that satisfy every assumption, replayed in high precision
    "repaired": ("counterexample", "repair"),  # refuted as printed; evidence["repair"] backs the corrected statement
    "vacuous": ("reason",),
    "consistent": ("printed", "derived"),
    "inconsistent": ("printed", "derived"),
    "reproduced": ("interval", "n", "profile"),
    "seen": ("interval", "n", "profile"),
    "mostly-seen": ("interval", "n", "profile"),
    "no-difference": ("interval", "n", "profile"),
    "undecided": ("interval", "n", "profile"),
    "reversed": ("interval", "n", "profile"),
    "contradicted": ("interval", "n", "profile"),
    "untuned": ("interval", "n", "profile"),
    "not-run": ("reason",),
}
MINIMUM_EVALUATIONS = 1000

#: parts of certificates that a program has decided in this process: text -> (how, whether nothing was left to reduce)
DECIDED: dict[str, tuple[str, bool]] = {}


def decided(text: str, how: str, same: bool = False) -> str:
    """The text, noted as decided by a program; how: by what. same: both sides were one expression as they stood.

    Raises ValueError for a caller outside this package, such as an author's own file: what is typed is decided by none.
    """
    if not sys._getframe(1).f_globals.get("__name__", "").startswith("theory."):
        raise ValueError("only programs of theory.kit decide a step; write what you reason in words")
    DECIDED[text] = how, same
    return text


@dataclass(frozen=True)
class Verdict:
    """Outcome of one check.

    verdict: a key of ``VERDICTS``.
    evidence: JSON-able numbers and text; its required keys depend on the verdict. In ``repaired`` the entry
        ``evidence["repair"]`` is itself a mapping that backs the corrected statement: it holds either
        ``certificate`` (proved) or ``evaluations`` and ``worst_ratio`` (holds).
    margin: left side over right side at the worst point found (<= 1 where the statement holds), or None.
    repaired: the corrected statement in words and TeX, for ``repaired`` only.
    """

    verdict: str
    evidence: Mapping[str, Any]
    margin: float | None = None
    repaired: str | None = None

    def __post_init__(self):
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict: {self.verdict!r}; allowed: {', '.join(VERDICTS)}")
        missing = [key for key in VERDICTS[self.verdict] if self.evidence.get(key) in (None, "", [], {})]
        if missing:
            raise ValueError(f"a verdict {self.verdict!r} needs evidence {missing}")
        if (self.verdict == "repaired") != (self.repaired is not None):
            raise ValueError("a corrected statement goes with the verdict 'repaired' and with no other")
        for backing in (self.evidence, self.evidence.get("repair", {})):
            if backing.get("evaluations", MINIMUM_EVALUATIONS) < effort.problems(MINIMUM_EVALUATIONS):
                raise ValueError(f"a search needs at least {MINIMUM_EVALUATIONS} evaluations")


#: in place of True for an assumption that an instance fulfils by how it is written: a replay has nothing to test
BY_CONSTRUCTION = "by construction"


def always(holds: bool) -> bool | str:
    """An assumption that no number of the instance can break: by construction, unless it does not even hold."""
    return BY_CONSTRUCTION if holds else False


@dataclass(frozen=True)
class Replay:
    """A counterexample evaluated again in rational or 50-digit arithmetic.

    assumptions: name -> satisfied, one entry for every assumption of the refuted statement; ``BY_CONSTRUCTION`` where
        there is nothing to test.
    left, right: the two sides of the printed statement ``left <= right`` (or ``left == right``), which must fail.
    relation: "<=", "==" or "<".
    """

    assumptions: Mapping[str, bool | str]
    left: Any
    right: Any
    relation: str = "<="

    @property
    def violated(self) -> bool:
        holds = {"<=": self.left <= self.right, "<": self.left < self.right, "==": self.left == self.right}
        return not holds[self.relation] and self.left == self.left and self.right == self.right  # nan violates nothing


@dataclass(frozen=True)
class Check:
    """A registered check.

    claim: id of the claim in ``claims/<paper>.toml``.
    function: returns a ``Verdict``; accepts ``scale`` when ``mutations`` is not empty.
    mutations: (scale, expected verdict) pairs. ``scale`` multiplies the constant under test (the right side of an
        inequality, the printed coefficient of an identity); a test runs each and expects that verdict, so a check
        that would accept a broken constant is caught.
    replay: evaluates the stored counterexample again, for ``refuted`` and ``repaired``.
    figure: draws evidence on a matplotlib axes, ``figure(axes, evidence)``; None where the number is the evidence.
    """

    claim: str
    function: Callable[..., Verdict]
    mutations: tuple[tuple[float, str], ...] = ()
    replay: Callable[[Mapping[str, Any]], Replay] | None = None
    figure: Callable[..., None] | None = None

    def run(self, **arguments) -> Verdict:
        return self.function(**arguments)


@dataclass
class Registry:
    """Checks by claim id, in the order in which the papers' modules register them."""

    checks: dict[str, Check] = field(default_factory=dict)

    def check(self, *claims: str, mutations=(), replay=None, figure=None):
        """Decorate a check with the claim ids that it decides (one verdict for all of them)."""

        def register(function):
            documentation = inspect.getdoc(function) or ""
            absent = [heading for heading in HEADINGS if heading not in documentation]
            if absent:
                raise ValueError(f"{function.__module__}.{function.__name__}: docstring lacks {absent}")
            for mutation in mutations:
                scale, expected = mutation
                if not isinstance(scale, Real) or scale == 1 or not math.isfinite(scale) or expected not in VERDICTS:
                    raise ValueError(f"mutations: {mutation}; allowed: a finite factor other than 1, and a verdict")
            for claim in claims:
                if claim in self.checks:
                    raise ValueError(f"two checks decide {claim}")
                self.checks[claim] = Check(claim, function, tuple(mutations), replay, figure)
            return function

        return register


registry = Registry()
check = registry.check
