"""Pairs of a method and a discrepancy that concerns it."""

from artifact.algorithms import ALGORITHMS, SWITCHES

#: (method, id)
SWITCHED = [
    (name, id)
    for name, method in ALGORITHMS.items()
    for id, group in SWITCHES.items()
    if any(switch.concerns(method) for switch in group)
]
