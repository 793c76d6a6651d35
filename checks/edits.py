"""Edits of numbers in statements: each must break its check, or change evidence, page and notebook with it.

A number is drawn from the body of a check function (literals and numbers inside texts, not its docstring) or from a
function that builds a statement object. Lines that deciding the claim does not reach belong to changed constants and
are left out. The edited module is executed in a child process, where the claim is decided, its part of the report's
page is written and its cell of the notebook is run. Nothing on disk changes.

    python -m checks.edits 30 0     thirty numbers, drawn with seed 0

``checks.edits_record`` tries all of them.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from artifact.verdicts.ledger import Claim, load
from checks import runner
from theory.inexact import (
    decreasing,
    epochs,
    momentum,
    one_client,
    one_step,
    statements,
    strongly_convex,
    theorem,
    unequal,
    vanishing_radius,
)
from theory.kit import statement as kit
from theory.kit.proof import Rejected
from theory.kit.statement import Statement
from theory.kit.verdict import registry
from theory.sun2023 import lyapunov
from theory.yashwanth2023 import layers

TIME = re.compile(r"\d+(\.\d+)? s\b")
NUMBER = re.compile(r"(?<![\w.])\d+")
#: processor seconds after which an edited check is ended: it has failed, such as one that a number made endless
SECONDS = 120
#: random problems of a statement, before an edit and after it: an edited number shows on few as on a thousand
RUNS = 25
#: functions and constants that build the sides and the conditions of a statement object
SIDES = (
    *("general", "divided", "printed_steps", "sides", "exact_sides", "closed_sides", "printed_sides"),
    *("layer", "layer_weights", "balance", "statement", "theorem", "exact", "full", "sampled", "thesis"),
    *("SMALL_X", "STEP", "WEIGHT", "BETA"),
)


def made_by(module: ModuleType, *names: str) -> tuple[Callable[[], Statement], ...]:
    """Makers of statements, looked up when they are called: an edited module has others."""
    return tuple(lambda name=name: getattr(module, name)() for name in names)


COROLLARIES = made_by(statements, "general", "sampled", "full", "exact", "thesis", "printed_steps")
#: module -> statements whose sides or conditions it builds
OBJECTS: dict[ModuleType, tuple[Callable[[], Statement], ...]] = {
    theorem: COROLLARIES,
    statements: COROLLARIES,
    decreasing: made_by(decreasing, "statement"),
    momentum: made_by(momentum, "statement", "printed_steps", "general"),
    strongly_convex: made_by(strongly_convex, "statement"),
    epochs: made_by(epochs, "statement"),
    one_step: made_by(one_step, "statement", "exact"),
    one_client: made_by(one_client, "statement"),
    unequal: made_by(unequal, "statement"),
    vanishing_radius: made_by(vanishing_radius, "statement"),
    lyapunov: made_by(lyapunov, "theorem", "general"),
    layers: made_by(layers, "layer", "layer_weights", "balance"),
}


@dataclass(frozen=True)
class Site:
    """A number in a source file.

    owner: claim id, or module of statement objects. start, end: place in the text. statement: first line of the Python
    statement that holds it. branch: first line behind the ``if`` in whose condition it stands, 0 elsewhere. text:
    whether it stands in a text, which a page shows as it is.
    """

    owner: str
    module: str
    start: int
    end: int
    number: str
    statement: int
    branch: int = 0
    text: bool = False

    def edited(self, by: int = 1) -> str:
        """The module's source with the number raised by one, or by so many."""
        text = source(sys.modules[self.module])
        return f"{text[: self.start]}{int(self.number) + by}{text[self.end :]}"

    @property
    def line(self) -> str:
        """The line of the source that holds the number."""
        text = source(sys.modules[self.module])
        return text[text.rfind("\n", 0, self.start) + 1 :].splitlines()[0].strip()

    def __str__(self) -> str:
        number = source(sys.modules[self.module]).count("\n", 0, self.start) + 1
        return f"{self.owner}: {self.number} in {self.module}, line {number}: {self.line}"


@cache
def source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def numbers(owner: str, module: ModuleType, function: ast.FunctionDef | ast.Module) -> Iterator[Site]:
    """Numbers in a function's body, without its docstring, places in lists and the range of a search.

    A search speaks where neither a proof nor an instance does, which is so for changed constants alone.
    """
    text = source(module)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    encoded = text.isascii()
    places = [node.slice for node in ast.walk(function) if isinstance(node, ast.Subscript)]
    searches = [
        k.value for k in ast.walk(function) if isinstance(k, ast.keyword) and k.arg in ("box", "function_class")
    ]
    skipped = {id(node) for part in places + searches for node in ast.walk(part)}
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    statements = [part for top in body for part in ast.walk(top) if isinstance(part, ast.stmt)]
    inside = {id(node): part.lineno for part in statements for node in ast.walk(part)}
    tests = [part for part in statements if isinstance(part, ast.If)]
    branches = {id(node): part.body[0].lineno for part in tests for node in ast.walk(part.test)}
    for node in (node for top in body for node in ast.walk(top)):
        if not isinstance(node, ast.Constant) or id(node) in skipped or not encoded:
            continue
        if isinstance(node.value, int | float | str) and not isinstance(node.value, bool):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
            for match in NUMBER.finditer(text[begin:end]):
                place = begin + match.start(), begin + match.end()
                shown = isinstance(node.value, str)
                yield Site(owner, module.__name__, *place, match[0], inside[id(node)], branches.get(id(node), 0), shown)


def sites() -> list[Site]:
    """Every number that may be drawn: of checks of statements, and of statement objects."""
    runner.import_theory()
    stored, found = runner.stored(), []
    decided = {name for name, claim in _ledger().items() if claim.decided_by == "checks"}
    first = {check.function: name for name, check in reversed(registry.checks.items())}
    for function, name in first.items():
        record = stored.get(name, {})
        if name in decided and record.get("verdict") in ("proved", "repaired", "refuted"):
            module = sys.modules[function.__module__]
            found += list(numbers(name, module, _definitions(module)[function.__name__]))
    for module in OBJECTS:
        for name in SIDES:
            if name in _definitions(module):
                found += list(numbers(module.__name__, module, _definitions(module)[name]))
    return found


@cache
def _ledger() -> dict[str, Claim]:
    return {claim.id: claim for claim in load()}


@cache
def _tree(name: str) -> list[ast.stmt]:
    return ast.parse(source(sys.modules[name])).body


@cache
def _definitions(module: ModuleType) -> dict[str, ast.FunctionDef | ast.Module]:
    """Functions of a module, and its constants, each as a module of one line."""
    found: dict[str, ast.FunctionDef | ast.Module] = {}
    for node in _tree(module.__name__):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            first = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) else node.targets[0]
            found[ast.unparse(first)] = ast.Module([node], [])
    return found


# ------------------------------------------------------------ what is seen of a statement


def seen(owner: str, shown: bool = True) -> dict[str, Any]:
    """verdict or failure; evidence, page and notebook of a claim; texts and proofs of a module's statement objects.

    shown: whether the page is written and the notebook is run.
    """
    if owner in registry.checks:
        return _claim(owner, shown)
    texts, fails = {}, ""
    for statement in (make() for make in OBJECTS[sys.modules[owner]]):
        try:
            label = statement.label  # raises where the proof fails or does not assume a condition
            texts[statement.name] = [label, statement.text, statement.proof.export()]
        except (Rejected, ValueError) as error:
            fails = f"{statement.name}: {error}"
    return {"fails": fails, "evidence": texts, "page": texts, "notebook": texts}


def _claim(name: str, shown: bool) -> dict[str, Any]:
    from artifact.report import evidence
    from artifact.report.content import Record
    from notebooks import claim as notebook

    check = registry.checks[name]
    group = tuple(other for other, own in registry.checks.items() if own.function is check.function)
    result = notebook._result(group)
    expected = _ledger()[name]
    if result["verdict"] != expected.expected:
        return {"fails": f"{result['verdict']}: {result['evidence'].get('error', '')}"}
    if not shown:
        return {"fails": "", "evidence": {key: result.get(key) for key in ("evidence", "margin", "repaired")}}
    record = Record(expected, result["verdict"], result["evidence"], result.get("margin"), result.get("repaired"))
    content = {key: result.get(key) for key in ("evidence", "margin", "repaired")}
    page = [str(part) for part in evidence.parts(record)] + [str(record.margin), str(record.repaired)]
    return {"fails": "", "evidence": content, "page": page, "notebook": TIME.sub("", notebook.show(name)._repr_html_())}


def outcome(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """ "fails", "changes", or what did not follow the edit."""
    if after["fails"]:
        return "fails"
    same = [name for name in ("evidence", "page", "notebook") if name in before and before[name] == after[name]]
    return f"unnoticed by {', '.join(same)}" if same else "changes"


def in_child(work: Callable[[], Any]) -> Any:
    """The plain result of a function that runs in a forked process, or its failure."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        kit.MOST_RUNS = RUNS
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        try:
            answer = work()
        except BaseException as error:  # whatever an edited module raises is a failure that is seen
            answer = {"fails": f"{type(error).__name__}: {error}"}
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            json.dump(runner.plain(answer), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"fails": "the process ended"}


def after_edit(site: Site, shown: bool = True, by: int = 1) -> dict[str, Any]:
    """What is seen once the module has been executed with its number raised by one, or by so many."""
    module = sys.modules[site.module]
    for name in [n for n, check in registry.checks.items() if check.function.__module__ == site.module]:
        del registry.checks[name]
    exec(compile(site.edited(by), str(module.__file__), "exec"), vars(module))
    return seen(site.owner, shown)


def reached(site: Site) -> dict[str, Any]:
    """Whether what is seen depends on the site's line at all; a constant's has run before.

    The condition of a branch that is not taken says when a check refuses to answer, or what a changed constant gives.
    """
    if any(isinstance(node, ast.Assign) and node.lineno == site.statement for node in _tree(site.module)):
        return {"reached": True}
    lines: set[int] = set()
    name = str(sys.modules[site.module].__file__)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != name:
            return None
        lines.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    seen(site.owner, shown=False)
    return {"reached": site.statement in lines and (not site.branch or site.branch in lines)}


def tried(places: Iterable[Site], shown: bool = True) -> Iterator[tuple[Site, str]]:
    """Edit one number at a time; yields each that is reached with its outcome.

    Verdicts that the same program has kept are not asked for: they are those of the statements before the edit.
    """
    os.environ.pop(runner.KEPT_VARIABLE, None)
    owner, before = "", {}
    for site in places:
        if site.owner != owner:
            owner, before = site.owner, in_child(lambda site=site: seen(site.owner, shown))
        found = outcome(before, in_child(lambda site=site: after_edit(site, shown)))
        if found in ("fails", "changes") or in_child(lambda site=site: reached(site)).get("reached", True):
            yield site, found


def drawn(count: int, seed: int = 0) -> Iterator[tuple[Site, str]]:
    """Edits of so many numbers that are reached, drawn with the seed."""
    places = sites()
    random.Random(seed).shuffle(places)
    return islice(tried(places), count)


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    for place, result in drawn(*map(int, sys.argv[1:])):
        counts[result] += 1
        print(f"{result:38} {place}", flush=True)
    print(", ".join(f"{count} {result}" for result, count in counts.items()), file=sys.stderr)
