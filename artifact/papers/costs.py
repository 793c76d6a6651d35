"""``fedsharp costs``: what every method costs, counted while it runs, beside what the papers print.

Two rounds on the handwritten digits are played for every method and variant; gradients, models sent and models kept
are what the engine has counted. FedLESAM's Table 7 gives communication as the larger of both directions and memory with
what was received this round, so its numbers stand beside max(up, down) and client memory + down.
"""

from __future__ import annotations

import json
from typing import Any

import click

from artifact import algorithms
from artifact.base.errors import UserError
from artifact.base.options import AS_JSON
from artifact.base.tables_as_text import markdown_table
from artifact.papers.declared import number, read_csv
from artifact.papers.experiments import PRINTED
from artifact.runs.session import load_data
from artifact.training import config

COLUMNS = ("gradients_per_step", "full_passes", "up", "down", "client_memory")
TABLE7 = {"backprop_per_local_step": "gradients", "communication_per_round": "communication", "stored_memory": "memory"}


def measured() -> list[dict[str, Any]]:
    """One row per method and variant; the paper's prescribed columns and FedLESAM's Table 7 beside the counts."""
    from artifact.training.trainer import Trainer  # the engine comes when something is counted

    specified, printed = _specified(), _table7()
    values = {"model": "mlp-64", "clients": 20, "cohort": 5, "rounds": 2, "lr": 0.01}
    data = load_data(config.make(algorithm="fedavg"))
    rows = []
    for name in algorithms.ALGORITHMS:
        for variant in ("paper", "released"):
            if variant == "released" and not algorithms.has_code(name):
                continue
            trainer = Trainer(config.make(algorithm=name, variant=variant, **values), data)
            cost = [trainer.play_round()["cost"] for _ in range(2)][-1]
            row = {"algorithm": name, "variant": variant} | {c: round(cost[c], 2) for c in COLUMNS}
            if variant == "paper":
                row |= {"specified": specified.get(name), "table7": printed.get(name), "differs": []}
                row["differs"] = _differences(row)
            rows.append(row)
    return rows


def _differences(row: dict[str, Any]) -> list[str]:
    """Columns where the count is not what is specified or printed; scalars (under 1 % of a model) do not count."""
    found = [c for c in COLUMNS if row["specified"] and abs(row[c] - row["specified"][c]) > 0.01]
    ours = {
        "gradients": row["gradients_per_step"],
        "communication": max(row["up"], row["down"]),
        "memory": row["client_memory"] + row["down"],
    }
    return found + [f"Table 7 {k}" for k, v in (row["table7"] or {}).items() if abs(ours[k] - v) > 0.01]


def _specified() -> dict[str, dict[str, float]]:
    rows = read_csv(PRINTED.parent / "costs.csv", ("algorithm", *COLUMNS))
    return {r["algorithm"]: {c: number(r[c]) for c in COLUMNS} for r in rows}


def _table7() -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    path = PRINTED / "fedlesam_table7.csv"
    for r in read_csv(path, ("algorithm", "metric", "value")):
        if r["metric"] not in TABLE7:
            raise UserError("csv", str(path), f"metrics {', '.join(TABLE7)}, not {r['metric']!r}")
        result.setdefault(algorithms.canonical(r["algorithm"]), {})[TABLE7[r["metric"]]] = number(r["value"])
    return result


@click.command("costs", help="Count gradients, traffic and client memory of every method.")
@AS_JSON
def costs_command(as_json: bool) -> None:
    rows = measured()
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    head = ["method", "variant", "gradients / step", "full passes", "up", "down", "client memory", "FedLESAM Table 7"]
    body = []
    for row in rows:
        seven = row.get("table7")
        beside = "" if not seven else ", ".join(f"{k} {v:g}" for k, v in seven.items())
        if row.get("differs"):
            beside += " (differs: " + ", ".join(row["differs"]) + ")"
        numbers = [f"{row[c]:g}" for c in COLUMNS]
        body.append([row["algorithm"], row["variant"], *numbers, beside])
    click.echo("\n".join(markdown_table(head, body)))
    click.echo("\nUnits: models of P numbers, per active client and round. Table 7 is held against max(up, down) and")
    click.echo("client memory + down, since it counts what a client holds during a round.")
