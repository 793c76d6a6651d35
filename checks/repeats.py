"""Numbers that stand twice in the papers' tables where they are said to be measured anew, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from artifact.base.tables_as_text import markdown_table

#: under docs/findings
FILE = "repeated_numbers.md"


def page(stored: Mapping[str, Mapping[str, Any]]) -> str:
    """The page on repeated numbers: each claim with its count, and its cells where their places differ.

    stored: evidence by claim.
    """
    parts = ["# Numbers that repeat\n", "The cells are read from `claims/tables/`.\n"]
    for claim, words, head, rows in _all(stored):
        derived = stored[claim]["evidence"]["derived"]
        found = "; ".join(f"{k}: {v}" for k, v in derived.items()) if isinstance(derived, Mapping) else derived
        parts += [f"**{words}** (`{claim}`: {found}).\n", *([*markdown_table(head, rows), ""] if rows else [])]
    return "\n".join(parts)


def _all(stored: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Sequence[str], list[list[str]]]]:
    yield (
        "fan24-tab2-baselines",
        "FedLESAM's Table 2 has the eight baselines of FedSMOO's Table 1, mean and deviation",
        [],
        [],
    )
    yield (
        "fan24-tab3-rows",
        "Two methods have the same rows in both parts of FedLESAM's Table 3",
        [],
        [],
    )
    yield (
        "man-tab6",
        "MAN's Table 6 has rows of Table 2 under other names",
        ["row of Table 6", "row of Table 2", "the four numbers of both"],
        [[six, two, ", ".join(cells)] for six, two, cells in stored["man-tab6"]["evidence"]["repeated"]],
    )
    yield (
        "qu22-tab1-repeat",
        "FedSAM's Tables 4 and 5 swap the rows of methods against Table 1",
        ["row", "Table 1", "Tables 4, 5", "whose row of Table 1 that is, cell by cell"],
        [
            [
                " ".join(entry["row"]),
                " ".join(entry["table1"]),
                " ".join(entry.get("qu22_table4") or entry["qu22_table5"]),
                ", ".join("/".join(names) or "none" for names in entry["cells_of"]),
            ]
            for entry in stored["qu22-tab1-repeat"]["evidence"]["differing"]
        ],
    )
