"""``fedsharp run`` and ``fedsharp replay``: one configuration from the command line, one case from a file.

The options of ``run`` are the fields of ``RunConfig`` and the hyper-parameters of all registered methods.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter

from artifact import algorithms
from artifact.accelerate.choose import BACKENDS
from artifact.base.docstrings import described
from artifact.base.errors import UserError
from artifact.base.options import ADD, ADD_ONLY, AS_JSON, DATA_ROOT, QUIET, Finite, Place
from artifact.base.own_code import fault, line_of
from artifact.interface import remarks
from artifact.runs.store import CHECKPOINT_SECONDS, dumps
from artifact.training import config
from artifact.training.config import RunConfig

CHECKPOINTS = click.option(
    "--checkpoint-seconds",
    type=Finite(0),
    default=CHECKPOINT_SECONDS,
    help="Seconds from one checkpoint of a run to the next; no number of the run depends on it.",
)
OWN_STORE = click.option("--out", type=Place(), default=Path("out/runs"), help="Store of the runs.")
RESUME = click.option("--resume", is_flag=True, help="Go on with a run that was begun.")

# ---- run: its options ------------------------------------------------------------------------------------------------


def allowed(schema: Mapping[str, Any]) -> str:
    """What a field's JSON schema lets pass, in words; empty for any text."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    if "enum" in kinds[0]:
        return ", ".join(kinds[0]["enum"])
    if "enum" in kinds[0].get("items", {}):
        return f"any of {', '.join(kinds[0]['items']['enum'])}, with commas between them"
    kind = kinds[0]
    words = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
    bounds = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    limits = [f"{word} {kind[name]:g}" for name, word in bounds.items() if name in kind]
    return " ".join([words.get(kind.get("type", ""), ""), *limits])


def _help(text: str, default: str, values: str) -> str:
    """``text`` as a sentence, with default and allowed values behind it where there are any."""
    first = text.split()[0].rstrip(",:")
    sentence = (text[0].upper() + text[1:] if first.isalpha() and len(first) > 1 else text).replace("``", "")
    known = [f"default: {default}"] * bool(default) + [f"allowed: {values}"] * bool(values)
    return f"{sentence}." + (f"  [{'; '.join(known)}]" if known else "")


def _shown(value: Any) -> str:
    return (",".join(value) or "none") if isinstance(value, (list, tuple)) else str(value)


def config_options() -> list[click.Parameter]:
    """One option per field of ``RunConfig``, which checks the values itself."""
    texts, schemas = described(RunConfig), RunConfig.model_json_schema()["properties"]
    options: list[click.Parameter] = []
    for name, field in RunConfig.model_fields.items():
        if name == "hyper":
            continue
        flag = "--" + ("switch" if name == "switches" else name).replace("_", "-")
        boolean = field.annotation is bool
        default = "" if boolean or field.default is None or field.is_required() else _shown(field.default)
        values = "" if boolean else allowed(schemas[name])
        text = _help(texts.get(name, name) + " (required)" * field.is_required(), default, values)
        many = name in ("switches", "personal")
        options.append(click.Option([flag, name], help=text, multiple=many, is_flag=boolean, default=None))
    return options


def _method_options(taken: Collection[str]) -> list[click.Parameter]:
    """One option per hyper-parameter of any registered method; where methods differ in it, each is named.

    Raises UserError for one that is called like an option of ``run`` itself.
    """
    of_method = {}
    for name, cls in algorithms.ALGORITHMS.items():
        texts, schemas = described(cls), _schemas(cls)
        of_method[name] = {
            field: (texts.get(field, "hyper-parameter"), _shown(default), allowed(schemas.get(field, {})))
            for field, default in algorithms.defaults(name).items()
        }
    options: list[click.Parameter] = []
    for field in dict.fromkeys(itertools.chain(*of_method.values())):
        owners = [name for name, own in of_method.items() if field in own]
        flag = "--" + field.replace("_", "-")
        if flag in taken:
            named = f"for {', '.join(owners)} a name that is no option of run itself"
            raise UserError("hyper-parameter", field, named + algorithms.ALGORITHMS[owners[-1]].added_at)
        meaning, default, values = (_by_method({name: of_method[name][field][i] for name in owners}) for i in range(3))
        whose = "of every method" if len(owners) == len(of_method) else f"of {', '.join(owners)}"
        options.append(click.Option([flag, f"hyper_{field}"], help=_help(f"{meaning} ({whose})", default, values)))
    return options


def _schemas(cls: type[algorithms.FedAvg]) -> dict[str, Any]:
    """Field -> its JSON schema; nothing for a class of the user's own that is faulty, which building it will report."""
    try:
        return TypeAdapter(cls).json_schema()["properties"]
    except Exception:
        if not cls.added_from:
            raise
        return {}


def _by_method(texts: Mapping[str, str]) -> str:
    """One text for all methods, or each text with the methods that it is for; the commonest stands alone at the end."""
    groups: dict[str, list[str]] = {}
    for name, text in texts.items():
        groups.setdefault(text, []).append(name)
    *others, (last, _) = sorted(groups.items(), key=lambda group: len(group[1]))
    return ", ".join([*(f"{text} ({', '.join(names)})" for text, names in others), f"else {last}" if others else last])


def run_command() -> click.Command:
    """``run`` with one option per config field and per hyper-parameter of any method; the config checks the values."""
    text = "Train one configuration; a finished one is looked up."
    command = click.Command("run", callback=_run, params=config_options(), help=text)
    for shared in (OWN_STORE, DATA_ROOT, ADD, RESUME, CHECKPOINTS, QUIET, AS_JSON):
        shared(command)
    command.params += _method_options({flag for option in command.params for flag in option.opts} | {"--help"})
    return command


# ---- run: what it does -----------------------------------------------------------------------------------------------


def _run(
    out: Path,
    data_root: Path | None,
    add: tuple[str, ...],
    resume: bool,
    checkpoint_seconds: float,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    wanted = config_of(given)
    for remark in config.remarks([wanted]):
        click.echo(remark, err=True)
    from artifact.runs import session  # with it come torch and the trainer, which a wrong option does not wait for

    try:
        outcome = session.execute(
            wanted, out, resume=resume, data_root=data_root, quiet=quiet, checkpoint_seconds=checkpoint_seconds
        )
    except (UserError, OSError):
        raise
    except (Exception, SystemExit) as error:  # the user's own code may raise anything
        through = [file for file in wanted.added if line_of(file, error) is not None] or list(wanted.added)
        raise (fault(through[0], error) if through else error) from error
    summary = outcome.summary | {"folder": str(outcome.run.folder), "found": outcome.found}
    if undefined := remarks.not_finite(outcome.run.metrics()):
        click.echo(undefined, err=True)
    if as_json:
        click.echo(dumps(summary))
        return
    state = "found" if outcome.found else "trained"
    click.echo(f"{state} {outcome.run.folder}: {summary['rounds']} rounds, {summary['seconds']:.1f} s")
    for name in ("server", "active", "all", "train"):
        if name in summary:
            last, mean, best = (100 * summary[name][k] for k in ("last", "mean_last_10", "best"))
            click.echo(f"{name:>7}: last round {last:.2f} %, mean of last ten {mean:.2f} %, best round {best:.2f} %")


def config_of(given: dict[str, Any]) -> RunConfig:
    """The config that the options of ``run`` ask for. Raises UserError for a value that is not possible."""
    values = {name: value for name, value in given.items() if value not in (None, ()) and not name.startswith("hyper_")}
    for name in ("evaluate", "probes"):
        if name in values:
            values[name] = values[name].split(",")
    if "algorithm" not in values:
        raise UserError("algorithm", None, ", ".join(algorithms.ALGORITHMS))
    hyper = {name.removeprefix("hyper_"): value for name, value in given.items() if name.startswith("hyper_")}
    hyper = {name: value for name, value in hyper.items() if value is not None}
    return config.make(**values, hyper={name: _number(name, value) for name, value in hyper.items()})


def _number(name: str, text: str) -> float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(name, text, "a finite number, or true or false where it is a switch")
    return value


# ---- replay ----------------------------------------------------------------------------------------------------------


@click.command("replay", help="Replay a case file: data, batches and cohorts in, trajectory out.")
@click.argument("case", type=Place())
@click.option("--out", required=True, type=Place(), help="File for the trajectory, .npz (required).")
@click.option(
    "--variant",
    type=click.Choice(["paper", "released"]),
    help="The method as printed or as released.  [default: what the file was made with]",
)
@click.option("--backend", type=click.Choice(BACKENDS), default="loop", help="How gradients are computed.")
@ADD_ONLY
@AS_JSON
def replay_command(case: Path, out: Path, variant: str | None, backend: str, as_json: bool) -> None:
    from artifact.runs import replay  # with it come torch and the gradients

    arrays = _replayed(case, variant, backend)
    replay.write(arrays, out)
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    click.echo(json.dumps({"out": str(out), "arrays": shapes}) if as_json else f"{out}: {', '.join(shapes)}")


def _replayed(case: Path, variant: str | None, backend: str) -> dict[str, Any]:
    """Entries of a case file that contradict each other may show only while it is played."""
    from artifact.runs import replay

    try:
        return replay.replay(case, variant, backend)
    except UserError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError("case", str(case), f"a file whose entries agree with the format ({reason})") from error
