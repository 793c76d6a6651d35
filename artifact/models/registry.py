"""The names of the networks, for whoever lists or chooses one; ``networks`` builds them."""

from __future__ import annotations

from typing import NamedTuple


class ModelInfo(NamedTuple):
    """What a list says of a network.

    title: its layers, in a line.
    papers: keys of the papers that use it, as in the claims ledger.
    """

    title: str
    papers: tuple[str, ...] = ()


MODELS = {
    "mlp": ModelInfo("input-64-classes, dropout 0.5, ReLU", ("kakoun2024",)),
    "mlp-200": ModelInfo("input-200-classes, ReLU; any width as the suffix"),
    "cnn-mnist": ModelInfo("two 5x5 convolutions, dropout 0.5, FC 50", ("kakoun2024",)),
    "cnn-fmnist": ModelInfo("two 5x5 convolutions with BatchNorm", ("kakoun2024",)),
    "cnn-cifar": ModelInfo("LeNet-5-like: 6, 16 channels, FC 120, 84", ("kakoun2024",)),
    "cnn-emnist": ModelInfo("two 3x3 convolutions, dropout 0.25 and 0.5, FC 128", ("qu2022",)),
    "lenet": ModelInfo("two 5x5 convolutions of 64 channels, FC 384, 192", ("yashwanth2023",)),
    "convnet-tiny": ModelInfo("three 3x3 convolutions, GroupNorm(4), FC 512, 384", ("yashwanth2023",)),
    "resnet18-gn": ModelInfo("ResNet-18, ImageNet stem, GroupNorm(2)", ("sun2023", "qu2022", "fan2024")),
    "resnet18": ModelInfo("ResNet-18, ImageNet stem, BatchNorm", ("kakoun2024",)),
    "resnet18-cifar": ModelInfo("ResNet-18, 3x3 stem without max-pool, GroupNorm(2)"),
    "vit-b-32": ModelInfo("torchvision ViT-B/32, ImageNet weights, new head", ("fan2024",)),
}
