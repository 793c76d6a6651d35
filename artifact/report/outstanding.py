"""What is not run: the missing runs of tables and figures, and how long they would take by the sweep's own estimate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from artifact.papers import needed_runs
from artifact.papers.folders import named
from artifact.papers.sweep_command import declared_seconds
from artifact.report.content import Content
from artifact.runs.lookup import find_run, signature
from artifact.runs.sweep.estimate import Estimator
from artifact.runs.sweep.sweep import duration
from artifact.training.config import RunConfig


@dataclass(frozen=True)
class Missing:
    """Runs of a table or figure at a profile that no store holds.

    runs: signature -> seconds that one worker needs; None where no run like it was timed. of: runs in all.
    command: what trains them.
    """

    runs: dict[str, float | None]
    of: int
    command: str

    @property
    def time(self) -> str:
        """``about 3 h 20 min``, of one worker; empty where nothing is missing."""
        return told(self.runs.values())


def told(seconds: Iterable[float | None]) -> str:
    """Their sum in words; those that are not known are named beside it. Empty without any."""
    found = list(seconds)
    known = [one for one in found if one is not None]
    if not known:
        return "an unknown time" if found else ""
    others = f", without {len(found) - len(known)} runs whose time is not known" if len(known) < len(found) else ""
    return f"about {duration(sum(known))}{others}"


@dataclass
class Outstanding:
    """The missing runs of all tables and figures."""

    content: Content
    _found: dict[tuple[str, str], Missing] = field(default_factory=dict)

    @cached_property
    def _estimate(self) -> dict[str, Estimator]:
        stores = {profile: self.content.root / self.content.stores[profile] for profile in self.content.profiles}
        known = {store: Estimator(store) for store in dict.fromkeys(stores.values())}
        return {profile: known[store] for profile, store in stores.items()}

    def of(self, paper: str, name: str, profile: str) -> Missing:
        """Of a table or figure; with the cells that the profile leaves out."""
        place = f"{paper}/{name}"
        if (place, profile) not in self._found:
            configs = needed_runs.configs(place, profile, everything=True)
            declared = declared_seconds(place, profile, len(configs))
            missing = self._missing(configs, profile)
            runs = {signature(config): self._estimate[profile](config, declared) for config in missing}
            command = f"python -m artifact sweep {named(paper, name)} --profile {profile}"
            if len(self._missing(needed_runs.configs(place, profile), profile)) < len(missing):
                command += " --everything"
            self._found[place, profile] = Missing(runs, len(configs), command)
        return self._found[place, profile]

    def _missing(self, configs: list[RunConfig], profile: str) -> list[RunConfig]:
        return [config for config in configs if find_run(config, self.content.finished[profile]) is None]
