"""Finished runs in a handful of files: ``<root>/runs/<table>.parquet``, a row a run, beside loose folders.

A store may hold both. A run in the archive keeps its key and its seal: its files can be rebuilt byte for byte from the
columns, and every digest of its done mark still fits. Where a run is there twice with one seal the archive is read.
Where the seals differ the loose folder counts, so whoever changes a record (a measurement of curvature) takes it out of
the archive first, and the next ``store pack`` puts it back.

``runs/croissant.json`` describes the columns and holds a digest of each file. A file whose bytes fit that digest is
what was checked when it was packed. Of any other file each run is held against its own seal before it is believed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from artifact.base import names as types_of_names
from artifact.base.errors import UserError
from artifact.base.files import Stamp, read_file, settled, stamp, write_atomic
from artifact.runs import columns, croissant, parquet_footer, schema
from artifact.runs.seal import SEAL, Changed, believed, parsed, unsealed
from artifact.runs.store import (
    CURVATURE,
    MOST,
    PARTS,
    Finished,
    Kept,
    Run,
    digest,
    finished_folders,
    fits,
    unfinished_folders,
)

if TYPE_CHECKING:
    import polars

#: folder of a store with its archive
FOLDER = "runs"
#: file of runs that no declared table or figure asks for
OTHERS = "others"
#: values of the largest file, of eight bytes each: a gigabyte
MOST_VALUES = 1 << 27
#: of zstd: a tenth fewer bytes than by default, and no slower to read
COMPRESSION = 19


# ---- files -----------------------------------------------------------------------------------------------------------


class Shelf:
    """One file of an archive, as its bytes were when it was opened.

    path: of the file.  data: its bytes.  vouched: whether the metadata file holds their digest.
    """

    def __init__(self, path: Path, data: bytes, vouched: bool):
        self.path = path
        self.data = data
        self.vouched = vouched

    @classmethod
    def of(cls, path: Path, frame: polars.DataFrame) -> Shelf:
        """A shelf of the archive from a table in memory; nothing is written."""
        return cls(path, _bytes(frame), True)

    def read(self, names: Collection[str] | None = None) -> polars.DataFrame:
        """The table, or some of its columns. Raises UserError where the file is no Parquet table any more."""
        pl = columns.library()
        _ = self.bounded
        try:
            return pl.read_parquet(io.BytesIO(self.data), columns=names if names is None else list(names))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            allowed = f"a Parquet file as `fedsharp store pack` writes it ({error})"
            raise Changed(self.path.stem, str(self.path), allowed) from None

    @cached_property
    def bounded(self) -> int:
        """Values that the file unpacks to. Raises UserError where they are more than any archive's, or not said."""
        try:
            found = parquet_footer.values(self.data)
        except ValueError as error:
            allowed = f"a Parquet file as `fedsharp store pack` writes it ({error})"
            raise Changed(self.path.stem, str(self.path), allowed) from None
        if found > MOST_VALUES:
            allowed = f"a Parquet file that unpacks to at most {MOST_VALUES} values; this has {found}"
            raise Changed(self.path.stem, str(self.path), allowed)
        return found

    @cached_property
    def types(self) -> dict[str, Any]:
        """Name of a column -> its type."""
        pl = columns.library()
        try:
            return dict(pl.read_parquet_schema(io.BytesIO(self.data)))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            allowed = f"a Parquet file as `fedsharp store pack` writes it ({error})"
            raise Changed(self.path.stem, str(self.path), allowed) from None

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every run's columns, without its rounds."""
        found = self.read([name for name in self.types if not name.startswith(columns.ROUND)]).to_dicts()
        for row in found:
            if not types_of_names.fits(row.get("key"), types_of_names.RUN):  # it names a folder
                words = types_of_names.WORDS[types_of_names.RUN]
                allowed = f"a table of runs, each with a key of {words}, not {row.get('key')!r}"
                raise Changed(self.path.stem, str(self.path), allowed)
        return found

    @cached_property
    def rounds(self) -> polars.DataFrame:
        """Every run's rounds: a list per column."""
        return self.read([name for name in self.types if name.startswith(columns.ROUND)])

    @cached_property
    def last_costs(self) -> dict[str, list[Any]]:
        """Entry of a round's cost -> what each run's last round has."""
        prefix = f"{columns.ROUND}cost."
        names = [name for name in self.types if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.read([name])[name].list.last().to_list() for name in names}

    @cached_property
    def _flat(self) -> dict[str, tuple[Any, Any]]:
        return {}

    def numbers(self, name: str, row: int) -> Any:
        """A column of a run's rounds [rounds] as a NumPy array, NaN where there is none; empty without any."""
        import numpy as np

        path = columns.ROUND + name
        if path not in self._flat:
            lists = self.read([path])[path]
            lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
            ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            flat = lists.filter(lists.list.len() > 0).explode().cast(columns.library().Float64)
            self._flat[path] = (flat.to_numpy(), ends)
        flat, ends = self._flat[path]
        return flat[ends[row] : ends[row + 1]]


#: path -> what its files were when it was read last, and the shelf
_OPEN: dict[str, tuple[Stamp | None, Shelf]] = {}


def files(root: Path) -> list[Path]:
    """The files of a store's archive."""
    return sorted((Path(root) / FOLDER).glob("*.parquet"))


def shelf(path: Path) -> Shelf:
    """A file of an archive; a process reads one that does not change once. Raises UserError as ``read_file``."""
    place = os.path.realpath(path)
    seen = stamp(path.parent, (path.name, *([croissant.FILE] if (path.parent / croissant.FILE).exists() else [])))
    known = _OPEN.get(place)
    if known is None or seen is None or known[0] != seen or not settled(seen):
        data = read_file(path, most=MOST)
        vouched = croissant.digests(path.parent).get(path.name) == digest(data)
        if known is None or known[1].data != data or known[1].vouched != vouched:
            known = (seen, Shelf(path, data, vouched))
        _OPEN[place] = (seen, known[1])
    return _OPEN[place][1]


def _shelves(root: Path) -> list[Shelf]:
    """The files of an archive; one that cannot be read is named in a line and left out."""
    found = []
    for path in files(root):
        one = believed(partial(readable, path))
        if one is not None:
            found.append(one)
    return found


def readable(path: Path) -> Shelf:
    """A file of an archive whose runs can be read. Raises UserError for any other."""
    one = shelf(path)
    if not one.vouched:
        names = one.types
        missing = {"key", "seal", "completed", *list(columns.DIGESTS.values())[:4]} - set(names)
        if missing:
            raise Changed(path.stem, str(path), f"a table of runs; it has no column {sorted(missing)[0]}")
    _ = one.rows
    return one


# ---- runs ------------------------------------------------------------------------------------------------------------


class Archived(Finished):
    """A finished run in an archive. Reads like a loose one; ``folder`` may hold its checkpoint."""

    def __init__(self, root: Path, key: str, place: Shelf, row: int):
        super().__init__(root, key)
        self.shelf = place
        self.row = row

    @property
    def started(self) -> bool:
        return True

    @property
    def seal(self) -> str:
        """Digest over all of the run's digests."""
        return self._columns["seal"]

    def same_seals(self, loose: Finished) -> bool:
        """Whether a loose run of this key has the same done mark and curvature, by their seals."""
        try:
            mark = parsed(read_file(loose.done_file))
            path = loose.folder / CURVATURE
            measured = parsed(read_file(path)).get(SEAL) if os.path.lexists(path) else None
            return mark == columns.mark_of(self._columns) and measured == self._columns.get("curvature.seal")
        except (ValueError, AttributeError):
            return False

    @property
    def where(self) -> str:
        """The run's place as messages name it."""
        return f"{self.shelf.path}, run {self.key}"

    @cached_property
    def _kept(self) -> Kept:
        return Kept()

    @property
    def _columns(self) -> Mapping[str, Any]:
        return self.shelf.rows[self.row]

    @cached_property
    def _other(self) -> dict[str, Any]:
        text = self._columns.get("other")
        return json.loads(text) if text else {}

    def _changed(self, allowed: str) -> Changed:
        return Changed(self.key, self.where, allowed)

    def _read_config(self) -> dict[str, Any]:
        return columns.config_of(self._columns, self._other)

    def environment(self) -> dict[str, Any]:
        return columns.part_of(self._columns, columns.ENVIRONMENT, self._other)

    def _sealed_curvature(self) -> dict[str, Any]:
        return columns.curvature_of(self._columns, self._other)

    def curvature(self) -> dict[str, Any]:
        found = self._sealed_curvature()
        found.pop("seal", None)
        return found

    def _read_mark(self) -> dict[str, Any]:
        mark = columns.mark_of(self._columns)
        del mark["seal"]
        return mark

    @cached_property
    def _lists(self) -> dict[str, list[Any]]:
        row = self.shelf.rounds.row(self.row, named=True)
        return {name.removeprefix(columns.ROUND): values for name, values in row.items() if values is not None}

    def _read_metrics(self) -> list[dict[str, Any]]:
        return columns.lines_of(self._lists, self._columns["completed"])

    def _read_round_seconds(self) -> list[float]:
        return self.shelf.numbers("seconds", self.row).tolist()

    def series(self, quantity: str) -> dict[int, float]:
        return self._once(f"series {quantity}", lambda: self._read_series(quantity))

    def _read_series(self, quantity: str) -> dict[int, float]:
        if self._has_text or "." not in quantity:
            return super().series(quantity)
        if columns.ROUND + quantity not in self.shelf.types:
            return {}
        values = self.shelf.numbers(quantity, self.row)
        held = (values == values).nonzero()[0]
        return dict(zip((held + 1).tolist(), values[held].tolist(), strict=True))

    def completed(self) -> int:
        return self._columns["completed"]

    def traffic(self) -> list[float]:
        cohort, up, down = (self.shelf.numbers(name, self.row) for name in ("cohort", "cost.up", "cost.down"))
        return (cohort * (up + down)).tolist()

    def cost(self) -> dict[str, Any]:
        return {name: values[self.row] for name, values in self.shelf.last_costs.items()}

    @property
    def _has_text(self) -> bool:
        """Whether a line of it has entries that no column holds."""
        return f"{columns.ROUND}other" in self.shelf.types and self._lists.get("other") is not None

    @property
    def diverged(self) -> bool:
        if f"{columns.ROUND}diverged" not in self.shelf.types and not self._has_text:
            return False
        return super().diverged

    def part(self, name: str) -> bytes:
        """The part's file as it was, rebuilt. Raises UserError where it is not what the done mark vouches for."""
        content = self.rebuilt(name)
        if self.mark()["parts"].get(name) != digest(content):
            raise self._changed(f"the record as it was sealed, whose {name} was changed since")
        return content

    def rebuilt(self, name: str) -> bytes:
        """Content of one of the run's files."""
        if name == "metrics.jsonl":
            return b"".join(f"{columns.text(line)}\n".encode() for line in self._read_metrics())
        if name == "timings.jsonl":
            lines = enumerate(self._read_round_seconds(), 1)
            return b"".join(f"{columns.text({'round': t, 'seconds': s})}\n".encode() for t, s in lines)
        if name == "done":
            return (json.dumps(columns.mark_of(self._columns), indent=1) + "\n").encode()
        if name == CURVATURE:
            return (json.dumps(self._sealed_curvature(), indent=1) + "\n").encode()
        content = self.environment() if name == "environment.json" else self._read_config()
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()

    @property
    def names(self) -> list[str]:
        """The run's files; the done mark comes last."""
        return [*PARTS, *([CURVATURE] if self._sealed_curvature() else []), "done"]

    def _read_verified(self) -> bool:
        return True if self.shelf.vouched else self.checked()

    def checked(self) -> bool:
        """True where the whole run is as it was sealed, by its digests. Raises UserError where it is not."""
        unsealed(self.rebuilt("done"), Path(self.where))
        for name in PARTS:
            self.part(name)
        self.require_own()
        if not (
            fits(schema.Config, self.config())
            and fits(schema.Done, self.mark())
            and fits(GenericAlias(list, schema.Round), self._read_metrics())
        ):
            raise self._changed("a record with entries as a run writes them")
        rounds = [line["round"] for line in self._read_metrics()]
        if rounds != list(range(1, self.mark()["rounds"] + 1)) or len(self._read_round_seconds()) != len(rounds):
            raise self._changed(f"a line for each of the {self.mark()['rounds']} rounds of the finished run")
        if CURVATURE in self.names:
            fits(schema.Curvature, unsealed(self.rebuilt(CURVATURE), Path(self.where)))
        return True

    def record_curvature(self, content: Mapping[str, Any]) -> None:
        """As of a loose run, which it becomes: the archive is written by ``store pack`` alone."""
        unpack_run(self)
        Run(self.root, self.key).record_curvature(content)


#: shelves of a store -> key -> run; the shelves are compared by identity
_RUNS: dict[str, tuple[list[Shelf], dict[str, Archived]]] = {}


def archived(root: Path) -> dict[str, Archived]:
    """Key -> run of a store's archive. A file that cannot be read is named in a line and left out."""
    shelves = _shelves(root)
    name = str(root)
    if name not in _RUNS or not _same(_RUNS[name][0], shelves):
        runs: dict[str, Archived] = {}
        for one in shelves:
            for row, content in enumerate(one.rows):
                runs.setdefault(content["key"], Archived(Path(root), content["key"], one, row))
        _RUNS[name] = (shelves, runs)
    return _RUNS[name][1]


def _same(a: list[Shelf], b: list[Shelf]) -> bool:
    return len(a) == len(b) and all(one is other for one, other in zip(a, b, strict=True))


def open_run(root: Path, key: str) -> Run:
    """The run of a key, begun or not: its loose folder where that is finished, else the archive's, else the folder."""
    run = Run(root, key)
    return run if run.done else archived(root).get(key, run)


def finished_keys(root: Path) -> list[str]:
    """Keys of all finished runs of a store, in order."""
    return sorted({folder.name for folder in finished_folders(root)} | archived(root).keys())


def finished_runs_of(root: Path) -> Iterator[Finished]:
    """All finished runs of a store in the order of their keys, loose or archived; none of it is checked."""
    found: dict[str, Finished] = dict(archived(root))
    for folder in finished_folders(root):
        loose, packed = Finished(root, folder.name), found.get(folder.name)
        if not (isinstance(packed, Archived) and packed.same_seals(loose)):
            found[folder.name] = loose
    for _, run in sorted(found.items()):
        yield run


def finished(root: Path) -> Iterator[Finished]:
    """The finished runs under a root; one whose config is not as it was sealed is named in a line and left out.

    Their other parts are not read here: ``intact`` says whether these, too, are as they were sealed.
    """
    for run in finished_runs_of(root):
        if believed(run.config) is not None:
            yield run


def unfinished(root: Path) -> Iterator[Run]:
    """The runs under a root that were begun and not ended; one whose config is damaged is named and left out."""
    packed = archived(root)
    for folder in unfinished_folders(root):
        run = Run(root, folder.name)
        if folder.name not in packed and not run.done and believed(run.config) is not None:
            yield run


# ---- packing ---------------------------------------------------------------------------------------------------------


def record_of(run: Finished) -> columns.Record:
    """A run's record as plain data, after every check. Raises UserError where it is not as it was sealed."""
    run.verify()
    if isinstance(run, Archived):
        mark, curvature = columns.mark_of(run._columns), run._sealed_curvature()
    else:
        mark = parsed(read_file(run.done_file))
        path = run.folder / CURVATURE
        curvature = parsed(read_file(path)) if os.path.lexists(path) else {}
    return columns.Record(run.key, run.config(), run.environment(), mark, curvature, run.metrics(), run.round_seconds())


def pack(
    root: Path, chosen: Mapping[str, str], told: Callable[[str], None] = lambda line: None, *, keep: bool = False
) -> dict[str, int]:
    """Move loose runs into the archive and remove their folders' records; a checkpoint stays where it is.

    chosen: key of a loose run -> name of the file it goes to; a run of the archive stays in its file.
    told: gets a line for each run that cannot be packed, and which stays loose.  keep: leave the folders as they are.
    Returns file -> runs that went into it. Nothing is removed before its file has been written and read again.
    """
    folder = Path(root) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    with _alone(folder):
        homes = {key: run.shelf.path.stem for key, run in archived(root).items()}
        by_file: dict[str, list[Finished]] = {}
        for key, name in sorted(chosen.items()):
            by_file.setdefault(homes.get(key, name), []).append(Finished(root, key))
        for name, runs in sorted(by_file.items()):
            packed = _pack_file(root, folder / f"{name}.parquet", runs, told)
            for run in () if keep else packed:
                _remove(run)
            counts[name] = len(packed)
        _vouch(root, folder)
    return counts


def _vouch(root: Path, folder: Path) -> None:
    """Describe files that came from elsewhere, once each of their runs has been held against its seal.

    Raises UserError for the first run that is not as it was sealed.
    """
    new = [one for one in map(shelf, files(root)) if not one.vouched]
    for one in new:
        for row, content in enumerate(one.rows):
            Archived(root, content["key"], one, row).checked()
    if new:
        croissant.write(folder)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time changes an archive. Raises UserError while another does."""
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError("out", str(folder), "an archive that no other process is changing") from None
    try:
        yield
    finally:
        (folder / ".lock").unlink(missing_ok=True)  # while it is held: afterwards it may be another's
        lock.release()


def _pack_file(root: Path, path: Path, runs: Iterable[Finished], told: Callable[[str], None]) -> list[Finished]:
    """Write one file with the runs that it held and these; those of these that are in it now."""
    held: dict[str, columns.Record] = {}
    originals: dict[str, dict[str, bytes]] = {}
    if path.exists():
        place = shelf(path)
        for row, content in enumerate(place.rows):
            old = Archived(root, content["key"], place, row)
            held[old.key] = record_of(old)
            originals[old.key] = {name: old.rebuilt(name) for name in old.names}
    new: dict[str, Finished] = {}
    there: list[Finished] = []
    for run in runs:
        try:
            own = _files_of(run)
            if originals.get(run.key) == own:
                there.append(run)
                continue
            held[run.key] = record_of(run)
            originals[run.key] = own
            new[run.key] = run
        except UserError as error:
            told(f"left loose: {error}")
    while new:
        data = _bytes(columns.table(list(held.values())))
        unlike = list(_unlike(root, Shelf(path, data, False), originals))
        if not unlike:
            write_atomic(path, data)
            croissant.write(path.parent)
            break
        for key, name in unlike:
            left = new.pop(key, None)
            if left is None:
                raise Changed(key, f"{path}, run {key}", f"a record whose {name} columns give back")
            del held[key], originals[key]
            told(f"left loose: {left.folder / name} is not as a run writes it, and columns would not give it back")
    return [*there, *new.values()]


def _files_of(run: Finished) -> dict[str, bytes]:
    names = [*PARTS, "done", *([CURVATURE] if os.path.lexists(run.folder / CURVATURE) else [])]
    return {name: read_file(run.folder / name, most=MOST) for name in names}


def _bytes(frame: polars.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=COMPRESSION)
    return buffer.getvalue()


def _unlike(root: Path, place: Shelf, originals: Mapping[str, Mapping[str, bytes]]) -> Iterator[tuple[str, str]]:
    """(key, file) of each run that a table does not give back as it was.

    Two small files are sealed by their content, so white space and order are free there.
    """
    rows = {content["key"]: row for row, content in enumerate(place.rows)}
    for key, names in originals.items():
        run = Archived(root, key, place, rows[key])
        for name, data in names.items():
            again = run.rebuilt(name)
            free = name in ("done", CURVATURE)
            if again != data and not (free and parsed(again) == parsed(data)):
                yield key, name
                break


def _remove(run: Finished) -> None:
    """Remove the record of a run that the archive holds. Its mark goes first: from then on the archive's counts."""
    for name in ("done", *PARTS, CURVATURE):
        (run.folder / name).unlink(missing_ok=True)
    if not any(run.folder.iterdir()):
        run.folder.rmdir()


def unpack_run(run: Archived) -> None:
    """Write a run's files into its folder; the done mark comes last. Raises UserError where one was changed."""
    contents = {name: run.part(name) if name in PARTS else run.rebuilt(name) for name in run.names}
    run.folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        write_atomic(run.folder / name, data)


def unpack(root: Path, names: Collection[str]) -> int:
    """Turn the files of an archive into loose folders and remove them; how many runs.

    names: of files, without their ending. Nothing is removed before all its runs are there. A loose run stays.
    """
    count = 0
    folder = Path(root) / FOLDER
    with _alone(folder):
        for name in names:
            place = shelf(folder / f"{name}.parquet")
            for row, content in enumerate(place.rows):
                run = Archived(root, content["key"], place, row)
                if not run.done_file.exists():
                    unpack_run(run)
                    count += 1
            place.path.unlink()
        croissant.write(folder)
    with contextlib.suppress(OSError):  # it still holds files
        folder.rmdir()
    return count
