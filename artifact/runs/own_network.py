"""A network in a Python file of a user's own, as a risk whose curvature can be measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.lazy import torch
from artifact.base.options import Place
from artifact.base.own_code import run_file, running
from artifact.base.random import numpy_stream
from artifact.curvature import EmpiricalRisk

#: what a file of a user's own may define; the first two it has to
NAMES = ("model", "data", "loss", "output")

MODEL = click.option(
    "--model", "files", multiple=True, type=Place(), help="Python file with `model`, `data`, perhaps `loss`, `output`."
)
PARAMETERS = click.option(
    "--parameters",
    default="trainable",
    help="Which of a file's network: trainable, all, or names with *, separated by commas.",
)
FIGURE = click.option("--figure", "picture", type=Place(), help="Draw the (last) one into this PNG, PDF or SVG file.")


def risk_of_file(path: Path, parameters: str = "trainable", most: int | None = None) -> EmpiricalRisk:
    """The network of a Python file, which runs: ``model``, ``data`` and perhaps ``loss`` and ``output``.

    ``model`` and ``data`` are values or functions without arguments. A ``loss`` is called with outputs and targets;
    without one it is the cross-entropy. ``output`` is called with what the model returns. parameters: trainable, all,
    or names separated by commas. most: samples, a fixed random subset of the data.
    Raises UserError, with the line of the file where there is one, for a file that is missing, does not run, or defines
    something else under these names.
    """
    module = run_file(path, "model")
    found: dict[str, Any] = {}
    with running(path, "model"):
        for wanted in NAMES[:2]:
            if wanted not in vars(module):
                raise UserError(
                    "model", str(path), f"a file that defines {' and '.join(NAMES[:2])}; it has no {wanted}"
                )
            value = vars(module)[wanted]
            found[wanted] = value() if callable(value) and not isinstance(value, torch.nn.Module) else value
        if not isinstance(found["model"], torch.nn.Module):
            kind = type(found["model"]).__name__
            raise UserError("model", str(path), f"a file whose model is a torch.nn.Module; it is a {kind}")
        chosen = parameters if parameters in ("trainable", "all") else [p.strip() for p in parameters.split(",")]
        options: dict[str, Any] = {"parameters": chosen, "output": vars(module).get("output")}
        risk = EmpiricalRisk(found["model"], vars(module).get("loss"), found["data"], **options)
        if most is None or risk.tensors is None or len(risk) <= most:
            return risk
        index = numpy_stream(0, "probe/samples").permutation(len(risk))[:most]
        return risk.subset(np.sort(index))


def require_picture(picture: Path | None) -> None:
    """Raises UserError for a file whose ending names no kind of picture."""
    if picture is not None and picture.suffix not in (".png", ".pdf", ".svg"):
        raise UserError("figure", str(picture), "a file that ends in .png, .pdf or .svg")


def save_picture(picture: Path | None, draw: Callable[[], Any]) -> None:
    """Write what ``draw`` gives into the file, whole or not at all."""
    if picture is not None:
        with replacing(picture) as part:
            draw().savefig(part, format=picture.suffix[1:], dpi=150)
