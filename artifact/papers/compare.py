"""``fedsharp compare``: an author's own method beside all methods of a paper's table, or any methods, paired by seed.

Initial weights, partitions, cohorts and batches are functions of the seed alone, so the own method meets what every
other method met, and differences are paired. Only what is missing is run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from artifact import algorithms
from artifact.base import plots
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.lazy import pyplot as plt
from artifact.base.options import DATA_ROOT, QUIET, STORE, Place, jobs_option, profile_option, refuse_given
from artifact.base.tables_as_text import csv_table, markdown_table
from artifact.papers import charts, experiments, table_results, tables
from artifact.papers.declared import Except, Line, Paper, Table, slug
from artifact.papers.table_results import Comparison, Entry
from artifact.runs.command import config_options
from artifact.runs.lookup import finished_runs
from artifact.runs.store import finite
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings
from artifact.training.config import RunConfig

#: settings beside the method's own hyper-parameters that ``--hyper`` may change; no other one keeps the runs paired
TUNABLE = ("lr", "lr_decay", "weight_decay", "clip", "local_epochs")
QUANTITIES = ("accuracy", "deviation", "rounds-to")
#: colour and marker of the own method, which no method of the papers has
OWN = ("#E6007E", "o", 0)


@dataclass(frozen=True)
class Beside:
    """The own method and one other in a column: both entries, and own minus other with Holm over all of them."""

    own: Entry
    other: Entry
    comparison: Comparison | None

    @property
    def place(self) -> str:
        """Column, and metric where the table has several."""
        several = len(self.other.cell.table.metrics) > 1
        label = self.other.cell.column.label or "value"
        return f"{label}, {self.other.cell.metric.label}" if several else label


# ---- what is compared ------------------------------------------------------------------------------------------------


def own_method(file: Path, name: str | None) -> str:
    """Registry name of the method that a registered file defines.

    Raises UserError for a name that is not in it, or where it defines several and none is named.
    """
    found = list(algorithms.methods_of(file))
    if name is None and len(found) == 1:
        return found[0]
    if name is None or algorithms.canonical(name) not in found:
        raise UserError("algorithm", name, f"a method of {file.name}: {', '.join(found)}")
    return algorithms.canonical(name)


def settings_of(method: str, hyper: tuple[str, ...]) -> dict[str, float | bool]:
    """``NAME=VALUE`` texts as settings. Raises UserError for other names and for values that are no numbers."""
    allowed = (*algorithms.hyperparameters(method), *TUNABLE)
    result: dict[str, float | bool] = {}
    for text in hyper:
        name, sign, value = text.partition("=")
        if not sign or name not in allowed:
            raise UserError("hyper", text, "NAME=VALUE with NAME one of " + ", ".join(allowed))
        try:
            number = value == "true" if value in ("true", "false") else float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise UserError("hyper", text, "NAME=VALUE with a finite number, true or false")
        result[name] = int(number) if name == "local_epochs" and number == int(number) else number
    return result


def with_own_row(table: Table, profile: str, method: str, settings: dict[str, Any]) -> Table:
    """The table with the own method as its only row.

    Its settings win over the profile's, the column's and the exceptions'. Only exceptions for all rows concern it,
    because a pattern that means some of the table's rows may fit its name by chance.
    """
    label = algorithms.ALGORITHMS[method].__name__
    row = Line(id=slug(label), label=label, settings={"algorithm": method}, at={profile: settings})
    profiles = {profile: table.profiles[profile].model_copy(update={"only": ("*",)})}
    exceptions = tuple(_without(e, settings) for e in table.exceptions if e.cells.partition("/")[0] == "*")
    return table.model_copy(update={"rows": (row,), "profiles": profiles, "exceptions": exceptions})


def _without(exception: Except, settings: dict[str, Any]) -> Except:
    kept = {name: value for name, value in exception.settings.items() if name not in settings}
    return exception.model_copy(update={"settings": kept})


def narrowed(table: Table, profile: str, columns: tuple[str, ...]) -> Table:
    """The table with the named columns, those that the profile runs by default, and metrics of every round.

    Raises UserError where that leaves nothing.
    """
    if table.given is not None:
        raise UserError("table", f"{table.paper}/{table.id}", "a table whose cells are trained")
    cells = experiments.cells(table, profile)
    metrics = tuple(m for m in table.metrics if m.quantity in QUANTITIES and m.to is None)
    run_here = [c for c in table.columns if any(not cell.not_run for cell in cells if cell.column is c)]
    chosen = tuple(c for c in run_here if not columns or {c.id, c.label} & set(columns))
    unknown = [name for name in columns if not any(name in (c.id, c.label) for c in chosen)]
    if unknown or not chosen or not metrics:
        names = ", ".join(c.id for c in run_here) or "none at this profile"
        raise UserError("column", ", ".join(unknown) or None, f"{names} (columns that the profile {profile} runs)")
    return table.model_copy(update={"columns": chosen, "metrics": metrics})


def besides(own: list[Entry], others: list[Entry]) -> list[Beside]:
    """The own method against every other in every column and metric; p values adjusted over all of them."""
    result = []
    for other in others:
        if not other.values:
            continue
        place = (other.cell.column.id, other.cell.metric.id)
        mine = next(e for e in own if (e.cell.column.id, e.cell.metric.id) == place)
        found = table_results.compare(mine, other)
        label = other.cell.row.label
        result.append(Beside(mine, other, None if found is None else replace(found, against=label)))
    comparisons = table_results.adjusted([beside.comparison for beside in result])
    return [replace(beside, comparison=c) for beside, c in zip(result, comparisons, strict=True)]


# ---- texts -----------------------------------------------------------------------------------------------------------

HEAD = ("method", "result", "own minus it", "p (t)", "p (sign flip)", "Holm (t)", "Holm (sign flip)")


def _by_place(found: list[Beside]) -> dict[str, list[Beside]]:
    places: dict[str, list[Beside]] = {}
    for beside in found:
        places.setdefault(beside.place, []).append(beside)
    return places


def _cells(beside: Beside) -> list[str]:
    c = beside.comparison
    if c is None:
        return [beside.other.cell.row.label, beside.other.text, "", "", "", "", ""]
    p_values = [f"{p:.3g}" for p in (c.p_t, c.p_sign, c.holm_t, c.holm_sign)]
    return [beside.other.cell.row.label, beside.other.text, c.difference.signed, *p_values]


def _explain(paper: Paper, table: Table, profile: str, found: list[Beside]) -> str:
    name, metric = found[0].own.cell.row.label, found[0].own.cell.metric
    text = (
        f"{name} beside the methods of {paper.title}, {table.location}; profile {profile}. Same seeds, initial "
        f"weights, partitions, cohorts and batches. {metric.label} ({metric.unit}), mean ± half width of the 95 % t "
        f"interval over seeds; difference paired by seed with its 95 % t interval."
    )
    seeds = [beside.comparison.difference.n for beside in found if beside.comparison is not None]
    if max(seeds, default=0) < 2:  # nothing was tested
        return text
    smallest = f"{2.0 ** (1 - max(seeds)):g}"
    return (
        f"{text} Holm over {len(seeds)} comparisons; the smallest possible p value of the exact sign-flip test with "
        f"{max(seeds)} seeds is {smallest}."
    )


def markdown(paper: Paper, table: Table, profile: str, found: list[Beside]) -> str:
    """One grid per column, the own method on top."""
    lines = [_explain(paper, table, profile, found)]
    for place, group in _by_place(found).items():
        head = [name.replace("own", group[0].own.cell.row.label) for name in HEAD]
        own = [f"**{group[0].own.cell.row.label}**", group[0].own.text, "", "", "", "", ""]
        lines += ["", f"**{place}**", "", *markdown_table(head, [own, *map(_cells, group)])]
    return "\n".join(lines)


def latex(paper: Paper, table: Table, profile: str, found: list[Beside]) -> str:
    """One tabular per column; needs no package."""
    lines = ["% " + tables._tex(_explain(paper, table, profile, found))]
    for place, group in _by_place(found).items():
        own = [group[0].own.cell.row.label, group[0].own.text, "", "", "", "", ""]
        lines += [r"\begin{tabular}{llccccc}", r"\hline", rf"\multicolumn{{7}}{{l}}{{{tables._tex(place)}}} \\"]
        lines += [" & ".join(HEAD) + r" \\", r"\hline"]
        lines += [" & ".join(map(tables._tex, cells)) + r" \\" for cells in (own, *map(_cells, group))]
        lines += [r"\hline", r"\end{tabular}"]
    return "\n".join(lines)


FIELDS = (
    "column",
    "metric",
    "unit",
    "own_method",
    "method",
    "n",
    "own",
    "other",
    "difference",
    "low",
    "high",
    "p_t",
    "p_sign",
    "holm_t",
    "holm_sign",
    "own_runs",
    "runs",
)


def records(found: list[Beside]) -> list[dict[str, Any]]:
    """One flat record per column, metric and other method."""
    return [_record(beside) for beside in found]


def _record(beside: Beside) -> dict[str, Any]:
    own, other, c = beside.own, beside.other, beside.comparison
    record: dict[str, Any] = dict.fromkeys(FIELDS)
    record |= {"column": other.cell.column.label, "metric": other.cell.metric.id, "unit": other.cell.metric.unit}
    record |= {"own_method": own.cell.row.label, "method": other.cell.row.label, "n": 0}
    record |= {name: None if e.ours is None else e.ours.mean for name, e in (("own", own), ("other", other))}
    record |= {"own_runs": [run.key for run in own.runs], "runs": [run.key for run in other.runs]}
    if c is not None:
        record |= {"n": c.difference.n, "difference": c.difference.mean}
        record |= {"low": c.difference.low, "high": c.difference.high}
        record |= {name: getattr(c, name) for name in ("p_t", "p_sign", "holm_t", "holm_sign")}
    return finite(record)


def as_csv(paper: Paper, table: Table, profile: str, found: list[Beside]) -> str:
    joined = [record | {name: " ".join(record[name]) for name in ("own_runs", "runs")} for record in records(found)]
    return csv_table(FIELDS, (record.values() for record in joined)).rstrip()


def as_json(paper: Paper, table: Table, profile: str, found: list[Beside]) -> str:
    head = {"paper": paper.paper, "table": table.id, "profile": profile}
    return json.dumps(head | {"comparisons": records(found)}, indent=1)


RENDER: dict[str, Callable[..., str]] = {"markdown": markdown, "csv": as_csv, "latex": latex, "json": as_json}


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw(paper: Paper, table: Table, profile: str, found: list[Beside], folder: Path) -> list[Path]:
    """Curves of all methods, and a forest plot of the paired differences; PNG, PDF and the data behind them."""
    title = f"{found[0].own.cell.row.label} beside {paper.title}, {table.location} ({profile})"
    stem = f"compare-{found[0].own.cell.row.id}-{paper.paper}-{table.id}-{profile}"
    model = found[0].own.cell.metric.model
    panels: dict[str, dict[str, list[dict[int, float]]]] = {}
    for beside in (*found, *(replace(beside, other=beside.own) for beside in found)):  # the own one is drawn on top
        panel = panels.setdefault(beside.other.cell.column.label, {})
        panel.setdefault(beside.other.cell.row.label, [run.series(f"{model}.accuracy") for run in beside.other.runs])
    plots.METHODS.setdefault(found[0].own.cell.row.label, OWN)
    paths = charts.curves(panels, model, title, folder, f"{stem}-curves")
    paths += forest(found, title, folder, f"{stem}-differences")
    data = folder / f"{stem}-differences.csv"
    write_atomic(data, as_csv(paper, table, profile, found) + "\n")
    return [*paths, data]


def forest(found: list[Beside], title: str, folder: Path, stem: str) -> list[Path]:
    """Paired differences with their intervals, one panel per column; filled markers where the interval excludes 0."""
    places = _by_place([beside for beside in found if beside.comparison is not None])
    if not places:
        return []
    n, tallest = 0, max(map(len, places.values()))
    size = (1.5 + 3.4 * len(places), 0.34 * tallest + 1.6)
    figure, axes = plt.subplots(1, len(places), figsize=size, squeeze=False, layout="constrained")
    for axis, (place, group) in zip(axes[0], places.items(), strict=True):
        shown = [(one.other.cell.row.label, one.comparison.difference) for one in group if one.comparison is not None]
        charts.forest(axis, shown)
        n = max(n, *(difference.n for _, difference in shown))
        axis.set_title(place, fontsize=10)
        unit = group[0].own.cell.metric.unit.replace("%", "percentage points")
        axis.set_xlabel(f"{group[0].own.cell.row.label} minus method ({unit})")
    note = f"paired by seed, n = {n}, 95 % t intervals; filled: the interval excludes 0"
    figure.suptitle(f"{title}\n{note}", fontsize=10)
    return plots.save(figure, folder, stem)


# ---- command ---------------------------------------------------------------------------------------------------------


#: options of a run that are named otherwise here, or are no option of a comparison
_NOT_HERE = ("algorithm", "seed", "dataset", "model", "switches", "variant", "source")
#: options that belong to one of the two forms of the command alone
_OF_TABLE = ("algorithm", "hyper", "columns", "profile", "style", "lookup", "as_json_too")
_OF_METHODS = ("dataset", "model", "methods", "seeds", "tuning_seeds", "metric", "reference")


@click.command("compare", help="Compare a method of your own with PAPER/TABLE, or any methods on any network and data.")
@click.argument("name", required=False)
@click.option("--add", multiple=True, help="Python file with methods, networks or data sets of your own.")
@click.option("--algorithm", help="With PAPER/TABLE: which method of the file, where it defines several.")
@click.option(
    "--hyper",
    multiple=True,
    metavar="NAME=VALUE",
    help="With PAPER/TABLE: of the own method; also " + ", ".join(TUNABLE) + ".",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    help="With PAPER/TABLE: column by id or label; default: all that the profile runs.",
)
@profile_option("quick")
@tables.FORMAT
@click.option("--figures", "folder", type=Place(), help="Draw curves and differences into it.")
@click.option("--lookup", is_flag=True, help="With PAPER/TABLE: show what is in the stores, run nothing.")
@click.option("--dataset", help="Without PAPER/TABLE: a data set, of the project or of the file.")
@click.option("--model", help="Without PAPER/TABLE: a network, of the project or of the file.")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="TEXT",
    help='Such as "fedsam rho=0.05,0.1 lr=0.1" or "plain=fedavg"; several values are chosen from on other seeds.',
)
@click.option("--seeds", type=click.IntRange(2), default=5, show_default=True, help="Reported seeds, from 0 on.")
@click.option("--tuning-seeds", type=click.IntRange(1), default=2, show_default=True, help="Seeds for choices alone.")
@click.option("--metric", default="accuracy", show_default=True, help="accuracy or loss of the server's model.")
@click.option("--reference", help="Label of the method that the others are compared with.  [default: the first]")
@jobs_option("jobs")
@click.option("--workers", type=click.IntRange(1, 1000), help="The same as --jobs.")
@STORE
@DATA_ROOT
@QUIET
@click.option("--json", "as_json_too", is_flag=True, help="The same as --format json.")
def compare_command(
    name: str | None,
    add: tuple[str, ...],
    folder: Path | None,
    jobs: int,
    workers: int | None,
    out: Path | None,
    data_root: Path | None,
    quiet: bool,
    **given: Any,
) -> None:
    jobs = workers or jobs
    if name is None:
        _methods_on_one_setting(add, folder, jobs, out, data_root, quiet, given)
        return
    refuse_given("no PAPER/TABLE, which has its own setting", *_OF_METHODS, *_run_options())
    if len(add) != 1:
        raise UserError("add", ", ".join(add) or None, "one Python file, which defines the method")
    _beside_table(name, Path(add[0]), folder, jobs, out, data_root, quiet, **{one: given[one] for one in _OF_TABLE})


def _run_options() -> list[str]:
    return [name for name in RunConfig.model_fields if name not in (*_NOT_HERE, "hyper")]


compare_command.params += [option for option in config_options() if option.name in _run_options()]


def _methods_on_one_setting(
    add: tuple[str, ...],
    folder: Path | None,
    jobs: int,
    out: Path | None,
    data_root: Path | None,
    quiet: bool,
    given: dict[str, Any],
) -> None:
    refuse_given("a PAPER/TABLE, to which it belongs", "algorithm", "hyper", "columns", "profile", "lookup")
    from artifact.data import DATASETS
    from artifact.models.registry import MODELS
    from artifact.runs.compare_methods import FORM, compare_methods, methods_of

    for field, known in (("dataset", DATASETS), ("model", MODELS)):
        if given[field] is None:
            raise UserError(field, None, f"PAPER/TABLE, or one of {', '.join(known)}")
    if not given["methods"]:
        raise UserError("method", None, f"a method, several times: {FORM}")
    setting = {name: given[name] for name in (*_run_options(), "dataset", "model") if given[name] not in (None, ())}
    for several in ("evaluate", "probes"):
        if isinstance(setting.get(several), str):
            setting[several] = setting[several].split(",")
    found = compare_methods(
        methods_of(given["methods"]),
        setting,
        out or Path("out/compare"),
        seeds=given["seeds"],
        tuning_seeds=given["tuning_seeds"],
        metric=given["metric"],
        reference=given["reference"],
        workers=jobs,
        data_root=data_root,
        add=add,
        quiet=quiet,
    )
    style = "json" if given["as_json_too"] else given["style"]
    if style == "latex":
        raise UserError("format", style, "markdown, csv, json")
    text = str(found) if style == "markdown" else found.csv() if style == "csv" else found.json()
    click.echo(text.rstrip())
    if folder is not None:
        found.write(folder)
        click.echo(f"table, curves and figure: {folder}", err=True)


def _beside_table(
    name: str,
    add: Path,
    folder: Path | None,
    jobs: int,
    out: Path | None,
    data_root: Path | None,
    quiet: bool,
    algorithm: str | None,
    hyper: tuple[str, ...],
    columns: tuple[str, ...],
    profile: str,
    style: str,
    lookup: bool,
    as_json_too: bool,
) -> None:
    paper, whole = experiments.find(name)
    method = own_method(add, algorithm)
    table = narrowed(whole, profile, columns)
    own = with_own_row(table, profile, method, settings_of(method, hyper))
    store = experiments.store_of(profile, out, lookup, name)
    # the method's source names its store, because runs are looked up there by their config, which has its name alone
    own_store = (out or Path("out")) / "added" / algorithms.ALGORITHMS[method].added_digest
    if not lookup:
        wanted = [  # of both, so that a bad value of the own method is told before anything is trained
            (place, [c for cell in experiments.cells(one, profile) if not cell.not_run for c in cell.configs])
            for one, place in ((table, store), (own, own_store))
        ]
        for place, configs in wanted:
            sweep.run_missing(configs, Settings(place, data_root, (str(add),)), jobs, quiet)
    mine = table_results.look_up(own, profile, finished_runs(own_store))
    found = besides(mine, table_results.look_up(table, profile, finished_runs(store)))
    if not found:
        raise UserError("lookup", lookup, f"finished runs of {name} in {store}, or no --lookup")
    click.echo(RENDER["json" if as_json_too else style](paper, table, profile, found))
    if folder is not None:
        for path in draw(paper, table, profile, found, folder):
            click.echo(f"figure: {path}", err=True)
