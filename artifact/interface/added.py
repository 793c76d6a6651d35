"""A user's own files: methods, networks and data sets, registered beside the project's, each under its name.

A class that derives from a method is a method. A class marked ``algorithms.switches.switch`` replaces one of its
equations by what its published code computes, and makes ``--variant released``. Two decorators mark functions that give
a network or a data set:

    @artifact.network
    def wide(shape, classes):  # of one sample and of the labels
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))

    @artifact.dataset
    def flowers(root):  # the folder of the data sets
        return (train_x, train_y), (test_x, test_y)
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from importlib.util import decode_source
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from artifact import algorithms
from artifact.algorithms.switches import SWITCHES, Switch
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.base.own_code import run_file, running
from artifact.base.registered import ADDED
from artifact.data import DATASETS, Dataset
from artifact.data.sources import Source
from artifact.interface import own_method, remarks
from artifact.models.registry import MODELS

Function = TypeVar("Function", bound=Callable[..., Any])
#: attribute of a marked function
_KIND = "_added_as"


def network(function: Function) -> Function:
    """Mark ``function(shape, classes)``, which returns an ``nn.Module``, as the network of its own name.

    shape: of one sample's input, (C, H, W) for images.  classes: how many.  The initial weights follow the run's seed.
    Any module that ``fedsharp.train`` takes will do; it is called with inputs [B, *shape] and returns [B, classes].
    """
    setattr(function, _KIND, "model")
    return function


def dataset(function: Function) -> Function:
    """Mark ``function(root)``, which returns ``(train_x, train_y), (test_x, test_y)``, as the data set of its own name.

    Arrays or tensors. Images are uint8 [N, C, H, W]; they are divided by 255 and normalised by mean and deviation of
    each channel over the training images. Floating-point inputs [N, ...] are taken as they are, and so are tokens
    [N, T] of a text, which are int64 from 0 on; pad shorter texts in the function. Labels are integers [N], 0 to
    classes - 1.
    """
    setattr(function, _KIND, "dataset")
    return function


def register_file(path: str | Path) -> list[str]:
    """Run a Python file and register the methods, networks and data sets that it defines; their names.

    A method has its class's name in lower case, a network or data set the function's with hyphens for underscores. The
    hash of the file becomes part of a run's key: the same name in an edited file is another one.
    Raises UserError, with the line where there is one, when the file is missing, does not run, defines nothing, or
    something whose name means another.
    """
    path = Path(path)
    content = path.read_bytes() if path.is_file() else b""
    digest = hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]
    if content:
        torch.get_num_threads()  # imported now, so that it is not the file's time that this takes
    module = run_file(path, "add", name := f"added {digest}")
    own = [v for v in vars(module).values() if getattr(v, "__module__", "") == name]
    switches = [one for group in SWITCHES.values() for one in group if one.mixin.__module__ == name]
    replacing = [one.mixin for one in switches]
    methods = [v for v in own if isinstance(v, type) and issubclass(v, algorithms.FedAvg) and v not in replacing]
    functions = [v for v in own if isinstance(v, FunctionType) and hasattr(v, _KIND)]
    if not methods and not functions:
        found = [f"{v.__name__} in line {_first_line(v)} is none" for v in own if isinstance(v, (type, FunctionType))]
        found = found or ["it defines no class and no function"]
        allowed = "a file that defines a dataclass deriving from a method, or a function marked @artifact.network or "
        raise UserError("add", str(path), f"{allowed}@artifact.dataset ({', '.join(found)})")
    names = _names_of_methods(path, methods)
    for function in functions:
        _require_new(path, function)
    for written in (*methods, *replacing):
        own_method.checked(written, decode_source(content), str(path))
    for algorithm in methods:
        place = f" ({path}, line {_first_line(algorithm)})"
        try:
            algorithms.register(algorithm.__name__.lower(), algorithm)
        except UserError as error:
            raise UserError(error.field, error.value, error.allowed + place) from None
        algorithm.added_from, algorithm.added_digest, algorithm.added_at = str(path), digest, place
    for one in switches:
        _add_released(path, one, methods)
    for function in functions:
        (_add_network if getattr(function, _KIND) == "model" else _add_dataset)(path, function)
        ADDED[getattr(function, _KIND), _name(function)] = str(path), digest
    return names + [_name(function) for function in functions]


def _names_of_methods(path: Path, methods: list[type[algorithms.FedAvg]]) -> list[str]:
    """Checked before any is registered; ``canonical`` could not tell two with one plain form apart."""
    known = algorithms.by_plain()
    for algorithm in methods:
        title, plain = algorithm.__name__, algorithms.plain(algorithm.__name__)
        if plain in known:
            allowed = f"a file, named once, whose methods have new names, unlike {title}, which means {known[plain]}"
            raise UserError("add", str(path), f"{allowed} (line {_first_line(algorithm)})")
        known[plain] = title.lower()
    return [algorithm.__name__.lower() for algorithm in methods]


def _add_released(path: Path, one: Switch, methods: list[type[algorithms.FedAvg]]) -> None:
    """The methods of the file that a switch concerns have a released form in its repositories.

    Raises UserError for a switch whose id is known already.
    """
    if any(other.mixin.__module__ != one.mixin.__module__ for other in SWITCHES[one.id]):
        place = f"{path}, line {_first_line(one.mixin)}"
        raise UserError("switch", one.id, f"an id that no switch of the project has ({place})")
    names = {method.__name__.lower() for method in methods if one.concerns(method)}
    for source in one.sources:
        algorithms.RELEASED[source] = algorithms.RELEASED.get(source, frozenset()) | names
        algorithms.HOME.update(dict.fromkeys(names, source))


def _require_new(path: Path, function: FunctionType) -> None:
    kind, name = getattr(function, _KIND), _name(function)
    taken = name in MODELS or name.startswith("mlp-") if kind == "model" else name in DATASETS
    if taken:
        place = f"{path}, line {_first_line(function)}"
        raise UserError("add", name, f"a file, named once, whose {kind}s have new names ({place})")


def _name(function: FunctionType) -> str:
    return function.__name__.lower().replace("_", "-")


def _title(function: FunctionType) -> str:
    return (inspect.getdoc(function) or "of your own").split("\n")[0]


def _first_line(thing: Any) -> int:
    """Where its definition begins in its file."""
    return inspect.getsourcelines(thing)[1]


# ---- networks --------------------------------------------------------------------------------------------------------


def _add_network(path: Path, function: FunctionType) -> None:
    def build(shape: tuple, classes: int) -> Any:
        from artifact.interface.own_model import OwnModel  # with it comes torch
        from artifact.models.networks import BUILDERS, Model  # noqa: F401

        module = _called(path, function, shape, classes)
        if not isinstance(module, torch.nn.Module):
            raise _not_right(path, function, type(module).__name__, "a torch.nn.Module")
        whole = module if isinstance(module, Model) else OwnModel(module, None, torch.device("cpu"), torch.float32)
        whole.eval()
        try:
            out = _outputs(whole, shape)
        except UserError:
            raise
        except Exception as error:  # the module's own code, or a layer of another width
            text = f"a network that takes inputs [2, {', '.join(map(str, shape))}] ({type(error).__name__}: {error})"
            raise _not_right(path, function, function.__name__, text) from error
        if not torch.is_tensor(out) or out.shape != (2, classes):
            found = list(out.shape) if torch.is_tensor(out) else type(out).__name__
            raise _not_right(path, function, found, f"outputs [2, {classes}] for inputs [2, ...]")
        return whole.train()

    from artifact.models.networks import BUILDERS

    MODELS[_name(function)] = _title(function)
    BUILDERS[_name(function)] = build


def _outputs(module: Any, shape: tuple) -> Any:
    """Of two samples that are zeros: numbers, or tokens where the module takes no others."""
    with torch.no_grad():
        try:
            return module(torch.zeros(2, *shape))
        except Exception:
            try:
                return module(torch.zeros(2, *shape, dtype=torch.long))
            except Exception:
                pass
            raise  # what numbers ended in


def _called(path: Path, function: FunctionType, *arguments: Any) -> Any:
    with running(path, "add", _first_line(function)):
        return function(*arguments)


def _not_right(path: Path, function: FunctionType, found: object, allowed: str) -> UserError:
    return UserError(_name(function), found, f"{allowed} ({path}, line {_first_line(function)})")


# ---- data sets -------------------------------------------------------------------------------------------------------


def _add_dataset(path: Path, function: FunctionType) -> None:
    def read(root: Path) -> Dataset:
        given = _called(path, function, root)
        try:
            (train_x, train_y), (test_x, test_y) = given
            x = [torch.as_tensor(part) for part in (train_x, test_x)]
            y = [torch.as_tensor(part) for part in (train_y, test_y)]
        except (TypeError, ValueError, RuntimeError):
            allowed = "(train_x, train_y), (test_x, test_y), arrays or tensors"
            raise _not_right(path, function, type(given).__name__, allowed) from None
        for split, inputs, labels in zip(("train", "test"), x, y, strict=True):
            wrong = _wrong(inputs, labels)
            if wrong:
                raise _not_right(path, function, f"{split}: {inputs.dtype} {list(inputs.shape)}", wrong)
        if x[0].shape[1:] != x[1].shape[1:] or x[0].dtype != x[1].dtype:
            raise _not_right(path, function, "two shapes or types", "one shape and type for training and test")
        classes = 1 + max(int(part.max()) for part in y)
        counts = torch.bincount(y[0].long(), minlength=classes).tolist()
        remarks.once(remarks.without_sample(f"{_name(function)}, training", counts))
        return _as_dataset(_name(function), x, [part.long() for part in y])

    DATASETS[_name(function)] = Source(_title(function), "own", 0, (), (), (), places=(str(path),), own=read)


def _tokens(inputs: Tensor) -> bool:
    """Whether they number the words of a text."""
    return inputs.dtype in (torch.int32, torch.int64)


def _wrong(inputs: Tensor, labels: Tensor) -> str:
    """What is allowed in place of these; empty where they are right."""
    if labels.dim() != 1 or len(labels) != len(inputs) or not len(labels) or inputs.dim() < 2:
        return "inputs [N, ...] and labels [N], with a sample at least"
    if labels.is_floating_point() or labels.is_complex() or int(labels.min()) < 0:
        return "labels that are integers from 0 on"
    if inputs.dtype == torch.uint8:
        return "" if inputs.dim() == 4 else "images [N, C, H, W] where they are uint8"
    if _tokens(inputs):
        return "" if int(inputs.min()) >= 0 else "tokens that are integers from 0 on"
    if not inputs.is_floating_point():
        return "inputs of uint8 (images), int32 or int64 (tokens) or of a floating-point type"
    return "" if bool(torch.isfinite(inputs).all()) else "inputs that are finite"


def _as_dataset(name: str, x: list[Tensor], y: list[Tensor]) -> Dataset:
    classes = tuple(map(str, range(1 + max(int(part.max()) for part in y))))
    x = [part.long() if _tokens(part) else part for part in x]
    mean, std, scale = (), (), 1.0
    if x[0].dtype == torch.uint8:
        pixels, scale = x[0].double() / 255, 255.0
        mean = tuple(np.round(pixels.mean((0, 2, 3)).numpy(), 6).tolist())
        std = tuple(np.round(pixels.std((0, 2, 3), correction=0).clamp(min=1e-3).numpy(), 6).tolist())
    return Dataset(name, x[0], y[0], x[1], y[1], classes, scale, mean, std)
