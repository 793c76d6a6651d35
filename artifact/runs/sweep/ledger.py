"""What the nodes of a cluster report about their runs, kept by an actor; light to import, so that it starts fast."""

from __future__ import annotations

Files = dict[str, bytes]


class Ledger:
    """Reports and checkpoints of all nodes, in memory on the driver's node."""

    def __init__(self) -> None:
        self.saved: dict[int, tuple[str, Files]] = {}
        self.starts: dict[int, int] = {}
        self.completed: dict[int, tuple[int, str]] = {}
        self.fresh: set[int] = set()

    def seed(self, number: int, key: str, files: Files) -> None:
        """A checkpoint that the driver's store has."""
        self.saved[number] = (key, files)

    def begin(self, number: int) -> tuple[str, Files] | None:
        """The last checkpoint of a run whose task starts, or starts again."""
        self.starts[number] = self.starts.get(number, 0) + 1
        return self.saved.get(number)

    def note(self, number: int, completed: int, node: str) -> None:
        self.completed[number] = (completed, node)

    def save(self, number: int, key: str, files: Files) -> None:
        self.saved[number] = (key, files)
        self.fresh.add(number)

    def news(self) -> tuple[dict[int, int], dict[int, tuple[int, str]], dict[int, tuple[str, Files]]]:
        """Starts, (completed rounds, node), checkpoints that came since the last call; all by number of the run."""
        checkpoints = {number: self.saved[number] for number in self.fresh}
        self.fresh = set()
        return dict(self.starts), dict(self.completed), checkpoints

    def forget(self, number: int) -> None:
        """The run has ended."""
        for part in (self.saved, self.starts, self.completed):
            part.pop(number, None)
        self.fresh.discard(number)
