"""``python docs/robustness/fuzzed.py``: how hostile command lines and files ended, from the fuzzer's records.

Prints the generated part of docs/robustness.md from the files fuzz-*.json beside it, each a ``--record`` of
``python -m tests.fuzz``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from artifact.base.tables_as_text import markdown_table  # noqa: E402

#: sort of an attempt in a record -> in the table
SORTS = {"lines": "command lines", "files": "hostile files", "processes": "command lines in a new interpreter"}
#: exit codes that the rules allow
CODES = ("0", "1", "2", "130")


def lines(records: list[dict[str, Any]]) -> list[str]:
    """A row for each sort of attempt, and below it what took longer than the 20 seconds."""
    seeds = sorted({record["seed"] for record in records})
    ended: Counter[str] = sum((Counter(record["ended"]) for record in records), Counter())
    late = [attempt for record in records for attempt in record["late"]]
    broken = [(record["seed"], attempt["sort"]) for record in records for attempt in record["broken"]]
    body = []
    for sort, name in SORTS.items():
        counts = {ending.split(": ")[1]: count for ending, count in ended.items() if ending.startswith(f"{sort}: ")}
        if not counts:
            continue
        other = sum(count for code, count in counts.items() if code not in CODES)
        slow = sum(attempt["sort"] == sort for attempt in late)
        codes = [str(counts.get(code, 0)) for code in CODES]
        faults = ", ".join(str(broken.count((seed, sort))) for seed in seeds)
        body.append([name, str(sum(counts.values())), *codes, str(other), str(slow), faults])
    named = f"broken rules, seeds {', '.join(map(str, seeds))}"
    head = ["what", "attempts", *(f"code {code}" for code in CODES), "other ends", "over 20 s", named]
    minutes = sum(record["minutes"] for record in records)
    said = [f"*{minutes:.0f} minutes of {len(records)} processes, beside other work."]
    names = Counter(_name(attempt) for attempt in late)
    if names:
        said.append(f"Over 20 s: {', '.join(f'`{name}` {count}' for name, count in names.most_common())}.")
    return [*markdown_table(head, body), "", " ".join(said) + "*"]


def _name(attempt: dict[str, Any]) -> str:
    """The command of a line; the kind of a file."""
    return attempt["text"].split(",")[0] if attempt["sort"] == "files" else attempt["text"].split()[0]


if __name__ == "__main__":
    print("\n".join(lines([json.loads(path.read_text()) for path in sorted(HERE.glob("fuzz-*.json"))])))
