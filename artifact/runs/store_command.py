"""``fedsharp store``: whether stored records are as they were sealed, seals for those that have none, and repairs.

A record under ``results/`` is a run's folder, a row of its archive, a sealed file of ``figures/``, or a sealed line of
a file of ``checks/``, which holds a paper's evidence.
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
from artifact.runs import archive, evidence
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
    """The numbers that figures draw, of which each file holds its own seal."""
    return sorted(root.glob("figures/*.json"))


def _evidence(root: Path) -> Iterator[evidence.Line | tuple[Path, UserError]]:
    """Every line of evidence in a store; of a file that cannot be read, its path and the reason."""
    for path in evidence.files(root / "checks"):
        try:
            yield from evidence.lines(path)
        except UserError as error:
            yield path, error


def faults(root: Path) -> Iterator[tuple[Path | evidence.Line, UserError]]:
    """(run's folder, file or line, what is wrong with it), for every record of a store that is not as it was sealed."""
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
    for line in _evidence(root):
        if not isinstance(line, evidence.Line):
            yield line
            continue
        try:
            line.content()
        except UserError as error:
            yield line, error


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
    total = len(_runs(store)) + len(sealed_files(store)) + sum(1 for _ in _evidence(store))
    click.echo(f"{total} records in {store}: {total - count} as they were sealed, {count} not")
    return 1 if count else 0


# ---- seal ------------------------------------------------------------------------------------------------------------


@store_group.command("seal", help="Seal the records that have no seal yet, if they pass every check but for it.")
@RUNS
def seal_command(store: Path) -> int:
    counts = {"sealed": 0, "sealed before": 0}
    refused = 0
    marks = [folder / "done" for folder in finished_folders(there(store))]
    for record in [*_alone(store), *marks, *_evidence(store)]:
        try:
            counts[_sealed(record)] += 1
        except UserError as error:
            refused += 1
            click.echo(" ".join(str(error).split()))
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    click.echo(f"{store}: {words}, {refused} refused")
    return 1 if refused else 0


def _alone(root: Path) -> list[Path]:
    """What a done mark's checks read, and so comes first."""
    return [*sorted(root.glob(f"*/{CURVATURE}")), *sealed_files(root)]


def _sealed(record: Path | evidence.Line | tuple[Path, UserError]) -> str:
    """Seal a file or line that has no seal; what happened. Raises UserError for one that does not pass its checks."""
    if isinstance(record, tuple):
        raise record[1]
    path = record.path if isinstance(record, evidence.Line) else record
    try:
        content = parsed(text := record.text if isinstance(record, evidence.Line) else read_file(path))
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(path.stem, str(path), f"a JSON object ({error})") from None
    if not isinstance(content, dict):
        raise UserError(path.stem, str(path), "a JSON object")
    if SEAL in content:
        unsealed(text, path)
        return "sealed before"
    if isinstance(record, evidence.Line):
        evidence.replace_line(record, json.dumps(seal(content)).encode())
    elif path.name == "done":
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
    for record, error in list(faults(there(store))):
        done = _mended_record(record, store)
        mended += done
        where = record.where if isinstance(record, evidence.Line) else record
        if done:
            click.echo(f"mended: {where}")
            continue
        left += 1
        click.echo(f"make again: {where}: {_again(record, store)} ({' '.join(str(error).split())})")
    click.echo(f"{store}: {mended} records mended, {left} left")
    return 1 if left else 0


def _mended_record(record: Path | evidence.Line, store: Path) -> bool:
    """Whether a damaged record is as it was sealed again; an archive's file is never changed."""
    if isinstance(record, evidence.Line):
        whole = _restored(record.text, lambda data: _intact(evidence.Line(record.path, record.number, data).content))
        if whole is not None:
            evidence.replace_line(record, whole)
        return whole is not None
    if record.suffix in (".parquet", evidence.SUFFIX):
        return False
    return _mended(record) if record.is_file() else _mended_run(Finished(store, record.name))


def _intact(read: Callable[[], Any]) -> bool:
    try:
        read()
    except (UserError, RecursionError):
        return False
    return True


def _mended_run(run: Finished) -> bool:
    """Whether every part of a run's record is as it was sealed again."""
    if not _mended(run.done_file):
        return False
    parts = Finished(run.folder.parent, run.key).mark()["parts"]
    for name in PARTS:
        if not _restored_file(run.folder / name, _has(parts.get(name, ""))):
            return False
    curvature = run.folder / CURVATURE
    if os.path.lexists(curvature) and not _mended(curvature):
        return False
    return fault(Finished(run.folder.parent, run.key)) is None


def _has(wanted: str) -> Callable[[bytes], bool]:
    return lambda data: digest(data) == wanted


def _mended(path: Path) -> bool:
    """Whether a file that holds its own seal is intact, or became so by one bit."""
    return _restored_file(path, lambda data: _intact(lambda: unsealed(data, path)))


def _restored_file(path: Path, fits: Callable[[bytes], bool]) -> bool:
    """Whether a file fits as it is, or does with one of its bits changed, which is then written back."""
    try:
        data = read_file(path, most=MOST)
    except UserError:
        return False
    whole = _restored(data, fits)
    if whole is not None and whole != data:
        write_atomic(path, whole)
    return whole is not None


def _restored(data: bytes, fits: Callable[[bytes], bool]) -> bytes | None:
    """The data if they fit, or with the one bit changed that makes them fit; None where no bit does."""
    if fits(data):
        return data
    if len(data) > SEARCHED:
        return None
    tried = bytearray(data)
    for place in range(8 * len(data)):
        tried[place // 8] ^= 1 << place % 8
        if fits(bytes(tried)):
            return bytes(tried)
        tried[place // 8] ^= 1 << place % 8
    return None


def _again(record: Path | evidence.Line, root: Path) -> str:
    """The command that makes a record again, from what can still be read of it."""
    if isinstance(record, evidence.Line):
        checked = f"python -m checks --claim {record.claim}, or of an audit, python -m fedsharp audit run FOLDER"
        return checked if record.claim else f"delete line {record.number}, then python -m checks"
    path = record
    if path.suffix == evidence.SUFFIX:
        return "move it away, then python -m checks"
    if path.suffix == ".parquet":
        return f"git checkout -- {path}, or move the file away, then python -m fedsharp sweep --out {root}"
    if path.is_file():
        return "delete the file and run its figure's command"
    try:
        command = parsed(read_file(path / "config.json"))["command"]
    except (ValueError, KeyError, TypeError):
        command = "python -m fedsharp sweep"
    return f"move the folder away, then {command} --out {root}"
