"""Files that appear whole or not at all, and readers that take regular files of a bounded size."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from artifact.base.errors import UserError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Replace ``path`` by ``content`` at once. Raises UserError where the folder cannot be written."""
    data = content.encode() if isinstance(content, str) else content
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def umask() -> int:
    """The rights that new files of this process lack, as the user has set them."""
    with (
        contextlib.suppress(OSError, ValueError),
        open("/proc/self/status", encoding="ascii", errors="replace") as file,
    ):
        for line in file:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    found = os.umask(0o077)  # elsewhere the only way to ask is to set it for an instant
    os.umask(found)
    return found


#: bytes of the largest file that is read as text
LARGEST = 64 << 20
#: nanoseconds after its last change in which a file may change again without a trace, within one tick of the clock
SETTLED = 2_000_000_000


@contextlib.contextmanager
def regular_file(path: Path, field: str) -> Iterator[BinaryIO]:
    """A regular file, open for reading. Raises UserError, naming ``field``, for anything else; waits for no pipe."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError(field, str(path), "a regular file; this is a folder, a pipe or a device")
            yield file
    except OSError as error:
        raise UserError(field, str(path), f"a file that can be read ({error.strerror or error})") from None


def read_file(path: Path, field: str = "", most: int = LARGEST) -> bytes:
    """Content of a ``regular_file`` of at most so many bytes; ``field`` is the file's stem by default."""
    field = field or Path(path).stem
    with regular_file(path, field) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise UserError(field, str(path), f"a file of at most {most} bytes; this has {size}")
        return file.read()


def inside(folder: Path, name: str, field: str, *, known_as: Path | None = None) -> Path:
    """``folder / name``, which lies in the folder even where links are followed.

    known_as: the folder that must hold it, where that is another one further out.
    Raises UserError, naming ``field``, where the path leads out of it.

    >>> inside(Path("tables"), "table1.csv", "csv")
    PosixPath('tables/table1.csv')
    """
    path, home = Path(folder) / name, os.path.realpath(known_as or folder)
    try:
        within = os.path.commonpath([home, os.path.realpath(path)]) == home
    except ValueError:  # another drive, or a character that no path has
        within = False
    if not within:
        raise UserError(field, name, f"a path inside the folder {known_as or folder}, links followed")
    return path


def require_writable(folder: Path, field: str = "out") -> None:
    """Make a folder where it is missing. Raises UserError for the field where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(field, str(folder), f"a folder that can be written ({error.strerror or error})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(field, str(folder), "a folder that can be written (Permission denied)")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well and is removed when it does not.

    Raises UserError where the folder cannot be written (missing right, full disk).
    """
    temporary = None
    if os.path.lexists(path) and not path.is_file():
        raise UserError("out", str(path), "a file that can be written; this is a folder, a device or a loop of links")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~umask())
        os.replace(temporary, path)
    except OSError as error:
        raise UserError("out", str(path.parent), f"a folder that can be written ({error.strerror or error})") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


#: times of change of content and of state in nanoseconds, size and inode of files, one after the other
Stamp = list[int]


def stamp(folder: str | Path, names: Iterable[str]) -> Stamp | None:
    """What changes with the content of files in a folder; None where one is missing or no regular file."""
    found: Stamp = []
    for name in names:
        try:
            seen = os.lstat(f"{folder}{os.sep}{name}")
        except OSError:
            return None
        if not stat.S_ISREG(seen.st_mode):
            return None
        found += [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino]
    return found


def settled(found: Stamp) -> bool:
    """Whether the files are old enough: one may change again within the tick of the clock in which it was written."""
    return time.time_ns() - max(*found[::4], *found[1::4]) > SETTLED


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder`` that takes its place when the block ends well; the old one goes last."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise UserError("out", str(folder), f"a folder that can be written ({error.strerror})") from None
    old = new.with_name(f"{new.name}.old")
    try:
        yield new
        new.chmod(0o777 & ~umask())
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise UserError("out", str(folder), f"a folder that can be written ({error.strerror})") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
