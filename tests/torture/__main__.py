"""``python -m tests.torture``: play scenarios for so many minutes; exit code 1 where a rule was broken."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from tests.torture.chamber import Violation, play, reference
from tests.torture.scenarios import Step, draw

#: replays that shrinking a scenario takes at most
REPLAYS = 20


@click.command()
@click.option("--seed", type=int, multiple=True, default=(1,), show_default=True, help="Seeds, played in turn.")
@click.option("--minutes", type=click.FloatRange(0), default=1.0, show_default=True, help="Time to begin scenarios in.")
@click.option("--scenario", type=int, help="Only this scenario of the first seed.")
@click.option("--steps", help="Of that scenario, only the steps with these numbers, separated by commas.")
@click.option("--patience", default=120.0, show_default=True, help="Seconds in which a process has to end.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Add what was played to this file.")
def main(seed, minutes, scenario, steps, patience, record):
    """Play scenarios; print what was injected and each broken rule with the command that repeats it."""
    start, faults, broken, scenarios, commands = time.monotonic(), Counter(), [], 0, 0
    with tempfile.TemporaryDirectory(prefix="torture-") as scratch:
        undisturbed = Path(scratch) / "undisturbed"
        keys = reference(undisturbed)

        def tried(chosen: list[Step]) -> tuple[list[Violation], list[int]]:
            nonlocal commands
            folder = Path(tempfile.mkdtemp(dir=scratch)) / "scenario"
            violations, played, started = play(chosen, folder, undisturbed, keys, patience)
            shutil.rmtree(folder.parent, ignore_errors=True)
            commands += started
            return violations, played

        while scenarios == 0 or (scenario is None and time.monotonic() - start < 60 * minutes):
            one = seed[scenarios % len(seed)]
            number = scenario if scenario is not None else scenarios // len(seed)
            drawn = draw(one, number)
            chosen = list(range(len(drawn))) if steps is None else [int(word) for word in steps.split(",") if word]
            violations, played = tried([drawn[place] for place in chosen])
            scenarios += 1
            faults.update(drawn[chosen[place]].fault for place in played)
            for violation in violations:
                click.echo(f"broken: {violation.rule}: {violation.detail}")
            if violations:
                broken += [violation.rule for violation in violations]
                kept = chosen if steps is not None else _shrunk(drawn, chosen, violations[0].rule, tried)
                words = ["python", "-m", "tests.torture", "--seed", str(one), "--scenario", str(number)]
                click.echo("repeat: " + shlex.join([*words, "--steps", ",".join(map(str, kept))]))
    summary = {
        "seeds": list(seed),
        "minutes": round((time.monotonic() - start) / 60, 1),
        "scenarios": scenarios,
        "commands": commands,
        "violations": dict(Counter(broken)),
        "faults": dict(sorted(faults.items())),
    }
    for fault, times in summary["faults"].items():
        click.echo(f"{times:5d}  {fault}")
    click.echo(
        f"{scenarios} scenarios of {len(seed)} seeds, {sum(faults.values())} steps, {commands} commands in "
        f"{summary['minutes']} min: {len(broken)} broken rules"
    )
    if record is not None:
        _add(record, summary)
    sys.exit(1 if broken else 0)


def _shrunk(drawn: list[Step], chosen: list[int], rule: str, tried) -> list[int]:
    """The fewest steps that were found to break the same rule."""
    kept = list(chosen)
    for place in list(reversed(chosen))[:REPLAYS]:
        fewer = [other for other in kept if other != place]
        if any(violation.rule == rule for violation in tried([drawn[other] for other in fewer])[0]):
            kept = fewer
    return kept


def _add(record: Path, summary: dict) -> None:
    """Sum over all invocations that wrote to the file."""
    whole = json.loads(record.read_text()) if record.exists() else {}
    for name in ("minutes", "scenarios", "commands"):
        whole[name] = round(whole.get(name, 0) + summary[name], 1)
    for name in ("violations", "faults"):
        whole[name] = dict(sorted((Counter(whole.get(name, {})) + Counter(summary[name])).items()))
    whole["seeds"] = sorted({*whole.get("seeds", []), *summary["seeds"]})
    record.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
