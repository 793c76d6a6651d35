"""What is not run: the missing runs of tables and figures, and how long one worker needs for them.

A worker is one process on one core. A run's time is its counted gradients times a pace: that of the sweep's own
estimate, from the stored runs of the same network and precision, or, where there are none, the pace that
``fedsharp bench`` measured on idle cores of several kinds of processors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from artifact.bench import results
from artifact.bench.cases import COMMON
from artifact.papers import needed_runs
from artifact.papers.folders import named
from artifact.report import fingerprints
from artifact.report.content import Content
from artifact.runs.lookup import find_run, signature
from artifact.runs.sweep.estimate import Estimator, Span, work
from artifact.runs.sweep.sweep import duration
from artifact.training.config import RunConfig

#: a network that was never timed -> one that was, of about as many operations
NEAREST = {"resnet18": "resnet18-gn", "cnn-emnist": "lenet"}
#: of a command: the cells that the profile leaves out, too
EVERYTHING = " --everything"
#: hours from which minutes are no longer told
ROUGH = 10


@dataclass(frozen=True)
class Missing:
    """Runs of a table or figure at a profile that no store holds.

    runs: signature -> seconds that one worker needs; None where no network like the run's was timed. of: runs in all.
    command: what trains them. untimed: the networks of the runs whose time is not known. own: the same as runs, of the
    cells that the profile runs, finished or not.
    """

    runs: dict[str, Span | None]
    of: int
    command: str
    untimed: tuple[str, ...] = ()
    own: dict[str, Span | None] = field(default_factory=dict)

    @property
    def own_command(self) -> str:
        """The command that trains the missing cells that the profile runs."""
        return self.command.removesuffix(EVERYTHING)

    @property
    def anew(self) -> str:
        """The time of one worker for all runs of the profile's cells, the finished ones included."""
        return told(self.own.values())

    def part(self, own: bool) -> tuple[int, str]:
        """How many runs are missing and their time. own: of the cells that the profile runs, else of the others."""
        found = [span for name, span in self.runs.items() if (name in self.own) is own]
        return len(found), told(found)

    @property
    def time(self) -> str:
        """``about 3 h 20 min to 5 h 10 min``, of one worker; empty where nothing is missing."""
        return told(self.runs.values())


def told(spans: Iterable[Span | None]) -> str:
    """The sum of several times in words, with the number of unknown ones; empty without any."""
    found = list(spans)
    known = [one for one in found if one is not None]
    if not known:
        return "an unknown time" if found else ""
    ends = dict.fromkeys(_rough(sum(one[end] for one in known)) for end in (0, 1))
    others = f", without {len(found) - len(known)} runs whose time is not known" if len(known) < len(found) else ""
    return f"about {' to '.join(ends)}{others}"


def _rough(seconds: float) -> str:
    hours = round(seconds / 3600)
    return f"{hours:,} h" if hours >= ROUGH else duration(seconds)


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

    @cached_property
    def benched(self) -> dict[str, Span]:
        """Network -> seconds of a core per gradient of an example in float32, on its fastest and slowest processor."""
        found: dict[str, list[float]] = {}
        gradients = work({**COMMON, "local_steps": None, "evaluate": (), "eval_train": False})
        for path in fingerprints.timings(self.content.root):
            for row in results.read(path)["rows"]:
                if (row["algorithm"], row["contender"]) == ("fedavg", "auto"):
                    found.setdefault(row["model"], []).append(row["train_cpu"]["median"] / gradients)
        return {model: Span(min(paces), max(paces)) for model, paces in found.items()}

    def span(self, config: RunConfig, profile: str) -> Span | None:
        """Seconds of a run on one core; None where neither its network nor one like it was timed."""
        estimate = self._estimate[profile]
        known = estimate.span(config)
        if known is not None or config.dtype != "float32":
            return known
        pace = self.benched.get(NEAREST.get(config.model, config.model))
        return Span(*(estimate.gradients(config) * end for end in pace)) if pace else None

    def of(self, paper: str, name: str, profile: str) -> Missing:
        """The missing runs of a table or figure, also of the cells that the profile leaves out."""
        place = f"{paper}/{name}"
        if (place, profile) not in self._found:
            configs = needed_runs.configs(place, profile, everything=True)
            missing = self._missing(configs, profile)
            runs = {signature(config): self.span(config, profile) for config in missing}
            untimed = dict.fromkeys(config.model for config in missing if runs[signature(config)] is None)
            own = {signature(config): self.span(config, profile) for config in needed_runs.configs(place, profile)}
            command = f"python -m fedsharp sweep {named(paper, name)} --profile {profile}"
            if runs.keys() - own.keys():
                command += EVERYTHING
            self._found[place, profile] = Missing(runs, len(configs), command, tuple(untimed), own)
        return self._found[place, profile]

    def _missing(self, configs: list[RunConfig], profile: str) -> list[RunConfig]:
        return [config for config in configs if find_run(config, self.content.finished[profile]) is None]
