"""A method of the user's own: hooks that the engine calls, numbers that are settings, and traffic that is counted.

A misspelt hook is a function that nobody calls, a number without an annotation is no hyper-parameter, and a mean that
the server takes past the cohort costs nothing. All three would train something else without a word.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import functools
import inspect
import io
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from types import FunctionType

from artifact.algorithms.base import FedAvg, State
from artifact.algorithms.cohort import Cohort, Context, Traffic
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch

#: what the engine calls of a method
HOOKS = tuple(name for name, value in vars(FedAvg).items() if isinstance(value, FunctionType) and name[0] != "_")


def checked(method: type, source: str, file: str, alike: float = 0.0) -> None:
    """Look through a class of the file, and have its ``finish`` watched in the first round that it plays.

    alike: how much, from 0 to 1, a function that nothing in the file calls must be named like a hook to be refused.
    Raises UserError, with file and line, for a function that is no hook and that the file never names again, for a hook
    with other arguments than the engine's, and for a number without an annotation that is not written as a constant.
    """
    for name, value in list(vars(method).items()):
        if isinstance(value, FunctionType):
            _require_called(method, name, value, source, file, alike)
        elif isinstance(value, (int, float)):
            _require_setting(method, name, value, source, file)
    if isinstance(finish := vars(method).get("finish"), FunctionType):
        method.finish = watched(finish, _place(file, finish))  # type: ignore[attr-defined]


def _place(file: str, function: FunctionType) -> str:
    return f" ({file}, line {function.__code__.co_firstlineno})"


def _inherited(method: type, name: str) -> object:
    return next((vars(parent)[name] for parent in method.__mro__[1:] if name in vars(parent)), None)


def _require_called(method: type, name: str, function: FunctionType, source: str, file: str, alike: float) -> None:
    parent, place = _inherited(method, name), _place(file, function)
    if isinstance(parent, FunctionType) and name[0] != "_":
        wanted = inspect.signature(parent)
        try:
            inspect.signature(function).bind(*wanted.parameters)
        except TypeError as error:
            raise UserError(name, f"{name}{inspect.signature(function)}", f"{name}{_bare(wanted)}{place}") from error
    elif parent is None and name[0] != "_" and name not in _named(source):
        for near in get_close_matches(name, HOOKS, 1, alike):
            allowed = f"a hook, the nearest is {near} (all: {', '.join(HOOKS)}), or a function that the file calls"
            raise UserError(method.__name__, name, f"{allowed}, or a name that begins with _{place}")


def _bare(signature: inspect.Signature) -> str:
    return f"({', '.join(signature.parameters)})"


def _named(source: str) -> set[str]:
    """Names that the code uses, whether as a variable or as an attribute; a definition is no use."""
    nodes = ast.walk(ast.parse(source))
    return {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}


def _require_setting(method: type, name: str, value: float, source: str, file: str) -> None:
    field, parent = getattr(method, "__dataclass_fields__", {}).get(name), _inherited(method, name)
    annotated = name in vars(method).get("__annotations__", {})
    constant = name[0] == "_" or name.isupper() or (parent is not None and field is None)
    if annotated or constant:
        return
    line = next(line for line in _assigned(source, method.__name__, name))
    kind = type(value).__name__
    allowed = f"{name}: {kind} = {value}, a setting; without the type it is none (a constant is written {name.upper()})"
    raise UserError(method.__name__, f"{name} = {value}", f"{allowed} ({file}, line {line})")


def _assigned(source: str, method: str, name: str) -> Iterator[int]:
    """Lines that give a class its attribute; the class's own line where none is found."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == method:
            for one in node.body:
                if isinstance(one, ast.Assign) and any(name == getattr(target, "id", "") for target in one.targets):
                    yield one.lineno
            yield node.lineno


# ---- what finish takes from the clients ------------------------------------------------------------------------------


@dataclasses.dataclass
class _Heard(Cohort):
    """A cohort whose channel keeps what is sent and the sums; with ``told`` it answers by these sums instead."""

    sent: list[Tensor] = dataclasses.field(default_factory=list)
    sums: list[Tensor] = dataclasses.field(default_factory=list)
    told: list[Tensor] | None = None

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        self.sent.append(X)
        self.sums.append(super().sum(X, weights) if self.told is None else self.told[len(self.sums)])
        return self.sums[-1].clone()


def watched(finish: Callable[..., Tensor], place: str) -> Callable[..., Tensor]:
    """``finish``, which in round 0 is tried twice on copies before it counts: as it is, and with other local models.

    The second time it hears the sums of the first. If the next model or a vector of the server's state differs, then
    local models have reached it past the channel. That is fair where they have also been sent, a whole model's worth of
    numbers; the server may then form anything of them, a median say. Else the traffic that we count is too small.
    """

    @functools.wraps(finish)
    def tried_first(self: FedAvg, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        if type(C) is Cohort and C.t == 0 and _unsent(finish, self, state, c, w, W, C):
            found = "local models that reach the next model past the channel"
            allowed = "what C.mean and C.sum collect, which count it; or the local models themselves, once C.sum(W) has"
            raise UserError("finish", found, f"{allowed} counted them{place}")
        return finish(self, state, c, w, W, C)

    return tried_first


def _unsent(
    finish: Callable[..., Tensor], self: FedAvg, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort
) -> bool:
    """Whether local models reach the server that nobody sent; False where a trial says nothing, or raises."""
    shared = {field.name: getattr(C, field.name) for field in dataclasses.fields(Cohort)} | {"full_gradient": None}

    def tried(models: Tensor, told: list[Tensor] | None) -> tuple[list[Tensor], _Heard]:
        heard, own = _Heard(**shared | {"traffic": Traffic()}, told=told), copy.deepcopy(state)
        with torch.random.fork_rng([]), contextlib.redirect_stdout(io.StringIO()):
            found = finish(self, own, copy.deepcopy(c), w.clone(), models.clone(), heard)
        kept = [v for v in own.values() if torch.is_tensor(v) and v.shape == w.shape]
        return [found, *kept], heard

    try:
        first, heard = tried(W, None)
        again, _ = tried(W, heard.sums)
        moved = W + (1 + W.abs()) * torch.linspace(0.5, 1, len(W), dtype=W.dtype, device=W.device)[:, None]
        other, later = tried(moved, heard.sums)
        steady = all(map(torch.equal, first, again)) and len(heard.sent) == len(later.sent)
        whole = sum(a.shape[-1] for a, b in zip(heard.sent, later.sent, strict=True) if not torch.equal(a, b))
        return steady and whole < W.shape[1] and first[0].shape == w.shape and not all(map(torch.equal, first, other))
    except Exception:  # by the user's own code, which is about to raise it in earnest
        return False
