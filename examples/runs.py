"""Stored runs, read from their Parquet files without this project: three lines in duckdb, pandas or polars.

    python examples/runs.py

Prints for each method the mean accuracy of the last round, over the runs of one table. `results/runs/croissant.json`
says what each column holds. With the project installed `fedsharp.stored_runs()` gives all runs in one frame.
"""

from __future__ import annotations

from pathlib import Path

FILE = str(Path(__file__).resolve().parents[1] / "results/runs/qu2022-fig3-protocol.parquet")


def with_duckdb(file: str) -> dict[str, float]:
    import duckdb

    last = 'avg("round.server.accuracy"[-1])'
    return dict(duckdb.sql(f"select algorithm, {last} from '{file}' group by algorithm").fetchall())


def with_pandas(file: str) -> dict[str, float]:
    import pandas

    runs = pandas.read_parquet(file, columns=["algorithm", "round.server.accuracy"])
    return runs["round.server.accuracy"].str[-1].groupby(runs["algorithm"]).mean().to_dict()


def with_polars(file: str) -> dict[str, float]:
    import polars

    last = polars.col("round.server.accuracy").list.last().mean()
    return dict(polars.read_parquet(file).group_by("algorithm").agg(last).iter_rows())


if __name__ == "__main__":
    for read in (with_duckdb, with_pandas, with_polars):
        try:
            found = read(FILE)
        except ImportError:
            continue
        print(f"{read.__name__}:")
        print("\n".join(f"  {method:14} {accuracy:.4f}" for method, accuracy in sorted(found.items())))
        break
