"""Discrepancies as switches: each one replaces a single equation of a method by what is printed or released.

A switch is a mixin with an id, which derives from a class that all its methods share. ``algorithms.build`` puts
the mixins of the wanted ids before the method's class, so a variant is a set of ids and never a second implementation.
``applies_to`` names the classes whose equation it replaces; ids stand in ``claims/discrepancies.csv``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from artifact.algorithms.base import FedAvg
from artifact.base.cache import cache

Mixin = TypeVar("Mixin", bound=type[FedAvg])

SOURCES = ("fl-simulator", "fedlesam", "fedman")


@dataclass(frozen=True)
class Switch:
    """One discrepancy that changes numbers.

    id: as in the discrepancy list.  kind: "released" (what code computes), "printed" (what the paper says literally)
    or "alternative" (a consistent form next to a paper's own).  explanation: one line.
    applies_to: classes with the equation.  sources: released codes that have it.  mixin: class with the replacement;
    its ``defaults``, if any, replace defaults of hyper-parameters.  when: further condition on the class.
    """

    id: str
    kind: str
    explanation: str
    applies_to: tuple[type[FedAvg], ...]
    sources: tuple[str, ...]
    mixin: type[FedAvg]
    when: Callable[[type[FedAvg]], bool] | None = None

    def concerns(self, algorithm: type[FedAvg]) -> bool:
        return issubclass(algorithm, self.applies_to) and (self.when is None or self.when(algorithm))


SWITCHES: dict[str, list[Switch]] = {}


def switch(
    id: str,
    kind: str,
    applies_to: type[FedAvg] | tuple[type[FedAvg], ...],
    explanation: str,
    sources: tuple[str, ...] = (),
    when: Callable[[type[FedAvg]], bool] | None = None,
) -> Callable[[Mixin], Mixin]:
    """Decorate a mixin with the discrepancy that it stands for; an id may have one mixin per family or source."""
    targets = applies_to if isinstance(applies_to, tuple) else (applies_to,)

    def register(mixin: Mixin) -> Mixin:
        SWITCHES.setdefault(id, []).append(Switch(id, kind, explanation, targets, tuple(sources), mixin, when))
        return mixin

    return register


#: discrepancies of one method that are the same equation as another's
SAME_EQUATION = {
    "PROX-1": ("GEN-1",),
    "DYN-2": ("GEN-1",),
    "SMOO-6": ("GEN-1",),
    "LESAMD-5": ("GEN-1",),
    "SCAF-5": ("GEN-4",),
    "GAMMA-1": ("GEN-4",),
    "LESAMS-3": ("LESAM-1",),
    "LESAMD-4": ("LESAM-1",),
    "SCAF-3": ("AVG-2",),
    "LESAM-5": ("AVG-2",),
    "LESAMS-1": ("SCAF-1",),
    "LESAMS-4": ("SCAF-2",),
    "LESAMS-5": ("AVG-2", "LESAM-3"),
}

#: discrepancies that replace one equation, so that only one of them can be on
EXCLUSIVE = (
    ("LESAM-2", "LESAM-3"),
    ("AVG-1", "AVG-2"),
    ("AVG-1", "AVG-4"),
    ("AVG-2", "AVG-4"),
    ("AVG-2", "CM-1"),
    ("AVG-2", "MOSAM-2"),
    ("LESAMD-2", "LESAMD-3"),
    ("GEN-4", "SCAF-6"),
    ("MOSAM-3", "MOSAM-5"),
    ("GEN-4", "GAMMA-5"),
    ("SCAF-2", "GAMMA-4"),
    ("SCAF-6", "GAMMA-4"),
    ("SCAF-6", "GAMMA-5"),
)

#: discrepancies of the protocol that are options of a run instead of equations of a method
OPTIONS = {
    "GEN-3": "cohort_rule = bernoulli",
    "GEN-5": "split = dirichlet:u:replace or pathological:c:replace",
    "GEN-6": "metrics hold every round; tables report last, mean of the last ten, and best separately",
    "GEN-8": "model = resnet18-gn (released stem) or resnet18-cifar",
    "GEN-14": "evaluate = server, active, all",
    "MAN-2": "man_layers = released-convnet",
    "MAN-3": "man_layers = with-logits",
    "GSAM-3": "normalised = true",
    "SAM-5": "rho: defaults differ between papers by a factor of 50",
}


def released_ids(algorithm: type[FedAvg], source: str) -> frozenset[str]:
    """Ids that a method's released form has in one repository."""
    return frozenset(
        s.id for group in SWITCHES.values() for s in group if source in s.sources and s.concerns(algorithm)
    )


@cache
def mixins(algorithm: type[FedAvg], ids: frozenset[str], source: str) -> tuple[type[FedAvg], ...]:
    """Mixins of the ids that concern a class, in the order in which they are declared; two ids may share one.

    Where repositories differ in the number of one id, the source's mixins are taken.
    """
    found = []
    for id, group in SWITCHES.items():
        concerned = [s for s in group if id in ids and s.concerns(algorithm)]
        found += [s.mixin for s in concerned if source in s.sources] or [s.mixin for s in concerned]
    return tuple(dict.fromkeys(found))
