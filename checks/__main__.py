"""``python -m checks``: decide the ledger's claims and compare with what it expects."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.files import require_writable
from artifact.base.options import Place
from artifact.runs.processes import interruptible, progress_bar, require_address_space, set_up
from artifact.verdicts.ledger import Claim, load, select
from checks import report, runner


@click.command(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--claim", "ids", multiple=True, metavar="ID", help="Only this claim; may be repeated, adds to --paper.")
@click.option("--paper", "papers", multiple=True, metavar="KEY", help="Only this paper (stem of its ledger file).")
@click.option("--json", "as_json", is_flag=True, help="Print the list of verdicts with their evidence.")
@click.option("--figures", type=Place(file_okay=False), help="Draw one PNG per claim into this folder.")
@click.option("--draw", is_flag=True, help="Draw the figures that the report shows, as far as they are out of date.")
@click.option("--readme", is_flag=True, help="Print papers against verdicts, from the stored evidence.")
@click.option("--labels", is_flag=True, help="Print how each verdict was decided; with --readme the counts.")
@click.option("--findings", is_flag=True, help="Write docs/findings.md and its figures from the stored evidence.")
@click.option(
    "--mutations", is_flag=True, help="Mutate all theorems and formulas, write docs/proofs; --claim names some."
)
@click.option("--worst-cases", is_flag=True, help="Solve the theorems' exact worst cases, write docs/proofs.")
@click.option(
    "--limit",
    type=click.FloatRange(0, 86400, min_open=True),  # a day; a timer takes no number of any size
    default=runner.LIMIT_SECONDS,
    show_default=True,
    help="Processor seconds per check; on the clock it has ten times as long.",
)
@click.option("--workers", type=click.IntRange(1), default=runner.WORKERS, show_default=True, help="Processes.")
@click.option("--store/--no-store", default=True, show_default=True, help="Write evidence files to results/checks.")
def main(ids, papers, as_json, figures, draw, readme, labels, findings, mutations, worst_cases, limit, workers, store):
    """Decide claims; exit code 0 only if every verdict equals the ledger's and nothing was skipped unseen."""
    set_up()
    require_address_space()
    if math.isnan(limit):  # click's ranges let it pass
        raise UserError("limit", limit, "a positive number of seconds")
    if mutations:
        from checks.proofs import mutate_named  # loads torch

        sys.exit(any(row["result"] == "survives" for row in mutate_named(ids, click.echo)))
    if worst_cases:
        from checks.worst_cases import measure  # loads torch

        measure(each=click.echo)
        return
    ledger = load()
    claims = select(ledger, ids, papers)
    if figures is not None:
        require_writable(figures)
    if labels:
        from checks import labels as found  # loads sympy

        known = runner.stored()
        lines = [] if readme else [*found.listing(claims, known), ""]
        click.echo("\n".join([*lines, found.table(claims, known)]))
        return
    if readme:
        click.echo(report.readme(ledger, runner.stored()), nl=False)
        return
    if draw:
        from checks.drawings import draw_missing  # loads matplotlib

        click.echo(f"{sum(1 for _ in draw_missing())} figures drawn")
        return
    if findings:
        from checks.findings import main as write_findings  # draws, so it loads matplotlib

        write_findings(ledger)
        return
    start = time.perf_counter()
    outcomes = _run(claims, store, as_json, {"limit": limit, "workers": workers, "figures": figures})
    unknown = [] if ids or papers else runner.unknown_checks(ledger)
    failed = [o for o in outcomes if not o.as_expected]
    if as_json:
        click.echo(json.dumps([o.record for o in outcomes], indent=1))
    else:
        _print(outcomes, unknown, len(failed), time.perf_counter() - start)
    sys.exit(1 if failed or unknown else 0)


def _run(claims: Sequence[Claim], store: bool, quiet: bool, options: dict[str, Any]) -> list[runner.Outcome]:
    """Outcomes; each is stored as soon as it is known, so an interrupted run keeps what it has decided."""
    with progress_bar(total=len(claims), unit="claim", disable=True if quiet else None, leave=False) as bar:

        def each(outcome: runner.Outcome) -> None:
            bar.update()
            if store and not outcome.skipped:
                runner.store(outcome)

        return runner.run_claims(claims, each=each, **options)


def _print(outcomes: Sequence[runner.Outcome], unknown: Sequence[str], failed: int, seconds: float) -> None:
    click.echo(report.table(outcomes) + "\n\n" + report.totals(outcomes) + "\n")
    for line in (report.apart(outcomes), report.beside(outcomes)):
        if line:
            click.echo(line)
    for line in report.problems(outcomes, unknown):
        click.echo(line)
    skipped = sum(1 for o in outcomes if o.skipped)
    click.echo(f"{len(outcomes)} claims in {seconds:.0f} s: {failed} not as expected, {skipped} stated skips")


if __name__ == "__main__":
    with interruptible():
        main(prog_name="python -m checks")
