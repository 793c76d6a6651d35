"""``python -m notebooks``: execute the notebooks and write one HTML page each, or rewrite their files in shape."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

import click

from artifact.base.console import OneLine, needs_extra

with needs_extra():
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError
    from nbformat import NotebookNode

from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.options import Place
from artifact.papers import experiments
from artifact.report import fingerprints, notebooks
from artifact.runs.processes import require_address_space
from artifact.verdicts.ledger import PAPERS
from notebooks import page, shape

SECONDS_PER_CELL = 1800  # the first cell of a table trains its missing quick runs
QUIET = ["--IPKernelApp.log_level=40"]  # errors only
#: of each kernel, as several run side by side; a figure that a cell draws is its output
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
ENVIRONMENT |= {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


class Failed(Exception):
    """A notebook that did not run to its end; the text names it and the claim."""


@click.command(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--out",
    type=Place(file_okay=False),
    default=Path("out/notebooks"),
    show_default=True,
    help="Folder of the pages, one per notebook; artifact report takes them over from there.",
)
@click.option("--only", "chosen", multiple=True, metavar="NAME", help="Only this notebook; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Kernels at the same time.")
@click.option("--folder", type=Place(file_okay=False), default=notebooks.FOLDER, help="Notebooks.")
@click.option("--force", is_flag=True, help="Execute also notebooks whose page is up to date.")
@click.option("--refresh", is_flag=True, help="Write headings and locations from the ledger anew; run nothing.")
def main(out: Path, chosen: Sequence[str], jobs: int, folder: Path, force: bool, refresh: bool) -> None:
    """Execute the notebooks without changing them and write their pages; exit code 1 if a cell fails.

    A page is up to date while its notebook, the program, the ledger and the finished runs are those it was made from.
    """
    require_address_space()
    names = _select(chosen, folder)
    for name in names:
        _require_notebook(name, folder)
    if refresh:
        for name in names:
            shape.refresh(name, folder)
        return
    start, marks = time.perf_counter(), _marks(names, folder)
    waiting = [name for name in names if force or not page.is_of(out / f"{name}.html", marks[name])]
    failures = execute(waiting, folder, out, jobs, marks) if waiting else []
    for text in failures:
        click.echo(text, err=True)
    done, seconds = len(waiting) - len(failures), time.perf_counter() - start
    kept = f", {len(names) - len(waiting)} up to date" if len(waiting) < len(names) else ""
    click.echo(f"{done} of {len(waiting)} notebooks executed{kept}, {seconds:.0f} s: {out}")
    sys.exit(1 if failures else 0)


def _select(chosen: Sequence[str], folder: Path) -> list[str]:
    known = notebooks.names(folder)
    if not known:
        raise UserError("folder", str(folder), "a folder with notebooks")
    for name in chosen:
        if name not in known:
            raise UserError("notebook", name, ", ".join(known))
    return [name for name in known if not chosen or name in chosen]


def _require_notebook(name: str, folder: Path) -> None:
    """UserError for a notebook that cannot be executed or shown, before any of them is."""
    if name.partition("-")[0] not in PAPERS:
        raise UserError("notebook", name, "a name that begins with a paper's key and a hyphen: " + ", ".join(PAPERS))
    notebooks.read(name, folder)


def _marks(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Fingerprint of each notebook's inputs."""
    stores = {experiments.ROOT / store for store in experiments.STORES.values()}
    shared = fingerprints.digest(fingerprints.sources(), fingerprints.records(stores))
    return {name: fingerprints.digest([folder / f"{name}.ipynb"], [], shared) for name in names}


def execute(names: Sequence[str], folder: Path, out: Path, jobs: int, marks: Mapping[str, str]) -> list[str]:
    """Run the notebooks, the longest first, and write their pages. Returns one line for each that failed.

    marks: name -> fingerprint that its page carries.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("--out", str(out), f"a folder that can be written ({error.strerror})") from None
    waiting: SimpleQueue[str] = SimpleQueue()
    for name in sorted(names, key=lambda name: -len(notebooks.claims_of(name, folder))):
        waiting.put(name)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            workers = [
                pool.submit(asyncio.run, _work(waiting, folder, out, marks)) for _ in range(min(jobs, len(names)))
            ]
            return sorted(line for worker in workers for line in worker.result())
        except KeyboardInterrupt:
            os._exit(130)  # kernels watch their parent and end with it


async def _work(waiting: SimpleQueue, folder: Path, out: Path, marks: Mapping[str, str]) -> list[str]:
    """Take notebooks until none is left. One kernel serves them all, so the project is imported once."""
    failures = []
    kernel = AsyncKernelManager(kernel_name="python3")
    try:
        while True:
            name, start = waiting.get_nowait(), time.perf_counter()
            try:
                content = await _run(name, folder, kernel)
            except Failed as error:
                failures.append(str(error))
                continue
            write_atomic(out / f"{name}.html", page.page(content, name, marks[name]))
            claims = len(notebooks.claims_of(name, folder))
            click.echo(f"{name}: {claims} claims, {time.perf_counter() - start:.1f} s", err=True)
    except Empty:
        return failures
    finally:
        if kernel.has_kernel:
            await kernel.shutdown_kernel(now=True)


async def _run(name: str, folder: Path, kernel: AsyncKernelManager) -> NotebookNode:
    """The executed notebook. Raises Failed with the notebook, the claim and what happened."""
    content = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    client = NotebookClient(content, km=kernel, timeout=SECONDS_PER_CELL, extra_arguments=QUIET)
    try:
        await client.async_execute(cwd=str(folder), env=os.environ | ENVIRONMENT)
    except (CellExecutionError, CellTimeoutError, RuntimeError) as error:  # RuntimeError: no kernel, or a dead one
        where = f"notebook {name}, {_reached(content)}"
        if isinstance(error, CellExecutionError):
            raise Failed(f"{where}: {error.ename}: {error.evalue}") from None
        if kernel.has_kernel:
            await kernel.shutdown_kernel(now=True)  # the next notebook starts another
        raise Failed(f"{where}: {type(error).__name__}: {' '.join(str(error).split())}") from None
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
    return content


def _reached(content: NotebookNode) -> str:
    """The cell at which a run stopped: the last one that was sent to the kernel."""
    started = [cell for cell in content["cells"] if cell["cell_type"] == "code" and "execution" in cell["metadata"]]
    claim = notebooks.shown(started[-1]) if started else None
    return f"claim {claim}" if claim else "the cell that sets up"


if __name__ == "__main__":
    main(prog_name="python -m notebooks")
