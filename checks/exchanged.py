"""A function with one operation exchanged for another: what a comparison of its results must notice.

Sums become means and least values largest ones, plus becomes minus and times divided by, a number grows by one. Draws
of the random generator stay, and so do the conditions of an expression: both give another problem, no wrong number.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

REDUCTIONS = {"sum": "mean", "mean": "sum", "max": "min", "min": "max"}
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}


def exchanged(function: Callable[..., Any], settings: Sequence[str] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(the changed expression in its context, the changed function) for every operation of a function.

    settings: variables that choose the problem; what is assigned to them stays.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    left_out = _left_out(tree, settings)
    parents = {id(part): node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in left_out and (change := _change(node)) is not None:
            other = copy.deepcopy(tree)
            changed = next(found for at, found in enumerate(ast.walk(other)) if at == place)
            field, value = change
            setattr(changed, field, value)
            names: dict[str, Any] = {}
            code = compile(ast.fix_missing_locations(other), inspect.getsourcefile(function) or "", "exec")
            exec(code, function.__globals__, names)
            whole = ast.unparse(parents.get(id(node), node))
            yield f"{ast.unparse(node)} -> {ast.unparse(changed)} in {whole}", names[function.__name__]


def _left_out(tree: ast.AST, settings: Sequence[str]) -> set[int]:
    """Nodes inside draws, conditions, settings, keywords such as an axis, subscripts, annotations and defaults."""
    parts: list[ast.AST] = []
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=part) | ast.IfExp(test=part) | ast.comprehension(iter=part) | ast.For(iter=part):
                parts.append(part)
            case ast.arguments() | ast.keyword(arg="axis" | "dtype"):
                parts.append(node)
            case ast.Call() if ast.unparse(node.func).startswith("rng."):
                parts.append(node)
            case ast.Assign() if any(name in settings for name in _assigned(node)):
                parts.append(node)
    return {id(inner) for part in parts for inner in ast.walk(part)}


def _assigned(node: ast.Assign) -> list[str]:
    return [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def _change(node: ast.AST) -> tuple[str, Any] | None:
    """(field, new value) of the one change of a node."""
    if isinstance(node, ast.Attribute) and node.attr in REDUCTIONS:
        return "attr", REDUCTIONS[node.attr]
    if isinstance(node, ast.Name) and node.id in ("max", "min"):
        return "id", REDUCTIONS[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return "op", OPERATORS[type(node.op)]()
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return "value", node.value + 1
    return None
