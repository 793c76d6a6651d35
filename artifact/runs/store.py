"""Runs on disk: ``<root>/<key>/`` holds config, environment, one metrics line per round, a checkpoint, a done mark.

Every file but the metrics is replaced whole, so a reader never sees half of one. The metrics grow by one line per round
and are cut back to the checkpoint's round when a killed run goes on, which then gives the same bits as an undisturbed
run. Checkpoints are safetensors; nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open

from artifact import NUMBERS, __version__
from artifact.base.devices import vector_unit
from artifact.base.errors import UserError
from artifact.base.files import replacing, write_atomic
from artifact.base.lazy import Tensor, torch

#: entries of a checkpoint that probes read: parameters [P] and running statistics [Q]
GLOBAL_MODEL = ("w", "statistics")

#: seconds between two checkpoints; no number of a run depends on it
CHECKPOINT_SECONDS = 20.0
#: models whose tests a metrics line may hold
EVALUATED = ("server", "active", "all", "train")
#: evaluated rounds at the end of training; their mean is the headline accuracy
LAST = 10


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


def _is_config(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get("algorithm"), str)


def _damaged(path: Path, allowed: str) -> UserError:
    return UserError(path.stem, str(path), f"{allowed}; delete the folder {path.parent} to make the run from its start")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


#: refuses NaN and infinity, which the store never writes
_STRICT = json.JSONDecoder(parse_constant=_no_constant)


def _is_round(entry: Mapping[str, Any]) -> bool:
    """Whether a metrics line has what its readers rely on: what the round cost, and a number for every test in it."""
    tests = [entry[name] for name in EVALUATED if name in entry]
    return _has_numbers(entry.get("cost")) and all(
        _has_numbers(test) and is_number(test.get("accuracy")) for test in tests
    )


def _has_numbers(content: Any) -> bool:
    return isinstance(content, dict) and all(value is None or is_number(value) for value in content.values())


def is_number(value: Any) -> bool:
    """Whether it is a finite number, also as a float, which an integer of any size is not."""
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max


def _lines(path: Path, numbers: Collection[str] = ("round",)) -> tuple[list[tuple[dict[str, Any], bytes]], int]:
    """(object, line) of a record's lines up to the first that is damaged, and which that is (0: none).

    numbers: entries of every object that are numbers.  A half-written last line is left out and no damage.
    """
    lines: list[tuple[dict[str, Any], bytes]] = []
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(whole, 1):
        try:
            entry = _STRICT.decode(line.decode())
        except ValueError:  # no UTF-8, no JSON
            return lines, number
        if not (isinstance(entry, dict) and all(is_number(entry.get(name)) for name in numbers)):
            return lines, number
        lines.append((entry, line + b"\n"))
    return lines, 0


def diverged(lines: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the run of these metrics lines ended because its numbers were finite no more."""
    return bool(lines) and "diverged" in lines[-1]


def tail_mean(values: Collection[float]) -> float | None:
    """Mean over the last ten of values in order, as headlines are; None without any."""
    tail = list(values)[-LAST:]
    return sum(tail) / len(tail) if tail else None


class Run:
    """One run's folder."""

    def __init__(self, root: Path, key: str):
        self.key, self.folder = key, Path(root) / key
        self.config_file, self.metrics_file = self.folder / "config.json", self.folder / "metrics.jsonl"
        self.timings_file = self.folder / "timings.jsonl"
        self.checkpoint_file, self.done_file = self.folder / "checkpoint.safetensors", self.folder / "done"

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
            if len(lines) != rounds or [entry["round"] for entry, _ in lines] != list(range(1, rounds + 1)):
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
        with replacing(self.checkpoint_file) as temporary:
            save_file(_apart(tensors), temporary, metadata={"round": str(completed), "config": dumps(config)})

    def finish(self, summary: Mapping[str, Any]) -> None:
        write_atomic(self.done_file, json.dumps(finite(summary), indent=1, sort_keys=True) + "\n")

    def slim(self) -> None:
        """Keep of a finished run's checkpoint the global model alone; the clients' state can be a hundred times it."""
        if not (self.done and self.checkpoint_file.exists()):
            return
        from safetensors.torch import save_file

        tensors, metadata = read_checkpoint(self.checkpoint_file, GLOBAL_MODEL)
        with replacing(self.checkpoint_file) as temporary:
            save_file(tensors, temporary, metadata=metadata)

    def config(self) -> dict[str, Any]:
        """Config and facts of the run. Raises UserError for a damaged file."""
        try:
            content = json.loads(self.config_file.read_bytes().decode())
        except ValueError:  # no UTF-8, no JSON
            content = None
        if not _is_config(content):
            raise _damaged(self.config_file, "the JSON object with the config of a run")
        return content

    def metrics(self) -> list[dict[str, Any]]:
        """One dict per completed round; a half-written last line of a killed run is left out.

        Raises UserError for a damaged line of a finished run, and for one in which a round is missing.
        In an unfinished one the rounds end at the damage: its damaged end may come after the checkpoint, from which
        the run goes on.
        """
        return self._entries(self.metrics_file, valid=_is_round)

    def series(self, quantity: str) -> dict[int, float]:
        """Round -> number of the metrics lines that have it: ``server.accuracy``, ``perturbation.norm``, a probe's."""
        group, _, name = quantity.partition(".")
        pairs = ((line["round"], line.get(group, {}).get(name)) for line in self.metrics())
        return {number: value for number, value in pairs if value is not None}

    @property
    def diverged(self) -> bool:
        """Whether it ended because its numbers were finite no more."""
        return diverged(self.metrics())

    def seconds(self) -> float:
        """Time that the recorded rounds took, evaluation included. Raises UserError as ``metrics`` does."""
        return sum((entry["seconds"] for entry in self._entries(self.timings_file, ("round", "seconds"))), 0.0)

    def _entries(
        self, path: Path, numbers: Collection[str] = ("round",), valid: Callable[[Mapping[str, Any]], bool] = bool
    ) -> list[dict[str, Any]]:
        done = self.done  # before the lines are read: a run that ends meanwhile may still have had half a line
        lines, damaged = _lines(path, numbers)
        entries = [entry for entry, _ in lines]
        if damaged and done:
            allowed = f"lines of JSON objects with {' and '.join(numbers)}, which line {damaged} is not"
            raise _damaged(path, allowed)
        if done:
            self._require_all_rounds(path, entries)
            odd = next((entry["round"] for entry in entries if not valid(entry)), None)
            if odd is not None:
                raise _damaged(path, f"lines with cost and finite accuracies as a run writes them, not line {odd}")
        return entries

    def _require_all_rounds(self, path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
        """UserError where a finished run's record is cut short, has a gap or is gone: its numbers would be others."""
        rounds = self._finished_rounds()
        if len(entries) != rounds or [entry["round"] for entry in entries] != list(range(1, rounds + 1)):
            raise _damaged(path, f"a line for each of the {rounds} rounds of the finished run, in their order")

    def _finished_rounds(self) -> int:
        try:
            content = json.loads(self.done_file.read_bytes().decode())
        except ValueError:  # no UTF-8, no JSON
            content = None
        rounds = content.get("rounds") if isinstance(content, dict) else None
        if not (isinstance(rounds, int) and is_number(rounds)):
            raise _damaged(self.done_file, "the JSON object with the number of rounds of a finished run")
        return rounds


class Finished(Run):
    """A finished run: its config and metrics no longer change, so each file is read once."""

    def config(self) -> dict[str, Any]:
        return self._config

    def metrics(self) -> list[dict[str, Any]]:
        return self._metrics

    @cached_property
    def _config(self) -> dict[str, Any]:
        return super().config()

    @cached_property
    def _metrics(self) -> list[dict[str, Any]]:
        return super().metrics()


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
    try:
        with safe_open(str(path), framework="pt") as file:
            names = [name for name in file.keys() if only is None or name in only]  # noqa: SIM118  (not a dict)
            tensors = {name: file.get_tensor(name) for name in names}
            metadata = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise UserError("checkpoint", str(path), f"an intact safetensors file ({error})") from None
    if not _names_a_run(metadata):
        raise UserError("checkpoint", str(path), "a checkpoint that a run has written (its metadata name no run)")
    return tensors, metadata


def _names_a_run(metadata: Mapping[str, str]) -> bool:
    try:
        rounds = metadata.get("round", "")
        return rounds.isdecimal() and is_number(int(rounds)) and _is_config(json.loads(metadata.get("config", "")))
    except ValueError:  # no JSON, or more digits than Python reads
        return False


def runs(root: Path) -> Iterator[Run]:
    """All runs under a root, finished or not.

    They are not read here. Whoever lists a store reads each run and ends with the UserError of a damaged one, which
    names its folder: to leave it out would compute a table from fewer runs than there are.
    """
    for config in sorted(Path(root).glob("*/config.json")):
        yield Run(Path(root), config.parent.name)


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
