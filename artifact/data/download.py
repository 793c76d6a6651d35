"""Publishers' files, by https alone and held against their SHA-256 before anything reads them."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from artifact.base.errors import UserError

#: seconds without a byte; bytes of one read; bytes that the largest publisher's file has, and its unpacked content
TIMEOUT, BLOCK, MOST, MOST_UNPACKED = 60.0, 1 << 20, 1 << 30, 4 << 30


@dataclass(frozen=True)
class Published:
    """One file of a publisher.

    url: https. sha256: of the file. wanted: beginnings of names of an archive's members that are unpacked; none for a
    file that is kept as it is.
    """

    url: str
    sha256: str
    wanted: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return urlsplit(self.url).path.rsplit("/", 1)[-1]


_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_FASHION = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion"
_KRIZHEVSKY = "https://www.cs.toronto.edu/~kriz"

#: torchvision's name of a data set -> its files
FILES = {
    "MNIST": (
        Published(
            f"{_MNIST}/train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
        ),
        Published(
            f"{_MNIST}/train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
        ),
        Published(
            f"{_MNIST}/t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
        ),
        Published(
            f"{_MNIST}/t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
        ),
    ),
    "FashionMNIST": (
        Published(
            f"{_FASHION}/train-images-idx3-ubyte.gz", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"
        ),
        Published(
            f"{_FASHION}/train-labels-idx1-ubyte.gz", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"
        ),
        Published(
            f"{_FASHION}/t10k-images-idx3-ubyte.gz", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"
        ),
        Published(
            f"{_FASHION}/t10k-labels-idx1-ubyte.gz", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"
        ),
    ),
    "EMNIST": (
        Published(
            "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
            "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
            ("gzip/emnist-byclass-",),
        ),
    ),
    "CIFAR10": (
        Published(
            f"{_KRIZHEVSKY}/cifar-10-python.tar.gz",
            "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
            ("cifar-10-batches-py/",),
        ),
    ),
    "CIFAR100": (
        Published(
            f"{_KRIZHEVSKY}/cifar-100-python.tar.gz",
            "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
            ("cifar-100-python/",),
        ),
    ),
}


class OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows no publisher to an address that is not https."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        if urlsplit(newurl).scheme != "https":
            raise UserError("url", newurl, "https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def opening(url: str) -> Any:
    """The publisher's answer, to be read in blocks."""
    return urllib.request.build_opener(OnlyHttps).open(url, timeout=TIMEOUT)


def download(files: tuple[Published, ...], folder: Path) -> None:
    """Fetch files into a folder, IDX files as they are and the wanted members of archives.

    Raises UserError for another scheme than https and for another SHA-256, OSError where the network fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        place = folder / file.name
        fetched(file, place)
        if file.wanted:
            unpack(place, folder, file.wanted)
            place.unlink()


def fetched(file: Published, place: Path) -> None:
    """One file, verified before it gets its name."""
    if urlsplit(file.url).scheme != "https":
        raise UserError("url", file.url, "https")
    found, size = hashlib.sha256(), 0
    partial = place.with_name(f"{place.name}.part")
    with opening(file.url) as answer, partial.open("wb") as out:
        while block := answer.read(BLOCK):
            found.update(block)
            size += len(block)
            if size > MOST:
                raise UserError("download", file.url, f"a file of at most {MOST} bytes")
            out.write(block)
    if found.hexdigest() != file.sha256:
        allowed = f"the file with SHA-256 {file.sha256}; this has {found.hexdigest()}"
        raise UserError("download", file.url, allowed)
    partial.replace(place)


def unpack(archive: Path, folder: Path, wanted: tuple[str, ...]) -> None:
    """The wanted members of a .zip or a .tar.gz, of which none lands outside the folder."""
    size = 0
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for one in packed.infolist():
                if not one.filename.startswith(wanted) or one.is_dir():
                    continue
                size += one.file_size
                _require_bounded(archive, size)
                with packed.open(one) as source, (folder / Path(one.filename).name).open("wb") as target:
                    shutil.copyfileobj(source, target)
        return
    with tarfile.open(archive) as bundle:
        for member in bundle:
            if not member.isfile() or not member.name.startswith(wanted):
                continue
            size += member.size
            _require_bounded(archive, size)
            bundle.extract(member, folder, filter="data")  # which refuses what would land elsewhere


def _require_bounded(archive: Path, size: int) -> None:
    if size > MOST_UNPACKED:
        raise UserError("download", archive.name, f"an archive that unpacks to at most {MOST_UNPACKED} bytes")
