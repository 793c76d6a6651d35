"""Static figures: PNG and PDF with the plotted numbers beside them, and one colour and marker per method everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.lazy import pyplot as plt

#: Okabe and Ito's colours, told apart with any colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")

#: of a line: where its dashes start, lengths of dashes and gaps in widths of the line
DASHES = ("-", *((0, d) for d in ((7, 3), (7, 2, 1.5, 2), (1.5, 2), (14, 3), (7, 2, 1.5, 2, 1.5, 2))))
#: colour, marker and dashes of every method, the same in every figure; the dashes, too, differ where two colours look
#: alike without green receptors
METHODS: dict[str, tuple[str, Any, int]] = {
    "FedProx": ("#4B6A88", (5, 1, 180), 4),
    "FedAvg": ("#000000", "o", 0),
    "SCAFFOLD": ("#8C6D31", "s", 2),
    "FedRobust": ("#8A8A8A", "D", 4),
    "FedCM": ("#E69F00", "^", 1),
    "MimeLite": ("#56B4E9", "v", 2),
    "FedSAM": ("#0072B2", "P", 0),
    "MoFedSAM": ("#D55E00", "X", 3),
    "FedSMOO": ("#CC79A7", "*", 0),
    "FedLESAM": ("#009E73", "p", 0),
    "FedLESAM-S": ("#66C2A5", "h", 3),
    "FedLESAM-D": ("#4DAF00", "H", 5),
    "FedDyn": ("#6A3D9A", "<", 1),
    "FedDC": ("#B2182B", ">", 1),
    "FedAdam": ("#A69B00", "d", 0),
    "FedASAM": ("#44AA99", "8", 1),
    "FedSpeed": ("#882255", (4, 1, 0), 2),
    "FedGAMMA": ("#00B5D8", (3, 1, 0), 5),
    "Global FedSAM": ("#A65628", (4, 1, 45), 4),
    "DynReg+SAM": ("#332288", (3, 1, 180), 2),
    "centralised": ("#006D77", (6, 1, 0), 3),
    "FedAvg, Dirichlet 0.6": ("#555555", "s", 5),
    "FedAvg, Dirichlet 0.06": ("#C44E52", "v", 1),
}
_SAME = {"Local FedSAM": "FedSAM", "DynReg": "FedDyn", "DynReg+SAM+correction": "FedSMOO"}
#: how far the dashes of a method's other forms are moved on; their markers are open
_FORMS = {r" ?\+ ?MAN\b": 3, r" \(without": 3, "released.*fedMAN": 1, "released.*Sim": 2, "released": 5}

#: pictures for which starting processes takes less time than they save
MANY = 8
Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Style:
    """How a line of a figure looks."""

    colour: str
    marker: Any
    line: Any = "-"
    open: bool = False

    def plot(self) -> dict[str, Any]:
        """Keyword arguments for ``Axes.plot``."""
        face = "white" if self.open else self.colour
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line, "markerfacecolor": face}


def style(label: str, position: int = 0) -> Style:
    """Colour, marker and dashes of the method that a label names; other forms of it, with MAN, released or "METHOD
    (without ...)", have its colour, open markers and other dashes.

    A label that names no method takes the next colour by its position in the figure.
    """
    form = next((pattern for pattern in _FORMS if re.search(pattern, label)), "")
    base = re.sub(r"( ?\+ ?MAN|,? \(?released.*| \(.*\))$", "", label).strip()
    shift = _FORMS.get(form, 0)
    if (base := _SAME.get(base, base)) in METHODS:
        colour, marker, dash = METHODS[base]
        return Style(colour, marker, DASHES[(dash + shift) % len(DASHES)], bool(shift))
    colour, marker, line = COLOURS[position % len(COLOURS)], "os^vDPX*"[position % 8], (position + shift) % len(DASHES)
    return Style(colour, marker, DASHES[line], bool(shift))


def draw_all(drawings: Sequence[Callable[[], Drawn]]) -> Iterator[Drawn]:
    """Results of functions that draw, in order; many are spread over the cores."""
    if len(drawings) < MANY:
        yield from (draw() for draw in drawings)
    else:
        from joblib import Parallel, cpu_count, delayed  # comes with the extra that draws

        yield from Parallel(cpu_count(), return_as="generator")(delayed(draw)() for draw in drawings)


def save(figure: plt.Figure, folder: Path, stem: str) -> list[Path]:
    """Write PNG and PDF atomically. Raises UserError where the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("figures", str(folder), f"a folder that can be written ({error.strerror})") from None
    paths = [folder / f"{stem}.png", folder / f"{stem}.pdf"]
    for path in paths:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=150, bbox_inches="tight", metadata=_undated(path))
        figure.set_layout_engine("none")  # as it lies now
    plt.close(figure)
    return paths


def _undated(path: Path) -> dict[str, Any] | None:
    return {"CreationDate": None} if path.suffix == ".pdf" else None


def smooth(rounds: Sequence[float], values: np.ndarray, half_width: float) -> np.ndarray:
    """Values [R] averaged with a Hanning window over the rounds, for display only; spacing may be uneven.

    half_width: in rounds; a value weighs (1 + cos(pi d / half_width)) / 2 at distance d, none beyond.
    """
    distance = np.abs(np.subtract.outer(np.asarray(rounds, float), np.asarray(rounds, float)))
    weights = np.where(distance < half_width, 0.5 * (1 + np.cos(np.pi * distance / half_width)), 0.0)
    return weights @ np.asarray(values, float) / weights.sum(1)


def on_shared_rounds(series: Sequence[Mapping[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """(rounds [R], values [n, R]) of n series round -> value, on the rounds that all of them have."""
    rounds = sorted(set.intersection(*(set(s) for s in series))) if series else []
    return np.array(rounds), np.array([[s[r] for r in rounds] for s in series])
