"""One run from config to stored result: look it up, resume it, or train it."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from artifact import data
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.runs.archive import open_run
from artifact.runs.processes import REQUEST, heeded, progress_bar
from artifact.runs.schema import EVALUATED
from artifact.runs.store import (
    CHECKPOINT_SECONDS,
    Finished,
    Run,
    diverged,
    dumps,
    read_checkpoint,
    tail_mean,
)
from artifact.training.config import RunConfig

if TYPE_CHECKING:
    from artifact.training.trainer import Trainer


@dataclass(frozen=True)
class Outcome:
    """A finished run: its folder, its summary and whether it was only looked up."""

    run: Run
    summary: dict[str, Any]
    found: bool


def load_data(config: RunConfig, root: Path | None = None) -> data.Dataset:
    dataset = data.load(config.dataset, root)
    if config.train_size or config.test_size:
        dataset = dataset.subset(config.train_size, config.test_size, config.seed)
    return dataset


def execute(
    config: RunConfig,
    root: Path,
    *,
    resume: bool = True,
    data_root: Path | None = None,
    quiet: bool = False,
    dataset: data.Dataset | None = None,
    after_round: Callable[[Trainer, dict], None] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    slim: bool = False,
) -> Outcome:
    """Train a config to its last round, or find it finished in the store.

    resume: continue a run that was begun; without it, one that is there and unfinished is an error.
    dataset: already loaded data of the config.  after_round: called with the trainer and the round's metrics.
    checkpoint_seconds: a killed run loses at most about this much work; 0 saves after every round. No number depends
    on it.  slim: keep of the last checkpoint the model alone.
    Raises UserError for bad input; nothing is written before data, split, model and device have been accepted.
    """
    dataset = dataset or load_data(config, data_root)
    run = open_run(root, config.key(dataset.fingerprint))
    if run.done:
        return Outcome(run, summarise(run), found=True)
    if run.started and not resume:
        raise UserError("resume", False, f"--resume, because {run.key} is there and unfinished, or another --out")
    from artifact.training.trainer import Trainer  # the engine comes with the first run that is not looked up

    trainer = Trainer(config, dataset)
    with run.locked():  # before anything is written: another process may be about to start the same run
        if run.done:  # by another process, while this one built the trainer
            return Outcome(run, summarise(run), found=True)
        _sweep(run)
        with _nothing_left(run, run.started):
            if run.started:
                run.require_own()  # else it would end as a finished run that no command can read
            else:
                _create(run, record(config, dataset, trainer), trainer)
            _restore(run, trainer)
            run.truncate(trainer.completed)
            train(trainer, run, quiet, after_round, checkpoint_seconds)
        run.finish(trainer.completed)
        if slim:
            run.slim()
    return Outcome(run, summarise(run), found=False)


def record(config: RunConfig, dataset: data.Dataset, trainer: Trainer) -> dict[str, Any]:
    """What the run folder says of itself: config as resolved, data and partition fingerprints, sizes."""
    return config.canonical() | {
        "data_fingerprint": dataset.fingerprint,
        "partition_fingerprint": trainer.partition.fingerprint,
        "parameters": trainer.oracle.layout.numel,
        "backend_used": trainer.oracle.backend,
        "device_used": trainer.device.type,
        "command": command(config),
    }


def command(config: RunConfig) -> str:
    """The command line that makes the same run; a method's options take a value even where it is true or false."""
    words = ["python", "-m", "artifact", "run", *(word for file in config.added for word in ("--add", file))]
    for name, value in config.model_dump(exclude_defaults=True).items():
        for key, item in value.items() if name == "hyper" else [(name, value)]:
            for one in item if name == "switches" else [",".join(item) if isinstance(item, (tuple, list)) else item]:
                flag = "--" + ("switch" if name == "switches" else key).replace("_", "-")
                words += [flag] if one is True and name != "hyper" else [flag, str(one)]
    return shlex.join(words)


def _create(run: Run, content: dict[str, Any], trainer: Trainer) -> None:
    """Fill the run's folder; one that could not be filled (full disk) is removed again. Called with the lock held."""
    try:
        run.create(content, trainer.device)
    except UserError:
        if not run.started:
            shutil.rmtree(run.folder, ignore_errors=True)
        raise


@contextlib.contextmanager
def _nothing_left(run: Run, begun: bool) -> Iterator[None]:
    """A run that is refused, or that a fault ends, before any checkpoint leaves no folder.

    begun: the folder was there before; then a refusal may be of what lies in it, and it stays.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if not (run.checkpoint_file.exists() or (begun and isinstance(error, UserError))):
            shutil.rmtree(run.folder, ignore_errors=True)
        raise


def _sweep(run: Run) -> None:
    """Remove the temporary files of a process that was killed while it wrote; called with the lock held."""
    # ours end in .tmp; safetensors writes to a name of its own, .tmp and six letters, before it takes the one we gave
    for leftover in (*run.folder.glob(".*.tmp"), *run.folder.glob(".tmp*")):
        leftover.unlink(missing_ok=True)


def _restore(run: Run, trainer: Trainer) -> None:
    """Set the trainer to the last checkpoint, where there is one. Raises UserError for one that does not fit it."""
    if not run.checkpoint_file.exists():
        return
    fresh = trainer.tensors()
    try:
        tensors, metadata = read_checkpoint(run.checkpoint_file)
        require_checkpoint_of(run, metadata, trainer.config.canonical())
        trainer.restore(tensors, int(metadata["round"]))
        _require_alike(fresh, trainer.tensors())
        return
    except UserError as error:
        allowed = error.allowed
    except (KeyError, TypeError, ValueError) as error:
        allowed = f"all tensors of a run of {trainer.config.algorithm} ({error})"
    hint = f"delete the folder {run.folder} to make the run from its start"
    raise UserError("checkpoint", str(run.checkpoint_file), f"{allowed}; {hint}")


def require_checkpoint_of(run: Run, metadata: Mapping[str, str], own: Mapping[str, Any]) -> None:
    """Raises UserError where a checkpoint was written by another run than the one with the config ``own``.

    Only fields of ``RunConfig`` count; one that came later than the checkpoint or the run has its default.
    """
    found = json.loads(metadata["config"])
    defaults = {name: field.default for name, field in RunConfig.model_fields.items()}
    # as the store writes them: a tuple is a list there, and what is not finite is null
    other = [name for name, d in defaults.items() if dumps(found.get(name, d)) != dumps(own.get(name, d))]
    if other:
        text = "; ".join(f"{name} is {dumps(found.get(name))}, not {dumps(own.get(name))}" for name in other)
        allowed = f"the checkpoint of {run.key} itself, not of another run ({text})"
        raise UserError("checkpoint", str(run.checkpoint_file), allowed)


def _require_alike(fresh: dict[str, Tensor], restored: dict[str, Tensor]) -> None:
    """What a trainer starts with is there after any round; a method may add tensors, and let its own grow.

    Raises ValueError where it is not. The rows of clients in a method's state have been checked as they were taken.
    """
    for name, tensor in fresh.items():
        found = restored.get(name)
        if found is None or found.dtype != tensor.dtype:
            raise ValueError(f"no {name} of type {tensor.dtype}")
        if found.shape != tensor.shape and not name.startswith("state."):
            raise ValueError(f"no {name} of shape {list(tensor.shape)}")


def _save(run: Run, trainer: Trainer) -> None:
    """Checkpoint. Raises UserError when it cannot be written (safetensors reports a full disk as its own error)."""
    try:
        run.save(trainer.tensors(), trainer.completed, trainer.config.canonical())
    except SafetensorError as error:
        raise UserError("out", str(run.folder), f"a folder that can be written ({error})") from None


def train(
    trainer: Trainer,
    run: Run,
    quiet: bool,
    after_round: Callable[[Trainer, dict], None] | None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> None:
    """Play the rounds that are left; checkpoint every ``checkpoint_seconds`` and on interruption.

    A large state is saved less often, so that saving takes at most about a twentieth of the time; with 0 seconds every
    round is saved. A model that is no longer finite ends the run, also one that was restored: the process may have been
    killed between its checkpoint and the run's end. An interruption in that round has nothing left to interrupt.
    """
    ended = not bool(torch.isfinite(trainer.w).all())
    config, saved, saving = trainer.config, time.monotonic(), 0.0
    label = f"{config.algorithm} {config.dataset} {config.model} {config.split} seed {config.seed}"
    silent = quiet or not sys.stderr.isatty()
    with (
        Interruption() as interruption,
        progress_bar(total=config.rounds, initial=trainer.completed, desc=label, disable=silent) as bar,
    ):
        while trainer.completed < config.rounds and not ended:
            start = time.perf_counter()
            metrics = trainer.play_round()
            ended = diverged([metrics])
            if trainer.completed == config.rounds and not ended:
                metrics["final"] = trainer.final()
            run.append(metrics, {"round": metrics["round"], "seconds": time.perf_counter() - start})
            if after_round is not None:
                after_round(trainer, metrics)
            bar.update()
            if "server" in metrics:
                bar.set_postfix(accuracy=f"{100 * metrics['server']['accuracy']:.2f} %")
            pause = max(checkpoint_seconds, 20 * saving) if checkpoint_seconds else 0.0
            due = time.monotonic() - saved >= pause
            if due or interruption.asked or trainer.completed == config.rounds or ended:
                began = time.monotonic()
                _save(run, trainer)
                saved = time.monotonic()
                saving = saved - began
            if interruption.asked and not ended:
                raise KeyboardInterrupt


class Interruption:
    """Turns Ctrl-C, TERM and HUP into a flag, so that the round in progress ends with a checkpoint."""

    def __enter__(self) -> Interruption:
        self.asked = False
        self._old: dict[int, Any] = {}
        try:
            for name in heeded():
                self._old[name] = signal.signal(name, self._ask)
        except ValueError:  # not in the main thread: the caller handles signals
            pass
        return self

    def _ask(self, *_: object) -> None:
        REQUEST.again()
        self.asked = True

    def __exit__(self, *_: object) -> None:
        for name, handler in self._old.items():
            signal.signal(name, handler)


def summarise(run: Run) -> dict[str, Any]:
    """Headline numbers of a finished run per evaluated model: last round, mean of the last ten evaluations, best.

    The best round is chosen on the test set and is reported for comparison only, never as the headline.
    """
    run = run if isinstance(run, Finished) else Finished(run.root, run.key)  # reads each file once
    run.verify()
    completed = run.completed()
    result: dict[str, Any] = {"key": run.key, "rounds": completed, "diverged": run.diverged}
    for name in EVALUATED:
        curve = list(run.series(f"{name}.accuracy").values())
        if curve:
            result[name] = {"last": curve[-1], "mean_last_10": tail_mean(curve), "best": max(curve)}
    if completed:
        result["cost"] = run.cost()
    return result | {"seconds": run.seconds()}
