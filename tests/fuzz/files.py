"""Hostile files from a seed: each kind that a command reads, damaged, rewritten or replaced, and how it is read."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from artifact.__main__ import main
from artifact.accelerate import choose
from artifact.base import paths
from artifact.base.console import exit_code
from artifact.base.files import read_file
from artifact.bench import results
from artifact.models import networks
from artifact.papers import costs, experiments, folders
from artifact.report import notebooks, pictures
from artifact.report.mathematics import ATTRIBUTES, ELEMENTS, Converter
from artifact.runs.store import Run
from artifact.verdicts import findings, ledger
from tests.fuzz.lines import HOSTILE, NAMES
from tests.torture.damage import KINDS as DAMAGE
from tests.torture.scenarios import READERS, RUN
from theory.kit import tables

Read = Callable[[Path], int]


@dataclass(frozen=True)
class Kind:
    """A kind of file.  make: writes a sound one into a folder and returns it.  read: its readers, exit codes."""

    make: Callable[[Path], Path]
    read: tuple[Read, ...]


@dataclass(frozen=True)
class Hostile:
    """Attempt ``number``: which kind, changed by which draws, and which of its readers reads it."""

    kind: str
    seed: str
    reader: int


class Sound:
    """Sound files of every kind in a folder.  runs: store with finished runs of ``RUN``."""

    def __init__(self, folder: Path, runs: Path):
        self.folder, self.runs = folder, runs
        self.key = sorted(path.parent.name for path in runs.glob("*/checkpoint.safetensors"))[0]
        self.kinds = self._kinds()

    def _kinds(self) -> dict[str, Kind]:
        kinds = {f"record: {name}": Kind(self._record(name), self._readers()) for name in RECORD}
        kinds |= {f"unfinished: {name}": Kind(self._record(name, False), self._resume()) for name in RECORD[:-2]}
        kinds |= {f"audit: {name}": Kind(self._audit(name), AUDIT) for name in ("claims.toml", "experiments.toml")}
        kinds |= {f"audit: {name}": Kind(self._audit(name), AUDIT[1:3]) for name in ("tables/table1.csv",)}
        root = paths.ROOT
        papers = ("qu2022", "sun2023", "fan2024", "yashwanth2023", "kakoun2024")
        kinds |= {f"experiments: {p}": self._copy(root / f"experiments/{p}.toml", _experiments) for p in papers}
        kinds |= {f"claims: {p}": self._copy(root / f"claims/{p}.toml", _claims) for p in papers}
        kinds["papers.toml"] = self._copy(root / "claims/papers.toml", folders._enter_all)
        kinds["findings.toml"] = self._copy(root / "claims/findings.toml", findings.load)
        kinds["backends.toml"] = self._copy(root / "artifact/accelerate/backends.toml", _backends)
        kinds["costs.csv"] = self._copy(root / "claims/costs.csv", _costs)
        kinds["table.csv"] = self._copy(root / "claims/tables/qu22_table1.csv", _table)
        kinds["notebook"] = self._copy(sorted((root / "notebooks").glob("*.ipynb"))[0], _notebook)
        kinds["timing"] = self._copy(root / "docs/performance/mlp.json", results.read)
        kinds["figure's numbers"] = self._copy(sorted((root / "results/figures").glob("*.json"))[0], pictures._numbers)
        kinds["page"] = self._copy(root / "docs/protocol.md", None, "readme {path} --check")
        for name in ("fedavg-partial", "fedsmoo-partial"):
            found = root / f"tests/vectors/{name}.npz"
            if found.exists():
                kinds[f"case: {name}"] = self._copy(found, None, "replay {path}")
        kinds["formulas"] = Kind(_texts, (_call(_formulas),))
        kinds["archive"] = Kind(self._archive, (_words("store verify --out store"), _words("list runs --out store")))
        kinds["code"] = self._copy(root / "examples/fedsign.py", None, "list algorithms --add {path}")
        kinds["weights"] = Kind(_weights, (_call(_vit),))
        kinds["npz"] = Kind(_images_npz, (_words("data import mnist {path} --data stored"),))
        kinds["stored npz"] = Kind(
            _stored_npz, (_words("data split mnist iid --data ."), _words("data status --data ."))
        )
        kinds["sha256"] = Kind(
            lambda f: _stored_npz(f).with_suffix(".sha256"), (_words("data split mnist iid --data ."),)
        )
        kinds["IDX"] = Kind(lambda f: _idx(f, ""), (_words("data split mnist iid --data ."),))
        kinds["IDX, compressed"] = Kind(lambda f: _idx(f, ".gz"), (_words("data split mnist iid --data ."),))
        kinds["image"] = Kind(_domains, (_words("data split domainnet@8 iid --data ."),))
        kinds["annotations"] = Kind(_tiny, (_words("data split tiny-imagenet@8 iid --data ."),))
        return kinds

    def draw(self, seed: int, number: int) -> Hostile:
        rng = random.Random(f"files/{seed}/{number}")
        names = sorted(self.kinds)
        (kind,) = rng.choices(names, [1 if name.startswith(SLOW) else 3 for name in names])
        return Hostile(kind, f"{seed}/{number}", rng.randrange(len(self.kinds[kind].read)))

    def lay(self, hostile: Hostile, folder: Path) -> Callable[[], int]:
        """Write the file into an empty folder; what reads it there."""
        rng = random.Random(hostile.seed)
        kind = self.kinds[hostile.kind]
        path = kind.make(folder)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            if _small(path):
                _change(path, rng)
        if hostile.kind == "stored npz" and _small(path) and rng.random() < 0.8:
            _summed(path)
        if hostile.kind.startswith("record: ") and rng.random() < 0.5:
            _sealed_again(path, rng)
        read = kind.read[hostile.reader]
        return lambda: read(path)

    # ---- what is made ------------------------------------------------------------------------------------------------

    def _record(self, name: str, done: bool = True) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            shutil.copytree(self.runs, folder / "store", dirs_exist_ok=True)
            if not done:
                (folder / "store" / self.key / "done").unlink()
            return folder / "store" / self.key / name

        return make

    def _archive(self, folder: Path) -> Path:
        shutil.copytree(self.folder / "packed", folder / "store", dirs_exist_ok=True)
        return sorted((folder / "store" / "runs").glob("*.parquet"))[0]

    def _readers(self) -> tuple[Read, ...]:
        lines = [line.format(key=self.key) + " --out store" for line in READERS if not line.startswith("figure")]
        return tuple(_words(line) for line in lines) + self._resume()

    def _resume(self) -> tuple[Read, ...]:
        algorithm = json.loads((self.runs / self.key / "config.json").read_text())["algorithm"]
        return (_words(f"{RUN.replace('150', '2')} --algorithm {algorithm} --resume --out store"),)

    def _audit(self, name: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            shutil.copytree(self.folder / "audit", folder / "audit", dirs_exist_ok=True)
            return folder / "audit" / name

        return make

    def _copy(self, source: Path, read: Callable[[Path], object] | None, words: str = "") -> Kind:
        return Kind(
            lambda folder: Path(shutil.copy(source, folder / source.name)), (_call(read) if read else _words(words),)
        )


#: kinds that are read by training, or lie among many folders
SLOW = ("unfinished: ", "image", "annotations", "page")
RECORD = (
    *("config.json", "metrics.jsonl", "timings.jsonl", "environment.json", "checkpoint.safetensors"),
    *("curvature.json", "done"),
)


def _words(line: str) -> Read:
    return lambda path: main(line.format(path=path).split())


def _call(read: Callable[[Path], object]) -> Read:
    def called(path: Path) -> int:
        return exit_code(lambda: (read(path), 0)[1])

    return called


AUDIT = (
    _words("list claims --audit audit"),
    _words("table author2025/1 --lookup --profile quick --audit audit --out audit"),
    _words("sweep author2025 --profile quick --dry-run --audit audit --out ."),
    _words("list cells --paper author2025 --audit audit"),
)


def _experiments(path: Path) -> None:
    declared = experiments._load(path, 0)
    for table in declared.table:
        for profile in table.profiles:
            [cell.configs for cell in experiments.cells(table, profile)]


def _claims(path: Path) -> None:
    for claim in ledger._read(path, path.stem):
        repr(claim)


def _backends(path: Path) -> None:
    choose.TABLE = path
    choose._measured.__wrapped__()


def _costs(path: Path) -> None:
    costs.PRINTED = path.parent / "tables"
    costs._specified()


def _table(path: Path) -> None:
    tables.FOLDER = path.parent
    for row in tables.table.__wrapped__(path.stem):
        repr(row.is_number)
    experiments._lines_of.__wrapped__(path, 0)


#: pieces of a text with formulas, sound and not
TEX = [
    *(
        "$",
        "$",
        "$$",
        "{",
        "}",
        "x",
        "\\eta",
        "\\frac12",
        "^2",
        "_i",
        "\\text{",
        "\\left(",
        "\\right)",
        " and ",
        "`",
        "\n\n",
    ),
    *(
        "\\href{javascript:alert(1)}{x}",
        "\\style{position:fixed}{x}",
        "\\color{red}",
        "\\hspace{9999em}",
        "\\class{a}{b}",
    ),
    *(
        "\\unicode{60}",
        "\\begin{matrix}a&b\\end{matrix}",
        "<b>",
        "</math>",
        "<script>",
        "&lt;",
        "]]>",
        "\\rule{9em}{9em}",
    ),
]
#: tags of a text that a page shows
TAGS = {"p", "ul", "li", "code", "sub", "sup", "span", *ELEMENTS}


def _texts(folder: Path) -> Path:
    (path := folder / "text.tex").write_text("The step $w^+ = w - \\eta g$ is <b> long.\n\n$$\\frac{a}{b}$$\n")
    return path


def _formulas(path: Path) -> None:
    """What the page gets of a text; another tag or attribute than a text has ends in a traceback."""
    html = str(Converter().html(read_file(path, "text", 1 << 20).decode(errors="replace")))
    for name, attributes in re.findall(r"<([\w:-]+)([^>]*)>", html):
        used = set(re.findall(r"([\w:-]+)=", attributes))
        assert name in TAGS and used <= {"class", *ATTRIBUTES}, (name, attributes)


def _notebook(path: Path) -> None:
    notebooks.read(path.stem, path.parent)


def _vit(path: Path) -> None:
    os.environ[networks.WEIGHTS_VARIABLE] = str(path)
    networks._vit_state()


def _weights(folder: Path) -> Path:
    from safetensors.numpy import save_file

    save_file({"a": np.arange(6.0).reshape(2, 3), "b": np.ones(2, np.float32)}, path := folder / "w.safetensors")
    return path


def _arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    found = {}
    for split, count in (("train", 40), ("test", 12)):
        found[f"{split}_x"] = rng.integers(0, 256, (count, 28, 28), np.uint8)
        found[f"{split}_y"] = np.arange(count) % 10
    return found


def _images_npz(folder: Path) -> Path:
    np.savez(path := folder / "mnist.npz", **_arrays(np.random.default_rng(0)))
    return path


def _stored_npz(folder: Path) -> Path:
    path = _images_npz(folder)
    _summed(path)
    return path


def _summed(path: Path) -> None:
    path.with_suffix(".sha256").write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


def _idx(folder: Path, suffix: str) -> Path:
    place = folder / "MNIST" / "raw"
    place.mkdir(parents=True)
    pack = gzip.compress if suffix else bytes
    for prefix, split in (("train", "train"), ("t10k", "test")):
        for letter, stem in (("x", "images-idx3-ubyte"), ("y", "labels-idx1-ubyte")):
            array = _arrays(np.random.default_rng(0))[f"{split}_{letter}"].astype(np.uint8)
            head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
            (place / f"{prefix}-{stem}{suffix}").write_bytes(pack(head + array.tobytes()))
    return place / f"train-images-idx3-ubyte{suffix}"


def _domains(folder: Path) -> Path:
    names = [f"c{i:03d}" for i in range(345)]
    (folder / "domainnet").mkdir()
    for name in names:
        (folder / "domainnet" / "clipart" / name).mkdir(parents=True)
    pixels = np.arange(300, dtype=np.uint8).reshape(10, 10, 3)
    for name in names[:3]:
        for suffix in ("png", "jpg"):
            Image.fromarray(pixels).save(folder / "domainnet" / "clipart" / name / f"a.{suffix}")
    return folder / "domainnet" / "clipart" / names[0] / "a.png"


def _tiny(folder: Path) -> Path:
    root = folder / "tiny-imagenet-200"
    pixels = Image.fromarray(np.arange(300, dtype=np.uint8).reshape(10, 10, 3))
    for i in range(200):
        (root / "train" / f"n{i:03d}" / "images").mkdir(parents=True)
    for i in range(3):
        pixels.save(root / "train" / f"n{i:03d}" / "images" / "a.png")
    (root / "val" / "images").mkdir(parents=True)
    for i in range(3):
        pixels.save(root / "val" / "images" / f"v{i}.png")
    (path := root / "val" / "val_annotations.txt").write_text("".join(f"v{i}.png\tn{i:03d}\t0\t0\n" for i in range(3)))
    return path


# ---- what is done to it ----------------------------------------------------------------------------------------------

#: values in place of any other, as JSON and TOML write them
VALUES = [
    *("0", "-1", "1e999", "-1e308", "nan", "inf", "null", "true", "[]", "{}", '""', '"a"', "9" * 30, "9" * 5000, "1.5"),
    *(
        '["a", 1]',
        '{"a": 1}',
        '"\\u0000"',
        '"' + "a" * 5000 + '"',
        "[" * 200,
        "{ a = { b = 1 } }",
        '"../../etc"',
        "-0.0",
    ),
]


def _small(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.lstat().st_size < 1 << 28


def _change(path: Path, rng: random.Random) -> None:
    ways: list[Callable[[Path, random.Random], None]] = [_bytes, _bytes, _special]
    own = {".npz": [_rebuilt] * 4, ".safetensors": [_headed] * 4, ".toml": [_value] * 4 + [_called] * 4 + [_nested]}
    own |= {".csv": [_value] * 3 + [_called] * 3, ".tex": [_tex] * 8}
    ways += own.get(path.suffix, [_value] * 5)
    rng.choice(ways)(path, rng)


def _called(path: Path, rng: random.Random) -> None:
    """Another name for what the file names: an id, a key, a title, a file."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    places = [match.span(1) for match in re.finditer(r'"([^"\n]+)"', text)] if path.suffix == ".toml" else []
    places = places or [match.span(0) for match in re.finditer(r"[^,\n]+", text)] or [(0, 0)]
    start, end = rng.choice(places)
    name = rng.choice(NAMES)
    if path.suffix == ".toml" and rng.random() < 0.8:
        name = json.dumps(name)[1:-1]
    path.write_bytes((text[:start] + name + text[end:]).encode("utf-8", errors="surrogateescape"))


def _nested(path: Path, rng: random.Random) -> None:
    """Tables inside tables, in each of the ways in which TOML writes them."""
    depth = rng.choice((20, 33, 200, 3000, 50_000))
    ways = (
        ".".join("a" * depth) + " = 1",
        "[" + ".".join("b" * depth) + "]",
        "c = " + "[" * depth + "]" * depth,
        "d = " + "{a=" * depth + "1" + "}" * depth,
        "[[e" + ".e" * depth + "]]",
    )
    content = path.read_bytes()
    path.write_bytes(rng.choice(ways).encode() + b"\n" + (content if rng.random() < 0.7 else b""))


def _tex(path: Path, rng: random.Random) -> None:
    pieces = [rng.choice(TEX) for _ in range(rng.randrange(1, 30))]
    path.write_text("".join(pieces) if rng.random() < 0.7 else "$" + "{" * rng.choice((50, 5000)) + "".join(pieces))


def _special(path: Path, rng: random.Random) -> None:
    DAMAGE[
        rng.choice(("fifo", "folder", "loop", "device", "outside", "gone", "huge", "empty", "zeros", "drop", "twice"))
    ](path, rng.random())


def _bytes(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content) + 1)
    match rng.choice(("flip", "cut", "insert", "twice", "deep", "start")):
        case "flip" if content:
            content[min(at, len(content) - 1)] ^= rng.randrange(1, 256)
        case "cut":
            del content[at:]
        case "insert":
            content[at:at] = rng.randbytes(rng.choice((1, 4, 100)))
        case "twice":
            content[at:at] = content[at : at + rng.choice((1, 30, 3000))]
        case "deep":
            content[at:at] = rng.choice((b"[", b"{", b'{"a":', b"(")) * 50_000
        case _:
            content[: rng.choice((4, 8))] = rng.randbytes(8)
    path.write_bytes(content)


def _value(path: Path, rng: random.Random) -> None:
    """Another value, key or line in a text."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    places = [match.span(1) for match in re.finditer(r'[=:,\[]\s*("[^"\n]*"|[\w.+-]+)', text)]
    lines = text.splitlines(keepends=True)
    if places and rng.random() < 0.8:
        start, end = rng.choice(places)
        word = rng.choice(VALUES) if rng.random() < 0.8 else json.dumps(rng.choice(HOSTILE))
        text = text[:start] + word + text[end:]
    elif lines:
        at = rng.randrange(len(lines))
        lines[at : at + 1] = rng.choice(([], [lines[at]] * 2, [rng.choice(lines)], [rng.choice(HOSTILE) + "\n"]))
        text = "".join(lines)
    path.write_bytes(text.encode("utf-8", errors="surrogateescape" if "\udcff" not in text else "replace"))


def _rebuilt(path: Path, rng: random.Random) -> None:
    """An archive with an array of another type, shape or content."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception:  # it was damaged before
        return _bytes(path, rng)
    name = rng.choice(sorted(arrays))
    old = arrays[name]
    if old.dtype.kind == "U" and rng.random() < 0.8:  # JSON text of a case
        text = str(old)
        places = [match.span(1) for match in re.finditer(r'[:,\[]\s*("[^"\n]*"|[\w.+-]+)', text)] or [(0, 0)]
        start, end = rng.choice(places)
        arrays[name] = np.array(text[:start] + rng.choice(VALUES) + text[end:])
    else:
        flat = np.array(old, copy=True)
        change = rng.choice(
            ("type", "shape", "empty", "gone", "nan", "huge", "scalar", "text", "object", "negative", "more")
        )
        with np.errstate(all="ignore"):
            match change:
                case "type":
                    flat = (
                        flat.astype(rng.choice(("f2", "f8", "c16", "i1", "u8", "b1", "S3", "U2")))
                        if old.dtype.kind != "U"
                        else flat
                    )
                case "shape":
                    flat = flat.reshape(-1)[: rng.randrange(1, 6)] if flat.size else flat
                case "empty":
                    flat = np.zeros(rng.choice(((0,), (0, 3), (1, 0, 5), (3, 0))))
                case "nan" | "negative" | "huge" if old.dtype.kind in "fiu" and old.size:
                    value = {"nan": np.nan, "negative": -1, "huge": 1e300}[change]
                    flat = flat.astype(float)
                    flat.reshape(-1)[rng.randrange(flat.size)] = value
                case "scalar":
                    flat = np.array(rng.choice((0, -1, 2**62, 1.5)))
                case "text":
                    flat = np.array(rng.choice(HOSTILE))
                case "object":
                    flat = np.array([{"a": 1}, None], dtype=object)
                case "more":
                    flat = np.concatenate([flat, flat]) if flat.ndim else flat
        arrays[name] = flat
        if change == "gone":
            del arrays[name]
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    path.write_bytes(stream.getvalue())
    return None


def _headed(path: Path, rng: random.Random) -> None:
    """A safetensors file whose header says something else."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + size].decode("utf-8", errors="replace")
    places = [match.span(1) for match in re.finditer(r'[:,\[]\s*("[^"\n]*"|[\w.+-]+)', header)] or [(0, 0)]
    start, end = rng.choice(places)
    header = header[:start] + rng.choice([*VALUES, '"F64"', '"BF16"', "[1,2,3]", "8"]) + header[end:]
    data = header.encode("utf-8", errors="replace")
    said = rng.choice((len(data), len(data), len(data), 0, 2**40, 2**63 - 1, len(data) + 8))
    path.write_bytes(said.to_bytes(8, "little") + data + content[8 + size :])


def _sealed_again(path: Path, rng: random.Random) -> None:
    """As somebody would who edits a record and forges its seal, and its key."""
    run = Run(path.parent.parent, path.parent.name)
    try:
        run.finish(json.loads(read_file(run.done_file, most=1 << 20))["rounds"])
    except Exception:  # what cannot be sealed stays as it is
        return
    if rng.random() < 0.5:
        run.folder.rename(run.folder.parent / hashlib.sha256(rng.randbytes(9)).hexdigest()[:16])
