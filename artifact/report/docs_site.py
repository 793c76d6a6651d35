"""``fedsharp docs``: the pages of ``docs/`` as a site that opens and searches without a network, by Sphinx.

The module is also Sphinx's extension of this site. The extension makes parts of pages from the program itself (a
directive ``{made}`` with the name of an entry of ``MADE``) and writes formulas as MathML.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import shutil
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.options import Place
from artifact.base.registered import LOADERS
from artifact.papers.declared import read_toml

TEXT = Path(__file__).resolve().parent / "text"
#: modules of the Python interface whose public names the reference lists, beside the names of ``artifact`` itself
MODULES = (
    "artifact.interface.callbacks",
    "artifact.optim",
    "artifact.losses",
    "artifact.curvature",
    "artifact.looseness",
)
#: what marks a folder as a site of ours, so that it may be replaced
MARK = "searchindex.js"


@click.command("docs", help="Build the documentation site; it opens and searches offline.")
@click.option("--out", type=Place(file_okay=False), default=Path("out/docs"), show_default=True, help="Folder.")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
def docs_command(out: Path, show: bool) -> None:
    if importlib.util.find_spec("sphinx") is None or importlib.util.find_spec("myst_parser") is None:
        raise UserError("docs", "sphinx", "an environment with the extra docs: pip install '.[docs]'")
    if not (paths.DOCS / "conf.py").is_file():
        raise UserError("docs", str(paths.DOCS), "a command started in a checkout, which holds docs/")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UserError("out", str(out), f"a new or empty folder, or one with an earlier site ({MARK})")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as name:
        new = Path(name) / "site"
        _build(new)
        if out.is_dir():
            out.rename(Path(name) / "old")
        new.rename(out)
    index = out.resolve() / "index.html"
    click.echo(f"docs: {index}")
    if show:
        webbrowser.open(index.as_uri())


def _build(folder: Path) -> None:
    """Write the site. Raises UserError with Sphinx's first warning, such as a link that leads nowhere."""
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as scratch:
        warnings = Path(scratch) / "warnings"
        words = ["-q", "-W", "--keep-going", "-j", "1", "-w", str(warnings), "-d", f"{scratch}/doctrees"]
        failed = build_main([*words, str(paths.DOCS), str(folder)])
        if failed:
            shutil.rmtree(folder, ignore_errors=True)
            lines = warnings.read_text(encoding="utf-8").splitlines() or ["Sphinx failed"]
            raise UserError("docs", lines[0], f"pages without a warning of Sphinx ({len(lines)} lines of warnings)")


# ---- parts of pages that are made from the program ------------------------------------------------


def glossary() -> str:
    """The report's glossary."""
    terms = read_toml(TEXT / "glossary.toml", "glossary")["term"]
    return "\n\n".join(f"**{term['word']}.** {term['meaning']}" for term in terms)


def commands() -> str:
    """Every command with its arguments and options, in the order of ``--help``."""
    group = LOADERS["command line"]()
    context = click.Context(group, info_name="python -m fedsharp")
    parts = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        parts += [f"## {name}", "", command.help or "", ""]
        parts += _usage(command, click.Context(command, context, name))
    return "\n".join(parts)


def _usage(command: click.Command, context: click.Context) -> Iterator[str]:
    formatter = click.HelpFormatter(width=100)
    command.format_usage(context, formatter)
    command.format_options(context, formatter)
    yield from ("```text", formatter.getvalue().rstrip(), "```", "")


def interface() -> str:
    """Signatures and docstrings of the Python interface."""
    import artifact

    parts: list[str] = []
    for name in ("train", "compare", "partition", "cosine", "bounds", "network", "dataset", "doctor"):
        parts += _described(f"fedsharp.{name}", getattr(artifact, name))
    for module in MODULES:
        held = importlib.import_module(module)
        public = getattr(held, "__all__", [one for one, value in vars(held).items() if _own(value, module)])
        for name in sorted(public):
            if not name.startswith("_"):
                parts += _described(f"{module}.{name}".replace("artifact.", "fedsharp.", 1), getattr(held, name))
    from artifact.algorithms.base import FedAvg

    parts += _described("artifact.algorithms.base.FedAvg", FedAvg)
    return "\n".join(parts)


def _own(value: Any, module: str) -> bool:
    """Whether a module shows a function or class: it, or a module inside it, defines the object."""
    defined = getattr(value, "__module__", "") or ""
    return (inspect.isfunction(value) or inspect.isclass(value)) and f"{defined}.".startswith(f"{module}.")


def _described(name: str, thing: Any) -> list[str]:
    try:
        signature = str(inspect.signature(thing))
    except (TypeError, ValueError):
        signature = ""
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)  # annotations are kept as texts
    short = name.rpartition(".")[2]
    text = inspect.getdoc(thing) or ""
    return [f"## {name}", "", "```text", f"{short}{signature}", "```", "", "```text", text, "```", ""]


MADE: dict[str, Callable[[], str]] = {"glossary": glossary, "commands": commands, "interface": interface}


# ---- Sphinx's extension ---------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    """Register the directive ``{made}`` and the formulas."""
    from sphinx.util.docutils import SphinxDirective

    class Made(SphinxDirective):
        """``{made} NAME``: what the function of that name in ``MADE`` returns, as Markdown."""

        required_arguments = 1

        def run(self) -> list[Any]:
            return self.parse_text_to_nodes(MADE[self.arguments[0]](), allow_section_headings=True)

    def at_the_top(_app: Any, _name: str, content: list[str]) -> None:
        content[0] = content[0].replace("](../CONTRIBUTING.md", "](contest.md").replace("](../README.md", "](index.md")

    app.add_directive("made", Made)
    app.connect("source-read", at_the_top)  # what lies at the top of the checkout is a page of the site, too
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    return {"parallel_read_safe": True}


def _formula(translator: Any, node: Any) -> None:
    """A formula as MathML; TeX that the converter does not know as code."""
    from docutils.nodes import SkipNode

    from artifact.report.mathematics import mathml

    display = node.tagname == "math_block"
    try:
        html = str(mathml(node.astext(), display))
    except Exception:  # the converter raises many kinds; the reader then sees the TeX
        html = f"<code>{translator.encode(node.astext())}</code>"
    translator.body.append(f"<div>{html}</div>" if display else html)
    raise SkipNode
