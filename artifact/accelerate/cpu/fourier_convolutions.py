"""Convolutions by Fourier transforms of images and kernels, which are multiplied frequency by frequency.

A direct convolution takes k^2 multiplications per output and pair of channels, for a kernel of k x k entries. The
product of two Fourier transforms takes four per frequency, and an image has about half as many frequencies as pixels.
LeNet's second convolution (5 x 5 entries, 10 x 10 outputs from 14 x 14 pixels) keeps less than a fifth of its
multiplications; a quarter, if all transforms count. A transform is a product with a small matrix of cosines and sines:
at some tens of pixels one matrix product over all images and channels is faster than a fast Fourier transform. The
result equals the convolution up to rounding.

This room stays for LeNet: training by ``loop`` takes 1.39 times as long on the processor with AVX2 alone, 1.31 times on
that with AVX-512 and 1.09 times on that with AMX (FedSAM; the timings stand in ``backends.toml``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from artifact.base.cache import cache
from artifact.models.networks import plain_convolution

#: images of a batch for which multiplications are counted
_BATCH = 50
#: channels below which the products are too narrow to reach their rate
_CHANNELS = 32
#: share of the multiplications up to which spectra are worth their passes over memory
_WORTH = 0.5

#: real and imaginary part, [F, I, J] each
Spectrum = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Waves:
    """Discrete Fourier transform of real signals that live on H x W points of a circle of N x M.

    Of the frequencies of the first axis 0 .. N // 2 are enough, V of them; the others are their conjugates.

    first: [2 V, H], cosine and -sine of each.  real, imaginary: [M, 2 W], what the second axis makes of these two.
    """

    first: Tensor
    real: Tensor
    imaginary: Tensor

    def analyse(self, signals: Tensor) -> Spectrum:
        """[H, W, I, J] -> real and imaginary part [V M, I, J]."""
        height, width, *planes = signals.shape
        half = (self.first @ signals.reshape(height, -1)).view(-1, 2 * width, math.prod(planes))
        return (self.real @ half).view(-1, *planes), (self.imaginary @ half).view(-1, *planes)

    def synthesise(self, spectrum: Spectrum) -> Tensor:
        """The adjoint of ``analyse``: real and imaginary part [V M, I, J] -> [H, W, I, J]."""
        planes, (M, columns) = spectrum[0].shape[1:], self.real.shape
        real, imaginary = (part.view(-1, M, math.prod(planes)) for part in spectrum)
        half = (self.real.mT @ real).baddbmm_(self.imaginary.mT.expand(len(real), -1, -1), imaginary)
        return (self.first.mT @ half.view(len(self.first), -1)).view(-1, columns // 2, *planes)


def waves(circle: Sequence[int], points: Sequence[range], like: Tensor, weighted: bool = False) -> Waves:
    """Transform of signals at the given points of both axes of a circle.

    like: the signals' type and device.  weighted: with the factors of the inverse transform, where most of the V
    frequencies stand for two.
    """

    def cosines(axis: int, frequencies: int) -> tuple[Tensor, Tensor]:
        place = torch.tensor([*points[axis]], dtype=torch.float64)
        angle = torch.outer(torch.arange(frequencies, dtype=torch.float64), place) * (2 * math.pi / circle[axis])
        return angle.cos(), -angle.sin()

    V = circle[0] // 2 + 1
    (c, s), (C, S) = cosines(0, V), cosines(1, circle[1])
    first, real, imaginary = torch.stack([c, s], 1).flatten(0, 1), torch.cat([C, -S], 1), torch.cat([S, C], 1)
    if weighted:
        stands_for = [1 if v in (0, circle[0] / 2) else 2 for v in range(V)]
        first *= torch.tensor(stands_for, dtype=torch.float64).repeat_interleave(2)[:, None] / math.prod(circle)
    return Waves(*(matrix.to(like) for matrix in (first, real, imaginary)))


@dataclass(frozen=True)
class Plan:
    """The transforms of one convolution; its kernels' transforms are weighted."""

    images: Waves
    kernels: Waves
    outputs: Waves


def circle_of(size: int, kernel: int, padding: int) -> tuple[int, int]:
    """(outputs along an axis, points of the smallest circle on which every output meets its own pixels alone)."""
    outputs = size + 2 * padding - kernel + 1
    return outputs, max(size + padding, outputs, kernel)  # the zeros before an image are those behind it


@cache
def plan_of(
    sizes: tuple[int, ...],
    kernels: tuple[int, ...],
    paddings: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
) -> Plan:
    """The plan of a convolution of images of ``sizes``."""
    axes = [circle_of(*axis) for axis in zip(sizes, kernels, paddings, strict=True)]
    circle, like = [points for _, points in axes], torch.empty(0, dtype=dtype, device=device)
    return Plan(
        images=waves(circle, [range(p, p + n) for n, p in zip(sizes, paddings, strict=True)], like),
        kernels=waves(circle, [range(k) for k in kernels], like, weighted=True),
        outputs=waves(circle, [range(outputs) for outputs, _ in axes], like),
    )


def convolve(x: Tensor, weight: Tensor, plan: Plan) -> tuple[Tensor, Spectrum, Spectrum]:
    """x: [B, C, H, W], weight: [O, C, k, l] -> ([B, O, P, Q], spectra of the images and of the kernels).

    A convolution of neural networks is a correlation: the spectrum of its outputs is X conj(K).
    """
    X, K = plan.images.analyse(x.permute(2, 3, 0, 1)), plan.kernels.analyse(weight.permute(2, 3, 1, 0))
    return _channels_last(plan.outputs.synthesise(_product(X, K, conjugate=True))), X, K


def gradients(
    dy: Tensor, X: Spectrum, K: Spectrum, plan: Plan, wanted: Sequence[bool] = (True, True)
) -> tuple[Tensor | None, Tensor | None]:
    """Derivatives in x and in weight, those that are wanted: the adjoint of each step of ``convolve``."""
    dY = plan.outputs.analyse(dy.permute(2, 3, 0, 1))
    dx = _channels_last(plan.images.synthesise(_product(dY, _transposed(K)))) if wanted[0] else None
    dK = _product(_transposed(X), dY, conjugate=True) if wanted[1] else None
    return dx, None if dK is None else plan.kernels.synthesise(dK).permute(3, 2, 0, 1)


def _product(X: Spectrum, Y: Spectrum, conjugate: bool = False) -> Spectrum:
    """X Y or X conj(Y), frequency by frequency: [F, I, J] and [F, J, K] -> [F, I, K]."""
    (a, b), (c, d), sign = X, Y, -1 if conjugate else 1
    return torch.bmm(a, c).baddbmm_(b, d, alpha=-sign), torch.bmm(b, c).baddbmm_(a, d, alpha=sign)


def _transposed(X: Spectrum) -> Spectrum:
    return X[0].mT, X[1].mT


def _channels_last(signals: Tensor) -> Tensor:
    """[H, W, B, C] -> [B, C, H, W] with the channels innermost in memory."""
    return signals.permute(2, 0, 1, 3).contiguous().permute(0, 3, 1, 2)


class _Convolution(torch.autograd.Function):
    """``convolve`` for autograd, which by itself would add up the gradients of each part of a spectrum apart."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, plan: Plan) -> Tensor:
        y, X, K = convolve(x, weight, plan)
        ctx.plan = plan
        ctx.save_for_backward(*X, *K)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b, c, d = ctx.saved_tensors
        return *gradients(dy, (a, b), (c, d), ctx.plan, ctx.needs_input_grad), None


class FourierConv2d(nn.Conv2d):
    """``nn.Conv2d`` by Fourier transforms; it has no second derivative and does not work under ``torch.func``."""

    @classmethod
    def sharing_weights_of(cls, layer: nn.Conv2d) -> FourierConv2d:
        """The layer, computed the other way; both hold the same parameters."""
        (height, width), bias = layer.kernel_size, layer.bias is not None
        other = cls(layer.in_channels, layer.out_channels, (height, width), bias=bias, device="meta")  # without memory
        other.weight, other.bias, other.padding = layer.weight, layer.bias, layer.padding
        return other

    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        y = _Convolution.apply(x, weight, self.plan(x))
        return y if bias is None else y + bias[:, None, None]

    def plan(self, x: Tensor) -> Plan:
        """The transforms for these images."""
        assert not isinstance(self.padding, str)  # ``pays`` has refused it
        return plan_of(tuple(x.shape[2:]), self.kernel_size, self.padding, x.dtype, x.device)


def pays(layer: nn.Conv2d, image: Sequence[int]) -> bool:
    """Whether spectra take so few multiplications on images of this size that they are faster.

    Counted are, of one pass over a batch, the three products (outputs, derivatives in images and in kernels) and the
    transforms of images, kernels and outputs, each there and back.
    """
    if not plain_convolution(layer) or isinstance(layer.padding, str) or {*layer.stride, *layer.dilation} != {1}:
        return False
    out, channels = layer.weight.shape[:2]
    (P, N), (Q, M) = (circle_of(*axis) for axis in zip(image, layer.kernel_size, layer.padding, strict=True))
    V, pairs = N // 2 + 1, 3 * _BATCH * channels * out
    signals = ((_BATCH * channels, image), (channels * out, layer.kernel_size), (_BATCH * out, (P, Q)))
    transforms = sum(2 * count * 2 * V * width * (height + 2 * M) for count, (height, width) in signals)
    direct = pairs * P * Q * math.prod(layer.kernel_size)
    return min(out, channels) >= _CHANNELS and pairs * 4 * V * M + transforms <= _WORTH * direct
