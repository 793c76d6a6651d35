"""A labelled image set held as uint8 tensors, with the constants that turn pixels into network input."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.base.random import numpy_stream


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and labels of one dataset; all tensors live on one device.

    name: registry name, with "[train/test]" appended for a subset.
    train_x, test_x: uint8 [N, C, H, W], or floating-point [N, ...] without mean and std.
    train_y, test_y: int64 [N], values in 0..len(classes)-1.
    classes: class names in label order.
    scale: pixel value that means 1.0 (255; 16 for the scikit-learn digits).
    mean, std: per channel, in units of pixel / scale.
    domains: int64 [N_train], index into domain_names; None where the data have no domains. Sets with domains have an
        empty test set until `hold_out` makes one of them the test set.
    fingerprint: sha256 of everything above that can change a number (names are left out).
    """

    name: str
    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor
    classes: tuple[str, ...]
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    domains: Tensor | None = None
    domain_names: tuple[str, ...] = ()
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", _fingerprint(self))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (C, H, W) for images."""
        return tuple(self.train_x.shape[1:])

    def to(self, device: str | torch.device) -> Dataset:
        """The same data with every tensor on `device`; the fingerprint is kept."""
        tensors = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        moved: dict[str, Any] = {n: t.to(device) for n, t in tensors.items() if isinstance(t, torch.Tensor)}
        return dataclasses.replace(self, **moved)

    def subset(self, train: int | None = None, test: int | None = None, seed: int = 0) -> Dataset:
        """Random subset with the class shares of the whole (largest-remainder rounding), original order kept.

        train, test: number of images to keep; None keeps all. Raises UserError outside 1..available.
        """
        rng = numpy_stream(seed, "subset")
        keep_train = _stratified(self.train_y, train, "train", rng)
        keep_test = _stratified(self.test_y, test, "test", rng)
        return dataclasses.replace(
            self,
            name=f"{self.name}[{len(keep_train)}/{len(keep_test)}]",
            train_x=self.train_x[keep_train],
            train_y=self.train_y[keep_train],
            test_x=self.test_x[keep_test],
            test_y=self.test_y[keep_test],
            domains=None if self.domains is None else self.domains[keep_train],
            fingerprint="",
        )

    def with_validation(self, size: int, seed: int = 0) -> Dataset:
        """`size` training images with the class shares of the whole become the test images, and are trained on no more.

        The published test images are left out, so that what is chosen by these has seen none of them.
        """
        held = _stratified(self.train_y, size, "validation", numpy_stream(seed, "validation"))
        kept = torch.ones(len(self.train_y), dtype=torch.bool, device=self.train_y.device)
        kept[held] = False
        return dataclasses.replace(
            self,
            train_x=self.train_x[kept],
            train_y=self.train_y[kept],
            test_x=self.train_x[held],
            test_y=self.train_y[held],
            domains=None if self.domains is None else self.domains[kept],
            fingerprint="",
        )

    def hold_out(self, indices: np.ndarray) -> Dataset:
        """The training images `indices` become the test set (leave one domain out).

        The training tensors stay whole, so that the indices of a partition keep their meaning.
        """
        chosen = torch.as_tensor(indices, dtype=torch.int64, device=self.train_x.device)
        return dataclasses.replace(self, test_x=self.train_x[chosen], test_y=self.train_y[chosen], fingerprint="")


def apportion(weights: np.ndarray, total: int) -> np.ndarray:
    """int64 shares proportional to non-negative `weights` that sum to `total` exactly (largest remainders).

    Ties go to the lower index.
    """
    weights = np.asarray(weights, dtype=np.float64)
    exact = weights / weights.sum() * total
    shares = np.floor(exact).astype(np.int64)
    left = total - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:left]] += 1
    return shares


def _stratified(labels: Tensor, size: int | None, field: str, rng: np.random.Generator) -> Tensor:
    values = labels.cpu().numpy()
    if size is None:
        return torch.arange(len(values), device=labels.device)
    if not 1 <= size <= len(values):
        raise UserError(f"{field} size", size, f"1 to {len(values)}")
    classes, counts = np.unique(values, return_counts=True)
    shares = apportion(counts, size)
    kept = [rng.permutation(np.flatnonzero(values == c))[:n] for c, n in zip(classes, shares, strict=True)]
    return torch.from_numpy(np.sort(np.concatenate(kept))).to(labels.device)


def _fingerprint(data: Dataset) -> str:
    digest = hashlib.sha256(repr((len(data.classes), data.scale, data.mean, data.std)).encode())
    for tensor in (data.train_x, data.train_y, data.test_x, data.test_y, data.domains):
        if tensor is not None:
            digest.update(repr((tuple(tensor.shape), str(tensor.dtype))).encode())
            digest.update(np.ascontiguousarray(tensor.cpu().numpy()).data)
    return digest.hexdigest()
