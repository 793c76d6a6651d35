"""``python -m tests.torture``: play scenarios for so many minutes; exit code 1 where a rule was broken."""

from __future__ import annotations

import json
import resource
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from artifact.base.files import write_atomic
from tests.torture.chamber import Violation, play, reference
from tests.torture.scenarios import Step, draw


@dataclass
class Row:
    """A fault: how often it was injected, which rules it broke, and what was said."""

    times: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)

    def record(self) -> dict:
        return {"times": self.times, "broken": dict(self.broken), "said": dict(self.said.most_common(3))}


#: replays that shrinking a scenario takes at most, and seconds within which they begin
REPLAYS, SHRINKING = 20, 300.0
#: seconds in which a process has to end: the sweep of a scenario takes over two minutes beside tests on a slow machine
PATIENCE = 600.0


@click.command()
@click.option("--seed", type=int, multiple=True, default=(1,), show_default=True, help="Seeds, played in turn.")
@click.option("--minutes", type=click.FloatRange(0), default=1.0, show_default=True, help="Time to begin scenarios in.")
@click.option("--scenario", type=int, help="Only this scenario of the first seed.")
@click.option("--steps", help="Of that scenario, only the steps with these numbers, separated by commas.")
@click.option("--patience", default=PATIENCE, show_default=True, help="Seconds in which a process has to end.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Keep what was played in this file.")
def main(seed, minutes, scenario, steps, patience, record):
    """Play scenarios; print what was injected and each broken rule with the command that repeats it."""
    start, broken, scenarios, commands = time.monotonic(), [], 0, 0
    matrix: dict[str, Row] = defaultdict(Row)
    with tempfile.TemporaryDirectory(prefix="torture-") as scratch:
        undisturbed = Path(scratch) / "undisturbed"
        keys = reference(undisturbed)

        def tried(chosen: list[Step]) -> tuple[list[Violation], list[int], list[tuple[int, str]]]:
            nonlocal commands
            folder = Path(tempfile.mkdtemp(dir=scratch)) / "scenario"
            violations, played, started, heard = play(chosen, folder, undisturbed, keys, patience)
            shutil.rmtree(folder.parent, ignore_errors=True)
            commands += started
            return violations, played, heard

        while scenarios == 0 or (scenario is None and time.monotonic() - start < 60 * minutes):
            one = seed[scenarios % len(seed)]
            number = scenario if scenario is not None else scenarios // len(seed)
            drawn = draw(one, number)
            chosen = list(range(len(drawn))) if steps is None else [int(word) for word in steps.split(",") if word]
            begin = time.monotonic()
            violations, played, heard = tried([drawn[place] for place in chosen])
            scenarios += 1
            fault = {place: drawn[chosen[place]].fault for place in range(len(chosen))} | {-1: "at the end"}
            for place in played:
                matrix[fault[place]].times += 1
            for place, line in heard:
                matrix[fault[place]].said[line] += 1
            for violation in violations:
                matrix[fault[violation.step]].broken[violation.rule] += 1
                click.echo(f"broken: {violation.rule}: {violation.detail}")
            click.echo(f"seed {one}, scenario {number}: {len(played)} steps, {time.monotonic() - begin:.0f} s")
            if violations:
                broken += [violation.rule for violation in violations]
                kept = chosen if steps is not None else _shrunk(drawn, chosen, violations[0].rule, tried)
                words = ["python", "-m", "tests.torture", "--seed", str(one), "--scenario", str(number)]
                click.echo("repeat: " + shlex.join([*words, "--steps", ",".join(map(str, kept))]))
            if record is not None:
                _write(record, seed, start, scenarios, commands, matrix)
    for name, row in sorted(matrix.items()):
        click.echo(f"{row.times:5d}  {name}")
    click.echo(
        f"{scenarios} scenarios of {len(seed)} seeds, {sum(row.times for row in matrix.values())} steps, {commands} "
        f"commands in {(time.monotonic() - start) / 60:.1f} min: {len(broken)} broken rules"
    )
    sys.exit(1 if broken else 0)


def _shrunk(drawn: list[Step], chosen: list[int], rule: str, tried) -> list[int]:
    """The fewest steps that were found to break the same rule."""
    kept, start = list(chosen), time.monotonic()
    for place in list(reversed(chosen))[:REPLAYS]:
        if time.monotonic() - start > SHRINKING:
            break
        fewer = [other for other in kept if other != place]
        if any(violation.rule == rule for violation in tried([drawn[other] for other in fewer])[0]):
            kept = fewer
    return kept


def _write(
    record: Path, seeds: Sequence[int], start: float, scenarios: int, commands: int, matrix: Mapping[str, Row]
) -> None:
    """What was played so far, so that a record is whole after every scenario."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    content = {
        "seeds": list(seeds),
        "minutes": round((time.monotonic() - start) / 60, 1),
        "processor minutes": round(sum(one.ru_utime + one.ru_stime for one in used) / 60, 1),
        "scenarios": scenarios,
        "commands": commands,
        "faults": {name: row.record() for name, row in sorted(matrix.items())},
    }
    write_atomic(record, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
