"""Files of numbers and images that are damaged, announce too much or are no files: one line each, and no hang."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_hostile_files import NO_FILES

from artifact.accelerate import choose
from artifact.base.errors import UserError
from artifact.bench import results
from artifact.data import arrays
from artifact.models import networks
from artifact.papers import costs, declared, folders
from artifact.report import pictures
from artifact.runs import replay
from artifact.runs.store import read_checkpoint
from theory.kit import tables


def _backends(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(choose, "TABLE", path)
    return choose._measured.__wrapped__()


def _weights(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv(networks.WEIGHTS_VARIABLE, str(path))
    return networks._vit_state()


def _theory(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(tables, "FOLDER", path.parent)
    return tables.table.__wrapped__(path.stem)


def _start(path: Path) -> bytes:
    return path.read_bytes()[:8] if path.is_file() else b""


Reader = Callable[[Path, pytest.MonkeyPatch], object]
READERS: dict[str, Reader] = {
    "a.csv": lambda path, _: declared.read_csv(path),
    "b.csv": _theory,
    "papers.toml": lambda path, _: folders._enter_all(path),
    "backends.toml": _backends,
    "a.npz": lambda path, _: arrays.read_arrays(path, "data file"),
    "case.npz": lambda path, _: replay.Case(path),
    "a-idx3-ubyte": lambda path, _: arrays.read_idx(path),
    "a-idx3-ubyte.gz": lambda path, _: arrays.read_idx(path),
    "a.png": lambda path, _: arrays.read_image(path, 8),
    "checkpoint.safetensors": lambda path, _: read_checkpoint(path),
    "weights.safetensors": _weights,
    "weights.pth": _weights,
    "timing.json": lambda path, _: results.read(path),
    "figure.json": lambda path, _: pictures._numbers(path),
}


@pytest.mark.parametrize("make", NO_FILES)
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_of_its_kind_is_one_line(name, make, tmp_path, monkeypatch):
    make(tmp_path / name)
    if name.endswith(".csv") and b"[[" in _start(tmp_path / name):
        pytest.skip("one long name is a CSV file")
    with pytest.raises(UserError) as caught:
        READERS[name](tmp_path / name, monkeypatch)
    assert "\n" not in str(caught.value)


def _npz(**content: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **content)
    return file.getvalue()


def _idx(*shape: int, pixels: int | None = None) -> bytes:
    head = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
    return head + bytes(int(np.prod(shape)) if pixels is None else pixels)


def _png(width: int, height: int) -> bytes:
    """A picture of no pixels whose header announces so many."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")
    whole, head = file.getvalue(), b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return whole[:12] + head + zlib.crc32(head).to_bytes(4, "big") + whole[33:]


def _header(shape: str) -> bytes:
    """An archive with one array of 800 bytes whose header has another shape."""
    plain = io.BytesIO()
    np.save(plain, np.zeros(100))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", plain.getvalue().replace(b"(100,)", shape.encode().ljust(6)))
    return file.getvalue()


BOMBS = {
    "content of an archive": ("a.npz", lambda: _npz(a=np.zeros(10**6)), "at most 1000 bytes; these have 8000128"),
    "shape of an array": ("a.npz", lambda: _header("(9**9,)"), "undamaged"),
    "shape below zero": ("a.npz", lambda: _header("(-9,)"), "undamaged"),
    "IDX header": ("a-idx3", lambda: _idx(2**32 - 1, 2**32 - 1, 2**32 - 1, pixels=9), "header names shape"),
    "IDX of zeros": ("a-idx3.gz", lambda: gzip.compress(_idx(10, 10, pixels=10**7)), "a complete IDX file"),
    "IDX without dimensions": ("a-idx3", lambda: _idx(), "a complete IDX file"),
    "damaged gzip": ("a-idx3.gz", lambda: gzip.compress(_idx(99))[:20], "complete if compressed"),
    "gzip of garbage": ("a-idx3.gz", lambda: gzip.compress(_idx(9, 9))[:10] + b"\x07" * 50, "complete if compressed"),
    "pixels": ("a.png", lambda: _png(9_000, 9_000), "at most 67108864 pixels"),
    "more pixels": ("a.png", lambda: _png(2**31 - 1, 2**31 - 1), "a readable image"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_a_header_announces_is_bounded_before_it_is_decoded(name, tmp_path, monkeypatch):
    file, content, allowed = BOMBS[name]
    path = tmp_path / file
    path.write_bytes(content())
    with pytest.raises(UserError, match=allowed):
        if path.suffix == ".npz":
            arrays.read_arrays(path, "data file", most=1000)
        elif path.suffix == ".png":
            arrays.read_image(path, 8)
        else:
            arrays.read_idx(path)


def test_only_so_much_of_a_compressed_file_is_decoded_as_its_header_names(tmp_path):
    """The reader stops one byte after the last that it was promised."""
    (path := tmp_path / "a.gz").write_bytes(gzip.compress(_idx(10, pixels=10**8)))
    read = []

    class Counting(gzip.GzipFile):
        def read(self, size=-1):
            read.append(size)
            return super().read(size)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(UserError):
        patch.setattr(arrays.gzip, "GzipFile", Counting)
        arrays.read_idx(path)
    assert read == [4, 4, 11]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1\n", "line 2"),
        ("a,b\n1,2\n1,2,3\n", "line 3"),
        ("a,a\n1,2\n", "names that differ"),
        ("", "a line of names"),
        ('a,b\n"1,2\n', "a line of names"),
        ("a,b\n\x00,2\n" + "x" * 200_000 + ",1\n", "a CSV file"),
        ("b\n1\n", "names that differ, with a"),
    ],
)
def test_lines_of_a_csv_file_are_as_long_as_its_first(text, found, tmp_path):
    (path := tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError, match=found):
        declared.read_csv(path, ("a",))


@pytest.mark.parametrize(("text", "value"), [("1.5", 1.5), ("-", None), ("", None), ("1e2", 100.0)])
def test_numbers_of_a_csv_file(text, value):
    assert declared.as_number(text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_a_printed_number_is_finite(text, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="finite"):
        declared.as_number(text)
    monkeypatch.setattr(costs, "PRINTED", tmp_path / "tables")
    (tmp_path / "costs.csv").write_text(f"algorithm,{','.join(costs.COLUMNS)}\nfedavg,1,0,1,1,{text}\n")
    with pytest.raises(UserError, match="finite"):
        costs._specified()


@pytest.mark.parametrize(
    "text",
    [
        "paper = 5\n",
        "paper = [5]\n",
        "[[paper]]\nkey = 5\n",
        '[[paper]]\nkey = "x2"\ntitle = "t"\nmodels = 5\n',
        '[[paper]]\nkey = "x2"\ntitle = "t"\n[paper.smallest]\na = "b"\n',
    ],
)
def test_papers_of_another_shape_are_one_line(text, tmp_path):
    before = list(folders.PAPERS)
    (path := tmp_path / "papers.toml").write_text(text)
    with pytest.raises(UserError, match=r"^paper"):
        folders._enter_all(path)
    assert before == folders.PAPERS


@pytest.mark.parametrize("text", ["cpu = 5\n", '[cpu]\n"*" = "fastest"\n', '[cpu]\n"*" = 5\n', "[[cpu]]\n"])
def test_backends_that_there_are_not_are_one_line(text, tmp_path, monkeypatch):
    (path := tmp_path / "backends.toml").write_text(text)
    with pytest.raises(UserError, match=r"backends.toml: cpu"):
        _backends(path, monkeypatch)


def _whole(name: str, vectors: Path) -> bytes:
    if name.endswith(".npz"):
        return vectors.read_bytes()
    if name == "a.png":
        file = io.BytesIO()
        Image.fromarray(np.arange(768, dtype=np.uint8).reshape(16, 16, 3)).save(file, "PNG")
        return file.getvalue()
    return gzip.compress(_idx(5, 4, 4)) if name.endswith(".gz") else _idx(5, 4, 4)


@pytest.mark.parametrize("name", ["a.npz", "case.npz", "a-idx3-ubyte", "a-idx3-ubyte.gz", "a.png"])
def test_damaged_bytes_are_read_or_end_in_one_line(name, tmp_path, monkeypatch):
    """150 damages from a seed: bytes change, are cut or come twice."""
    vectors = next(iter(sorted((Path(__file__).parent / "vectors").rglob("*.npz"))))
    draw, whole, refused = random.Random(name), _whole(name, vectors), 0
    for _ in range(150):
        content, at = bytearray(whole), draw.randrange(len(whole))
        match draw.choice(("byte", "cut", "twice")):
            case "byte":
                content[at] ^= draw.randrange(1, 256)
            case "cut":
                del content[at:]
            case "twice":
                content[at:at] = content[at : at + 50]
        (path := tmp_path / name).write_bytes(content)
        try:
            READERS[name](path, monkeypatch)
        except UserError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 50 < refused < 151
