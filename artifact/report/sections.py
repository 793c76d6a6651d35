"""The sections of the papers as pages: each notebook's claims, on so many pages that each one is short enough to read.

A section of a paper is what one notebook of ``notebooks/`` covers. Where its claims would print to more than a dozen
sheets, they are spread over several pages of about the same length, in their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from artifact.report import notebooks
from artifact.verdicts.ledger import PAPERS, Claim

#: words of a page at most, as ``weight`` counts them
LONGEST = 3_300
#: words that a card takes beside its claim's text: heading, badge, links, how to contest
FRAME = 190
#: letters of stored evidence that are shown as one word, words of it that are shown at most, and words of a comparison,
#: which are all listed
LETTERS, SHOWN, COMPARED = 14, 420, 12


@dataclass(frozen=True)
class Section:
    """One page of a paper. name: its file's stem. part: (which, of how many) pages of the section. claims: ids."""

    name: str
    paper: str
    title: str
    part: tuple[int, int]
    claims: tuple[str, ...]

    @property
    def page(self) -> str:
        return f"{self.name}.html"

    @property
    def heading(self) -> str:
        which, of = self.part
        return self.title if of == 1 else f"{self.title} ({which} of {of})"


def weight(claim: Claim, evidence: Sequence[object]) -> float:
    """About how many words the card of a claim has. evidence: on paper, in training, the repair."""
    text = f"{claim.statement} {claim.note} {claim.how_to_check}"
    shown = (min(SHOWN, len(json.dumps(one, default=str)) / LETTERS) for one in evidence)
    compared = (len(one.get("comparisons", ())) for one in evidence if isinstance(one, Mapping))
    return FRAME + len(text.split()) + sum(shown) + COMPARED * sum(compared)


def sections(claims: Mapping[str, Claim], evidence: Mapping[str, Sequence[object]]) -> list[Section]:
    """The pages of all papers in their order; claims that no notebook shows come last in their paper.

    evidence: claim id -> what the checks and the runs found.
    """
    left = dict.fromkeys(claims)
    found: list[Section] = []
    for name in notebooks.names():
        shown = [id for id in notebooks.claims_of(name) if id in left]
        found += _parts(f"paper-{name}", name.partition("-")[0], _title(name), shown, claims, evidence)
        for id in shown:
            del left[id]
    for paper in PAPERS:
        rest = [id for id in left if claims[id].paper == paper]
        title = "More claims" if any(section.paper == paper for section in found) else "Claims"
        found += _parts(f"paper-{paper}-more", paper, title, rest, claims, evidence)
    return sorted(found, key=lambda section: PAPERS.index(section.paper))


def _title(name: str) -> str:
    """``Section 3``, ``Appendices A and B``, from a notebook's name."""
    words = name.partition("-")[2].split("-")
    kind, places = words[0].capitalize(), [word.upper() for word in words[1:]]
    between = " and " if re.match("Append", kind) and len(places) == 2 and kind.endswith("ces") else " to "
    return f"{kind} {between.join(places)}"


def _parts(
    stem: str,
    paper: str,
    title: str,
    ids: Sequence[str],
    claims: Mapping[str, Claim],
    evidence: Mapping[str, Sequence[object]],
) -> list[Section]:
    """The claims on as few pages as their weight allows, each of about the same."""
    if not ids:
        return []
    reached = np.cumsum([weight(claims[id], evidence[id]) for id in ids])
    count = int(np.ceil(reached[-1] / LONGEST))
    cuts = [0, *(int(np.abs(reached - reached[-1] * k / count).argmin()) + 1 for k in range(1, count)), len(ids)]
    return [
        Section(stem if which == 1 else f"{stem}-{which}", paper, title, (which, count), tuple(ids[start:end]))
        for which, (start, end) in enumerate(pairwise(cuts), 1)
    ]
