"""Numbers that stand twice in the papers' tables where they are said to be measured anew, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from artifact.base.tables_as_text import markdown_table
from theory.kit.tables import Row, table

#: columns that say which cell of FedLESAM's Table 2 and of FedSMOO's Table 1 is meant
WHERE = ("dataset", "split", "participation", "algorithm")
SHOWN = 2  # cells per method on the page; all are counted


def section(stored: Mapping[str, Mapping[str, Any]]) -> str:
    """The page's part on repeated numbers: each claim with its count and its cells. stored: evidence by claim."""
    parts = ["## Numbers that repeat\n", "The cells are read from `claims/tables/`; a row shows one cell twice.\n"]
    for claim, words, head, rows in _all(stored):
        derived = stored[claim]["evidence"]["derived"]
        found = "; ".join(f"{k}: {v}" for k, v in derived.items()) if isinstance(derived, Mapping) else derived
        parts += [f"**{words}** (`{claim}`: {found}).\n", *markdown_table(head, rows), ""]
    return "\n".join(parts)


def _all(stored: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Sequence[str], list[list[str]]]]:
    yield (
        "fan24-tab2-baselines",
        "FedLESAM's Table 2 has the eight baselines of FedSMOO's Table 1, mean and deviation",
        ["cell", "FedLESAM Table 2", "FedSMOO Table 1"],
        list(_baselines()),
    )
    yield (
        "fan24-tab3-rows",
        "Two methods have the same rows in both parts of FedLESAM's Table 3",
        ["method and domain", "all clients", "a fifth of the clients"],
        list(_blocks(stored["fan24-tab3-rows"]["evidence"]["equal_cells_of_10"])),
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


def _cell(row: Row) -> str:
    return f"{row['value']} ({row['std']})" if row["std"] else row["value"]


def _baselines() -> Iterator[list[str]]:
    theirs = {tuple(row[k] for k in WHERE): row for row in table("fedsmoo_table1")}
    shown: dict[str, int] = {}
    for row in table("fedlesam_table2"):
        other = theirs.get(tuple(row[k] for k in WHERE))
        method = row["algorithm"]
        if other and shown.get(method, 0) < SHOWN:
            shown[method] = shown.get(method, 0) + 1
            yield [f"{method}, {row['dataset']}, {row['split']}, {row['participation']}", _cell(row), _cell(other)]


def _blocks(equal: Mapping[str, int]) -> Iterator[list[str]]:
    rows = table("fedlesam_table3")
    parts = rows.distinct("participation")
    for method in (name for name, count in equal.items() if count):
        for one, other in zip(*(rows.where(algorithm=method, participation=part) for part in parts), strict=True):
            yield [f"{method}, {one['dataset']}, {one['split'].partition('target=')[2]}", _cell(one), _cell(other)]
