"""The exported file: the method as one class, and what of the skeleton around it the method uses."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import io
import sys
import textwrap
import traceback
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from artifact.algorithms import SWITCHES
from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import clip
from artifact.algorithms.released import RELEASED_CLIP
from artifact.base.errors import UserError
from artifact.export.flatten import WIDTH, flattened, named, parsed, written

SKELETON = Path(__file__).with_name("skeleton.py")
#: functions of the engine under the names by which the skeleton calls them
_ENGINES: dict[str, Any] = {"clip": clip}


def exported(method: FedAvg, man: float = 0.0) -> str:
    """A Python file that trains with the method and needs torch alone.

    method: with its hyper-parameters and switches, as ``algorithms.build`` makes it.
    man: zeta, the coefficient of MAN's activation term; the method's own ``man_scale`` is applied to it.
    Raises UserError for a method of one's own that uses names which no exported file can have.
    """
    own, names = flattened(method)
    skeleton = parsed(SKELETON.read_text(encoding="utf-8")).body
    defined = [node for node in skeleton if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    known = {node.name for node in defined} | {"loss_of"}
    constants = {
        "CLIP_TOTAL": ast.Constant(method.clip_total),
        "PENALTY_INSIDE_CLIP": ast.Constant(method.penalty_inside_clip),
        "EQUAL_STEPS": ast.Constant(method.equal_steps),
        "CLIP": ast.Constant(RELEASED_CLIP if method.clip_total else None),
        "ZETA": ast.Constant(man * method.man_scale),
        "Method": named(own.name),
    }
    for node in defined:
        _Folded(constants).visit(node)
    unused = "loss_of" if man else "loss_of_man"
    defined = [node for node in defined if node.name != unused]
    for node in defined:
        node.name = node.name.replace("loss_of_man", "loss_of")
    imports = [node for node in skeleton if isinstance(node, ast.Import | ast.ImportFrom)][1:]
    given = {alias.asname or alias.name for node in imports for alias in node.names} | known
    helpers = _helpers([(own, names), *((node, _ENGINES) for node in defined)], given)
    body = [_Uncounted().visit(node) for node in _shaken([*helpers, own, *defined])]
    kept = [ast.unparse(node) for node in imports if _kept_names(node, _used(body))]
    main = next(node for node in skeleton if isinstance(node, ast.If))
    head = f'"""{_said(method, own, man)}"""\n\n'
    groups = ["\n".join(_apart(kept)), *(written(ast.fix_missing_locations(node)) for node in [*body, main])]
    return head + "\n\n\n".join(groups) + "\n"


def require_running(text: str, name: str) -> None:
    """Run the exported file for two rounds. Raises UserError, with the line of the file, where it does not run."""
    import torch  # the file needs it

    module = ModuleType(f"exported {name}")
    sys.modules[module.__name__] = module  # where dataclasses look their annotations up
    try:
        with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, module.__name__, "exec", dont_inherit=True), vars(module))
            module.Setting = partial(module.Setting, rounds=2)  # type: ignore[attr-defined]
            module.main()
    except Exception as error:  # the method's own code may raise anything
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == module.__name__]
        where = ""
        if frames and frames[-1].lineno:
            line = text.splitlines()[frames[-1].lineno - 1]
            where = f" in line {frames[-1].lineno} of the file, {line.strip()!r}"
        allowed = f"a method whose file runs alone ({type(error).__name__}: {error}{where})"
        raise UserError("method", name, allowed) from error
    finally:
        del sys.modules[module.__name__]


def _said(method: FedAvg, own: ast.ClassDef, man: float) -> str:
    """The file's docstring."""
    title = ast.get_docstring(own) or own.name
    lines = textwrap.wrap(f"{method.name}: {title}", WIDTH - 3)
    on = [id for id in SWITCHES if id in method.switches]
    if on:
        lines += ["", "It differs from the method of its paper in these equations:"]
        lines += [f"* {id}: {' / '.join(_explained(method, id))}" for id in on]
    if man:
        lines += ["", f"With MAN's activation term (Yashwanth et al. 2024), zeta {man:g}."]
    lines += [
        "",
        "Taken from fedsharp's engine by ``python -m fedsharp export``. W and G(W) are [S, P], w is [P]; S of m",
    ]
    lines += ["clients are active. Nothing averages running statistics: take another normalisation than BatchNorm.", ""]
    return "\n".join(lines)


def _explained(method: FedAvg, id: str) -> list[str]:
    return list(dict.fromkeys(s.explanation for s in SWITCHES[id] if s.mixin in type(method).__bases__))


def _apart(imports: list[str]) -> list[str]:
    """A blank line between the standard library and torch."""
    first = next(number for number, line in enumerate(imports) if "torch" in line)
    return [*imports[:first], "", *imports[first:]]


class _Folded(ast.NodeTransformer):
    """Puts constants in place of names, and drops the branches that they close."""

    def __init__(self, values: dict[str, ast.expr]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.values.get(node.id, node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node


class _Uncounted(ast.NodeTransformer):
    """Drops the numbering of a loop whose number nobody reads."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        numbering = node.iter
        if not isinstance(numbering, ast.Call) or ast.unparse(numbering.func) != "enumerate":
            return node
        if isinstance(node.target, ast.Tuple) and isinstance(node.target.elts[0], ast.Name):
            counter = node.target.elts[0].id
            if counter != "_" and counter not in _loaded(node.body) and len(numbering.args) == 1:
                node.target, node.iter = node.target.elts[1], numbering.args[0]
        return node


def _used(nodes: list[Any]) -> set[str]:
    """Names and attributes in some code."""
    found = set()
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                found.add(inner.id)
            elif isinstance(inner, ast.Attribute):
                found.add(inner.attr)
    return found


def _loaded(nodes: list[Any]) -> set[str]:
    """Names and attributes whose values some code takes."""
    read = (n for node in nodes for n in ast.walk(node) if isinstance(getattr(n, "ctx", None), ast.Load))
    return {n.id if isinstance(n, ast.Name) else getattr(n, "attr", "") for n in read}


class _Unread(ast.NodeTransformer):
    """Drops assignments to one name or attribute that nobody reads."""

    def __init__(self, here: set[str], anywhere: set[str]):
        self.here, self.anywhere = here, anywhere

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0] if len(node.targets) == 1 else None
        if isinstance(target, ast.Name) and target.id not in self.here:
            return None
        return None if isinstance(target, ast.Attribute) and target.attr not in self.anywhere else node


def _read(nodes: list[Any]) -> set[str]:
    """Attributes that are read of a cohort, which every method calls C."""
    of = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute))
    return {n.attr for n in of if isinstance(n.value, ast.Name) and n.value.id == "C"}


def _kept_names(node: ast.Import | ast.ImportFrom, used: set[str]) -> bool:
    """Whether anything of an import is used; its other names are dropped."""
    node.names = [alias for alias in node.names if (alias.asname or alias.name) in used]
    return bool(node.names)


def _helpers(code: list[tuple[Any, dict[str, Any]]], given: set[str]) -> list[Any]:
    """Definitions of the global names that code uses and the skeleton lacks, with those that they use in turn.

    code: every definition with the global names of its file.
    """
    found: dict[str, Any] = {}
    for node, names in code:
        local = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        for name in sorted(_used([node]) & names.keys()):
            if name in {*local, *given, *found} or hasattr(builtins, name):
                continue
            value = names[name]
            if inspect.isfunction(value) or inspect.isclass(value):
                own = parsed(inspect.getsource(value)).body[0]
                deeper = _helpers([(own, vars(inspect.getmodule(value)))], {*given, *found, name})
                found |= {one.name: one for one in deeper} | {name: own}
            elif isinstance(value, ModuleType):
                found[name] = parsed(f"import {value.__name__} as {name}").body[0]
            elif isinstance(value, int | float | str | tuple):
                found[name] = parsed(f"{name} = {value!r}").body[0]
            else:
                raise UserError("method", name, "functions, classes, modules and plain values as global names")
    return list(found.values())


def _shaken(nodes: list[Any]) -> list[Any]:
    """The definitions that ``main`` leads to, of classes the methods that somebody calls, of a cohort what is read."""
    left = -1
    while left != (left := sum(1 for node in nodes for _ in ast.walk(node))):
        for call in (inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id == "Cohort":
                call.keywords = [entry for entry in call.keywords if entry.arg in _read(nodes)]
        anywhere = _loaded(nodes)
        for node in nodes:
            _Unread(_loaded([node]), anywhere).visit(node)
        users: dict[str, set[str]] = {}  # name -> the definitions, or methods, that use it
        for node in nodes:
            for part in node.body if isinstance(node, ast.ClassDef) else [node]:
                for name in _used([part]):
                    users.setdefault(name, set()).add(_place(node, part))
        nodes = [node for node in nodes if not isinstance(node, ast.FunctionDef | ast.ClassDef) or _kept(node, users)]
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                node.body = [part for part in node.body if _part_kept(node, part, users)]
    return nodes


def _place(node: Any, part: Any) -> str:
    return node.name if part is node else f"{getattr(node, 'name', '')}.{getattr(part, 'name', '')}"


def _kept(node: ast.FunctionDef | ast.ClassDef, users: dict[str, set[str]]) -> bool:
    """Whether anybody else uses a definition."""
    others = {user for user in users.get(node.name, ()) if user.split(".")[0] != node.name}
    return node.name == "main" or bool(others)


def _part_kept(node: ast.ClassDef, part: ast.stmt, users: dict[str, set[str]]) -> bool:
    """Whether anybody else uses a method; whatever else is in a class stays."""
    if not isinstance(part, ast.FunctionDef) or part.name.startswith("__"):
        return True
    return bool(users.get(part.name, set()) - {_place(node, part)})
