"""The names of the networks, for whoever lists or chooses one; ``networks`` builds them."""

from __future__ import annotations

#: name -> (its layers in a line, the papers that use it as keys of the claims ledger)
MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mlp": ("input-64-classes, dropout 0.5, ReLU", ("kakoun2024",)),
    "mlp-200": ("input-200-classes, ReLU; any width as the suffix", ()),
    "cnn-mnist": ("two 5x5 convolutions, dropout 0.5, FC 50", ("kakoun2024",)),
    "cnn-fmnist": ("two 5x5 convolutions with BatchNorm", ("kakoun2024",)),
    "cnn-cifar": ("LeNet-5-like: 6, 16 channels, FC 120, 84", ("kakoun2024",)),
    "cnn-emnist": ("two 3x3 convolutions, dropout 0.25 and 0.5, FC 128", ("qu2022",)),
    "lenet": ("two 5x5 convolutions of 64 channels, FC 384, 192", ("yashwanth2023",)),
    "convnet-tiny": ("three 3x3 convolutions, GroupNorm(4), FC 512, 384", ("yashwanth2023",)),
    "resnet18-gn": ("ResNet-18, ImageNet stem, GroupNorm(2)", ("sun2023", "qu2022", "fan2024")),
    "resnet18": ("ResNet-18, ImageNet stem, BatchNorm", ("kakoun2024",)),
    "resnet18-cifar": ("ResNet-18, 3x3 stem without max-pool, GroupNorm(2)", ()),
    "vit-b-32": ("torchvision ViT-B/32, ImageNet weights, new head", ("fan2024",)),
}
