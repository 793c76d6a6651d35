"""The commands of ``python -m fedsharp``, and ``fedsharp list``.

The module of a command is imported when the command is called or its own help is asked for, so that nobody waits for
what another command needs. ``COMMANDS`` says where each one lives.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from artifact import __version__
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.options import ADD_ONLY, AS_JSON, AUDIT_ONLY, profile_option
from artifact.base.registered import LOADERS
from artifact.base.tables_as_text import in_words, markdown_table, plain_lines


def _of_checkout(module: str) -> Any:
    """A module beside the package; an editable install finds it there from whatever folder it is started in.

    A wheel has the kit of the proofs and the runner of checks inside, in a folder that no other program looks in.
    """
    beside = str(paths.PACKAGE / "beside" if paths.INSTALLED else paths.ROOT)
    if beside not in sys.path:
        sys.path.insert(0, beside)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("theory", "checks", module):
            raise
        raise UserError("theory", error.name, "a command started in a checkout, which holds that package") from None


LOADERS["schematics"] = lambda: _of_checkout("theory.schematics").SCHEMATICS
LOADERS["command line"] = lambda: commands([])
LOADERS["checks"] = lambda: _of_checkout("checks.runner")

#: name -> where the command is defined, and the first line of its help. MODULE:NAME names a ``click.Command`` or a
#: function that makes one.
COMMANDS = {
    "list": ("artifact.cli:list_command", "List methods, data sets, models, tables, claims or discrepancies."),
    "run": ("artifact.runs.command:run_command", "Train one configuration; a finished one is looked up."),
    "replay": (
        "artifact.runs.command:replay_command",
        "Replay a case file: data, batches and cohorts in, trajectory out.",
    ),
    "data": ("artifact.data.command:data_group", "Show, fetch, import and split data sets."),
    "table": (
        "artifact.papers.tables:table_command",
        "Run or look up PAPER/TABLE, a PAPER or all; print ours / theirs.",
    ),
    "figure": (
        "artifact.papers.figures.command:figure_command",
        "Run or look up PAPER/FIGURE, a PAPER or all, and draw them.",
    ),
    "variants": (
        "artifact.papers.variants:variants_command",
        "Compare every method as printed and as released, paired by seed.",
    ),
    "verdicts": (
        "artifact.verdicts.command:verdicts_command",
        "Decide the claims of the papers by the stored runs; train nothing.",
    ),
    "fidelity": (
        "artifact.verdicts.fidelity:fidelity_command",
        "Say how well each setting predicts a larger one; train nothing.",
    ),
    "sweep": (
        "artifact.papers.sweep_command:sweep_command",
        "Train all runs that a PAPER, PAPER/TABLE, PAPER/FIGURE or all need.",
    ),
    "compare": (
        "artifact.papers.compare:compare_command",
        "Compare a method of your own with PAPER/TABLE, or any methods on any network and data.",
    ),
    "store": ("artifact.papers.pack_command:store_group", "Verify, seal, repair and pack stored records."),
    "audit": ("artifact.audit.command:audit_group", "Write a folder for a paper of your own, and check it."),
    "costs": ("artifact.papers.costs:costs_command", "Count gradients, traffic and client memory of every method."),
    "readme": ("artifact.report.markdown_blocks:readme_command", "Fill the generated blocks of Markdown files."),
    "headlines": (
        "artifact.report.headlines:headlines_command",
        "Say what came out in a few sentences, or draw it (the top of README.md).",
    ),
    "report": ("artifact.report.command:report_command", "Build the static report site; it opens offline."),
    "docs": ("artifact.report.docs_site:docs_command", "Build the documentation site; it opens and searches offline."),
    "sharpness": (
        "artifact.runs.measure_sharpness:sharpness_command",
        "Measure eigenvalues, trace, density and sharpness, of a run or of any network.",
    ),
    "density": (
        "artifact.runs.measure_sharpness:density_command",
        "Draw the spectral density of the Hessian, of a run or of any network.",
    ),
    "bounds": (
        "artifact.runs.measure_bounds:bounds_command",
        "Measure each layer's curvature beside the theorems' bounds, of a run or of any network.",
    ),
    "rate": (
        "artifact.rates.command:rate_command",
        "Compute the bound that a proved theorem gives a method, term by term.",
    ),
    "landscape": (
        "artifact.runs.measure_landscape:landscape_command",
        "Draw loss surfaces of runs or of any network along shared directions.",
    ),
    "export": ("artifact.export.command:export_command", "Write a method as one PyTorch file that runs alone."),
    "doctor": (
        "artifact.diagnosis.command:doctor_command",
        "Watch a step, client or optimiser of your own train, and say what is wrong with it.",
    ),
    "bench": ("artifact.bench.command:bench", "Measure seconds per round of models, methods and backends."),
}


class Commands(click.Group):
    """The group of all commands; it knows their names and help lines without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else found()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def commands(arguments: Sequence[str]) -> click.Group:
    """The command group; what ``--add`` and ``--audit`` name is entered first, so that its options exist."""
    for file in _given(arguments, "--add"):
        from artifact.interface.added import register_file

        register_file(file)
    for folder in _given(arguments, "--audit"):
        from artifact.papers.folders import open_audit

        open_audit(Path(folder))
    text = "Replication and audit of five papers on sharpness-aware federated learning."
    group = Commands("artifact", help=text, context_settings={"show_default": True})
    return click.version_option(__version__, prog_name="fedsharp", message="%(prog)s %(version)s")(group)


def _given(arguments: Sequence[str], option: str) -> list[str]:
    """Values of ``option VALUE`` and ``option=VALUE``."""
    apart = [value for flag, value in itertools.pairwise(arguments) if flag == option]
    return apart + [word.removeprefix(f"{option}=") for word in arguments if word.startswith(f"{option}=")]


# ---- list ------------------------------------------------------------------------------------------------------------
# Each kind imports what it lists, and no more.


def _algorithms() -> list[dict[str, Any]]:
    from artifact import algorithms

    return [
        {
            "name": name,
            "title": (cls.__doc__ or "").split("\n")[0],
            "options": algorithms.defaults(name),
            "released": sorted(algorithms.resolve(name, "released", None, ())) if algorithms.has_code(name) else [],
        }
        for name, cls in algorithms.ALGORITHMS.items()
    ]


def _discrepancies() -> list[dict[str, Any]]:
    from artifact import algorithms
    from artifact.algorithms.switches import OPTIONS, SAME_EQUATION, SWITCHES

    rows = [
        {
            "id": id,
            "kind": group[0].kind,
            "explanation": " / ".join(dict.fromkeys(s.explanation for s in group)),
            "switch": True,
            "methods": sorted(n for n, cls in algorithms.ALGORITHMS.items() if any(s.concerns(cls) for s in group)),
        }
        for id, group in SWITCHES.items()
    ]
    rows += [
        {"id": id, "kind": "same equation", "explanation": f"switch {', '.join(same)}", "switch": True, "methods": []}
        for id, same in SAME_EQUATION.items()
    ]
    rows += [
        {"id": id, "kind": "option", "explanation": option, "switch": False, "methods": []}
        for id, option in OPTIONS.items()
    ]
    return rows


def _datasets() -> list[dict[str, Any]]:
    from artifact import data

    return [data.status(name) for name in data.DATASETS]


def _models() -> list[dict[str, Any]]:
    from artifact.models.registry import MODELS
    from artifact.papers.folders import USED_BY

    return [{"name": name, "title": title, "papers": USED_BY.get(name, [])} for name, title in MODELS.items()]


def _experiments() -> list[dict[str, Any]]:
    from artifact.papers import experiments

    return [
        {
            "name": f"{paper.paper}/{table.id}",
            "title": table.title,
            "profiles": sorted(table.profiles),
            "minutes": {name: f"{profile.minutes:g}" for name, profile in table.profiles.items()},
        }
        for paper, table in experiments.all_tables()
    ]


def _claims() -> list[dict[str, Any]]:
    from artifact.verdicts import ledger

    return [
        {"id": c.id, "paper": c.paper, "kind": c.kind, "title": c.title, "expected": c.expected} for c in ledger.load()
    ]


def _cells(paper: str | None, profile: str) -> list[dict[str, Any]]:
    from artifact.papers import listing

    return listing.cells(paper, profile)


LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "algorithms": _algorithms,
    "datasets": _datasets,
    "models": _models,
    "experiments": _experiments,
    "claims": _claims,
    "discrepancies": _discrepancies,
}


@click.command("list", help=f"{COMMANDS['list'][1]}\n\nWHAT is one of {', '.join(LISTS)}, cells.")
@click.argument("what", type=click.Choice([*LISTS, "cells"]))
@click.option("--paper", help="Only the cells, experiments or claims of this paper.")
@profile_option("laptop")
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@ADD_ONLY
@AUDIT_ONLY
@AS_JSON
def list_command(what: str, paper: str | None, profile: str, markdown: bool, as_json: bool) -> None:
    rows = _cells(paper, profile) if what == "cells" else _of_paper(paper, what, LISTS[what]())
    if as_json:
        click.echo(json.dumps(rows, indent=1, default=str))
    elif markdown and rows:  # without rows there is nothing to name the columns after
        click.echo("\n".join(markdown_table(list(rows[0]), (map(in_words, row.values()) for row in rows))))
    else:
        if what == "claims":
            rows = [row | {"expected": f"expected: {row['expected'] or 'nothing yet'}"} for row in rows]
        for line in plain_lines(rows):
            click.echo(line)


def _of_paper(paper: str | None, what: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one paper, of lists that name it. Raises UserError for other lists and unknown papers."""
    if paper is None:
        return rows
    if what not in ("claims", "experiments"):
        raise UserError("paper", paper, f"a paper with cells, experiments or claims; {what} belong to none")
    papers = [row["paper"] if what == "claims" else row["name"].split("/")[0] for row in rows]
    if paper not in papers:
        raise UserError("paper", paper, ", ".join(sorted(set(papers))))
    return [row for row, own in zip(rows, papers, strict=True) if own == paper]
