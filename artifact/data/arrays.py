"""Arrays and images of files that nobody vouches for: of bounded size, never unpickled, one line where they are wrong.

What a header announces is checked before any of it is decoded, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from artifact.base.errors import UserError
from artifact.base.files import regular_file

#: bytes of arrays in an .npz file, of one IDX array, of a case's arrays; pixels of an image
MOST_ARRAYS = 1 << 34
MOST_IDX = 1 << 30
MOST_CASE = 1 << 30
MOST_PIXELS = 1 << 26


def read_arrays(path: Path, field: str, most: int = MOST_ARRAYS) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file, of at most so many bytes together. Raises UserError for any other file."""
    with regular_file(path, field) as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                size = sum(entry.file_size for entry in archive.zip.infolist())
                if size > most:
                    raise UserError(field, str(path), f"arrays of at most {most} bytes; these have {size}")
                return {name: archive[name] for name in archive.files}
        except UserError:
            raise
        except Exception:  # a damaged archive raises whatever its first wrong byte leads to
            raise UserError(field, str(path), "an undamaged .npz file without objects") from None


def read_idx(path: Path, most: int = MOST_IDX) -> np.ndarray:
    """One IDX file of unsigned bytes, gzip-compressed or not. Raises UserError when it is damaged or incomplete."""
    with regular_file(path, "data file") as file:
        try:
            with gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file as plain:
                return _idx(plain, path, most)
        except UserError:
            raise
        except (OSError, EOFError, ValueError, zlib.error) as error:
            allowed = f"a readable IDX file, complete if compressed ({error})"
            raise UserError("data file", str(path), allowed) from error


def _idx(file: BinaryIO | gzip.GzipFile, path: Path, most: int) -> np.ndarray:
    head = file.read(4)
    sizes = file.read(4 * head[3]) if len(head) == 4 else b""
    shape = np.frombuffer(sizes, ">u4").tolist() if len(sizes) % 4 == 0 else []
    if head[:3] != b"\0\0\x08" or not shape or len(shape) != head[3]:
        raise UserError("data file", str(path), "a complete IDX file of unsigned bytes")
    if math.prod(shape) > most:
        raise UserError("data file", str(path), f"an IDX file of at most {most} bytes; its header names shape {shape}")
    content = file.read(math.prod(shape) + 1)
    if len(content) != math.prod(shape):
        raise UserError("data file", str(path), "a complete IDX file of unsigned bytes")
    return np.frombuffer(content, np.uint8).reshape(shape)


def read_image(path: Path, size: int) -> np.ndarray:
    """RGB uint8 [size, size, 3]; another size than the file's is resampled bilinearly, aspect not kept."""
    from PIL import Image

    with regular_file(path, "data file") as stream:
        try:
            with Image.open(stream) as file:
                if math.prod(file.size) > MOST_PIXELS:
                    raise ValueError(f"at most {MOST_PIXELS} pixels, not {file.size[0]} x {file.size[1]}")
                image = file.convert("RGB")
            if image.size != (size, size):
                image = image.resize((size, size), Image.Resampling.BILINEAR)
            return np.asarray(image)
        except Exception as error:  # each format's decoder raises what its first wrong byte leads to
            raise UserError("data file", str(path), f"a readable image ({error})") from error
