"""The convolutions of a cohort as one kernel each way, in Triton, without copies of windows.

A convolution of S clients is S products of matrices whose left one, the windows of the images, is never written down:
a tile of it is read from the images when it is multiplied. So are the two products of the backward pass. Sums are in
float32, each by one program in a fixed order, so that the same arguments give the same bits.

Any strides do: images [B, S*C, H, W] are read best where their channels lie beside each other, as in
``torch.channels_last``. Triton comes with torch for GPUs; with ``TRITON_INTERPRET=1`` the same kernels run on a CPU,
slowly, for tests.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import constexpr

from artifact.accelerate.triton_modules import INTERPRETED

#: rows of a tile (pixels or output channels), its columns, and how many products are summed at once
ROWS, COLUMNS, SUMMED = 64, 64, 32


@triton.jit
def _forward(
    x, w, out, clients, B, C, OUT, H, W, down, across,
    xs, xb, xc, xh, xw, ws, wo, wc, wk, wn, os, ob, oc, oh, ow,
    K: constexpr, N: constexpr, S1: constexpr, S2: constexpr, P1: constexpr, P2: constexpr,
    R: constexpr, Q: constexpr, T: constexpr, WIDE: constexpr,
):  # fmt: skip
    """out [pixels, O] of a client: the sum over kernel entries and channels of a window's pixel times a weight."""
    client = tl.program_id(2).to(tl.int64)
    pixel = tl.program_id(0) * R + tl.arange(0, R)
    channel = tl.program_id(1) * Q + tl.arange(0, Q)
    b, y, z = pixel // (down * across), pixel // across % down, pixel % across
    total = tl.full([R, Q], 0.0, tl.float32)
    for start in range(0, C * K * N, T):
        entry = start + tl.arange(0, T)
        c, ky, kx = entry % C, entry // C // N, entry // C % N
        row, column = y[:, None] * S1 + ky[None, :] - P1, z[:, None] * S2 + kx[None, :] - P2
        inside = (row >= 0) & (row < H) & (column >= 0) & (column < W)
        inside = inside & (b < B)[:, None] & (entry < C * K * N)[None, :]
        place = x + client * xs + b[:, None] * xb + row * xh + column * xw + c[None, :] * xc
        window = tl.load(place, mask=inside, other=0.0)
        place = w + client * ws + channel[None, :] * wo + c[:, None] * wc + ky[:, None] * wk + kx[:, None] * wn
        weight = tl.load(place, mask=(channel < OUT)[None, :] & (entry < C * K * N)[:, None], other=0.0)
        if WIDE:
            window, weight = window.to(tl.float32), weight.to(tl.float32)
        total = tl.dot(window, weight, total, input_precision="ieee")
    place = out + client * os + b[:, None] * ob + y[:, None] * oh + z[:, None] * ow + channel[None, :] * oc
    tl.store(place, total.to(out.dtype.element_ty), mask=(b < B)[:, None] & (channel < OUT)[None, :])


@triton.jit
def _of_input(
    d, w, out, clients, B, C, OUT, H, W, down, across,
    ds, db, dc, dh, dw, ws, wo, wc, wk, wn, os, ob, oc, oh, ow,
    K: constexpr, N: constexpr, S1: constexpr, S2: constexpr, P1: constexpr, P2: constexpr,
    R: constexpr, Q: constexpr, T: constexpr, WIDE: constexpr,
):  # fmt: skip
    """out [pixels of the input, C] of a client: the sum over entries and outputs that have seen the pixel."""
    client = tl.program_id(2).to(tl.int64)
    pixel = tl.program_id(0) * R + tl.arange(0, R)
    channel = tl.program_id(1) * Q + tl.arange(0, Q)
    b, y, z = pixel // (H * W), pixel // W % H, pixel % W
    total = tl.full([R, Q], 0.0, tl.float32)
    for start in range(0, OUT * K * N, T):
        entry = start + tl.arange(0, T)
        o, ky, kx = entry % OUT, entry // OUT // N, entry // OUT % N
        up, left = y[:, None] + P1 - ky[None, :], z[:, None] + P2 - kx[None, :]
        row, column = up // S1, left // S2
        seen = (up >= 0) & (left >= 0) & (row * S1 == up) & (column * S2 == left) & (row < down) & (column < across)
        seen = seen & (b < B)[:, None] & (entry < OUT * K * N)[None, :]
        place = d + client * ds + b[:, None] * db + row * dh + column * dw + o[None, :] * dc
        gradient = tl.load(place, mask=seen, other=0.0)
        place = w + client * ws + o[:, None] * wo + channel[None, :] * wc + ky[:, None] * wk + kx[:, None] * wn
        weight = tl.load(place, mask=(channel < C)[None, :] & (entry < OUT * K * N)[:, None], other=0.0)
        if WIDE:
            gradient, weight = gradient.to(tl.float32), weight.to(tl.float32)
        total = tl.dot(gradient, weight, total, input_precision="ieee")
    place = out + client * os + b[:, None] * ob + y[:, None] * oh + z[:, None] * ow + channel[None, :] * oc
    tl.store(place, total.to(out.dtype.element_ty), mask=(b < B)[:, None] & (channel < C)[None, :])


@triton.jit
def _of_weights(
    d, x, out, clients, B, C, OUT, H, W, down, across,
    ds, db, dc, dh, dw, xs, xb, xc, xh, xw, os, oo, oc, ok, on,
    K: constexpr, N: constexpr, S1: constexpr, S2: constexpr, P1: constexpr, P2: constexpr,
    R: constexpr, Q: constexpr, T: constexpr, WIDE: constexpr,
):  # fmt: skip
    """out [O, entries and channels] of a client: the sum over all pixels of an output's gradient times its window."""
    client = tl.program_id(2).to(tl.int64)
    o = tl.program_id(0) * R + tl.arange(0, R)
    entry = tl.program_id(1) * Q + tl.arange(0, Q)
    c, ky, kx = entry % C, entry // C // N, entry // C % N
    total = tl.full([R, Q], 0.0, tl.float32)
    for start in range(0, B * down * across, T):
        pixel = start + tl.arange(0, T)
        b, y, z = pixel // (down * across), pixel // across % down, pixel % across
        place = d + client * ds + b[None, :] * db + y[None, :] * dh + z[None, :] * dw + o[:, None] * dc
        gradient = tl.load(place, mask=(o < OUT)[:, None] & (b < B)[None, :], other=0.0)
        row, column = y[:, None] * S1 + ky[None, :] - P1, z[:, None] * S2 + kx[None, :] - P2
        inside = (row >= 0) & (row < H) & (column >= 0) & (column < W)
        inside = inside & (b < B)[:, None] & (entry < C * K * N)[None, :]
        place = x + client * xs + b[:, None] * xb + row * xh + column * xw + c[None, :] * xc
        window = tl.load(place, mask=inside, other=0.0)
        if WIDE:
            gradient, window = gradient.to(tl.float32), window.to(tl.float32)
        total = tl.dot(gradient, window, total, input_precision="ieee")
    place = out + client * os + o[:, None] * oo + c[None, :] * oc + ky[None, :] * ok + kx[None, :] * on
    tl.store(place, total.to(out.dtype.element_ty), mask=(o < OUT)[:, None] & (entry < C * K * N)[None, :])


def _by_client(x: Tensor, clients: int) -> tuple[int, ...]:
    """Strides of client, sample, channel, row and column of [B, S*C, H, W]."""
    sample, channel, row, column = x.stride()
    return x.shape[1] // clients * channel, sample, channel, row, column


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, w: Tensor, stride: tuple[int, int], padding: tuple[int, int], place: Tensor | None
    ) -> Tensor:
        (S, OUT, _, K, N), (B, _, H, W) = w.shape, x.shape
        down, across = ((n + 2 * p - k) // s + 1 for n, p, k, s in zip((H, W), padding, (K, N), stride, strict=True))
        out = torch.empty(B, S * OUT, down, across, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)
        ctx.save_for_backward(x, w)
        ctx.place = place
        ctx.shape = (S, B, w.shape[2], OUT, H, W, down, across)
        ctx.kernel = (K, N, *stride, *padding, ROWS, COLUMNS, SUMMED, INTERPRETED)
        grid = (-(-B * down * across // ROWS), -(-OUT // COLUMNS), S)
        _forward[grid](x, w, out, *ctx.shape, *_by_client(x, S), *w.stride(), *_by_client(out, S), *ctx.kernel)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (d,), (x, w) = gradients, ctx.saved_tensors
        S, B, C, OUT, H, W, *_ = ctx.shape
        of_x = of_w = None
        if ctx.needs_input_grad[0]:
            of_x = torch.empty_like(x)
            grid = (-(-B * H * W // ROWS), -(-C // COLUMNS), S)
            strides = (*_by_client(d, S), *w.stride(), *_by_client(of_x, S))
            _of_input[grid](d, w, of_x, *ctx.shape, *strides, *ctx.kernel)
        if ctx.needs_input_grad[1]:
            of_w = torch.empty_like(w) if ctx.place is None else ctx.place
            grid = (-(-OUT // ROWS), -(-w[0, 0].numel() // COLUMNS), S)
            strides = (*_by_client(d, S), *_by_client(x, S), *of_w.stride())
            _of_weights[grid](d, x, of_w, *ctx.shape, *strides, *ctx.kernel)
        return of_x, of_w if ctx.place is None else None, None, None, None


def convolved(
    x: Tensor, w: Tensor, stride: tuple[int, ...], padding: tuple[int, ...], place: Tensor | None = None
) -> Tensor:
    """The convolutions of x [B, S*C, H, W] with w [S, O, C, k, n], both of one type, [B, S*O, H', W'].

    place: a tensor like w, of any type, in which the gradient in w is written when it is asked for; autograd then has
    none of it. Without a place autograd has it.
    """
    return _Convolution.apply(x, w, stride, padding, place)
