"""Every method of the five papers, by name, in the ``paper`` variant or as a released code computes it."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from artifact.algorithms import printed, released  # noqa: F401  (their import registers the switches)
from artifact.algorithms.base import FedAdam, FedAvg, FedProx
from artifact.algorithms.composed import (
    FedCMCorrected,
    FedCMLESAM,
    FedCMSigned,
    FedDynSigned,
    ScaffoldCorrected,
    ScaffoldSigned,
)
from artifact.algorithms.duals import FedDyn, FedDynSAM, FedSMOO, FedSpeed
from artifact.algorithms.lesam import FedLESAM, FedLESAMD, FedLESAMS
from artifact.algorithms.momentum import FedCM, MimeLite
from artifact.algorithms.robust import FedRobust
from artifact.algorithms.sam import CorrectedSAM, FedASAM, FedGAMMA, FedSAM, GlobalFedSAM, MoFedSAM, SignedSAM
from artifact.algorithms.switches import EXCLUSIVE, SAME_EQUATION, SWITCHES, Switch, mixins, released_ids
from artifact.algorithms.variates import FedDC, Scaffold
from artifact.base.cache import cache
from artifact.base.errors import UserError
from artifact.base.own_code import running

#: name -> class
ALGORITHMS: dict[str, type[FedAvg]] = {
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "fedadam": FedAdam,
    "scaffold": Scaffold,
    "feddyn": FedDyn,
    "feddc": FedDC,
    "fedcm": FedCM,
    "mimelite": MimeLite,
    "fedrobust": FedRobust,
    "fedspeed": FedSpeed,
    "fedsam": FedSAM,
    "fedasam": FedASAM,
    "mofedsam": MoFedSAM,
    "fedgamma": FedGAMMA,
    "feddyn-sam": FedDynSAM,
    "fedsmoo": FedSMOO,
    "fedsmoo-admm": FedSMOO,
    "fedlesam": FedLESAM,
    "fedlesam-s": FedLESAMS,
    "fedlesam-d": FedLESAMD,
    "globalfedsam": GlobalFedSAM,
    "globalfedsam-norm": GlobalFedSAM,
    "fedavg-corrected": CorrectedSAM,
    "fedavg-signed": SignedSAM,
    "scaffold-corrected": ScaffoldCorrected,
    "scaffold-signed": ScaffoldSigned,
    "feddyn-signed": FedDynSigned,
    "fedcm-lesam": FedCMLESAM,
    "fedcm-corrected": FedCMCorrected,
    "fedcm-signed": FedCMSigned,
}

#: pairs of a base and a perturbation that no paper names (``artifact.algorithms.composed``)
COMPOSED = frozenset(
    {
        "fedavg-corrected",
        "fedavg-signed",
        "scaffold-corrected",
        "scaffold-signed",
        "feddyn-signed",
        "fedcm-lesam",
        "fedcm-corrected",
        "fedcm-signed",
    }
)

#: names that are a class with switches or with another default
SPECIAL: dict[str, tuple[frozenset[str], dict[str, Any]]] = {
    "fedsmoo-admm": (frozenset({"SMOO-1", "SMOO-2"}), {}),
    "globalfedsam-norm": (frozenset(), {"normalised": True}),
}

#: the repository that ``--variant released`` means when none is named, where not FL-Simulator
HOME = {
    "fedlesam": "fedlesam",
    "fedlesam-s": "fedlesam",
    "fedlesam-d": "fedlesam",
    "fedasam": "fedman",
    "feddc": "fedman",
}

#: methods of each repository, as read and run (FedLESAM's lacks FedSpeed, FedGAMMA and FedSMOO, see GEN-12; FedSMOO's
#: ablation "DR + SAM" is FL-Simulator's FedSpeed, see SMOO-10; FL-Simulator never switches its ASAM on, see ASAM-3)
_IN_BOTH = frozenset({"fedavg", "fedprox", "fedadam", "scaffold", "feddyn", "fedcm", "fedsam", "mofedsam"})
RELEASED = {
    "fl-simulator": _IN_BOTH | {"fedspeed", "fedgamma", "fedsmoo", "feddyn-sam"},
    "fedlesam": _IN_BOTH | {"fedlesam", "fedlesam-s", "fedlesam-d"},
    "fedman": frozenset({"fedavg", "fedprox", "scaffold", "feddyn", "feddc", "fedspeed", "fedsam", "fedasam"}),
}

#: methods that no repository at hand implements
UNRELEASED = frozenset(ALGORITHMS).difference(*RELEASED.values())

_SPELLINGS = {
    "localfedsam": "fedsam",
    "fedgsam": "globalfedsam",
    "dr": "feddyn",
    "drsam": "feddyn-sam",
    "fedgamma": "fedgamma",
}


def canonical(name: str) -> str:
    """Registry name of a method from any of the papers' spellings (case, spaces, dashes and underscores do not matter).

    Raises UserError for a name that no method has.
    """
    if name in ALGORITHMS:
        return name
    known = by_plain()
    if plain(name) not in known:
        raise UserError("algorithm", name, ", ".join(ALGORITHMS))
    return known[plain(name)]


def plain(name: str) -> str:
    """A name reduced to its letters and digits in lower case, by which spellings are compared."""
    return "".join(ch for ch in name.lower() if ch.isalnum())


def by_plain() -> dict[str, str]:
    """Registry name of every plain form that means a method."""
    return {plain(key): key for key in ALGORITHMS} | _SPELLINGS


def hyperparameters(name: str) -> dict[str, dataclasses.Field]:
    """Fields of a method's dataclass, by name."""
    return {f.name: f for f in dataclasses.fields(ALGORITHMS[canonical(name)])}


def defaults(name: str) -> dict[str, Any]:
    """Hyper-parameters of a registry name with the values that they have when none are given."""
    return {f.name: f.default for f in dataclasses.fields(ALGORITHMS[name])} | SPECIAL.get(name, ((), {}))[1]


def resolve(name: str, variant: str, source: str | None, switches: Iterable[str]) -> frozenset[str]:
    """Ids of the discrepancies that are on.

    Raises UserError for an unknown variant or id, and for a source that has not released the method.
    """
    algorithm = ALGORITHMS[name]
    ids = set(SPECIAL.get(name, (frozenset(), {}))[0])
    if variant == "released":
        ids |= released_ids(algorithm, _repository(name, source))
    elif variant != "paper":
        raise UserError("variant", variant, "paper, released")
    elif source is not None:
        raise UserError("source", source, "none with variant paper; a released code goes with variant released")
    for id in switches:
        for known in SAME_EQUATION.get(id, (id,)):
            if not any(s.concerns(algorithm) for s in SWITCHES.get(known, [])):
                possible = sorted(i for i, group in SWITCHES.items() if any(s.concerns(algorithm) for s in group))
                raise UserError("switch", id, f"for {name}: {', '.join(possible)}")
            ids ^= {known}
    for one, other in EXCLUSIVE:
        if {one, other} <= ids:
            raise UserError("switch", f"{one} with {other}", "one of the two; both replace the same equation")
    return frozenset(ids)


def has_code(name: str) -> bool:
    """Whether a repository has released a form of the method; none has of a user's own."""
    return any(name in methods for methods in RELEASED.values())


def _repository(name: str, source: str | None) -> str:
    """The repository whose form of a method is meant. Raises UserError where none, or not this one, has the method."""
    having = [repository for repository, methods in RELEASED.items() if name in methods]
    if not having:
        raise UserError("variant", "released", f"paper (no code was released for {name})")
    source = source or _home(name)
    if source not in having:
        raise UserError("source", source, f"{', '.join(having)} (with code of {name})")
    return source


def _home(name: str) -> str:
    return HOME.get(name, "fl-simulator")


@cache
def _adapter(algorithm: type[FedAvg]) -> TypeAdapter:
    return TypeAdapter(algorithm)


def build(
    name: str, variant: str = "paper", source: str | None = None, switches: Iterable[str] = (), **hyper: Any
) -> FedAvg:
    """A method with its hyper-parameters.

    variant: ``paper`` or ``released``; source: which released code (fl-simulator, fedlesam, fedman), by default the
    one that published the method.  switches: ids of discrepancies to flip on top of the variant.
    Raises UserError for an unknown name, hyper-parameter or id, a value out of range, or a fault in a user's own class.
    """
    name = canonical(name)
    algorithm = ALGORITHMS[name]
    ids = resolve(name, variant, source, switches)
    parts = mixins(algorithm, ids, source or _home(name))
    known = hyperparameters(name)
    for option in hyper:
        if option not in known:
            raise UserError(option, hyper[option], f"{name} has the options {', '.join(known)}")
        if isinstance(hyper[option], bool) and not isinstance(known[option].default, bool):
            raise UserError(option, hyper[option], "a finite number")
    defaults = dict(SPECIAL.get(name, (ids, {}))[1])
    for part in parts:
        defaults |= getattr(part, "defaults", {})
    # annotations and __post_init__ of the user's own may raise anything
    with running(algorithm.added_from, "add") if algorithm.added_from else contextlib.nullcontext():
        values = _checked(algorithm, defaults | hyper)
        return _composed(algorithm, parts, ids, name)(**values)


@cache
def _composed(algorithm: type[FedAvg], parts: tuple[type[FedAvg], ...], ids: frozenset[str], name: str) -> type[FedAvg]:
    return type(algorithm.__name__, (*parts, algorithm), {"switches": ids, "name": name})


def _checked(algorithm: type[FedAvg], values: dict[str, Any]) -> dict[str, Any]:
    """Values of all fields. Raises UserError for one out of range, and what ``__post_init__`` of the class raises."""
    try:
        adapter = _adapter(algorithm)
        return adapter.dump_python(adapter.validate_python(values))
    except PydanticUserError:
        typing.get_type_hints(algorithm)  # NameError with the name that is unknown; pydantic says only that one is
        raise
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # no field is wrong: pydantic has wrapped what the class itself has raised
            raise first.get("ctx", {}).get("error", error) from None
        raise UserError(str(first["loc"][-1]), first["input"], first["msg"]) from None


def register(name: str, algorithm: type[FedAvg]) -> None:
    """Add an author's own class to the registry.

    The decorator must be the class's own: with an inherited one its new hyper-parameters would be constants.

    Raises UserError when the name means a method, for other classes, for a default that a stored config cannot hold,
    for a field that takes no value, and for one that hides a function of a method.
    """
    if plain(name) in by_plain():
        raise UserError("name", name, f"a name that means none of {', '.join(ALGORITHMS)}")
    own = isinstance(algorithm, type) and issubclass(algorithm, FedAvg) and "__dataclass_fields__" in vars(algorithm)
    if not own:
        raise UserError(name, algorithm, "a class with @dataclass(frozen=True) that derives from FedAvg")
    for field in dataclasses.fields(algorithm):
        if callable(getattr(FedAvg, field.name, None)):
            allowed = f"another name in {name}: FedAvg has a function of that name"
            raise UserError("hyper-parameter", field.name, allowed)
        if not (isinstance(field.default, (int, float)) and math.isfinite(field.default)):
            raise UserError(field.name, field.default, f"a finite number, true or false as a default of {name}")
        if not field.init:
            raise UserError(field.name, "init=False", f"a field of {name} that takes a value, or no annotation")
    ALGORITHMS[name] = algorithm


def methods_of(file: Path | str) -> dict[str, type[FedAvg]]:
    """Name -> class of the methods that a file of a user's own has registered."""
    return {name: method for name, method in ALGORITHMS.items() if method.added_from == str(file)}


def declared_in(file: Path) -> list[tuple[Switch, list[str]]]:
    """The switches that a file with methods of one's own declares, each with the names of its methods in that file."""
    own = methods_of(file)
    modules = {method.__module__ for method in own.values()}
    return [
        (one, [name for name, method in own.items() if one.concerns(method)])
        for group in SWITCHES.values()
        for one in group
        if one.mixin.__module__ in modules
    ]
