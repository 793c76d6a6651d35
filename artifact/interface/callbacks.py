"""What ``fedsharp.train`` calls after a round: a table, curves, a progress bar, an end before the last round.

A callback is any function of one argument, which holds ``round``, ``metrics``, ``model`` and ``stop()``. Where a
training goes on, a callback with a method ``resume(rows)`` gets the rows of the rounds before, and says whether it had
stopped the training.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.tables_as_text import csv_cell


@dataclass
class Round:
    """One round that has ended, for callbacks.

    round: from 1.  metrics: the row of the round.  model: a copy of the server's model, made when it is asked for.
    evaluated: whether the model was tested in this round, as every ``eval_every`` rounds.
    """

    round: int
    metrics: dict[str, Any]
    make: Callable[[], nn.Module] = field(repr=False)
    stopped: bool = False
    evaluated: bool = True

    @property
    def model(self) -> nn.Module:
        return self.make()

    def stop(self) -> None:
        """End the training after this round."""
        self.stopped = True


Callback = Callable[[Round], Any]


class CSV:
    """A table of all rounds so far, replaced whole after every round.

    fedsharp.train(model, clients, on_round=fedsharp.callbacks.CSV("rounds.csv"))
    """

    def __init__(self, path: str | Path):
        self.path, self.rows = Path(path), list[dict[str, Any]]()

    def resume(self, rows: list[dict[str, Any]]) -> bool:
        self.rows = [self._plain(row) for row in rows]
        return False

    @staticmethod
    def _plain(row: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if not isinstance(value, (list, dict))}

    def __call__(self, r: Round) -> None:
        self.rows.append(self._plain(r.metrics))
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        with replacing(self.path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in self.rows)


class TensorBoard:
    """Curves of every number of a row, for ``tensorboard --logdir FOLDER``; needs the package tensorboard."""

    def __init__(self, folder: str | Path):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError("on_round", "TensorBoard", "another callback, or pip install tensorboard") from None
        self.writer = SummaryWriter(str(folder))

    def __call__(self, r: Round) -> None:
        for name, number in r.metrics.items():
            if isinstance(number, (int, float)):
                self.writer.add_scalar(name, number, r.round)
        self.writer.flush()


class Progress:
    """A progress bar with loss and accuracy.  rounds: in all, where it is known."""

    def __init__(self, rounds: int | None = None):
        from tqdm import tqdm

        self.bar = tqdm(total=rounds, unit="round")

    def resume(self, rows: list[dict[str, Any]]) -> bool:
        self.bar.update(rows[-1]["round"] if rows else 0)
        return False

    def __call__(self, r: Round) -> None:
        self.bar.update()
        self.bar.set_postfix({name: f"{r.metrics[name]:.4g}" for name in ("loss", "accuracy") if name in r.metrics})


class EarlyStopping:
    """Stops once ``name`` has not become better for ``patience`` evaluated rounds.

    larger: whether more is better; by default so for all but losses.
    """

    def __init__(self, name: str = "loss", patience: int = 10, larger: bool | None = None):
        self.name, self.patience = name, patience
        self.sign = 1 if (larger if larger is not None else "loss" not in name) else -1
        self.best, self.waited = -math.inf, 0

    def resume(self, rows: list[dict[str, Any]]) -> bool:
        self.best, self.waited = -math.inf, 0
        over = False
        for row in rows:
            over = self._patience_is_over(row)
        return over

    def __call__(self, r: Round) -> None:
        if r.evaluated and self._patience_is_over(r.metrics):
            r.stop()

    def _patience_is_over(self, row: dict[str, Any]) -> bool:
        if self.name not in row:
            raise UserError("on_round", self.name, f"a number of a row: {', '.join(row)}")
        found = self.sign * row[self.name]
        self.waited = 0 if found > self.best else self.waited + 1
        self.best = max(self.best, found)
        return self.waited >= self.patience
