"""Runs on disk: ``<root>/<key>/`` holds config, environment, one metrics line per round, a checkpoint, a done mark.

Every file but the metrics is replaced whole, so a reader never sees half of one. The metrics grow by one line per round
and are cut back to the checkpoint's round when a killed run goes on, which then gives the same bits as an undisturbed
run. Checkpoints are safetensors; nothing is ever unpickled.

The done mark holds a digest of every part and is written last. Whoever reads a finished run reads what its mark vouches
for: a part that was changed since is an error, and a record with such a part is left out of all results.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from filelock import FileLock, Timeout
from pydantic import BaseModel, TypeAdapter, ValidationError
from safetensors import safe_open

from artifact import NUMBERS, __version__, algorithms
from artifact.base.cache import cache
from artifact.base.devices import vector_unit
from artifact.base.errors import UserError, first_fault
from artifact.base.files import Stamp, read_file, regular_file, replacing, settled, stamp, write_atomic
from artifact.base.lazy import Tensor, torch
from artifact.runs import schema
from artifact.runs.seal import Changed, believed, parsed, read_sealed, seal, unsealed
from artifact.training.config import hashed

#: entries of a checkpoint that probes read: parameters [P] and running statistics [Q]
GLOBAL_MODEL = ("w", "statistics")

#: seconds between two checkpoints; no number of a run depends on it
CHECKPOINT_SECONDS = 20.0
#: the name of what a finished run measured of its model's curvature
CURVATURE = "curvature.json"
#: evaluated rounds at the end of training; their mean is the headline accuracy
LAST = 10
#: bytes of a record's largest file but for its checkpoint
MOST = 1 << 30
#: files that a done mark vouches for; beside them the mark holds ``model``, a digest of the last model's tensors
PARTS = ("config.json", "environment.json", "metrics.jsonl", "timings.jsonl")


def dumps(value: Any) -> str:
    """Canonical JSON; numbers that JSON lacks (nan, inf) become null."""
    return json.dumps(finite(value), sort_keys=True, allow_nan=False)


def finite(value: Any) -> Any:
    """Plain data without NaN or infinity, which JSON lacks: None in their place."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    return [finite(v) for v in value] if isinstance(value, (list, tuple)) else value


def _unwritable(folder: Path, error: OSError) -> UserError:
    return UserError("out", str(folder), f"a folder that can be written ({error.strerror or error})")


def _damaged(path: Path, allowed: str) -> Changed:
    hint = f"`python -m fedsharp store repair --out {path.parent.parent}` mends it or says what to run again"
    if not os.path.lexists(path.parent / "done"):
        hint = f"delete the folder {path.parent} to make the run from its start"
    return Changed(path.stem, str(path), f"{allowed}; {hint}")


def is_number(value: Any) -> bool:
    """Whether it is a finite number, also as a float, which an integer of any size is not."""
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max


def _lines(path: Path) -> tuple[list[tuple[dict[str, Any], bytes]], int]:
    """(object, line) of an unfinished run's lines up to the first that is damaged, and which that is (0: none).

    A half-written last line is left out and no damage.
    """
    lines: list[tuple[dict[str, Any], bytes]] = []
    whole = _hinted(path, partial(read_file, most=MOST)).split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(whole, 1):
        try:
            entry = parsed(line)
        except ValueError:  # no UTF-8, no JSON
            return lines, number
        if not (isinstance(entry, dict) and is_number(entry.get("round"))):
            return lines, number
        lines.append((entry, line + b"\n"))
    return lines, 0


@cache
def _adapter(kind: Any) -> TypeAdapter:
    return TypeAdapter(kind)


def _valid(kind: Any, content: Any, path: Path, line: int = 0) -> Any:
    """The content where it is as the schema has it. Raises UserError with file, line and field."""
    try:
        _adapter(kind).validate_python(content)
    except ValidationError as error:
        fault = first_fault(error)
        where = f"{path}, line {line}" if line else str(path)
        raise Changed(path.stem, where, f"{fault.field}: {fault.allowed}, not {fault.value!r}") from None
    return content


def _line(kind: type[BaseModel], path: Path, number: int, line: bytes) -> Any:
    """The object of a finished run's line. Raises UserError with its number where there is none."""
    try:
        content = parsed(line)
    except ValueError:
        raise _damaged(path, f"lines of JSON objects, which line {number} is not") from None
    return _valid(kind, content, path, number)


def fits(kind: Any, content: Any) -> bool:
    """Whether content is as the schema has it."""
    try:
        _adapter(kind).validate_python(content)
    except ValidationError:
        return False
    return True


def diverged(lines: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the run of these metrics lines ended because its numbers were finite no more."""
    return bool(lines) and "diverged" in lines[-1]


def tail_mean(values: Collection[float]) -> float | None:
    """Mean over the last ten of values in order, as headlines are; None without any."""
    tail = list(values)[-LAST:]
    return sum(tail) / len(tail) if tail else None


Content = TypeVar("Content")


class Run:
    """One run's folder."""

    def __init__(self, root: Path, key: str):
        self.key, self.root = key, root
        self._saved = ""  # digest of the model that this process has saved last

    @cached_property
    def folder(self) -> Path:  # a store may have tens of thousands of runs, most of which nobody opens
        return Path(self.root) / self.key

    @property
    def config_file(self) -> Path:
        return self.folder / "config.json"

    @property
    def metrics_file(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def timings_file(self) -> Path:
        return self.folder / "timings.jsonl"

    @property
    def checkpoint_file(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    @property
    def done_file(self) -> Path:
        return self.folder / "done"

    @property
    def done(self) -> bool:
        return self.done_file.exists()

    @property
    def started(self) -> bool:
        return self.config_file.exists()

    def create(self, config: Mapping[str, Any], device: torch.device) -> None:
        """Make the folder with config and environment. Raises UserError when it cannot be written."""
        self._make_folder()
        write_atomic(self.folder / "environment.json", json.dumps(environment(device), indent=1, sort_keys=True) + "\n")
        write_atomic(self.config_file, json.dumps(config, indent=1, sort_keys=True) + "\n")

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self.folder.parent, error) from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process works on a run; makes its folder.

        Raises UserError when another process works on it and when the folder cannot be written.
        """
        self._make_folder()
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise UserError("run", self.key, "a run that no other process is working on") from None
        except OSError as error:
            with contextlib.suppress(OSError):  # it holds what was there before
                self.folder.rmdir()
            raise _unwritable(self.folder, error) from None
        try:
            yield
        finally:
            (self.folder / ".lock").unlink(missing_ok=True)  # while it is held: afterwards it may be another's
            lock.release()

    def append(self, metrics: Mapping[str, Any], timing: Mapping[str, Any]) -> None:
        for path, line in ((self.metrics_file, metrics), (self.timings_file, timing)):
            try:
                with open(path, "a", encoding="utf-8") as file:
                    file.write(dumps(line) + "\n")
            except OSError as error:
                raise _unwritable(self.folder, error) from None

    def truncate(self, rounds: int) -> None:
        """Cut the records back to the first ``rounds`` rounds; whatever follows goes, also a half-written last line.

        Raises UserError, and changes nothing, when the lines of these rounds are not all there: a run that went on
        without them would end with a gap that nobody sees.
        """
        paths = [path for path in (self.metrics_file, self.timings_file) if path.exists() or rounds]
        kept = {path: _lines(path)[0][:rounds] for path in paths}
        for path, lines in kept.items():
            model = schema.Round if path == self.metrics_file else schema.Seconds
            fitting = [entry["round"] for entry, _ in lines if fits(model, entry)]
            if fitting != list(range(1, rounds + 1)):
                raise _damaged(
                    path, f"an intact line for each of the {rounds} rounds that the checkpoint has behind it"
                )
        for path, lines in kept.items():
            write_atomic(path, b"".join(line for _, line in lines))

    def _sync(self) -> None:
        """Let the records reach the disk. Raises UserError when they cannot."""
        try:
            for path in (self.metrics_file, self.timings_file):
                if path.exists():
                    with open(path, "rb+") as file:
                        os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def save(self, tensors: Mapping[str, Tensor], completed: int, config: Mapping[str, Any]) -> None:
        """Checkpoint after ``completed`` rounds.

        Their records are on the disk before it is, so that none that survives a power loss is ahead of them.
        """
        from safetensors.torch import save_file  # it imports torch

        self._sync()
        apart = _apart(tensors)
        with replacing(self.checkpoint_file) as temporary:
            save_file(apart, temporary, metadata=_metadata(apart, {"round": str(completed), "config": dumps(config)}))
        self._saved = _model_digest(apart)

    def finish(self, rounds: int) -> None:
        """Write the done mark, which vouches for every part as it is now."""
        parts = {name: digest(read_file(self.folder / name, most=MOST)) for name in PARTS}
        if self._saved:
            parts["model"] = self._saved
        elif self.checkpoint_file.exists():
            parts["model"] = _model_digest(read_checkpoint(self.checkpoint_file, GLOBAL_MODEL)[0])
        write_atomic(self.done_file, json.dumps(seal({"parts": parts, "rounds": rounds}), indent=1) + "\n")

    def mark(self) -> dict[str, Any]:
        """The done mark. Raises UserError where it is not as it was sealed."""
        return _valid(schema.Done, _hinted(self.done_file, read_sealed), self.done_file)

    def part(self, name: str) -> bytes:
        """Content of a part. Raises UserError where it is not what the mark of the finished run vouches for."""
        path = self.folder / name
        mark = self.mark() if self.done else None  # before it is read: the run may end meanwhile
        try:
            content = read_file(path, most=MOST)
        except UserError as error:  # no regular file, or none
            raise _damaged(path, error.allowed) from None
        if mark is not None and mark["parts"].get(name) != digest(content):
            raise _damaged(path, "the file as it was sealed; it was changed since")
        return content

    def model(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """Tensors of the last checkpoint's model, and its metadata. Raises UserError as ``part`` does.

        The clients' state, which is left out, can be a hundred times as large.
        """
        tensors, metadata = read_checkpoint(self.checkpoint_file, GLOBAL_MODEL)
        if self.done and self.mark()["parts"].get("model") not in (None, _model_digest(tensors)):
            raise _damaged(self.checkpoint_file, "the model as it was sealed; it was changed since")
        return tensors, metadata

    def slim(self) -> None:
        """Keep of a finished run's checkpoint the global model alone; the clients' state can be a hundred times it."""
        if not (self.done and self.checkpoint_file.exists()):
            return
        from safetensors.torch import save_file

        tensors, metadata = read_checkpoint(self.checkpoint_file, GLOBAL_MODEL)
        with replacing(self.checkpoint_file) as temporary:
            save_file(tensors, temporary, metadata=_metadata(tensors, metadata))

    def config(self) -> dict[str, Any]:
        """Config and facts of the run. Raises UserError for a damaged file."""
        return _valid(schema.Config, self._object(self.config_file), self.config_file)

    def environment(self) -> dict[str, Any]:
        """Versions and hardware that the run was made with. Raises UserError for a damaged file."""
        return self._object(self.folder / "environment.json")

    def _object(self, path: Path) -> dict[str, Any]:
        try:
            content = parsed(self.part(path.name))
        except ValueError as error:
            if isinstance(error, UserError):
                raise
            content = None
        if not isinstance(content, dict):
            raise _damaged(path, "a JSON object as a run writes it")
        return content

    def curvature(self) -> dict[str, Any]:
        """What ``sharpness --record`` has measured; empty where it has not. Raises UserError for a damaged file.

        ``{"top_eigenvalue": {value, residual, converged}, "trace": {value, standard_error}, "data": training images}``.
        """
        path = self.folder / CURVATURE
        if not os.path.lexists(path):
            return {}
        return _valid(schema.Curvature, _hinted(path, read_sealed), path)

    def record_curvature(self, content: Mapping[str, Any]) -> None:
        text = json.dumps(seal(finite(dict(sorted(content.items())))), indent=1)
        write_atomic(self.folder / CURVATURE, text + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """One dict per completed round; a half-written last line of a killed run is left out.

        Raises UserError for a damaged line of a finished run, and for one in which a round is missing.
        In an unfinished one the rounds end at the damage: its damaged end may come after the checkpoint, from which
        the run goes on.
        """
        return self._entries(self.metrics_file, schema.Round)

    def verify(self) -> bool:
        """True where every part but the model is as it was sealed. Raises UserError for the first that is not."""
        self.require_own()
        self.metrics()
        self.seconds()
        self.curvature()
        return True

    def require_own(self) -> None:
        """Raises UserError where config and environment are not those of the run with this key, the config's hash."""
        config, numbers = self.config(), self.environment().get("numbers", NUMBERS)
        known = "added" in config or config["algorithm"] in algorithms.ALGORITHMS  # else the text of the method is not
        own = hashed(config, config["data_fingerprint"], numbers, config.get("added"))
        if known and own != self.key:
            raise _damaged(self.config_file, f"the config of {self.key}, not of {own}")

    @property
    def intact(self) -> bool:
        """Whether all of it is as it was sealed; if not, standard error says so in a line."""
        return believed(self.verify) is not None

    def series(self, quantity: str) -> dict[int, float]:
        """Round -> number of the metrics lines that have it: ``server.accuracy``, ``perturbation.norm``, a probe's."""
        group, _, name = quantity.partition(".")
        pairs = ((line["round"], line.get(group, {}).get(name)) for line in self.metrics())
        return {number: value for number, value in pairs if value is not None}

    def completed(self) -> int:
        """How many rounds are recorded."""
        return len(self.metrics())

    def traffic(self) -> list[float]:
        """Models that all active clients sent and received, round by round."""
        return [line["cohort"] * (line["cost"]["up"] + line["cost"]["down"]) for line in self.metrics()]

    def cost(self) -> dict[str, Any]:
        """What the last round cost, as ``schema.Cost`` has it. Raises IndexError for a run without rounds."""
        return self.metrics()[-1].get("cost", {})

    @property
    def diverged(self) -> bool:
        """Whether it ended because its numbers were finite no more."""
        return diverged(self.metrics())

    def seconds(self) -> float:
        """Time that the recorded rounds took, evaluation included. Raises UserError as ``metrics`` does."""
        return sum(self.round_seconds(), 0.0)

    def round_seconds(self) -> list[float]:
        """The same, round by round."""
        return [entry["seconds"] for entry in self._entries(self.timings_file, schema.Seconds)]

    def _entries(self, path: Path, model: type[BaseModel]) -> list[dict[str, Any]]:
        if not self.done:
            return [entry for entry, _ in _lines(path)[0]]
        lines = self.part(path.name).split(b"\n")[:-1]
        try:
            entries = parsed(b"[" + b",".join(lines) + b"]")
        except ValueError:
            entries = []
        if not (len(entries) == len(lines) and fits(GenericAlias(list, model), entries)):  # which line is it?
            entries = [_line(model, path, number, line) for number, line in enumerate(lines, 1)]
        rounds = self.mark()["rounds"]
        if [entry["round"] for entry in entries] != list(range(1, rounds + 1)):
            raise _damaged(path, f"a line for each of the {rounds} rounds of the finished run, in their order")
        return entries


#: folder -> what its files were, and what has been read of them
_READ: WeakValueDictionary[str, Kept] = WeakValueDictionary()


class Kept(dict[str, Any]):
    """What a process has read of one finished run.  stamp: of the files that it was read from."""

    stamp: Stamp | None = None


class Finished(Run):
    """A finished run: it no longer changes, so a process reads each of its files once, however many look at it."""

    @cached_property
    def _kept(self) -> Kept:
        """What was read before, by whatever object of this folder, where its files are what they were then."""
        measured = [CURVATURE] if os.path.lexists(self.folder / CURVATURE) else []
        own = Kept()
        own.stamp = stamp(self.folder, ("done", *PARTS, *measured))
        if own.stamp is None or not settled(own.stamp):
            return own
        first = _READ.setdefault(str(self.folder), own)
        if first.stamp != own.stamp:
            first = _READ[str(self.folder)] = own
        return first

    def _once(self, name: str, read: Callable[[], Content]) -> Content:
        if name not in self._kept:
            self._kept[name] = read()
        return self._kept[name]

    @property
    def done(self) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return self._once("config", self._read_config)

    def metrics(self) -> list[dict[str, Any]]:
        return self._once("metrics", self._read_metrics)

    def round_seconds(self) -> list[float]:
        return self._once("seconds", self._read_round_seconds)

    def mark(self) -> dict[str, Any]:
        return self._once("mark", self._read_mark)

    def verify(self) -> bool:
        return self._once("verified", self._read_verified)

    @property
    def intact(self) -> bool:
        return self._once("intact", lambda: believed(self.verify) is not None)

    def checked(self) -> bool:
        """As ``verify``, of the files as they are now, whatever else has vouched for them."""
        return self.verify()

    _read_config = Run.config
    _read_metrics = Run.metrics
    _read_round_seconds = Run.round_seconds
    _read_mark = Run.mark
    _read_verified = Run.verify


def _hinted(path: Path, read: Callable[[Path], Content]) -> Content:
    """As ``read``, whose error then says what to do."""
    try:
        return read(path)
    except UserError as error:
        raise _damaged(path, error.allowed) from None


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _tensor_digest(tensor: Tensor) -> str:
    """SHA-256 of type, shape and bytes."""
    found = hashlib.sha256(f"{tensor.dtype} {list(tensor.shape)} ".encode())
    found.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _model_digest(tensors: Mapping[str, Tensor]) -> str:
    parts = {name: _tensor_digest(tensors[name]) for name in GLOBAL_MODEL if name in tensors}
    return digest(json.dumps(parts, sort_keys=True).encode())


def _metadata(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> dict[str, str]:
    """A checkpoint's metadata: one entry, since safetensors writes several in no fixed order, with all digests."""
    digests = {name: _tensor_digest(tensor) for name, tensor in tensors.items()}
    return {"fedsharp": json.dumps(seal({**metadata, "tensors": digests}), sort_keys=True)}


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors on the CPU, none in the memory of another: safetensors would refuse them."""
    apart, taken = {}, set()
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous()
        memory = flat.untyped_storage().data_ptr()
        apart[name] = flat.clone() if memory in taken else flat
        taken.add(memory)
    return apart


def read_checkpoint(path: Path, only: Collection[str] | None = None) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata (round, config) of a checkpoint; of the tensors ``only`` these, where they are there.

    Raises UserError when missing or damaged.
    """
    with regular_file(path, "checkpoint"):
        pass
    try:
        with safe_open(str(path), framework="pt") as file:
            held = list(file.keys())
            names = [name for name in held if only is None or name in only]
            tensors = {name: file.get_tensor(name) for name in names}
            metadata = file.metadata() or {}
    except Exception as error:  # a hostile header leads to whatever error
        raise UserError("checkpoint", str(path), f"an intact safetensors file ({error})") from None
    if "fedsharp" in metadata:
        try:
            metadata = unsealed(metadata["fedsharp"], path)
            digests = metadata.pop("tensors")
        except (UserError, KeyError) as error:
            raise UserError("checkpoint", str(path), f"a checkpoint as it was written ({error})") from None
        changed = [name for name in names if _tensor_digest(tensors[name]) != digests.get(name)]
        changed += sorted(digests.keys() ^ set(held))
        if changed:
            raise UserError("checkpoint", str(path), f"a checkpoint as it was written; {changed[0]} was changed since")
    if not _names_a_run(metadata):
        raise UserError("checkpoint", str(path), "a checkpoint that a run has written (its metadata name no run)")
    return tensors, metadata


def _names_a_run(metadata: Mapping[str, str]) -> bool:
    try:
        rounds = metadata.get("round", "")
        config = parsed(metadata.get("config", ""))
        named = isinstance(config, dict) and isinstance(config.get("algorithm"), str)
        return rounds.isdecimal() and is_number(int(rounds)) and named
    except ValueError:  # no JSON, or more digits than Python reads
        return False


def _folders(root: Path, name: str) -> list[Path]:
    """The folders under a root that hold a file of this name, a broken link included, in their order."""
    if not Path(root).is_dir():
        return []
    with os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir())
    return [Path(root, one) for one in names if os.path.lexists(os.path.join(root, one, name))]


def unfinished_folders(root: Path) -> list[Path]:
    """Folders of a store with runs that were begun, and maybe ended."""
    return _folders(root, "config.json")


def finished_folders(root: Path) -> list[Path]:
    """Folders of a store with finished runs; the archive's are not among them."""
    return _folders(root, "done")


def environment(device: torch.device) -> dict[str, Any]:
    """What a number depends on besides the config: versions and hardware."""
    return {
        "fedsharp": __version__,
        "numbers": NUMBERS,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
        "processor": _processor(),
        "instructions": vector_unit(),
        "cores": os.cpu_count(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else "unknown"
