"""``artifact doctor``: the examination of a step, a client or an optimiser that a file defines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from artifact.base.errors import UserError, fault
from artifact.base.options import AS_JSON, Place

#: what a file may define; its parameters are those of ``artifact.doctor``'s patients
PATIENTS = ("optimiser", "step", "client")


@click.command("doctor", help="Watch a step, client or optimiser of your own train, and say what is wrong with it.")
@click.argument("file", type=Place())
@AS_JSON
def doctor_command(file: Path, as_json: bool) -> None:
    """FILE is Python. It defines optimiser(model), step(model, x, y) or client(model, batches, sent), and perhaps
    ``options``, a dict of arguments of ``artifact.doctor`` such as method, rho and lr. Exit code 1 with an alarm.
    """
    from artifact.diagnosis.examine import doctor

    if not (file.is_file() and file.suffix == ".py"):
        raise UserError("file", str(file), "an existing Python file, NAME.py")
    module = ModuleType(name := f"patient {file.absolute()}")
    sys.modules[name], module.__file__ = module, str(file.absolute())
    try:
        exec(compile(file.read_bytes(), module.__file__, "exec", dont_inherit=True), vars(module))
        found = [vars(module)[name] for name in PATIENTS if name in vars(module)]
        options: Any = vars(module).get("options", {})
        if len(found) != 1 or not isinstance(options, dict):
            raise UserError("file", str(file), f"a file with one of {', '.join(PATIENTS)}, and perhaps a dict options")
        report = doctor(found[0], **options)
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # the user's own code may raise anything
        raise UserError("file", str(file), fault(str(file), error).allowed) from error
    click.echo(json.dumps(report.plain(), indent=1) if as_json else str(report))
    if report.alarms:
        raise click.exceptions.Exit(1)
