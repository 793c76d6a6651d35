"""The papers' networks. ``build`` gives a module that maps images [B, C, H, W] to logits [B, classes].

Three habits make one definition serve every caller (loop over clients, ``torch.func`` over all clients, probes):

* logits out; the softmax belongs to the loss. The thesis prints a softmax output layer, which a log-likelihood loss
  would apply twice;
* every non-linearity is its own, not in-place ``nn.ReLU``, so that ``models.activations`` can watch it from outside;
* a module never draws random numbers: dropout masks come from uniforms that the caller passes to ``forward``.

Norm layers with running statistics hold floating-point buffers only, so a cohort's statistics are [S, channels]
tensors that ``torch.func.functional_call`` updates in place under ``vmap``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TypeGuard

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from artifact.base.errors import UserError
from artifact.base.files import regular_file
from artifact.base.random import key
from artifact.base.registered import ADDED
from artifact.models.activations import input_shapes

WEIGHTS_VARIABLE = "FEDSHARP_WEIGHTS"


class Dropout(nn.Module):
    """Drops each of ``units`` numbers (or channels) per sample with probability p, by the uniforms it is given.

    The kept ones are divided by 1 - p, as in ``nn.Dropout``. Draws are laid out over the first axes of a sample: for
    [B, C, H, W], ``units`` = C drops whole channels (``nn.Dropout2d``) and ``units`` = C*H*W single numbers.
    """

    def __init__(self, p: float, units: int):
        super().__init__()
        self.p, self.units = p, units

    def factors(self, uniforms: Tensor, dtype: torch.dtype) -> Tensor:
        """What gradients written by hand multiply the units with, shaped as the uniforms: 0 or 1 / (1 - p)."""
        return (uniforms >= self.p).to(dtype) / (1 - self.p)

    def forward(self, x: Tensor, uniforms: Tensor) -> Tensor:
        """Dropout by draws from outside, so that two methods see the same masks.

        x: [B, ...]; uniforms: [B, units] in [0, 1); a number u keeps its unit where u >= p.
        """
        whole = math.prod(x.shape[1:])
        shape = x.shape[1:] if self.units == whole else (self.units, *[1] * (x.dim() - 2))
        keep = (uniforms >= self.p).to(x.dtype).reshape(x.shape[0], *shape)
        return x * keep / (1 - self.p)


class BatchNorm(nn.BatchNorm2d):
    """``nn.BatchNorm2d`` (momentum 0.1) without the integer batch counter, which nothing here uses."""

    def __init__(self, channels: int):
        super().__init__(channels)
        self.num_batches_tracked = None


def plain_convolution(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    """Whether it is torch's own convolution of images, over all channels, with zeros (a number of them) around."""
    if type(layer) is not nn.Conv2d or isinstance(layer.padding, str):
        return False
    return layer.groups == 1 and layer.padding_mode == "zeros"


class Model(nn.Module):
    """Base class.

    name, input_shape (C, H, W), classes: what ``build`` was asked for.
    dropout_units: uniforms per sample that ``forward`` needs in training mode; 0 for most models.
    """

    name: str
    input_shape: tuple[int, ...]
    classes: int
    dropout_units: int = 0

    def forward(self, x: Tensor, uniforms: Tensor | None = None) -> Tensor:
        """Logits [B, classes] of images.

        x: [B, C, H, W]; uniforms: [B, dropout_units] in [0, 1), used in training mode only.

        Raises UserError in training mode when the model has dropout and ``uniforms`` is missing.
        """
        raise NotImplementedError

    def settled(self, local: Tensor, mean: Tensor) -> Tensor:
        """The server's running statistics [Q] after a round, from the clients' [S, Q] and their mean."""
        return mean


class Chain(Model):
    """dict[str, nn.Module] in a row."""

    def __init__(self, layers: dict[str, nn.Module]):
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.dropout_units = sum(layer.units for layer in layers.values() if isinstance(layer, Dropout))

    def forward(self, x: Tensor, uniforms: Tensor | None = None) -> Tensor:
        used = 0
        for layer in self.children():
            if not isinstance(layer, Dropout):
                x = layer(x)
            elif self.training:
                if uniforms is None:
                    raise UserError(
                        "uniforms", None, f"[batch, {self.dropout_units}] numbers in [0, 1) in training mode"
                    )
                x = layer(x, uniforms[:, used : used + layer.units])
                used += layer.units
        return x


class Block(nn.Module):
    """ResNet basic block: 3x3 convolution, norm, ReLU, 3x3 convolution, norm, plus shortcut, ReLU (He et al. 2016)."""

    def __init__(self, inside: int, outside: int, stride: int, norm: Callable[[int], nn.Module]):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.norm1, self.relu1 = norm(outside), nn.ReLU()
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm2 = norm(outside)
        same = stride == 1 and inside == outside
        projection = () if same else (nn.Conv2d(inside, outside, 1, stride, bias=False), norm(outside))
        self.shortcut = nn.Sequential(*projection)
        self.relu2 = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        out = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
        return self.relu2(out + self.shortcut(x))


def _group_norm(channels: int) -> nn.Module:
    return nn.GroupNorm(2, channels)


def _resnet18(input_shape: tuple, classes: int, norm: Callable[[int], nn.Module], imagenet_stem: bool) -> Model:
    channels = input_shape[0]
    if imagenet_stem:
        stem = {"conv1": nn.Conv2d(channels, 64, 7, 2, 3, bias=False), "norm1": norm(64), "relu1": nn.ReLU()}
        stem["pool1"] = nn.MaxPool2d(3, 2, 1)
    else:
        stem = {"conv1": nn.Conv2d(channels, 64, 3, 1, 1, bias=False), "norm1": norm(64), "relu1": nn.ReLU()}
    inside, stages = 64, {}
    for stage, outside in enumerate((64, 128, 256, 512), 1):
        first = Block(inside, outside, 1 if stage == 1 else 2, norm)
        stages[f"layer{stage}"] = nn.Sequential(first, Block(outside, outside, 1, norm))
        inside = outside
    head = {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "fc": nn.Linear(512, classes)}
    model = Chain(stem | stages | head)
    for module in model.modules():  # torchvision's rule for ResNet convolutions
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def _output(layers: dict[str, nn.Module], input_shape: tuple) -> tuple[int, ...]:
    """Shape of one sample behind ``layers``; RuntimeError when an image is too small for a kernel."""
    x = torch.zeros(1, *input_shape)
    with torch.no_grad():
        for layer in layers.values():
            if not isinstance(layer, Dropout):
                x = layer.eval()(x)
                layer.train()
    return tuple(x.shape[1:])


def _dense(features: dict[str, nn.Module], input_shape: tuple, widths: tuple[int, ...], classes: int) -> Chain:
    """Feature layers, then fully connected layers of these widths with ReLU, then the logits."""
    size = math.prod(_output(features, input_shape))
    layers = features | {"flatten": nn.Flatten()}
    for index, width in enumerate(widths, 1):
        layers |= {f"fc{index}": nn.Linear(size, width), f"relu_fc{index}": nn.ReLU()}
        size = width
    return Chain(layers | {f"fc{len(widths) + 1}": nn.Linear(size, classes)})


def _mlp_dropout(input_shape: tuple, classes: int) -> Model:
    size = math.prod(input_shape)
    layers = {"flatten": nn.Flatten(), "fc1": nn.Linear(size, 64), "dropout": Dropout(0.5, 64), "relu_fc1": nn.ReLU()}
    return Chain(layers | {"fc2": nn.Linear(64, classes)})


def _cnn_mnist(input_shape: tuple, classes: int) -> Model:
    features = {"conv1": nn.Conv2d(input_shape[0], 10, 5), "pool1": nn.MaxPool2d(2), "relu1": nn.ReLU()}
    features |= {"conv2": nn.Conv2d(10, 20, 5), "dropout1": Dropout(0.5, 20)}
    features |= {"pool2": nn.MaxPool2d(2), "relu2": nn.ReLU()}
    size = math.prod(_output(features, input_shape))
    dense = {"flatten": nn.Flatten(), "fc1": nn.Linear(size, 50), "relu_fc1": nn.ReLU(), "dropout2": Dropout(0.5, 50)}
    return Chain(features | dense | {"fc2": nn.Linear(50, classes)})


def _cnn_fmnist(input_shape: tuple, classes: int) -> Model:
    features: dict[str, nn.Module] = {}
    for index, (inside, outside) in enumerate(pairwise((input_shape[0], 16, 32)), 1):
        features |= {f"conv{index}": nn.Conv2d(inside, outside, 5, padding=2), f"norm{index}": BatchNorm(outside)}
        features |= {f"relu{index}": nn.ReLU(), f"pool{index}": nn.MaxPool2d(2)}
    return _dense(features, input_shape, (), classes)


def _five_by_five(input_shape: tuple, channels: tuple[int, int]) -> dict[str, nn.Module]:
    features: dict[str, nn.Module] = {}
    for index, (inside, outside) in enumerate(pairwise((input_shape[0], *channels)), 1):
        features |= {f"conv{index}": nn.Conv2d(inside, outside, 5), f"relu{index}": nn.ReLU()}
        features[f"pool{index}"] = nn.MaxPool2d(2)
    return features


def _cnn_cifar(input_shape: tuple, classes: int) -> Model:
    return _dense(_five_by_five(input_shape, (6, 16)), input_shape, (120, 84), classes)


def _lenet(input_shape: tuple, classes: int) -> Model:
    return _dense(_five_by_five(input_shape, (64, 64)), input_shape, (384, 192), classes)


def _cnn_emnist(input_shape: tuple, classes: int) -> Model:
    features = {"conv1": nn.Conv2d(input_shape[0], 32, 3), "relu1": nn.ReLU()}
    features |= {"conv2": nn.Conv2d(32, 64, 3), "relu2": nn.ReLU(), "pool": nn.MaxPool2d(2)}
    size = math.prod(_output(features, input_shape))
    dense = {"dropout1": Dropout(0.25, size), "flatten": nn.Flatten(), "fc1": nn.Linear(size, 128)}
    dense |= {"relu_fc1": nn.ReLU(), "dropout2": Dropout(0.5, 128), "fc2": nn.Linear(128, classes)}
    return Chain(features | dense)


def _convnet_tiny(input_shape: tuple, classes: int) -> Model:
    features: dict[str, nn.Module] = {}
    for index, inside in enumerate((input_shape[0], 64, 64), 1):
        features |= {f"conv{index}": nn.Conv2d(inside, 64, 3, padding=1), f"norm{index}": nn.GroupNorm(4, 64)}
        features |= {f"relu{index}": nn.ReLU(), f"pool{index}": nn.MaxPool2d(2)}
    return _dense(features, input_shape, (512, 384), classes)


def _vit_state() -> dict[str, Tensor]:
    """Pre-trained ViT-B/32 weights: the file that the environment names, else torchvision's (download or its cache)."""
    named = os.environ.get(WEIGHTS_VARIABLE)
    allowed = "a ViT-B/32 state file (.safetensors, or torchvision's .pth) that can be read"
    try:
        if named:
            with regular_file(Path(named), WEIGHTS_VARIABLE):
                pass
            if Path(named).suffix == ".safetensors":
                return load_file(named)
            return torch.load(named, map_location="cpu", weights_only=True)
        weights = import_module("torchvision.models").ViT_B_32_Weights.IMAGENET1K_V1
        return weights.get_state_dict(progress=False, check_hash=True, weights_only=True)
    except Exception as error:  # a damaged file, or a network that is down, leads to whatever error
        if named:
            raise UserError(WEIGHTS_VARIABLE, named, allowed) from error
        allowed = f"a network connection for the download, or {WEIGHTS_VARIABLE}=FILE with {allowed}"
        raise UserError("model", "vit-b-32", allowed) from error


class VisionTransformer(Model):
    """torchvision's ViT-B/32 with pre-trained weights and a new linear head (Fan et al. 2024, section 6.1)."""

    def __init__(self, classes: int, state: dict[str, Tensor]):
        super().__init__()
        self.network = import_module("torchvision.models").vit_b_32()  # here: the import takes seconds
        self._load(state)
        self.network.heads = nn.Sequential(nn.Linear(self.network.hidden_dim, classes))

    def _load(self, state: dict[str, Tensor]) -> None:
        body = {name: tensor for name, tensor in state.items() if not name.startswith("heads.")}
        expected = {name for name in self.network.state_dict() if not name.startswith("heads.")}
        if set(body) != expected:
            odd = min(set(body) ^ expected)
            raise UserError(WEIGHTS_VARIABLE, odd, "exactly the tensors of torchvision's ViT-B/32")
        try:
            self.network.load_state_dict(body, strict=False)
        except RuntimeError as error:
            raise UserError(WEIGHTS_VARIABLE, "wrong shapes", "the tensors of torchvision's ViT-B/32") from error

    def forward(self, x: Tensor, uniforms: Tensor | None = None) -> Tensor:
        return self.network(x)


def _vit(input_shape: tuple, classes: int) -> Model:
    if tuple(input_shape) != (3, 224, 224):
        raise UserError("model", "vit-b-32", f"inputs of shape (3, 224, 224), not {tuple(input_shape)}")
    return VisionTransformer(classes, _vit_state())


#: name -> (shape of an input, classes) -> the network; the names stand in ``registry.MODELS``
BUILDERS: dict[str, Callable[[tuple, int], Model]] = {
    "mlp": _mlp_dropout,
    "mlp-200": lambda s, c: _dense({}, s, (200,), c),
    "cnn-mnist": _cnn_mnist,
    "cnn-fmnist": _cnn_fmnist,
    "cnn-cifar": _cnn_cifar,
    "cnn-emnist": _cnn_emnist,
    "lenet": _lenet,
    "convnet-tiny": _convnet_tiny,
    "resnet18-gn": lambda s, c: _resnet18(s, c, _group_norm, imagenet_stem=True),
    "resnet18": lambda s, c: _resnet18(s, c, BatchNorm, imagenet_stem=True),
    "resnet18-cifar": lambda s, c: _resnet18(s, c, _group_norm, imagenet_stem=False),
    "vit-b-32": _vit,
}


def needs_two_samples(model: nn.Module, x: Tensor) -> bool:
    """Whether BatchNorm meets a single pixel per channel; a batch of one sample x [1, ...] then has no variance."""
    was_training = model.training
    model.eval()  # running statistics stay, and dropout needs no draws
    two = torch.cat([x, x])  # without running statistics one sample has no variance in evaluation either
    shapes = input_shapes(model, two, (nn.modules.batchnorm._BatchNorm,))
    model.train(was_training)
    return any(math.prod(shape[2:]) == 1 for _, _, shape in shapes)


def _builder(name: str) -> Callable[[tuple, int], Model]:
    if name in BUILDERS:
        return BUILDERS[name]
    width = re.fullmatch(r"mlp-([1-9][0-9]{0,5})", name)
    if width is None:
        raise UserError("model", name, ", ".join(BUILDERS) + ", mlp-<width>")
    return lambda input_shape, classes: _dense({}, input_shape, (int(width[1]),), classes)


def build(name: str, input_shape: tuple[int, ...], classes: int, seed: int) -> Model:
    """A new model in float32 on the CPU, in training mode.

    name: a key of ``BUILDERS`` or ``mlp-<width>``; input_shape: (C, H, W). The initial weights follow torch's default
    distributions (torchvision's for ResNet-18) and are a function of (seed, name, input_shape, classes) alone; the
    global generators are left as they were. 8x8 digits fit mlp, mlp-<width>, cnn-fmnist, cnn-emnist, convnet-tiny and
    the ResNets; cnn-mnist, cnn-cifar and lenet need at least 16x16.

    Raises UserError for an unknown name, a bad shape or class count, and an input the model cannot take.
    """
    make = _builder(name)
    shape = tuple(int(size) for size in input_shape)
    images = ("model", name) not in ADDED and not name.startswith("mlp")  # these take inputs of any shape
    if (images and len(shape) != 3) or min(shape) < 1:
        raise UserError("input_shape", shape, "three positive integers: channels, height, width")
    if classes < 2:
        raise UserError("classes", classes, "an integer of at least 2")
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(key(seed, "init"))
        try:
            model = make(shape, int(classes))
        except RuntimeError as error:
            raise UserError("model", name, f"a larger input than {shape}") from error
    model.name, model.input_shape, model.classes = name, shape, int(classes)
    return model
