"""``fedsharp data``: which data sets are here, and how the others get here."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import click

from artifact import data
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.files import replaced_folder
from artifact.base.options import ADD_ONLY, AS_JSON, DATA_ROOT, Place
from artifact.base.tables_as_text import plain_lines

#: what is kept of stored results: packed runs, records that hold their own seal, runs in folders without their models
KEPT = ("runs/*.parquet", "runs/*.json", "checks/*.json", "figures/*.json", f"{'[0-9a-f]' * 16}/*")
KINDS = ("", ".parquet", ".json", ".jsonl")
#: bytes of all of it together
MOST_RESULTS = 1 << 30


@click.group("data", help="Show, fetch, import and split data sets.")
def data_group() -> None:
    pass


@data_group.command("status", help="What is here, where, and how to get the rest.")
@click.argument("name", required=False)
@DATA_ROOT
@ADD_ONLY
@AS_JSON
def data_status(name: str | None, data_root: Path | None, as_json: bool) -> None:
    rows = [data.status(n, data_root) for n in ([name] if name else data.DATASETS)]
    if as_json:
        click.echo(json.dumps(rows, indent=1, default=str))
        return
    for line in plain_lines(rows):
        click.echo(line)


@data_group.command("fetch", help="Download a data set and verify it.")
@click.argument("name")
@DATA_ROOT
def data_fetch(name: str, data_root: Path | None) -> None:
    place = data.fetch(name, data_root)
    click.echo(f"{name}: {place or 'ships with an installed package'}")


@data_group.command("results", help="Keep the stored runs of a checkout for `verdicts` and `table --lookup` elsewhere.")
@click.argument("folder", type=Place(), required=False)
def data_results(folder: Path | None) -> None:
    kept = paths.kept_results()
    if folder is None:
        if not kept.is_dir():
            raise UserError("folder", None, "the folder results/ of a checkout; nothing is kept yet")
        click.echo(str(kept))
        return
    files = sorted(one for name in KEPT for one in folder.glob(name) if one.is_file() and one.suffix in KINDS)
    if not any(one.suffix == ".parquet" for one in files):
        raise UserError("folder", str(folder), "the folder results/ of a checkout, with runs/*.parquet in it")
    if os.path.realpath(folder) == os.path.realpath(kept):
        raise UserError("folder", str(folder), "another folder than the one that is kept")
    size = sum(one.stat().st_size for one in files)
    if size > MOST_RESULTS:
        raise UserError("folder", str(folder), f"at most {MOST_RESULTS} bytes; this holds {size}")
    with replaced_folder(kept) as new:
        for one in files:
            target = new / one.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one, target)
    click.echo(f"{len(files)} files, {size / 1e6:.0f} MB, kept in {kept}")


@data_group.command("split", help="Partition of a data set over clients: sizes, fingerprint, heat map.")
@click.argument("name")
@click.argument("spec")
@click.option("--clients", type=click.IntRange(1), default=100, help="Number of clients.")
@click.option("--sizes", default="equal", help="equal or lognormal:SIGMA.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the random draws.")
@click.option("--figure", type=Place(), help="Heat map of clients by classes, .png or .pdf.")
@DATA_ROOT
@ADD_ONLY
@AS_JSON
def data_split(
    name: str,
    spec: str,
    clients: int,
    sizes: str,
    seed: int,
    figure: Path | None,
    data_root: Path | None,
    as_json: bool,
) -> None:
    dataset = data.load(name, data_root)
    domains, names = dataset.domains, dataset.domain_names
    parts = data.partition(spec, dataset.train_y, clients, seed, sizes=sizes, domains=domains, domain_names=names)
    if figure is not None:
        from artifact.data.figures import partition_heatmap

        partition_heatmap(parts, dataset.train_y, dataset.classes, figure)
    row = {"fingerprint": parts.fingerprint, "clients": clients, "smallest": int(parts.sizes.min())}
    row |= {"largest": int(parts.sizes.max()), "reused": parts.reused}
    click.echo(json.dumps(row) if as_json else "  ".join(f"{key} {value}" for key, value in row.items()))


IMPORT = """Take over the files of the data set NAME.

FILE is an .npz file with train_x, train_y, test_x, test_y and classes, or a folder in the data set's usual layout. Data
of your own are not imported: a file that --add names gives them (docs/yours.md)."""


@data_group.command("import", help=IMPORT)
@click.argument("name")
@click.argument("file", type=Place())
@DATA_ROOT
def data_import(name: str, file: Path, data_root: Path | None) -> None:
    click.echo(f"{name}: {data.import_npz(name, file, data_root)}")
