"""Where data come from: the registry of datasets, loading, download, and import into one checked file per dataset.

A dataset is looked for in `<root>/<name>.npz` (written by `fetch` and `import_npz`, checked against its sha256 on every
load), then in the usual layouts listed in `DATASETS`. root: argument, else environment FEDSHARP_DATA, else ./data.
A new dataset is an entry of `DATASETS`; if its files have a layout of their own, `data.folders` gets a reader for it,
and `_present` and `_read` a branch. One in a file of your own needs none of this: `interface.added`, docs/yours.md.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from artifact.base.errors import UserError
from artifact.base.files import read_file
from artifact.base.lazy import torch
from artifact.base.random import numpy_stream
from artifact.data import folders
from artifact.data.arrays import MOST_ARRAYS, read_arrays
from artifact.data.dataset import Dataset, apportion
from artifact.data.digits import handwritten_digits
from artifact.data.download import FILES, download
from artifact.data.folders import Arrays

#: arrays of a stored file, the last three optional
FIELDS = ("train_x", "train_y", "test_x", "test_y", "classes", "domains", "domain_names")
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # mean, std
MNIST = (0.1307,), (0.3081,)
FASHION_CLASSES = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
EMNIST_CLASSES = ",".join("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True)
class Source:
    """What is known of a dataset before its files are read.

    kind: layout (digits, idx, cifar, tiny, domains). shape: (C, H, W). mean, std: in units of pixel / scale.
    places: folders to look in, relative to the root or absolute. url: where the publisher offers the files.
    torchvision: class that reads them, also the name of the files to download; empty where there is none.
    labels: class names, where the files do not carry them. prefixes: IDX file names (train, test).
    share: fraction kept of training and test images (class-stratified, seed 0).
    validation: training images that are held out and stand in place of the test images (class-stratified, seed 0).
    file: name of the stored file, where another entry's is read.
    own: reads a data set of the user's own from a root; classes and shape are then known only when it is read.
    """

    title: str
    kind: str
    classes: int
    shape: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    places: tuple[str, ...] = ()
    url: str = ""
    torchvision: str = ""
    labels: str = ""
    prefixes: tuple[str, str] = ("train", "t10k")
    share: float = 1.0
    validation: int = 0
    file: str = ""
    scale: float = 255.0
    own: Callable[[Path], Dataset] | None = None

    @property
    def how(self) -> str:
        """How to get the data, in a few words."""
        if self.own is not None:
            return "read by a file of your own, which --add names"
        if self.kind == "digits":
            return "part of the package, always there"
        file = "FILE.npz" if self.kind == "cifar" else "FILE.npz or FOLDER"
        offline = f"`python -m fedsharp data import NAME {file}`"
        return f"`python -m fedsharp data fetch NAME` (network), or {offline}" if self.torchvision else offline


_EMNIST = Source(
    "EMNIST by class (letters and digits)", "idx", 62, (1, 28, 28), *MNIST,
    places=("EMNIST/raw", "emnist"), url="https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip", torchvision="EMNIST",
    labels=EMNIST_CLASSES, prefixes=("emnist-byclass-train", "emnist-byclass-test"),
)  # fmt: skip

_CIFAR10 = Source(
    "CIFAR-10 photographs", "cifar", 10, (3, 32, 32), (0.491, 0.482, 0.447), (0.247, 0.243, 0.262),
    places=(".",), url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", torchvision="CIFAR10",
)  # fmt: skip
_FASHION = Source(
    "Fashion-MNIST clothing", "idx", 10, (1, 28, 28), (0.2860,), (0.3530,),
    places=("FashionMNIST/raw", "fashion-mnist", "/usr/share/datasets/fashion-mnist"),
    url="https://github.com/zalandoresearch/fashion-mnist", torchvision="FashionMNIST",
    labels=FASHION_CLASSES,
)  # fmt: skip

#: name -> Source. Normalisation: CIFAR as in the released code; Tiny-ImageNet as in MAN's (ImageNet's constants, also
#: used with the ImageNet-trained ViT of OfficeHome and DomainNet); EMNIST uses MNIST's constants, as its paper states
#: none; digits: computed over the 1,437 training images.
DATASETS: dict[str, Source] = {
    "digits": Source(
        "UCI handwritten digits, 8 x 8 pixels", "digits", 10, (1, 8, 8), (0.3054,), (0.3760,), scale=16.0
    ),
    "mnist": Source(
        "MNIST handwritten digits", "idx", 10, (1, 28, 28), *MNIST, places=("MNIST/raw", "mnist"),
        url="https://ossci-datasets.s3.amazonaws.com/mnist/", torchvision="MNIST", labels="0,1,2,3,4,5,6,7,8,9",
    ),
    "fashion-mnist": _FASHION,
    "fashion-mnist-validation": dataclasses.replace(
        _FASHION, title="Fashion-MNIST, 10,000 training images in place of the test images", validation=10_000,
        file="fashion-mnist",
    ),
    "emnist": _EMNIST,
    "emnist-20": dataclasses.replace(
        _EMNIST, title="EMNIST by class, 20% sample (Qu et al. 2022)", share=0.2, file="emnist"
    ),
    "cifar10": _CIFAR10,
    "cifar10-validation": dataclasses.replace(
        _CIFAR10, title="CIFAR-10, 10,000 training images in place of the test images", validation=10_000,
        file="cifar10",
    ),
    "cifar100": Source(
        "CIFAR-100 photographs", "cifar", 100, (3, 32, 32), (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761),
        places=(".",), url="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", torchvision="CIFAR100",
    ),
    "tiny-imagenet": Source(
        "Tiny-ImageNet photographs", "tiny", 200, (3, 64, 64), *IMAGENET,
        places=("tiny-imagenet-200", "tiny-imagenet"), url="https://cs231n.stanford.edu/tiny-imagenet-200.zip",
    ),
    "officehome": Source(
        "OfficeHome objects in 4 domains", "domains", 65, (3, 224, 224), *IMAGENET,
        places=("OfficeHomeDataset_10072016", "officehome", "office_home"),
        url="https://www.hemanthdv.org/officeHomeDataset.html",
    ),
    "domainnet": Source(
        "DomainNet objects in 6 domains", "domains", 345, (3, 64, 64), *IMAGENET,
        places=("domainnet", "domain_net", "DomainNet"), url="https://ai.bu.edu/M3SDA/",
    ),
}  # fmt: skip


def describe(name: str) -> Source:
    """The registry entry of `name`; `officehome@64` resizes the images of a folder dataset to 64 x 64.

    Raises UserError for an unknown name or an impossible size.
    """
    base, at, size = str(name).partition("@")
    if base not in DATASETS:
        raise UserError("dataset", name, ", ".join(DATASETS))
    source = DATASETS[base]
    if not at:
        return source
    if source.kind not in ("tiny", "domains") or not size.isdecimal() or not 8 <= int(size) <= 512:
        raise UserError("dataset", name, "NAME@SIZE, 8 to 512 pixels, for tiny-imagenet, officehome, domainnet")
    return dataclasses.replace(source, shape=(3, int(size), int(size)))


def classes_of(name: str) -> int:
    """Number of classes; a data set of the user's own is read for it."""
    return describe(name).classes or len(load(name).classes)


def data_root(root: str | os.PathLike | None = None) -> Path:
    """Folder of local data: the argument, else environment FEDSHARP_DATA, else ./data."""
    return Path(root or os.environ.get("FEDSHARP_DATA") or "data")


def load(name: str, root: str | os.PathLike | None = None) -> Dataset:
    """Read a dataset from local files.

    Raises UserError when the data are missing, damaged or do not match the registry entry; the text says how to get
    them.
    """
    source, root = describe(name), data_root(root)
    if source.own is not None:
        return source.own(root)
    if source.kind == "digits":
        return _dataset(name, source, _digits())
    place = _locate(name, source, root)
    if place is None:
        raise UserError(
            "dataset", name, f"data that are present (nothing in {root}); {source.how.replace('NAME', name)}"
        )
    dataset = _dataset(name, source, _read(source, place))
    if source.share < 1:
        kept = [int(source.share * len(labels)) for labels in (dataset.train_y, dataset.test_y)]
        dataset = dataclasses.replace(dataset.subset(*kept), name=name)
    return dataset.with_validation(source.validation) if source.validation else dataset


def status(name: str, root: str | os.PathLike | None = None) -> dict[str, object]:
    """What is known of a dataset and where its files are; reads no data."""
    source, root = describe(name), data_root(root)
    place = _locate(name, source, root)
    where = "this package" if source.kind == "digits" else place and str(place)
    where = source.places[0] if source.own is not None else where
    return {
        "name": name,
        "title": source.title,
        "classes": source.classes,
        "shape": list(source.shape),
        "available": where is not None,
        "where": where,
        "how": source.how.replace("NAME", name),
    }


def fetch(name: str, root: str | os.PathLike | None = None) -> Path | None:
    """Download by https, hold against the published SHA-256, and store as `<root>/<name>.npz`.

    Returns the file, or None for data that need no download. Raises UserError when there is no network or the
    publisher's files cannot be fetched by a program. A failure leaves nothing behind.
    """
    source, root = _of_project(name), data_root(root)
    if source.kind == "digits":
        return None
    place = root / source.places[0]
    alternative = (
        f"put the unpacked files of {source.url} into {place}, or `python -m fedsharp data import {name} PATH`"
    )
    if not source.torchvision:
        raise UserError("dataset", name, alternative)
    with _working_folder(root) as folder:
        try:
            download(FILES[source.torchvision], folder / source.places[0])
        except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
            reason = str(error).split("\n")[0][:120]
            raise UserError("dataset", name, f"a working network ({reason}); or {alternative}") from error
        return _store(name, _read(source, folder / source.places[0]), root)


def import_npz(name: str, path: str | os.PathLike, root: str | os.PathLike | None = None) -> Path:
    """Check a file (or a folder in the dataset's usual layout) and store it as `<root>/<name>.npz` with its sha256.

    path: .npz with train_x, test_x uint8 [N, H, W] or [N, H, W, C], train_y, test_y integer [N], and optionally
    classes (str), domains (integer [N]) with domain_names (str). Returns the written file. Raises UserError.
    """
    source, root, path = _of_project(name), data_root(root), Path(path)
    if source.kind == "digits":
        raise UserError("dataset", name, "any other dataset; the digits are part of the package")
    if path.is_file():
        arrays = read_arrays(path, "data file")
    elif path.is_dir() and _present(source, path):
        arrays = _read(source, path)
    else:
        raise UserError("path", str(path), f"an existing .npz file or a folder in the usual layout of {name}")
    _check(arrays, source)
    return _store(name, arrays, root)


def _of_project(name: str) -> Source:
    """Raises UserError for a data set of the user's own, of which nothing is stored."""
    source = describe(name)
    if source.own is not None:
        raise UserError("dataset", name, f"a data set of the project; this one is {source.how}")
    return source


def _locate(name: str, source: Source, root: Path) -> Path | None:
    candidates = [root / f"{source.file or name}.npz", *(root / place for place in source.places)]
    return next((place for place in candidates if place.is_file() or _present(source, place)), None)


def _present(source: Source, folder: Path) -> bool:
    if source.kind == "idx":
        return folders.idx_file(folder, f"{source.prefixes[0]}-images-idx3-ubyte") is not None
    if source.kind == "cifar":
        return (folder / f"cifar-{source.classes}{'-batches-py' if source.classes == 10 else '-python'}").is_dir()
    if source.kind == "tiny":
        return (folder / "train").is_dir() and (folder / "val").is_dir()
    return source.kind == "domains" and folder.is_dir()


def _read(source: Source, place: Path) -> Arrays:
    if place.is_file():
        _verify(place, min(MOST_ARRAYS, math.prod(source.shape) << 22))  # a million images in float32
        return read_arrays(place, "data file")
    if source.kind == "idx":
        return folders.read_idx_folder(place, source.prefixes, transposed="emnist" in source.prefixes[0])
    if source.kind == "tiny":
        return folders.read_tiny_imagenet(place, source.shape[1])
    if source.kind == "domains":
        return folders.read_domains(place, source.shape[1])
    try:
        train, test = (_torchvision(source, place, train=train) for train in (True, False))
    except (OSError, RuntimeError, EOFError) as error:
        raise UserError("dataset", str(place), "CIFAR files with the published MD5 sums") from error
    return {
        "train_x": train.data,
        "train_y": np.array(train.targets),
        "test_x": test.data,
        "test_y": np.array(test.targets),
        "classes": np.array(train.classes),
    }


def _torchvision(source: Source, folder: Path, **options: bool) -> Any:
    """torchvision's reader. CIFAR is stored as pickles: torchvision opens them only with the published MD5 sums."""
    from torchvision import datasets

    if source.torchvision == "EMNIST":
        return datasets.EMNIST(str(folder), split="byclass", **options)
    return getattr(datasets, source.torchvision)(str(folder), **options)


def _digits() -> Arrays:
    """1,437 training and 360 test images, class-stratified, one fixed split."""
    pixels, labels = handwritten_digits()
    images, rng = pixels.reshape(-1, 8, 8).astype(np.uint8), numpy_stream(0, "digits split")
    shares = apportion(np.bincount(labels), 360)
    kept = [rng.permutation(np.flatnonzero(labels == c))[:n] for c, n in enumerate(shares)]
    test = np.zeros(len(labels), bool)
    test[np.concatenate(kept)] = True
    return {"train_x": images[~test], "train_y": labels[~test], "test_x": images[test], "test_y": labels[test]}


def _check(arrays: Arrays, source: Source) -> None:
    """Fields, types, shapes and label range against the registry entry."""
    missing = {"train_x", "train_y", "test_x", "test_y"} - set(arrays)
    if missing:
        raise UserError("data file", sorted(arrays), f"the fields {', '.join(sorted(missing))} too")
    channels, height, width = source.shape
    for split in ("train", "test"):
        images, labels = arrays[f"{split}_x"], arrays[f"{split}_y"]
        if images.dtype != np.uint8:
            raise UserError(f"{split}_x", str(images.dtype), "uint8")
        if (height, width, channels) not in (images.shape[1:], (*images.shape[1:], 1)):
            raise UserError(f"{split}_x", images.shape, f"shape [N, {height}, {width}, {channels}]")
        if labels.dtype.kind not in "iu" or labels.shape != images.shape[:1]:
            raise UserError(f"{split}_y", f"{labels.dtype}{list(labels.shape)}", f"integers, shape [{len(images)}]")
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < source.classes:
            raise UserError(f"{split}_y", f"{labels.min()} to {labels.max()}", f"labels 0 to {source.classes - 1}")
        if not len(labels) and (split == "train" or "domains" not in arrays):
            raise UserError(f"{split}_y", 0, "at least one image")
    names = arrays.get("classes")
    if names is not None and (names.dtype.kind != "U" or names.shape != (source.classes,)):
        raise UserError("classes", f"{names.dtype}{list(names.shape)}", f"{source.classes} class names (text)")
    _check_domains(arrays, source)


def _check_domains(arrays: Arrays, source: Source) -> None:
    domains, names = arrays.get("domains"), arrays.get("domain_names")
    if domains is None and source.kind != "domains":
        return
    if domains is None or names is None or names.dtype.kind != "U" or names.ndim != 1:
        raise UserError("domains", sorted(arrays), "the fields domains (integers) and domain_names (text)")
    count, twice = len(names), [name for name, n in Counter(map(str, names)).items() if n > 1]
    if twice:
        raise UserError("domain_names", twice[0], "a name that no other domain has")
    good = domains.dtype.kind in "iu" and domains.shape == arrays["train_y"].shape
    if not good or not 0 <= int(domains.min()) <= int(domains.max()) < count:
        raise UserError("domains", f"{domains.dtype}{list(domains.shape)}", f"one number 0 to {count - 1} per image")


def _dataset(name: str, source: Source, arrays: Arrays) -> Dataset:
    _check(arrays, source)
    given = arrays.get("classes")
    names = source.labels.split(",") if source.labels else map(str, range(source.classes))
    images, labels = {}, {}
    for split in ("train", "test"):
        pixels = arrays[f"{split}_x"].reshape(-1, *source.shape[1:], source.shape[0])
        images[split] = torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())
        labels[split] = torch.from_numpy(arrays[f"{split}_y"].astype(np.int64))
    domains = arrays.get("domains")
    return Dataset(
        name=name,
        train_x=images["train"],
        train_y=labels["train"],
        test_x=images["test"],
        test_y=labels["test"],
        classes=tuple(map(str, given)) if given is not None else tuple(names),
        scale=source.scale,
        mean=source.mean,
        std=source.std,
        domains=None if domains is None else torch.from_numpy(domains.astype(np.int64)),
        domain_names=tuple(map(str, arrays["domain_names"])) if domains is not None else (),
    )


@contextlib.contextmanager
def _working_folder(root: Path) -> Iterator[Path]:
    """A temporary folder inside root; folders made for it are removed again when they stay empty."""
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".fetch-", suffix=".tmp", dir=root))
    except OSError as error:
        raise UserError("data folder", str(root), f"a folder that can be written ({error.strerror})") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            for empty in made:
                empty.rmdir()


def _store(name: str, arrays: Arrays, root: Path) -> Path:
    """Write `<root>/<name>.npz`, then `<name>.sha256` as sha256sum does; each appears complete or not at all."""
    target = root / f"{describe(name).file or name}.npz"
    # other fields may have the name of savez's own argument
    kept: dict[str, Any] = {field: arrays[field] for field in FIELDS if field in arrays}
    with _working_folder(root) as folder:
        try:
            with open(folder / target.name, "wb") as file:
                np.savez(file, **kept)
                file.flush()
                os.fsync(file.fileno())
            line = f"{_sha256(folder / target.name)}  {target.name}\n"
            with open(folder / "sum", "w", encoding="ascii") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            os.replace(folder / target.name, target)
            os.replace(folder / "sum", target.with_suffix(".sha256"))
        except OSError as error:
            raise UserError("data folder", str(root), f"a folder with room to write ({error.strerror})") from error
    return target


def _verify(path: Path, most: int) -> None:
    """Raises UserError for a file of more bytes, which is not read, or with another checksum than the stored one."""
    sums = path.with_suffix(".sha256")
    remedy = "a file that matches its .sha256; import or fetch it again"
    expected = read_file(sums, "data file", 1 << 16).decode(errors="replace").split() if sums.is_file() else []
    if not expected:
        raise UserError("data file", str(path), f"{remedy} (the checksum file is missing or empty)")
    if path.stat().st_size > most:
        raise UserError("data file", str(path), f"a file of at most {most} bytes")
    if _sha256(path) != expected[0]:
        raise UserError("data file", str(path), f"{remedy} (the checksum differs)")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
