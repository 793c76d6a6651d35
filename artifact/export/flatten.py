"""A method's classes as one: hooks, mixins and ``super()`` are put where they are called, so that it reads in order.

Everything comes from the source of the classes that the engine runs. Nothing is computed here, so an exported method
can differ from the engine by rounding alone; tests hold all of them against it.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import io
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from typing import Any

from artifact.algorithms.base import FedAvg

#: what the round loop calls, in the order of a round
ENTRIES = ("init", "begin", "step", "finish")
#: characters of a line in the exported file
WIDTH = 120
_BLOCKS = (ast.If, ast.For, ast.While, ast.With)


def flattened(method: FedAvg) -> tuple[ast.ClassDef, dict[str, Any]]:
    """The class of a method with its hyper-parameters as defaults, and the global names that its source may use."""
    flat = _Flat(method)
    functions = [flat.function(name) for name in ENTRIES]
    functions = [
        function for pair in zip(ENTRIES, functions, strict=True) for function in [*flat.apart(pair[0]), pair[1]]
    ]
    used = {node.attr for function in functions for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    fields = [
        ast.AnnAssign(named(f.name), named(type(value).__name__), ast.Constant(value), 1)
        for f in dataclasses.fields(method)
        for value in [getattr(method, f.name)]
        if f.name in used
    ]
    said = [ast.Expr(ast.Constant(flat.title))]
    made = ast.ClassDef(flat.name, [], [], [*said, *fields, *functions], [named("dataclass")])
    return ast.fix_missing_locations(made), flat.names


def named(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


class _Flat:
    """The way from the classes to one. names: global names of all functions that were taken."""

    def __init__(self, method: FedAvg):
        self.method, self.order = method, type(method).__mro__[:-1]
        own = next(cls for cls in self.order if cls.__module__ != FedAvg.__module__ or cls is FedAvg or cls.__doc__)
        published = next(cls for cls in self.order if "__dataclass_fields__" in vars(cls))
        self.name, self.title = published.__name__, (published.__doc__ or own.__name__).split("\n")[0]
        self.fields = {f.name for f in dataclasses.fields(method)}
        self.names: dict[str, Any] = {}
        self._apart: dict[str, list[ast.FunctionDef]] = {}
        self._entry = ""

    def apart(self, entry: str) -> list[ast.FunctionDef]:
        """Functions that are called from an entry and could not be put where they are called."""
        return self._apart.get(entry, [])

    def function(self, name: str) -> ast.FunctionDef:
        """An entry with everything that it calls of the method put into it."""
        self._entry = name
        owner = self._owner(name, 0)
        return self._resolved(owner, name)

    def _owner(self, name: str, start: int) -> int:
        """Position of the class that defines a name, from a position on."""
        return next(at for at in range(start, len(self.order)) if name in vars(self.order[at]))

    def _resolved(self, owner: int, name: str) -> ast.FunctionDef:
        found = vars(self.order[owner])[name]
        code: Any = found.fget if isinstance(found, property) else found
        self.names |= code.__globals__
        function = _parsed(code)
        function.body = list(self._statements(function.body, owner))
        return function

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _target(self, node: ast.AST, owner: int) -> tuple[int, str] | None:
        """Where a call of, or an access to, the method's own leads; None for others and for hyper-parameters."""
        if not isinstance(node, ast.Attribute):
            return None
        of = node.value
        if isinstance(of, ast.Name) and of.id == "self" and node.attr not in self.fields:
            return self._owner(node.attr, 0), node.attr
        if isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "super":
            return self._owner(node.attr, owner + 1), node.attr
        return None

    def _statements(self, body: list[ast.stmt], owner: int) -> Iterator[ast.stmt]:
        for statement in body:
            value = getattr(statement, "value", None)
            plain = isinstance(statement, ast.Assign | ast.Return | ast.Expr)
            target = self._target(value.func, owner) if plain and isinstance(value, ast.Call) else None
            if target is not None and isinstance(value, ast.Call):
                called, taken = self._resolved(*target), self._arguments(value, owner)
                put = _in_place(called, taken, statement)
                if put is not None:
                    yield from put
                    continue
            for name, inner in ast.iter_fields(statement):  # blocks of an if or a loop
                if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                    setattr(statement, name, list(self._statements(inner, owner)))
            yield _Expressions(self, owner).visit(statement)

    def _arguments(self, call: ast.Call, owner: int) -> list[ast.expr]:
        assert not call.keywords, ast.unparse(call)
        return [_Expressions(self, owner).visit(copy.deepcopy(argument)) for argument in call.args]

    def expression(self, node: ast.Call | ast.Attribute, owner: int) -> ast.expr | None:
        """What a call or an access becomes; None where it stays."""
        target = self._target(node.func if isinstance(node, ast.Call) else node, owner)
        if target is None:
            return None
        found = vars(self.order[target[0]])[target[1]]
        if not callable(found) and not isinstance(found, property):
            return ast.Constant(found)
        called = self._resolved(*target)
        given = self._arguments(node, owner) if isinstance(node, ast.Call) else []
        if len(called.body) == 1 and isinstance(called.body[0], ast.Return) and called.body[0].value is not None:
            replaced = _replaced(called, given)
            if replaced is not None:
                return replaced.body[0].value  # type: ignore[attr-defined]  # a Return, as above
        return self._kept(called, target, given)

    def _kept(self, called: ast.FunctionDef, target: tuple[int, str], given: list[ast.expr]) -> ast.expr:
        """A call of a function of its own, which is written above the entry."""
        first = target[0] == self._owner(target[1], 0) and target[1] not in ENTRIES
        if said := getattr(called, "said", ""):
            called.body = [ast.Expr(ast.Constant(said)), *called.body]
        called.name = target[1] if first else f"{target[1]}_of_{self.order[target[0]].__name__.lower()}"
        own = self._apart.setdefault(self._entry, [])
        if called.name not in {function.name for several in self._apart.values() for function in several}:
            own.append(called)
        return ast.Call(ast.Attribute(named("self"), called.name, ast.Load()), given, [])


class _Expressions(ast.NodeTransformer):
    """Replaces calls of the method's own hooks inside one statement, innermost first, and tidies what that leaves."""

    def __init__(self, flat: _Flat, owner: int):
        self.flat, self.owner = flat, owner

    def visit_Call(self, node: ast.Call) -> ast.AST:
        made = self.flat.expression(node, self.owner)
        if made is not None:
            return made
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "broadcast":
            return node.args[0]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "clip_gradient":
            clipped = ast.Call(named("clip"), [*node.args, ast.Attribute(node.func.value, "clip", ast.Load())], [])
            return node.args[0] if self.flat.method.clip_total else clipped
        if isinstance(node.func, ast.Attribute) and node.func.attr == "descend":
            del node.args[3:]  # the file's own ``descend`` knows whether the penalty is clipped
        if ast.unparse(node.func) in ("unit", "c.descend") and _is_zero(node.args[-1]):  # the default
            del node.args[-1]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        made = self.flat.expression(node, self.owner)
        return self.generic_visit(node) if made is None else made

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.BitOr) and isinstance(node.left, ast.Dict) and isinstance(node.right, ast.Dict):
            return _united(node.left, node.right)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """``W if e is None else W + e``, once it is known whether the method has a perturbation."""
        if ast.unparse(node.test) == "e is None":
            first: Any = next(cls for cls in self.flat.order if "perturbation" in vars(cls))
            if first is not FedAvg and _may_be_none(first.perturbation):
                self.generic_visit(node)
                return node
            return self.visit(node.body if first is FedAvg else node.orelse)
        self.generic_visit(node)
        return node.body if isinstance(node.test, ast.Constant) and node.test.value else node


def _may_be_none(function: Callable[..., Any]) -> bool:
    """Whether a function can return None: by its name, in a branch, or by its end."""
    tree = _parsed(function)
    returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    values = [inner for value in returns if value is not None for inner in _branches(value)]
    says_none = None in returns or any(isinstance(v, ast.Constant) and v.value is None for v in values)
    return says_none or not isinstance(tree.body[-1], ast.Return)


def _branches(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.IfExp):
        return [*_branches(value.body), *_branches(value.orelse)]
    return [value]


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0.0


def _entries(node: ast.Dict) -> list[tuple[ast.expr, ast.expr]]:
    return [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]


def _united(left: ast.Dict, right: ast.Dict) -> ast.Dict:
    """One dict of two; the later entry of a name stays, at the place of the earlier one."""
    entries = {ast.unparse(key): (key, value) for d in (left, right) for key, value in _entries(d)}
    return ast.Dict([key for key, _ in entries.values()], [value for _, value in entries.values()])


def _in_place(called: ast.FunctionDef, given: list[ast.expr], statement: ast.stmt) -> list[ast.stmt] | None:
    """The statements of a called function in place of ``target = call``; None where that cannot be done by names."""
    *before, last = called.body
    if any(isinstance(node, ast.Return) for one in before for node in ast.walk(one)):
        return None
    replaced = _replaced(called, given)
    if replaced is None:
        return None
    *before, last = replaced.body
    value = last.value if isinstance(last, ast.Return) else None
    if value is None:
        return replaced.body if isinstance(statement, ast.Expr) else None
    if before:
        _say(before[0], getattr(called, "said", ""), above=True)
    if isinstance(statement, ast.Assign | ast.Return):
        _say(statement, getattr(last, "comment", ""))
        if isinstance(statement, ast.Assign):  # ``c.e = e = c.e``
            left = [target for target in statement.targets if ast.unparse(target) != ast.unparse(value)]
            if not left:
                return before
            statement.targets = left
        if isinstance(statement, ast.Assign) and isinstance(value, ast.Constant) and value.value is None:
            return before  # a method without a perturbation
        statement.value = value
        return [*before, statement]
    return [*before, ast.Expr(value)] if isinstance(value, ast.Call) else before


def _replaced(called: ast.FunctionDef, given: list[ast.expr]) -> ast.FunctionDef | None:
    """A copy of the function with arguments in place of its parameters; None where one would be computed twice."""
    called = copy.deepcopy(called)
    names = [argument.arg for argument in called.args.args[1:]]
    defaults = called.args.defaults
    values = dict(zip(names, [*given, *defaults[len(defaults) - (len(names) - len(given)) :]], strict=True))
    uses = dict.fromkeys(names, 0)
    for node in ast.walk(called):
        if isinstance(node, ast.Name) and node.id in uses:
            uses[node.id] += 1
            if isinstance(node.ctx, ast.Store) and ast.unparse(values[node.id]) != node.id:
                return None
    simple = (ast.Name, ast.Constant, ast.Attribute)
    if any(uses[name] > 1 and not isinstance(value, simple) for name, value in values.items()):
        return None

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return copy.deepcopy(values[node.id]) if node.id in values else node

    return Put().visit(called)


# ---- text ------------------------------------------------------------------------------------------------------------


def _say(statement: ast.stmt, text: str, above: bool = False) -> None:
    """Add a comment to a statement, behind it or above it."""
    name = "above" if above else "comment"
    own = getattr(statement, name, "")
    if text and text not in own:
        setattr(statement, name, "; ".join(filter(None, [own, text])))


def parsed(text: str) -> ast.Module:
    """The tree of a source without annotations; its statements carry their comments as ``comment`` and ``above``."""
    beside: dict[int, str] = {}
    alone: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            own = alone if token.line.lstrip().startswith("#") else beside
            own[token.start[0]] = token.string.lstrip("#: ")
    tree = ast.parse(text)
    for node in sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef):
            last = node.lineno if isinstance(node, _BLOCKS) else node.end_lineno or node.lineno
            _say(node, "; ".join(beside[line] for line in range(node.lineno, last + 1) if line in beside))
            _say(node, "; ".join(alone.pop(line) for line in sorted(alone) if line < node.lineno), above=True)
    return tree


def _parsed(code: Callable[..., Any]) -> ast.FunctionDef:
    """A function's tree; the first line of its docstring as ``said`` instead of a statement."""
    function = parsed(textwrap.dedent(inspect.getsource(code))).body[0]
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    said = ast.get_docstring(function)
    if said is not None:
        function.body = function.body[1:]
        function.said = said.split("\n")[0]  # type: ignore[attr-defined]
    return function


def written(tree: ast.AST) -> str:
    """Source with double quotes, and with the comments that its statements carry."""
    text = "\n".join(_lines(tree, ""))
    swapped = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        plain = token.type == tokenize.STRING and token.string.startswith("'") and '"' not in token.string
        swapped.append(token._replace(string=f'"{token.string[1:-1]}"') if plain else token)
    return tokenize.untokenize(swapped)


def _lines(node: ast.AST, indent: str) -> Iterator[str]:
    """Lines of a class, function or statement."""
    inner = f"{indent}    "
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        head = copy.copy(node)
        head.body = [ast.Pass()]
        yield from (f"{indent}{line}" for line in ast.unparse(head).splitlines()[:-1])
        for number, statement in enumerate(node.body):
            if isinstance(statement, ast.FunctionDef) and number:
                yield ""
            yield from _lines(statement, inner)
        return
    above, comment = getattr(node, "above", ""), getattr(node, "comment", "")
    *first, last = _text(node).splitlines()
    beside = comment and not first and len(indent) + len(last) + len(comment) + 4 <= WIDTH
    for text in filter(None, [above, "" if beside else comment]):
        yield from (f"{indent}# {line}" for line in textwrap.wrap(text, WIDTH - 8))
    if isinstance(node, _BLOCKS):
        rest: list[ast.stmt] = getattr(node, "orelse", [])
        yield f"{indent}{ast.unparse(node).splitlines()[0]}"
        for statement in node.body:
            yield from _lines(statement, inner)
        if rest:
            yield f"{indent}else:"
            for statement in rest:
                yield from _lines(statement, inner)
        return
    if not first and len(indent) + len(last) > WIDTH:
        yield from _broken(node, indent)
        return
    yield from (f"{indent}{line}" for line in first)
    yield f"{indent}{last}{f'  # {comment}' if beside else ''}"


def _text(node: ast.AST) -> str:
    """A statement; a text that stands alone is a docstring."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return f'"""{node.value.value.splitlines()[0]}"""'
    value = getattr(node, "value", None)
    if isinstance(node, ast.Assign | ast.Return) and isinstance(value, ast.Tuple):
        plain = ast.unparse(value)[1:-1]
        return ast.unparse(node).removesuffix(f"({plain})") + plain
    return ast.unparse(node)


def _broken(node: ast.AST, indent: str) -> Iterator[str]:
    """A line that is too long, broken between the entries of its largest bracket."""
    largest = max((n for n in ast.walk(node) if isinstance(n, ast.Dict | ast.Call)), key=lambda n: len(ast.unparse(n)))
    if isinstance(largest, ast.Dict):
        entries = [
            f"{ast.unparse(k)}: {ast.unparse(v)}" for k, v in zip(largest.keys, largest.values, strict=True) if k
        ]
    else:
        entries = [*map(ast.unparse, largest.args), *map(ast.unparse, largest.keywords)]
    text, whole = ast.unparse(node), ast.unparse(largest)
    start, stop = text.index(whole) + whole.index("{" if isinstance(largest, ast.Dict) else "("), text.index(whole)
    if isinstance(largest, ast.Call):
        start = text.index(whole) + len(ast.unparse(largest.func))
    yield f"{indent}{text[: start + 1]}"
    yield from (f"{indent}    {entry}," for entry in entries)
    yield f"{indent}{text[stop + len(whole) - 1 :]}"
