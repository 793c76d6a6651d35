"""What edits of all numbers came to: on record in ``docs/proofs/edits/record.json``.

Every number in the expressions of a check is raised by one and, alone again, lowered. Where a number is a constant of a
bound, one of the two tightens it.

* refused: both edits end the check, or change its verdict;
* one way: one edit does so, and the other shows in the evidence;
* shown: the verdict stays, and both edits show in the evidence, as those of an instance's start do;
* unnoticed: the verdict stays, and an edit shows nowhere;
* not reached: deciding the claim does not come to the line, which serves changed constants.

Numbers inside texts are left out: a text shows what it says, and nothing decides it. A record holds for the lines of
the check itself; a helper that changed since is not noticed.

python -m checks.edits_record      tries what has changed since it was tried last, on all cores; an hour for all
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from typing import Any

from artifact.base import paths
from artifact.base.files import write_atomic
from checks import edits, runner

FOLDER = paths.ROOT / "docs" / "proofs"
FILE = FOLDER / "edits" / "record.json"
WORDS = ("refused", "one way", "shown", "unnoticed", "not reached")


def owners() -> dict[str, list[edits.Site]]:
    """Claim, or module of statement objects -> the numbers of its expressions."""
    found = sorted((site for site in edits.sites() if not site.text), key=lambda site: (site.owner, site.start))
    return {owner: list(own) for owner, own in groupby(found, key=lambda site: site.owner)}


def digest(sites: Sequence[edits.Site]) -> str:
    """Of the lines that hold an owner's numbers, wherever in the file they stand."""
    text = "\n".join(f"{site.number} {site.line}" for site in sites)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def word(found: Sequence[str]) -> str:
    """The word for the outcomes of a number's edits, as ``edits.outcome`` gives them."""
    if any(one not in ("fails", "changes") for one in found):
        return "unnoticed"
    return {0: "shown", len(found): "refused"}.get(list(found).count("fails"), "one way")


def tried(owner: str, sites: Sequence[edits.Site]) -> dict[str, Any]:
    """The record of an owner: its digest, the number of each word, and the places whose edit shows nowhere."""
    before = edits.in_child(lambda: edits.seen(owner, False))
    if before["fails"]:
        raise ValueError(f"{owner} fails before any edit: {before['fails']}")
    count, places = Counter[str](), []
    for site in sites:
        both = [
            edits.outcome(before, edits.in_child(lambda by=by, site=site: edits.after_edit(site, False, by)))
            for by in (1, -1)
        ]
        kind = word(both)
        if kind == "unnoticed" and not edits.in_child(lambda site=site: edits.reached(site)).get("reached", True):
            kind = "not reached"
        places += [f"{owner}: {site.number} in {site.line}"] * (kind == "unnoticed")
        count[kind] += 1
    return {"digest": digest(sites), **{kind: count[kind] for kind in WORDS}, "places": places}


def _started() -> None:
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    os.environ.pop(runner.KEPT_VARIABLE, None)
    runner.import_theory()


def stored() -> dict[str, dict[str, Any]]:
    """Records by owner."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def stale(records: Mapping[str, Mapping[str, Any]]) -> dict[str, list[edits.Site]]:
    """Owners whose numbers are not those on record."""
    return {owner: own for owner, own in owners().items() if records.get(owner, {}).get("digest") != digest(own)}


def main(names: Sequence[str] = ()) -> None:
    """Try what is not on record, or those named; the file is written after each."""
    runner.import_theory()
    known = owners()
    for name in names:
        if name not in known:
            raise SystemExit(f"error: claim: {name!r} is not possible; allowed: {', '.join(known)}")
    records = {owner: record for owner, record in stored().items() if owner in known}
    todo = {name: known[name] for name in names} or stale(records)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork"), _started) as pool:
        jobs = {pool.submit(tried, owner, own): owner for owner, own in todo.items()}
        for job in as_completed(jobs):
            owner = jobs[job]
            records[owner] = job.result()
            records = dict(sorted(records.items()))
            FILE.parent.mkdir(exist_ok=True)
            write_atomic(FILE, json.dumps(records, indent=1) + "\n")
            print(f"{owner}: {', '.join(f'{records[owner][kind]} {kind}' for kind in WORDS)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
