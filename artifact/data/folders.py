"""Readers of on-disk layouts: IDX files and image folders. Each returns the fields of an imported .npz file.

Fields: train_x, test_x uint8 [N, H, W] or [N, H, W, C]; train_y, test_y integer [N]; classes str; and, for sets with
domains, domains int64 [N] and domain_names str.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from artifact.base.errors import UserError
from artifact.base.files import read_file
from artifact.data.arrays import read_idx, read_image

Arrays = dict[str, np.ndarray]
IMAGES = {".jpg", ".jpeg", ".png"}


def idx_file(folder: Path, stem: str) -> Path | None:
    """`folder/stem` or `folder/stem.gz`, whichever exists."""
    return next((p for p in (folder / stem, folder / f"{stem}.gz") if p.is_file()), None)


def read_idx_folder(folder: Path, prefixes: tuple[str, str], transposed: bool) -> Arrays:
    """Four IDX files `<prefix>-images-idx3-ubyte[.gz]`, `<prefix>-labels-idx1-ubyte[.gz]`, for train and test.

    transposed: the file stores images column by column (EMNIST); they are returned upright.
    """
    arrays = {}
    for split, prefix in zip(("train", "test"), prefixes, strict=True):
        for letter, stem in (("x", f"{prefix}-images-idx3-ubyte"), ("y", f"{prefix}-labels-idx1-ubyte")):
            path = idx_file(folder, stem)
            if path is None:
                raise UserError("data file", str(folder / stem), "an existing IDX file, here or with .gz")
            arrays[f"{split}_{letter}"] = read_idx(path)
        if transposed:
            arrays[f"{split}_x"] = arrays[f"{split}_x"].swapaxes(1, 2)
    return arrays


def read_tiny_imagenet(folder: Path, size: int) -> Arrays:
    """tiny-imagenet-200: train/<wnid>/images/*, val/images/* with val/val_annotations.txt (or val/<wnid>/**).

    Labels are positions in the sorted list of training folders; the validation images are the test set.
    """
    names = _subfolders(folder / "train")
    number = {name: i for i, name in enumerate(names)}
    train = [(path, i) for name, i in number.items() for path in _images(folder / "train" / name)]
    notes = folder / "val" / "val_annotations.txt"
    if notes.is_file():
        lines = read_file(notes, "data file").decode(errors="replace").splitlines()
        rows = [line.split("\t")[:2] for line in lines if line.strip()]
        wrong = [row for row in rows if len(row) < 2 or row[1] not in number]
        if wrong:
            raise UserError("data file", str(notes), "lines of file name, tab, a class that train/ has")
        test = [(folder / "val" / "images" / file, number[name]) for file, name in rows]
    else:
        test = [(path, i) for name, i in number.items() for path in _images(folder / "val" / name)]
    return {
        "train_x": _decode((p for p, _ in train), len(train), size),
        "train_y": np.array([i for _, i in train], np.int64),
        "test_x": _decode((p for p, _ in test), len(test), size),
        "test_y": np.array([i for _, i in test], np.int64),
        "classes": np.array(names),
    }


def read_domains(folder: Path, size: int) -> Arrays:
    """<domain>/<class>/*: all images become training images with a domain number; the test set is empty.

    Classes are the sorted union over the domains.
    """
    domains = [name for name in _subfolders(folder) if _subfolders(folder / name)]
    names = sorted({name for domain in domains for name in _subfolders(folder / domain)})
    number = {name: i for i, name in enumerate(names)}
    rows = [
        (path, number[name], i)
        for i, domain in enumerate(domains)
        for name in _subfolders(folder / domain)
        for path in _images(folder / domain / name)
    ]
    return {
        "train_x": _decode((path for path, _, _ in rows), len(rows), size),
        "train_y": np.array([label for _, label, _ in rows], np.int64),
        "test_x": np.empty((0, size, size, 3), np.uint8),
        "test_y": np.empty(0, np.int64),
        "classes": np.array(names),
        "domains": np.array([domain for _, _, domain in rows], np.int64),
        "domain_names": np.array(domains),
    }


def _subfolders(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []


def _images(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in IMAGES)


def _decode(paths: Iterable[Path], count: int, size: int) -> np.ndarray:
    """RGB uint8 [count, size, size, 3]."""
    pixels = np.empty((count, size, size, 3), np.uint8)
    for row, path in zip(pixels, paths, strict=True):
        row[:] = read_image(path, size)
    return pixels
