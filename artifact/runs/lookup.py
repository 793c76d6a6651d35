"""Finished runs of a store by what they are, so that only what is missing is run.

Neither the data nor the hardware that a run was made with are needed to find it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact.runs.archive import unfinished
from artifact.runs.index import signed
from artifact.runs.seal import believed
from artifact.runs.store import Run
from artifact.training.config import RunConfig, as_json

#: signature of a config -> the finished runs of it
Stored = Mapping[str, list[Run]]


class Found(dict[str, list[Run]]):
    """As ``Stored``.  chosen: (signature, probes) of a config -> its run, once somebody has asked for it."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: dict[tuple[str, tuple[str, ...]], Run | None] = {}


#: how gradients were computed does not matter to somebody who looks results up
_MACHINE = ("device", "backend")

#: stores of open audits, which are looked into beside the one that is asked for
ALSO: list[Path] = []

#: what makes two runs one: settings, and hashes of the user's own files
Identity = dict[str, Any]
#: id of a config -> the config itself, which keeps the id taken, and its signature
_signatures: dict[int, tuple[RunConfig, str]] = {}
#: a config as JSON -> its signature
_texts: dict[str, str] = {}
#: signature of a config that was looked up -> what it stands for
_identities: dict[str, Identity] = {}
#: settings without the machine, with their defaults
_DEFAULTS = {name: as_json(field.default) for name, field in RunConfig.model_fields.items() if name not in _MACHINE}


def identity(canonical: Mapping[str, Any]) -> str:
    """The config with its probes, and hashes of the user's own files, without the machine, as text."""
    probes = {"probes": canonical.get("probes", _DEFAULTS["probes"])}
    return json.dumps(_identity(canonical) | probes, sort_keys=True)


def _identity(canonical: Mapping[str, Any]) -> Identity:
    """The same without the probes. Options that came later than a stored run have their default."""
    found = {name: canonical.get(name, default) for name, default in _DEFAULTS.items() if name != "probes"}
    return found | ({"added": canonical["added"]} if canonical.get("added") else {})


def signature(run_config: RunConfig) -> str:
    """What a config's numbers depend on, apart from the data: two configs with one signature are one run.

    Probes are left out, since they change no number.
    """
    known = _signatures.get(id(run_config))
    if known is None or known[0] is not run_config:
        text = run_config.model_dump_json()
        if text not in _texts:
            settings = run_config.settings()
            _texts[text] = _sign(settings)
            _identities[_texts[text]] = _identity(settings)
        known = _signatures[id(run_config)] = (run_config, _texts[text])
    return known[1]


def _sign(canonical: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(_identity(canonical), sort_keys=True).encode()).hexdigest()[:32]


def stores(store: Path) -> list[Path]:
    """The store and the stores of open audits, each once."""
    return list({os.path.realpath(place): place for place in (*ALSO, store)}.values())


def signed_runs(root: Path) -> Iterator[tuple[str, Run]]:
    """(signature of its config, run) of every finished run of one store."""
    return signed(root, _sign)


def finished_runs(store: Path) -> dict[str, list[Run]]:
    """Finished runs of a store by the signature of their config."""
    found = Found()
    for place in stores(store):
        for name, run in signed_runs(place):
            found.setdefault(name, []).append(run)
    return found


def unfinished_runs(store: Path) -> dict[str, Run]:
    """Runs of a store that were begun and not ended, by the identity of their config, probes included."""
    return {identity(run.config()): run for run in unfinished(store)}


def find_run(run_config: RunConfig, stored: Stored) -> Run | None:
    """The finished run of a config that has at least its probes; where there are more, the one with the fewest probes.

    A run that was made again for a probe keeps its earlier twin, whose model may have been measured since. A record
    that is not as it was sealed is left out.
    """
    name = signature(run_config)
    if not isinstance(stored, Found):
        return _find_run(run_config, name, stored)
    place = (name, run_config.probes)
    if place not in stored.chosen:
        stored.chosen[place] = _find_run(run_config, name, stored)
    return stored.chosen[place]


def _find_run(run_config: RunConfig, name: str, stored: Stored) -> Run | None:
    asked = set(run_config.probes)
    wanted = _identities[name]  # the index says where to look; what a run is, its own config says
    named = [(run, believed(run.config)) for run in stored.get(name, ())]
    candidates = [(run, config) for run, config in named if config is not None and _identity(config) == wanted]
    serving = [run for run, config in candidates if asked <= set(config.get("probes", ()))]
    in_order = sorted(serving, key=lambda run: len(run.config().get("probes", ())))
    return next((run for run in in_order if run.intact), None)


def find_runs(configs: Iterable[RunConfig], stored: Stored) -> list[Run]:
    """The finished runs of configs, in their order; shorter than they are where some are missing."""
    return [run for run in (find_run(one, stored) for one in configs) if run is not None]


def merged(configs: Iterable[RunConfig]) -> list[RunConfig]:
    """Configs that differ in their probes alone become one with all of the probes, which change no other number."""
    unique: dict[str, RunConfig] = {}
    for one in configs:
        name = signature(one)
        probes = {*one.probes, *(unique[name].probes if name in unique else ())}
        unique[name] = one.model_copy(update={"probes": tuple(sorted(probes))})
    return list(unique.values())
