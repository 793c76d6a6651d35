"""``fedsharp doctor``: the examination of a step, a client or an optimiser that a file defines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from artifact.base.errors import UserError
from artifact.base.options import ADD_ONLY, AS_JSON, AUDIT_ONLY, Place
from artifact.base.own_code import run_file, running

#: what a file may define; its parameters are those of ``artifact.doctor``'s patients
PATIENTS = ("optimiser", "step", "client")


@click.command("doctor", help="Watch a step, client or optimiser of your own train, and say what is wrong with it.")
@click.argument("file", type=Place())
@ADD_ONLY
@AUDIT_ONLY
@AS_JSON
def doctor_command(file: Path, as_json: bool) -> None:
    """FILE is Python. It defines optimiser(model), step(model, x, y), client(model, batches, sent) or
    client(model, batches, sent, client), and perhaps ``options``, a dict of arguments of ``artifact.doctor`` such as
    method, rho and lr. With --add or --audit the method may be one of your own. Exit code 1 with an alarm.
    """
    from artifact.diagnosis.examine import doctor

    module = run_file(file, "file")
    found = [vars(module)[name] for name in PATIENTS if name in vars(module)]
    options: Any = vars(module).get("options", {})
    if len(found) != 1 or not isinstance(options, dict):
        raise UserError("file", str(file), f"a file with one of {', '.join(PATIENTS)}, and perhaps a dict options")
    with running(file, "file"):
        report = doctor(found[0], **options)
    click.echo(json.dumps(report.plain(), indent=1) if as_json else str(report))
    if report.alarms:
        raise click.exceptions.Exit(1)
