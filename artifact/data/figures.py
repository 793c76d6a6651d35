"""Pictures of partitions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.lazy import torch
from artifact.data.partition import Partition


def partition_heatmap(
    partition: Partition, labels: np.ndarray | torch.Tensor, classes: Sequence[str], path: str | os.PathLike
) -> Path:
    """Client x class counts as a heat map (FedSMOO, Figure 5; FedLESAM, Figure 5); the suffix picks .png or .pdf."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    if path.suffix not in (".png", ".pdf"):
        raise UserError("figure", str(path), "a file name that ends in .png or .pdf")
    counts = partition.counts(labels)
    clients, width = counts.shape
    figure = Figure(figsize=(2.6 + min(0.045 * max(clients, 30), 9), 1.5 + min(max(0.22 * width, 2.0), 6)), dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(counts.T, aspect="auto", interpolation="nearest", cmap="viridis", origin="lower", vmin=0)
    axes.set_xlabel("client")
    axes.set_ylabel("class")
    if width <= 30:
        axes.set_yticks(range(width), [str(name) for name in classes[:width]])
    axes.set_title(f"{partition.spec}, {clients} clients, {int(counts.sum())} samples")
    figure.colorbar(image, ax=axes, label="samples")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("figure", str(path), f"a folder that can be written ({error.strerror})") from error
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], bbox_inches="tight")
    return path
