"""Datasets: every reader on small files in the real layout, damaged input, checksums, normalisation, augmentation."""

import dataclasses
import gzip
import hashlib
import io
import pickle
import re
import struct
import tarfile
import zipfile
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision import datasets as published

from artifact.base.errors import UserError
from artifact.data import DATASETS, Dataset, download, load, partition, sources
from artifact.data.augment import POLICIES, augment, normalise
from artifact.data.digits import handwritten_digits
from artifact.data.folders import read_domains, read_idx
from artifact.data.sources import data_root, describe, fetch, import_npz, status

DEBIAN = Path("/usr/share/datasets/fashion-mnist")


def pixels(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    return struct.pack(f">I{array.ndim}I", 0x0800 | array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_idx(
    folder: Path, prefixes=("train", "t10k"), sizes=(12, 5), classes=10, packed=True
) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for split, prefix, size in zip(("train", "test"), prefixes, sizes, strict=True):
        arrays[f"{split}_x"] = pixels(size, 28, 28)
        arrays[f"{split}_y"] = np.arange(size, dtype=np.uint8) % classes
        for letter, stem in (("x", "images-idx3-ubyte"), ("y", "labels-idx1-ubyte")):
            data = idx_bytes(arrays[f"{split}_{letter}"])
            path = folder / f"{prefix}-{stem}{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(data) if packed else data)
    return arrays


def cifar_arrays(train=30, test=20, **changes) -> dict[str, np.ndarray]:
    arrays = {
        "train_x": pixels(train, 32, 32, 3),
        "train_y": (np.arange(train) % 10).astype(np.uint8),
        "test_x": pixels(test, 32, 32, 3),
        "test_y": (np.arange(test) % 10).astype(np.uint8),
        "classes": np.array([f"class {i}" for i in range(10)]),
    }
    return {name: value for name, value in (arrays | changes).items() if value is not None}


def write_npz(path: Path, **arrays) -> Path:
    np.savez(path, **arrays)
    return path


def make_dataset(labels, **changes) -> Dataset:
    images = torch.arange(len(labels) * 12, dtype=torch.int64).remainder(256).to(torch.uint8).reshape(-1, 3, 2, 2)
    labels = torch.tensor(labels)
    fields = {"train_x": images, "train_y": labels, "test_x": images, "test_y": labels, "scale": 255.0}
    constants = {"mean": (0.1, 0.2, 0.3), "std": (0.5, 0.25, 2.0), "classes": ("a", "b", "c")}
    return Dataset(name="toy", **(fields | constants | changes))


# --- the embedded default


def test_digits_are_the_whole_scikit_learn_set_split_once():
    data = load("digits")
    assert data.input_shape == (1, 8, 8) and data.classes == tuple("0123456789")
    assert (len(data.train_y), len(data.test_y)) == (1437, 360)
    assert data.train_x.dtype == torch.uint8 and data.train_y.dtype == torch.int64
    assert int(data.train_x.max()) == 16 == data.scale
    both = torch.cat([data.train_x, data.test_x]).flatten(1).numpy()
    pixels, labels = handwritten_digits()
    assert sorted(map(bytes, both)) == sorted(map(bytes, pixels.astype(np.uint8)))
    scikit = pytest.importorskip("sklearn.datasets").load_digits()
    assert np.array_equal(pixels, scikit.data) and np.array_equal(labels, scikit.target)
    share = data.test_y.bincount() / torch.cat([data.train_y, data.test_y]).bincount()
    assert (share - 360 / 1797).abs().max() < 0.006
    assert data.fingerprint == "73c730709d081b088041ce8c6bd763fdd981acefe500edd1e379de5d567d48a7"


def test_digits_constants_are_those_of_the_training_images():
    data = load("digits")
    pixels = data.train_x.double() / 16
    assert data.mean == (round(float(pixels.mean()), 4),)
    assert data.std == (round(float(pixels.std(unbiased=False)), 4),)
    images = normalise(data.train_x, data, torch.float64)
    assert abs(float(images.mean())) < 1e-3 and abs(float(images.std()) - 1) < 1e-3


# --- readers


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "name, place", [("mnist", "MNIST/raw"), ("mnist", "mnist"), ("fashion-mnist", "FashionMNIST/raw")]
)
def test_idx_folders(tmp_path, name, place, packed):
    arrays = write_idx(tmp_path / place, packed=packed)
    data = load(name, tmp_path)
    assert np.array_equal(data.train_x[:, 0], arrays["train_x"]) and np.array_equal(data.test_x[:, 0], arrays["test_x"])
    assert np.array_equal(data.train_y, arrays["train_y"]) and np.array_equal(data.test_y, arrays["test_y"])
    assert data.input_shape == (1, 28, 28) and len(data.classes) == 10
    assert status(name, tmp_path)["where"] == str(tmp_path / place)


def test_a_folder_outside_the_root_is_found_by_itself(tmp_path, monkeypatch):
    write_idx(tmp_path / "debian")
    entry = dataclasses.replace(DATASETS["fashion-mnist"], places=("fashion-mnist", str(tmp_path / "debian")))
    monkeypatch.setitem(DATASETS, "fashion-mnist", entry)
    assert load("fashion-mnist", tmp_path / "root").classes[9] == "Ankle boot"
    assert status("fashion-mnist", tmp_path / "root")["where"] == str(tmp_path / "debian")


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="Debian's dataset-fashion-mnist is not installed")
def test_debian_package_holds_the_published_images(tmp_path):
    """Its files were checked against the publisher's MD5 sums; the fingerprint of that content is pinned."""
    data = load("fashion-mnist", tmp_path)
    assert (len(data.train_y), len(data.test_y)) == (60000, 10000)
    assert data.fingerprint == "9c8a666f4352488e51e24372268a3fa56a805e41574d7c8369b5cf83f270d275"


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="Debian's dataset-fashion-mnist is not installed")
def test_validation_images_are_training_images_that_nothing_trains_on(tmp_path):
    whole, tuning = load("fashion-mnist", tmp_path), load("fashion-mnist-validation", tmp_path)
    assert (len(tuning.train_y), len(tuning.test_y), tuning.name) == (50000, 10000, "fashion-mnist-validation")
    assert (tuning.test_y.bincount() == 1000).all() and (tuning.train_y.bincount() == 5000).all()
    pictures = [{one.numpy().tobytes() for one in x} for x in (tuning.train_x, tuning.test_x, whole.train_x)]
    assert pictures[0] | pictures[1] == pictures[2]
    assert len(pictures[0] & pictures[1]) < 50  # the published training set holds a few pictures twice
    assert load("fashion-mnist-validation", tmp_path).fingerprint == tuning.fingerprint != whole.fingerprint


def test_emnist_is_turned_upright_and_sampled(tmp_path):
    prefixes = ("emnist-byclass-train", "emnist-byclass-test")
    arrays = write_idx(tmp_path / "EMNIST" / "raw", prefixes, (620, 310), 62)
    whole, sample = load("emnist", tmp_path), load("emnist-20", tmp_path)
    assert np.array_equal(whole.train_x[:, 0], arrays["train_x"].swapaxes(1, 2)) and len(whole.classes) == 62
    assert (len(sample.train_y), len(sample.test_y), sample.name) == (124, 62, "emnist-20")
    assert (sample.train_y.bincount() == 2).all() and (sample.test_y.bincount() == 1).all()
    assert sample.fingerprint != whole.fingerprint


def write_cifar10(folder: Path, monkeypatch) -> list[np.ndarray]:
    """Pickled batches in the published layout; torchvision is told their MD5 sums."""
    base, blocks, sums = folder / "cifar-10-batches-py", [], {}
    base.mkdir(parents=True)
    for file in ("data_batch_1", "data_batch_2", "test_batch"):
        blocks.append(pixels(10, 3072))
        (base / file).write_bytes(pickle.dumps({"data": blocks[-1], "labels": list(range(10))}))
        sums[file] = hashlib.md5((base / file).read_bytes()).hexdigest()
    (base / "batches.meta").write_bytes(pickle.dumps({"label_names": [f"c{i}" for i in range(10)]}))
    meta = hashlib.md5((base / "batches.meta").read_bytes()).hexdigest()
    monkeypatch.setattr(published.CIFAR10, "train_list", [[f, sums[f]] for f in ("data_batch_1", "data_batch_2")])
    monkeypatch.setattr(published.CIFAR10, "test_list", [["test_batch", sums["test_batch"]]])
    monkeypatch.setattr(published.CIFAR10, "meta", {"filename": "batches.meta", "key": "label_names", "md5": meta})
    return blocks


def test_cifar_folder_of_torchvision(tmp_path, monkeypatch):
    blocks = write_cifar10(tmp_path, monkeypatch)
    data = load("cifar10", tmp_path)
    assert np.array_equal(data.train_x, np.concatenate(blocks[:2]).reshape(-1, 3, 32, 32))
    assert np.array_equal(data.test_x, blocks[2].reshape(-1, 3, 32, 32))
    assert data.classes[3] == "c3" and data.train_y.tolist() == [*range(10), *range(10)]


def test_cifar_batches_with_another_checksum_are_never_unpickled(tmp_path, monkeypatch):
    write_cifar10(tmp_path, monkeypatch)
    hostile = b"cbuiltins\nexec\n(S'raise SystemExit'\ntR."
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(hostile)
    with pytest.raises(UserError, match="MD5"):
        load("cifar10", tmp_path)


def save_image(path: Path, colour, size=(64, 64)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def write_tiny(folder: Path, layout: str) -> None:
    names = [f"n{i:08d}" for i in range(200)]
    for i, name in enumerate(names):
        save_image(folder / "train" / name / "images" / f"{name}_0.png", (i, 0, 7))
    for i in (4, 2):
        place = folder / "val" / ("images" if layout == "annotated" else names[i])
        save_image(place / f"val_{i}.png", (0, i, 0))
    if layout == "annotated":
        rows = "".join(f"val_{i}.png\t{names[i]}\t0\t0\t1\t1\n" for i in (4, 2))
        (folder / "val" / "val_annotations.txt").write_text(rows)


@pytest.mark.parametrize("layout, order", [("annotated", [4, 2]), ("folders", [2, 4])])
def test_tiny_imagenet(tmp_path, layout, order):
    write_tiny(tmp_path / "tiny-imagenet-200", layout)
    data = load("tiny-imagenet", tmp_path)
    assert data.train_y.tolist() == list(range(200)) and data.classes[3] == "n00000003"
    assert data.train_x[:, 0, 5, 5].tolist() == list(range(200)) and int(data.train_x[9, 2, 0, 0]) == 7
    assert data.test_y.tolist() == order and data.test_x[:, 1, 0, 0].tolist() == order


def write_domains(folder: Path, domains, classes: int, size=(10, 10)) -> None:
    for d, domain in enumerate(domains):
        for c in range(classes):
            save_image(folder / domain / f"class{c:03d}" / "one.png", (c % 256, d, 0), size)


@pytest.mark.parametrize(
    "name, place, domains",
    [
        ("officehome@8", "OfficeHomeDataset_10072016", ("Art", "Clipart", "Product", "Real World")),
        ("domainnet@8", "domainnet", ("clipart", "real")),
    ],
)
def test_domain_folders_and_leaving_one_out(tmp_path, name, place, domains):
    classes = describe(name).classes
    write_domains(tmp_path / place, domains, classes)
    data = load(name, tmp_path)
    assert data.input_shape == (3, 8, 8) and data.domain_names == domains and len(data.test_y) == 0
    assert data.train_x[:, 0, 4, 4].tolist() == (data.train_y % 256).tolist()
    assert data.train_x[:, 1, 4, 4].tolist() == data.domains.tolist()
    split = partition(
        f"domain:{domains[1]}", data.train_y, len(domains) - 1, 0, domains=data.domains, domain_names=data.domain_names
    )
    held = data.hold_out(split.held_out)
    assert (held.test_x[:, 1] == 1).all() and held.test_y.tolist() == list(range(classes))
    assert held.train_x is data.train_x and held.fingerprint != data.fingerprint
    half = data.subset(train=classes)
    assert half.train_x[:, 1, 4, 4].tolist() == half.domains.tolist()


def test_a_domain_folder_with_too_few_classes_is_refused(tmp_path):
    write_domains(tmp_path / "officehome", ("Art", "Clipart"), 3, (4, 4))
    assert len(read_domains(tmp_path / "officehome", 8)["classes"]) == 3
    with pytest.raises(UserError, match="65 class names"):
        load("officehome@8", tmp_path)


def test_a_damaged_image_is_named(tmp_path):
    write_domains(tmp_path / "officehome", ("Art",), 2)
    (tmp_path / "officehome" / "Art" / "class001" / "one.png").write_bytes(b"\x89PNG\r\n\x1a\n not an image")
    with pytest.raises(UserError, match=r"one\.png"):
        load("officehome@8", tmp_path)


# --- damaged and wrong input


@pytest.mark.parametrize("damage", ["truncated", "longer", "magic", "empty", "bit"])
def test_damaged_idx_files(tmp_path, damage):
    data = idx_bytes(pixels(4, 28, 28))
    changed = {"truncated": data[:-1], "longer": data + b"x", "magic": b"\0\0\x09" + data[3:], "empty": b""}
    (tmp_path / "a.gz").write_bytes(gzip.compress(changed.get(damage, data)))
    if damage == "bit":
        packed = bytearray((tmp_path / "a.gz").read_bytes())
        packed[len(packed) // 2] ^= 1
        (tmp_path / "a.gz").write_bytes(packed)
    with pytest.raises(UserError, match=r"a\.gz"):
        read_idx(tmp_path / "a.gz")


def test_a_cut_off_gzip_file_is_refused(tmp_path):
    write_idx(tmp_path / "mnist")
    path = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="train-images"):
        load("mnist", tmp_path)


def test_import_and_load_round_trip(tmp_path):
    arrays = cifar_arrays()
    target = import_npz("cifar10", write_npz(tmp_path / "in.npz", **arrays), tmp_path / "root")
    data = load("cifar10", tmp_path / "root")
    assert np.array_equal(data.train_x.permute(0, 2, 3, 1), arrays["train_x"])
    assert np.array_equal(data.test_y, arrays["test_y"]) and data.classes == tuple(arrays["classes"])
    assert sorted(p.name for p in target.parent.iterdir()) == ["cifar10.npz", "cifar10.sha256"]
    digest, name = (tmp_path / "root" / "cifar10.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(target.read_bytes()).hexdigest(), "cifar10.npz")
    assert data.fingerprint == load("cifar10", tmp_path / "root").fingerprint


def test_arrays_of_other_names_are_left_out(tmp_path):
    """Also one that is called as an argument of numpy's ``savez``."""
    plain = cifar_arrays()
    extra = io.BytesIO()
    np.save(extra, np.arange(2))
    with zipfile.ZipFile(write_npz(tmp_path / "in.npz", **plain), "a") as archive:
        archive.writestr("file.npy", extra.getvalue())
    target = import_npz("cifar10", tmp_path / "in.npz", tmp_path / "root")
    with np.load(target) as file:
        assert set(file.files) == set(plain)
    assert load("cifar10", tmp_path / "root").classes == tuple(plain["classes"])


def test_a_folder_can_be_imported_too(tmp_path):
    write_idx(tmp_path / "mnist")
    import_npz("mnist", tmp_path / "mnist", tmp_path / "root")
    assert status("mnist", tmp_path / "root")["where"] == str(tmp_path / "root" / "mnist.npz")
    assert load("mnist", tmp_path / "root").fingerprint == load("mnist", tmp_path).fingerprint


WRONG = [
    ({"train_y": None}, "train_y"),
    ({"train_x": np.zeros((30, 32, 32, 3), np.float32)}, "train_x"),
    ({"train_x": np.full((30, 32, 32, 3), np.nan)}, "train_x"),
    ({"train_x": np.zeros((30, 3, 32, 32), np.uint8)}, "train_x"),
    ({"test_x": np.zeros((20, 32, 32), np.uint8)}, "test_x"),
    ({"train_y": np.zeros(29, np.int64)}, "train_y"),
    ({"train_y": np.zeros(30)}, "train_y"),
    ({"train_y": np.full(30, 10)}, "train_y"),
    ({"test_y": np.full(20, -1)}, "test_y"),
    ({"test_x": np.zeros((0, 32, 32, 3), np.uint8), "test_y": np.zeros(0, np.int64)}, "test_y"),
    ({"classes": np.array(["one", "two"])}, "classes"),
    ({"classes": np.arange(10)}, "classes"),
    ({"classes": np.array([{}] * 10, dtype=object)}, "data file"),
    ({"domains": np.zeros(30, np.int64)}, "domains"),
    ({"domains": np.full(30, 3), "domain_names": np.array(["a", "b"])}, "domains"),
    ({"domains": np.arange(30) % 3, "domain_names": np.array(["a", "b", "a"])}, "domain_names"),
]


@pytest.mark.parametrize("changes, field", WRONG)
def test_import_refuses_wrong_contents_and_leaves_nothing(tmp_path, changes, field):
    path = write_npz(tmp_path / "in.npz", **cifar_arrays(**changes))
    with pytest.raises(UserError) as caught:
        import_npz("cifar10", path, tmp_path / "deep" / "root")
    assert (caught.value.field == field or field in str(caught.value)) and "\n" not in str(caught.value)
    assert not (tmp_path / "deep").exists()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_npz_files_give_one_clear_error(tmp_path, data):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **cifar_arrays(train=3, test=2))
    raw = bytearray(buffer.getvalue())
    at = data.draw(st.integers(0, len(raw) - 1))
    cut = data.draw(st.booleans())
    raw = raw[:at] if cut else raw[:at] + bytes([raw[at] ^ data.draw(st.integers(1, 255))]) + raw[at + 1 :]
    (tmp_path / "bad.npz").write_bytes(raw)
    try:
        import_npz("cifar10", tmp_path / "bad.npz", tmp_path / "root")
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert not cut and load("cifar10", tmp_path / "root").input_shape == (3, 32, 32)


def test_a_stored_file_that_changed_is_refused(tmp_path):
    target = import_npz("cifar10", write_npz(tmp_path / "in.npz", **cifar_arrays()), tmp_path)
    raw = bytearray(target.read_bytes())
    raw[len(raw) // 2] ^= 1
    target.write_bytes(raw)
    with pytest.raises(UserError, match="checksum differs"):
        load("cifar10", tmp_path)
    target.with_suffix(".sha256").unlink()
    with pytest.raises(UserError, match="checksum file is missing"):
        load("cifar10", tmp_path)


def test_a_stored_file_that_is_too_large_for_its_images_is_not_read(tmp_path, monkeypatch):
    """Else its checksum would take seconds for every gigabyte."""
    target = import_npz("cifar10", write_npz(tmp_path / "in.npz", **cifar_arrays()), tmp_path)
    with open(target, "ab") as file:
        file.truncate((3 * 32 * 32 << 22) + 1)  # no blocks on the disk
    monkeypatch.setattr(sources, "_sha256", lambda path: pytest.fail("it was read"))
    with pytest.raises(UserError, match=r"a file of at most 12884901888 bytes"):
        load("cifar10", tmp_path)


def test_a_failed_import_keeps_the_stored_file(tmp_path):
    import_npz("cifar10", write_npz(tmp_path / "in.npz", **cifar_arrays()), tmp_path)
    before = load("cifar10", tmp_path).fingerprint
    with pytest.raises(UserError):
        import_npz("cifar10", write_npz(tmp_path / "in.npz", **cifar_arrays(train_y=None)), tmp_path)
    assert load("cifar10", tmp_path).fingerprint == before


def test_a_root_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as caught:
        import_npz("cifar10", write_npz(tmp_path / "in.npz", **cifar_arrays()), tmp_path / "file" / "root")
    assert caught.value.field == "data folder"


@pytest.mark.parametrize(
    "name", ["cifar", "", "digits@8", "officehome@", "officehome@x", "officehome@9999", "emnist@28"]
)
def test_unknown_names_and_sizes(name):
    with pytest.raises(UserError) as caught:
        load(name)
    assert caught.value.field == "dataset"


@pytest.mark.parametrize("path", ["none.npz", "."])
def test_import_of_nothing(tmp_path, path):
    with pytest.raises(UserError, match="path"):
        import_npz("cifar10", tmp_path / path, tmp_path)


def test_digits_cannot_be_imported(tmp_path):
    with pytest.raises(UserError, match="part of the package"):
        import_npz("digits", tmp_path, tmp_path)


# --- missing data, network


@pytest.mark.parametrize("name", [n for n in DATASETS if n != "digits" and "fashion" not in n])
def test_missing_data_say_how_to_get_them(tmp_path, name):
    with pytest.raises(UserError) as caught:
        load(name, tmp_path)
    assert f"data import {name}" in str(caught.value) and caught.value.value == name
    entry = status(name, tmp_path)
    assert entry["available"] is False and entry["where"] is None


def test_status_of_the_embedded_set_and_the_default_root(tmp_path, monkeypatch):
    assert status("digits", tmp_path)["available"] is True
    monkeypatch.setenv("FEDSHARP_DATA", str(tmp_path / "env"))
    assert data_root() == tmp_path / "env" and data_root(tmp_path) == tmp_path
    monkeypatch.delenv("FEDSHARP_DATA")
    assert data_root() == Path("data")


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "emnist", "cifar10", "cifar100"])
def test_no_network_is_one_clear_error_and_leaves_nothing(tmp_path, monkeypatch, name):
    def refuse(*arguments, **options):
        raise URLError("no network")

    monkeypatch.setattr(download, "opening", refuse)
    with pytest.raises(UserError) as caught:
        fetch(name, tmp_path / "new" / "root")
    text = str(caught.value)
    assert DATASETS[name].url in text and f"data import {name}" in text and "\n" not in text
    assert str(tmp_path / "new" / "root" / DATASETS[name].places[0]) in text
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["tiny-imagenet", "officehome", "domainnet"])
def test_sets_without_a_download_say_where_they_are(tmp_path, name):
    with pytest.raises(UserError, match=DATASETS[name].url):
        fetch(name, tmp_path)


@pytest.fixture
def publisher(tmp_path, monkeypatch) -> Path:
    """A folder of MNIST-shaped files that answers in the publisher's place; the program is told their SHA-256."""
    folder = tmp_path / "publisher"
    write_idx(folder)
    files = tuple(
        download.Published(f"https://example.org/{path.name}", hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
    )
    monkeypatch.setitem(download.FILES, "MNIST", files)
    monkeypatch.setattr(download, "opening", lambda url: (folder / url.rsplit("/", 1)[-1]).open("rb"))
    return folder


def test_every_publishers_file_is_asked_for_by_https_and_has_its_sum():
    assert {source.torchvision for source in DATASETS.values()} - {""} == download.FILES.keys()
    for file in (one for files in download.FILES.values() for one in files):
        assert file.url.startswith("https://") and re.fullmatch("[0-9a-f]{64}", file.sha256)


def test_a_publisher_that_leads_to_http_is_not_followed():
    handler = download.OnlyHttps()
    with pytest.raises(UserError, match="https"):
        handler.redirect_request(None, None, 302, "", {}, "http://example.org/file")
    with pytest.raises(UserError, match="https"):
        download.fetched(download.Published("http://example.org/file", ""), Path("nowhere"))


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_archives_unpack_inside_the_folder_and_within_bounds(tmp_path, monkeypatch, kind):
    archive, folder = tmp_path / f"packed.{kind}", tmp_path / "in" / "folder"
    folder.mkdir(parents=True)
    content = {"a/good": b"good", "a/../../../bad": b"bad", "other": b"other"}
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as packed:
            for name, data in content.items():
                packed.writestr(name, data)
        download.unpack(archive, folder, ("a/",))
        assert {path.name for path in folder.iterdir()} == {"good", "bad"}  # by their last name alone
    else:
        with tarfile.open(archive, "w:gz") as packed:
            for name, data in content.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                packed.addfile(member, io.BytesIO(data))
        with pytest.raises(tarfile.TarError):
            download.unpack(archive, folder, ("a/",))
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {"good", "bad", archive.name}
    assert not (tmp_path / "bad").exists() and not (tmp_path / "in" / "bad").exists()
    monkeypatch.setattr(download, "MOST_UNPACKED", 3)
    with pytest.raises(UserError, match="unpacks to at most 3 bytes"):
        download.unpack(archive, folder, ("a/",))


def test_fetch_stores_what_the_publisher_offers(tmp_path, publisher):
    fetch("mnist", tmp_path / "root")
    data = load("mnist", tmp_path / "root")
    assert np.array_equal(data.train_x[:, 0], read_idx(publisher / "train-images-idx3-ubyte.gz"))
    assert sorted(p.name for p in (tmp_path / "root").iterdir()) == ["mnist.npz", "mnist.sha256"]


def test_fetch_refuses_other_bytes_than_published(tmp_path, publisher):
    path = publisher / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(UserError, match="SHA-256"):
        fetch("mnist", tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_the_embedded_set_needs_no_download(tmp_path):
    assert fetch("digits", tmp_path / "root") is None and not (tmp_path / "root").exists()


# --- Dataset


def test_the_fingerprint_sees_everything_that_changes_numbers():
    base = make_dataset([0, 1, 2, 0])
    assert make_dataset([0, 1, 2, 0]).fingerprint == base.fingerprint
    assert make_dataset([0, 1, 2, 1]).fingerprint != base.fingerprint
    for change in ({"scale": 16.0}, {"mean": (0.1, 0.2, 0.4)}, {"domains": torch.zeros(4, dtype=torch.int64)}):
        assert make_dataset([0, 1, 2, 0], **change).fingerprint != base.fingerprint
    reshaped = make_dataset([0, 1, 2, 0], train_x=base.train_x.reshape(4, 3, 1, 4))
    assert reshaped.fingerprint != base.fingerprint
    assert base.to("cpu").fingerprint == base.fingerprint
    moved = base.to("meta")
    assert moved.train_x.device.type == moved.test_y.device.type == "meta"


@given(st.lists(st.integers(0, 2), min_size=2, max_size=60), st.data())
def test_subsets_are_stratified_and_repeatable(labels, data):
    whole = make_dataset(labels)
    size = data.draw(st.integers(1, len(labels)))
    part = whole.subset(train=size, seed=3)
    assert part.name == f"toy[{size}/{len(labels)}]" and len(part.train_y) == size
    share = part.train_y.bincount(minlength=3) - whole.train_y.bincount(minlength=3) * size / len(labels)
    assert share.abs().max() < 1 + 1e-9
    assert whole.subset(train=size, seed=3).fingerprint == part.fingerprint
    numbered = make_dataset(labels, train_x=torch.arange(len(labels), dtype=torch.uint8).reshape(-1, 1, 1, 1))
    assert (numbered.subset(train=size).train_x.flatten().long().diff() > 0).all()


def test_subset_sizes_are_checked_and_seeds_differ():
    whole = make_dataset([0, 1, 2] * 20)
    for bad in (0, -1, 61):
        with pytest.raises(UserError):
            whole.subset(test=bad)
    assert len({tuple(whole.subset(train=9, seed=s).train_x[:, 0, 0, 0].tolist()) for s in range(6)}) == 6


# --- normalisation and augmentation


@pytest.mark.parametrize("dtype, error", [(torch.float64, 1e-14), (torch.float32, 1e-6), (torch.bfloat16, 2e-2)])
def test_normalisation_of_every_pixel_value(dtype, error):
    data = make_dataset([0])
    values = torch.arange(256, dtype=torch.int64).to(torch.uint8).expand(3, 1, 256).contiguous()
    wanted = [[(v / 255 - m) / s for v in range(256)] for m, s in zip(data.mean, data.std, strict=True)]
    out = normalise(values, data, dtype)
    assert out.dtype == dtype and out.shape == (3, 1, 256)
    assert np.abs(out[:, 0].double().numpy() - np.array(wanted)).max() < error
    batched = normalise(values.expand(2, 5, 3, 1, 256), data, dtype)
    assert torch.equal(batched[1, 3], out)


def one_by_one(images, uniforms, padding, always_crop):
    """The released policy with one loop per image: flip, then pad and cut."""
    results = []
    for image, (u0, u1, u2, u3) in zip(images.numpy(), uniforms.numpy(), strict=True):
        image = image[:, :, ::-1] if u0 < 0.5 else image
        if always_crop or u1 < 0.5:
            _, height, width = image.shape
            padded = np.pad(image, ((0, 0), (padding, padding), (padding, padding)))
            top, left = int(u2 * (2 * padding + 1)), int(u3 * (2 * padding + 1))
            image = padded[:, top : top + height, left : left + width]
        results.append(image)
    return np.stack(results)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(0, 5), st.integers(0, 2**32)
)
def test_augmentation_equals_the_loop_over_images(batch, channels, height, width, padding, seed):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(batch, channels, height, width, generator=generator, dtype=torch.float64)
    uniforms = torch.rand(batch, 4, generator=generator, dtype=torch.float64)
    for name, always in (("flip-crop", False), ("flip-crop-always", True)):
        result = POLICIES[name](images, uniforms, padding)
        assert np.array_equal(result.numpy(), one_by_one(images, uniforms, padding, always))


def test_augmentation_takes_clients_and_samples_at_once():
    generator = torch.Generator().manual_seed(0)
    images, uniforms = torch.randn(3, 5, 2, 8, 8, generator=generator), torch.rand(3, 5, 4, generator=generator)
    together = augment(images, uniforms)
    assert torch.equal(together, torch.stack([augment(x, u) for x, u in zip(images, uniforms, strict=True)]))


def test_every_offset_is_reached_and_the_largest_uniform_stays_inside():
    images = torch.arange(1.0, 65.0).reshape(1, 1, 8, 8).expand(81, 1, 8, 8)
    grid = (torch.arange(9) + 0.5) / 9
    uniforms = torch.cat([torch.full((81, 1), 0.9), torch.zeros(81, 1), torch.cartesian_prod(grid, grid)], dim=1)
    assert len({tuple(image.flatten().tolist()) for image in augment(images, uniforms)}) == 81
    last = torch.tensor([[0.9, 0.0, 1 - 2**-24, 1 - 2**-24]])
    assert torch.equal(augment(images[:1], last)[0, 0, :4, :4], images[0, 0, 4:, 4:])
