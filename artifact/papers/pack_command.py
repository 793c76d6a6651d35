"""``fedsharp store pack`` and ``unpack``: runs move between loose folders and the archive of a store.

The archive has a file for each declared table or figure. A run that several ask for goes to the first of them, in the
order of the declarations; tables come before figures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

import click
from click.core import ParameterSource

from artifact.base.errors import UserError
from artifact.base.options import AUDIT_ONLY, RUNS
from artifact.papers import experiments, folders, needed_runs
from artifact.runs import archive
from artifact.runs.lookup import signature, signed_runs
from artifact.runs.store import finished_folders
from artifact.runs.store_command import store_group, there
from artifact.training.config import RunConfig

__all__ = ["store_group"]

#: profiles whose runs are kept in the repository
KEPT = ("laptop", "paper")
TABLE = click.option(
    "--table", "tables", multiple=True, metavar="FILE", help="Only this file, PAPER-TABLE; may be repeated."
)


def declared() -> Iterator[tuple[str, str]]:
    """(name of a file, PAPER/TABLE or PAPER/FIGURE) of all that is declared."""
    for paper, table in experiments.all_tables():
        yield f"{paper.paper}-{table.id}", f"{paper.paper}/{table.id}"
    for paper, figure in experiments.all_figures():
        yield f"{paper.paper}-{figure.id}", f"{paper.paper}/{figure.id}"


def homes(root: Path) -> dict[str, str]:
    """Key of every loose finished run of a store -> name of the file that it belongs to."""
    loose: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    folders = {folder.name for folder in finished_folders(root)}
    for name, run in signed_runs(root):
        if run.key in folders:
            loose.setdefault(name, []).append(run.key)
            found[run.key] = archive.OTHERS
    taken: set[str] = set()
    for file, selection in declared() if loose else ():
        for config in _configs(selection):
            name = signature(config)
            if name in loose and name not in taken:
                taken.add(name)
                found |= dict.fromkeys(loose[name], file)
    return found


def _configs(selection: str) -> Iterator[RunConfig]:
    """Of a table or figure at the profiles whose runs are kept."""
    for profile in KEPT:
        with contextlib.suppress(UserError):  # it does not have this profile
            yield from needed_runs.configs(selection, profile, everything=True)


@store_group.command("pack", help="Move finished runs from their folders into the archive, a file a table or figure.")
@TABLE
@click.option("--keep", is_flag=True, help="Leave the folders as they are; a later call without it removes them.")
@RUNS
@AUDIT_ONLY
def pack_command(tables: tuple[str, ...], keep: bool, store: Path) -> int:
    """A checkpoint stays where it is. Nothing is removed before its file has been written and read again."""
    store = own_store(store)
    of = homes(there(store))
    names = _named(tables, set(of.values()))
    left: list[str] = []
    counts = archive.pack(store, {key: file for key, file in of.items() if file in names}, left.append, keep=keep)
    for line in left:
        click.echo(" ".join(line.split()))
    for file, count in counts.items():
        path = store / archive.FOLDER / f"{file}.parquet"
        size = path.stat().st_size / 1e6 if path.exists() else 0.0
        click.echo(f"{path}: {count} runs more, {size:.2f} MB")
    click.echo(f"{store}: {sum(counts.values())} runs packed, {len(left)} left loose")
    return 1 if left else 0


@store_group.command("unpack", help="Turn the archive, or some of its files, into a folder a run again.")
@TABLE
@RUNS
@AUDIT_ONLY
def unpack_command(tables: tuple[str, ...], store: Path) -> None:
    store = own_store(store)
    names = _named(tables, {path.stem for path in archive.files(there(store))})
    click.echo(f"{store}: {archive.unpack(store, names)} runs unpacked")


def own_store(store: Path) -> Path:
    """The store to pack or unpack: the folder of ``--out`` if it is given, else the audit's own ``results``.

    Raises UserError for several audits without ``--out``.
    """
    source = click.get_current_context().get_parameter_source("store")
    if source is not ParameterSource.DEFAULT or not folders.AUDITS:
        return store
    stores = [audit.results for audit in folders.AUDITS.values()]
    if len(stores) > 1:
        raise UserError("out", None, f"one store, as --out: {', '.join(map(str, stores))}")
    return stores[0]


def _named(tables: tuple[str, ...], known: Collection[str]) -> list[str]:
    """The files that an option names. Raises UserError for one that there is not."""
    for name in tables:
        if name not in known:
            raise UserError("table", name, ", ".join(sorted(known)) or "nothing: there are no such runs")
    return list(tables) or sorted(known)
