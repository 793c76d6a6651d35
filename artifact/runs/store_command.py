"""``artifact store``: whether stored records are as they were sealed, seals for those that have none, and repairs.

A record under ``results/`` is a run's folder, a row of its archive, or a sealed file of ``checks/`` or ``figures/``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from artifact.base.errors import UserError
from artifact.base.files import read_file, write_atomic
from artifact.base.options import RUNS
from artifact.runs import archive
from artifact.runs.seal import SEAL, parsed, read_sealed, seal, unsealed
from artifact.runs.store import CURVATURE, MOST, PARTS, Finished, Run, digest, finished_folders

#: bytes of the largest file that is searched for one changed bit
SEARCHED = 1 << 16


@click.group("store", help="Verify, seal, repair and pack stored records.")
def store_group() -> None:
    pass


def there(root: Path) -> Path:
    """The folder of a store. Raises UserError where there is none."""
    if not root.is_dir():
        raise UserError("out", str(root), "the folder of a store that is there")
    return root


def sealed_files(root: Path) -> list[Path]:
    """The files of a store that hold their own seal, but for done marks."""
    return sorted(path for part in ("checks/*.json", "figures/*.json") for path in root.glob(part))


def faults(root: Path) -> Iterator[tuple[Path, UserError]]:
    """(run's folder or file, what is wrong with it), for every record of a store that is not as it was sealed."""
    for path in archive.files(root):
        try:
            archive.readable(path)
        except UserError as error:
            yield path, error
    for run in _runs(root):
        found = fault(run)
        if found is not None:
            yield run.shelf.path if isinstance(run, archive.Archived) else run.folder, found
    for path in sealed_files(root):
        try:
            read_sealed(path)
        except UserError as error:
            yield path, error


def _runs(root: Path) -> list[Finished]:
    """Every record of a run: the archive's, and the loose ones, of which some may be there twice."""
    return [*archive.archived(root).values(), *(Finished(root, folder.name) for folder in finished_folders(root))]


def fault(run: Finished) -> UserError | None:
    """What is wrong with a run's record, its last model included."""
    try:
        run.checked()
        if os.path.lexists(run.checkpoint_file):
            run.model()
    except UserError as error:
        return error
    return None


# ---- verify ----------------------------------------------------------------------------------------------------------


@store_group.command("verify", help="Read every record; name in a line each that is not as it was sealed.")
@RUNS
def verify(store: Path) -> int:
    count = 0
    for _, error in faults(there(store)):
        click.echo(" ".join(str(error).split()))
        count += 1
    total = len(_runs(store)) + len(sealed_files(store))
    click.echo(f"{total} records in {store}: {total - count} as they were sealed, {count} not")
    return 1 if count else 0


# ---- seal ------------------------------------------------------------------------------------------------------------


@store_group.command("seal", help="Seal the records that have no seal yet, if they pass every check but for it.")
@RUNS
def seal_command(store: Path) -> int:
    counts = {"sealed": 0, "sealed before": 0}
    refused = 0
    for path in [*_alone(there(store)), *(folder / "done" for folder in finished_folders(store))]:
        try:
            counts[_sealed(path)] += 1
        except UserError as error:
            refused += 1
            click.echo(" ".join(str(error).split()))
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    click.echo(f"{store}: {words}, {refused} refused")
    return 1 if refused else 0


def _alone(root: Path) -> list[Path]:
    """What a done mark's checks read, and so comes first."""
    return [*sorted(root.glob(f"*/{CURVATURE}")), *sealed_files(root)]


def _sealed(path: Path) -> str:
    """Seal a file that has no seal; what happened. Raises UserError for a record that does not pass its checks."""
    try:
        content = parsed(text := read_file(path))
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(path.stem, str(path), f"a JSON object ({error})") from None
    if not isinstance(content, dict):
        raise UserError(path.stem, str(path), "a JSON object")
    if SEAL in content:
        unsealed(text, path)
        return "sealed before"
    if path.name == "done":
        _seal_run(Run(path.parent.parent, path.parent.name), content, text)
    else:
        compact = text.count(b"\n") < 2
        write_atomic(path, json.dumps(seal(content), **_layout(compact)) + "\n")
    return "sealed"


def _layout(compact: bool) -> dict[str, Any]:
    return {"separators": (",", ":")} if compact else {"indent": 1}


def _seal_run(run: Run, mark: dict[str, Any], old: bytes) -> None:
    """Write the seal, then check all that it vouches for; without success the mark is again as it was."""
    rounds = mark.get("rounds")
    if not isinstance(rounds, int) or isinstance(rounds, bool):
        raise UserError("done", str(run.done_file), "the JSON object with the number of rounds of a finished run")
    run.finish(rounds)
    try:
        Finished(run.folder.parent, run.key).verify()
    except BaseException:
        write_atomic(run.done_file, old)
        raise


# ---- repair ----------------------------------------------------------------------------------------------------------


@store_group.command("repair", help="Mend what can be mended; say of every other record what makes it again.")
@RUNS
def repair(store: Path) -> int:
    """A single changed bit is found by the digest; everything else has to be measured or trained again."""
    left = mended = 0
    for path, error in list(faults(there(store))):
        if path.suffix == ".parquet":
            done = False
        else:
            done = _mended(path) if path.is_file() else _mended_run(Finished(store, path.name))
        mended += done
        if done:
            click.echo(f"mended: {path}")
            continue
        left += 1
        click.echo(f"make again: {path}: {_again(path, store)} ({' '.join(str(error).split())})")
    click.echo(f"{store}: {mended} records mended, {left} left")
    return 1 if left else 0


def _mended_run(run: Finished) -> bool:
    """Whether every part of a run's record is as it was sealed again."""
    if not _mended(run.done_file):
        return False
    parts = Finished(run.folder.parent, run.key).mark()["parts"]
    for name in PARTS:
        if not _restored(run.folder / name, _has(parts.get(name, ""))):
            return False
    curvature = run.folder / CURVATURE
    if os.path.lexists(curvature) and not _mended(curvature):
        return False
    return fault(Finished(run.folder.parent, run.key)) is None


def _has(wanted: str) -> Callable[[bytes], bool]:
    return lambda data: digest(data) == wanted


def _mended(path: Path) -> bool:
    """Whether a file that holds its own seal is intact, or became so by one bit."""

    def fits(data: bytes) -> bool:
        try:
            unsealed(data, path)
        except (UserError, RecursionError):
            return False
        return True

    return _restored(path, fits)


def _restored(path: Path, fits: Callable[[bytes], bool]) -> bool:
    """Whether a file fits as it is, or does with one of its bits changed, which is then written back."""
    try:
        data = bytearray(read_file(path, most=MOST))
    except UserError:
        return False
    if fits(bytes(data)):
        return True
    if len(data) > SEARCHED:
        return False
    for place in range(8 * len(data)):
        data[place // 8] ^= 1 << place % 8
        if fits(bytes(data)):
            write_atomic(path, bytes(data))
            return True
        data[place // 8] ^= 1 << place % 8
    return False


def _again(path: Path, root: Path) -> str:
    """The command that makes a record again, from what can still be read of it."""
    if path.suffix == ".parquet":
        return f"git checkout -- {path}, or move the file away, then python -m artifact sweep --out {root}"
    if path.is_file():
        checked = path.parent.name == "checks"
        return f"python -m checks --claim {path.stem}" if checked else "delete the file and run its figure's command"
    try:
        command = parsed(read_file(path / "config.json"))["command"]
    except (ValueError, KeyError, TypeError):
        command = "python -m artifact sweep"
    return f"move the folder away, then {command} --out {root}"
