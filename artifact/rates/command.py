"""``fedsharp rate``: the bound of a proved theorem on a method, for given constants or the measured ones of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.options import AS_JSON, DATA_ROOT, POSITIVE, RUNS, Finite, Place
from artifact.rates.bound import BUDGETS, METHODS, rate
from artifact.rates.shown import table

_COUNT = click.IntRange(1)
_SIZE = Finite(0)


def _numbers(kind: Callable[[str], Any]) -> Callable[..., tuple[Any, ...] | None]:
    """Reads a list of numbers with commas between them."""

    def read(context: click.Context, option: click.Parameter, value: str | None) -> tuple[Any, ...] | None:
        if value is None:
            return None
        try:
            return tuple(kind(part) for part in value.split(","))
        except ValueError:
            raise UserError(str(option.name), value, "numbers with commas between them, such as 5,10,20") from None

    return read


@click.command("rate", help="Compute the bound that a proved theorem gives a method, term by term.")
@click.argument("method", required=False, metavar=f"[{'|'.join(METHODS)}]")
@click.option("--L", "L", type=POSITIVE, help="Lipschitz constant of every client's gradient.")
@click.option("--T", "T", type=_COUNT, help="Rounds.")
@click.option("--K", "K", type=_COUNT, help="Local steps of a client in a round.  [default: 1]")
@click.option("--N", "N", type=_COUNT, help="Clients.  [default: 1]")
@click.option("--S", "S", type=_COUNT, help="Clients that are drawn in a round.  [default: all]")
@click.option("--rho", type=_SIZE, help="Radius of the perturbation (Global FedSAM: its factor).  [default: 0]")
@click.option("--sigma-g", type=_SIZE, help="Root mean square of |grad F_i - grad F| over clients.  [default: 0]")
@click.option("--sigma-l", type=_SIZE, help="Root mean square of a minibatch gradient's noise.  [default: 0]")
@click.option("--delta", type=_SIZE, help="Loss at the start above its infimum.  [default: 1]")
@click.option("--eta-l", type=POSITIVE, help="Local step (FedSMOO: penalty step).  [default: the best admissible]")
@click.option("--eta-g", type=POSITIVE, help="Server step.  [default: 1]")
@click.option("--beta", type=Finite(0, 1, min_open=True), help="MoFedSAM's weight of a fresh gradient.  [default: 0.1]")
@click.option("--steps", callback=_numbers(int), metavar="K1,K2,..", help="Local steps of every client, for N and K.")
@click.option(
    "--weights", callback=_numbers(float), metavar="P1,P2,..", help="Weight of every client.  [default: equal]"
)
@click.option("--equal", type=click.Choice(BUDGETS), default="gradients", help="What the methods share in the table.")
@click.option("--run", "reference", help="Run folder, key or checkpoint that gives the numbers that are left out.")
@click.option("--figure", "picture", type=Place(), help="Draw the bound into this PNG, PDF or SVG file.")
@RUNS
@DATA_ROOT
@AS_JSON
def rate_command(
    method: str | None,
    equal: str,
    reference: str | None,
    picture: Path | None,
    store: Path,
    data_root: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Exit code 1 where the numbers are outside the hypotheses."""
    if picture is not None and picture.suffix not in (".png", ".pdf", ".svg"):
        raise UserError("figure", str(picture), "a file that ends in .png, .pdf or .svg")
    numbers = {name: value for name, value in given.items() if value is not None}
    worth = ""
    if reference is not None:
        from artifact.rates import of_run

        own, measured = of_run.numbers(reference, store, data_root)
        numbers, worth, method = measured | numbers, of_run.WORTH, method or own
    found = rate(method or "", **numbers)
    beside = found.beside(equal)
    if as_json:
        plain = found.plain() | {"equal": equal, "beside": [one.plain() for one in beside], "worth": worth}
        click.echo(json.dumps(plain, indent=1))
    else:
        single = {name: value for name, value in numbers.items() if not isinstance(value, tuple)}
        said = ", ".join(f"{name} = {value:.4g}" for name, value in sorted(single.items()))
        lines = [f"{said}\n{worth}\n"] if reference is not None else []
        click.echo("\n".join([*lines, str(found), "", table(beside, equal)]))
    if picture is not None:
        with replacing(picture) as part:
            found.figure().savefig(part, format=picture.suffix[1:], dpi=150)
    if found.outside:
        raise click.exceptions.Exit(1)
