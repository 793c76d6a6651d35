"""The names of the networks, for whoever lists or chooses one; ``networks`` builds them."""

from __future__ import annotations

#: name -> its layers in a line; ``claims/papers.toml`` says which papers use it
MODELS: dict[str, str] = {
    "mlp": "input-64-classes, dropout 0.5, ReLU",
    "mlp-200": "input-200-classes, ReLU; any width as the suffix",
    "cnn-mnist": "two 5x5 convolutions, dropout 0.5, FC 50",
    "cnn-fmnist": "two 5x5 convolutions with BatchNorm",
    "cnn-cifar": "LeNet-5-like: 6, 16 channels, FC 120, 84",
    "cnn-emnist": "two 3x3 convolutions, dropout 0.25 and 0.5, FC 128",
    "lenet": "two 5x5 convolutions of 64 channels, FC 384, 192",
    "convnet-tiny": "three 3x3 convolutions, GroupNorm(4), FC 512, 384",
    "resnet18-gn": "ResNet-18, ImageNet stem, GroupNorm(2)",
    "resnet18": "ResNet-18, ImageNet stem, BatchNorm",
    "resnet18-cifar": "ResNet-18, 3x3 stem without max-pool, GroupNorm(2)",
    "vit-b-32": "torchvision ViT-B/32, ImageNet weights, new head",
}
