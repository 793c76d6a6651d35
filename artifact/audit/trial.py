"""A user's methods tried for a round on two clients, so that a fault in one ends no training after hours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact import algorithms
from artifact.algorithms.switches import SWITCHES
from artifact.base.errors import UserError
from artifact.base.lazy import torch
from artifact.base.own_code import line_of

#: samples of the two clients: one has finished its local steps while the other goes on
SAMPLES = (8, 14)
#: inputs of the trial's network, which is as large as it must be for the compiled loops of the engine
INPUTS = 8192


def faults(file: Path, declared: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[UserError, int | None]]:
    """(what a method raised, line of the file) for each method and switch of the file that trains no round.

    declared: method -> settings of a row that trains it, whose hyper-parameters the trial takes.  The trial is the
    engine's own training in single precision: what it takes here, it takes there.
    """
    for name, method in algorithms.methods_of(file).items():
        known = algorithms.hyperparameters(name)
        hyper = {option: value for option, value in declared.get(name, {}).items() if option in known}
        hyper = hyper if _possible(name, hyper) else {}  # a wrong value is a fault of the table
        told = False
        for options in _forms(method):
            error = None if told else _raised(name, options | hyper)
            if error is not None:
                told = not options  # what the method itself does wrong, its switches do as well
                yield _said(file, name, options, error), line_of(str(file), error) or _line_of(method)


def _line_of(method: type[algorithms.FedAvg]) -> int | None:
    """Where the class begins, for an error that did not come through the file."""
    found = re.search(r"line (\d+)", method.added_at)
    return int(found[1]) if found else None


def _possible(name: str, hyper: Mapping[str, Any]) -> bool:
    try:
        algorithms.build(name, **hyper)
    except UserError:
        return False
    return True


def _forms(method: type[algorithms.FedAvg]) -> list[dict[str, Any]]:
    """Options of the printed form, then of each switch that the file has for it."""
    own = {
        id for id, group in SWITCHES.items() for one in group if _of_file(one.mixin, method) and one.concerns(method)
    }
    return [{}, *({"switches": [id]} for id in sorted(own))]


def _of_file(mixin: type, method: type) -> bool:
    return mixin.__module__ == method.__module__


def _raised(name: str, options: Mapping[str, Any]) -> BaseException | None:
    """What two rounds of training raise; None where they end."""
    from artifact.interface.train import train

    generator = torch.Generator().manual_seed(0)
    clients = [(torch.randn(n, INPUTS, generator=generator), torch.arange(n) % 2) for n in SAMPLES]
    try:
        setting: dict[str, Any] = {"rounds": 2, "batch_size": 4, "lr": 0.05, "server_data": clients[0]}
        train(torch.nn.Linear(INPUTS, 2), clients, method=name, **setting, **options)
    except (Exception, SystemExit) as error:  # the author's own code may raise anything
        return error
    return None


def _said(file: Path, name: str, options: Mapping[str, Any], error: BaseException) -> UserError:
    if isinstance(error, UserError):
        return error
    form = f" with the switch {options['switches'][0]}" if options else ""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    allowed = f"a method that trains two clients for a round{form} ({type(error).__name__}: {first})"
    return UserError("method", name, allowed)
