"""``python docs/robustness/matrix.py``: what the torture chamber injected, and what came of it, from its records.

Prints the generated part of docs/robustness.md from the files torture-*.json beside it, each a ``--record`` of
``python -m tests.torture``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from artifact.base.tables_as_text import markdown_table  # noqa: E402

LOST = ("no finished run lost",)
WRONG = ("same bits", "no record believed unchecked")
#: characters of a message that are shown
SHOWN = 90


def lines(records: list[dict[str, Any]]) -> list[str]:
    """The table over all records, and a line of sums."""
    times: Counter[str] = Counter()
    broken: dict[str, Counter[str]] = defaultdict(Counter)
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        for fault, row in record["faults"].items():
            times[fault] += row["times"]
            broken[fault].update(row["broken"])
            said[fault].update(row["said"])
    head = ["fault", "times", "runs lost", "wrong numbers", "other rules broken", "what is said most often"]
    body = [
        [
            fault,
            str(count) if count else "",
            str(sum(broken[fault][rule] for rule in LOST)),
            str(sum(broken[fault][rule] for rule in WRONG)),
            ", ".join(f"{rule} {n}" for rule, n in sorted(broken[fault].items()) if rule not in LOST + WRONG) or "0",
            _shown(said[fault]),
        ]
        for fault, count in sorted(times.items())
    ]
    return [*markdown_table(head, body), "", f"*{sums(records)}*"]


def sums(records: list[dict[str, Any]]) -> str:
    """What was played in all, in a sentence."""
    total = {name: sum(record[name] for record in records) for name in ("scenarios", "commands", "minutes")}
    seeds = {seed for record in records for seed in record["seeds"]}
    faults = [row for record in records for row in record["faults"].values()]
    worked = sum(record["processor minutes"] for record in records)
    return (
        f"{total['scenarios']} scenarios of {len(seeds)} seeds, {sum(row['times'] for row in faults)} steps, "
        f"{total['commands']} commands; "
        f"{total['minutes']:.0f} minutes of {len(records)} processes, {worked:.0f} of them on a processor; "
        f"{sum(sum(row['broken'].values()) for row in faults)} broken rules."
    )


def _shown(said: Counter[str]) -> str:
    if not said:
        return ""
    text = said.most_common(1)[0][0].replace("|", "/").replace("`", "")
    return f"`{text if len(text) <= SHOWN else text[:SHOWN] + '…'}`"


if __name__ == "__main__":
    played = sorted(HERE.glob("torture-*.json"), key=lambda path: int(path.stem.split("-")[1]))
    found = [json.loads(path.read_text()) for path in played]
    print("\n".join(lines(found)))
    print(f"\n*Of these the last two processes, after the last mend: {sums(found[-2:])}*")
