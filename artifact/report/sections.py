"""The sections of the papers as pages. A section of a paper is what one notebook of ``notebooks/`` covers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from artifact.report import notebooks
from artifact.verdicts.ledger import PAPERS, Claim


@dataclass(frozen=True)
class Section:
    """One page of a paper. name: its file's stem. claims: ids, in the paper's order."""

    name: str
    paper: str
    title: str
    claims: tuple[str, ...]

    @property
    def page(self) -> str:
        return f"{self.name}.html"


def sections(claims: Mapping[str, Claim]) -> list[Section]:
    """The pages of all papers in their order; claims that no notebook shows come last in their paper."""
    left = dict.fromkeys(claims)
    found: list[Section] = []
    for name in notebooks.names():
        shown = [id for id in notebooks.claims_of(name) if id in left]
        if shown:
            found.append(Section(f"paper-{name}", name.partition("-")[0], _title(name), tuple(shown)))
        for id in shown:
            del left[id]
    for paper in PAPERS:
        rest = [id for id in left if claims[id].paper == paper]
        title = "More claims" if any(section.paper == paper for section in found) else "Claims"
        if rest:
            found.append(Section(f"paper-{paper}-more", paper, title, tuple(rest)))
    return sorted(found, key=lambda section: PAPERS.index(section.paper))


def _title(name: str) -> str:
    """``Section 3``, ``Appendices A and B``, from a notebook's name."""
    words = name.partition("-")[2].split("-")
    kind, places = words[0].capitalize(), [word.upper() for word in words[1:]]
    between = " and " if re.match("Append", kind) and len(places) == 2 and kind.endswith("ces") else " to "
    return f"{kind} {between.join(places)}"
