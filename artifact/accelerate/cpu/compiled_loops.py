"""Inner loops for a CPU that torch has no single operation for, compiled by numba on first use.

Here are loops over numbers and nothing else; ``accelerate.loops`` says which tensors they may take. While one runs,
Python's lock is free for the other workers. No fast mathematics: every sum and product is rounded as torch rounds it.
"""

from __future__ import annotations

from numba import njit
from numpy import ndarray

_compile = njit(nogil=True, cache=True)


@_compile
def pool_relu(x: ndarray, infinity: int, nan: int, y: ndarray, winner: ndarray) -> None:
    """x [B, H, W, C] -> y [B, H // 2, W // 2, C], and which of the four pixels it is; 4 where none is above zero.

    All numbers are the bits of floating-point ones, read as integers: those above zero are in the right order. Not a
    number, with either sign, becomes ``nan``, the largest integer, and wins.
    """
    zero = x.dtype.type(0)
    for b in range(y.shape[0]):
        for h in range(y.shape[1]):
            for w in range(y.shape[2]):
                out, place = y[b, h, w], winner[b, h, w]
                p, q = x[b, 2 * h, 2 * w], x[b, 2 * h, 2 * w + 1]
                r, s = x[b, 2 * h + 1, 2 * w], x[b, 2 * h + 1, 2 * w + 1]
                for c in range(x.shape[3]):
                    first = p[c] if p[c] & nan <= infinity else nan
                    second = q[c] if q[c] & nan <= infinity else nan
                    third = r[c] if r[c] & nan <= infinity else nan
                    fourth = s[c] if s[c] & nan <= infinity else nan
                    top, i = zero, 4
                    if first > top:
                        top, i = first, 0
                    if second > top:
                        top, i = second, 1
                    if third > top:
                        top, i = third, 2
                    if fourth > top:
                        top, i = fourth, 3
                    out[c], place[c] = top, i


@_compile
def _keep(given: ndarray, place: ndarray, i: int, out: ndarray) -> None:
    """What is at place ``i``, zero elsewhere; a loop of one output is vectorised."""
    zero = given.dtype.type(0)
    for c in range(len(out)):
        out[c] = given[c] if place[c] == i else zero


@_compile
def pool_relu_backward(dy: ndarray, winner: ndarray, dx: ndarray) -> None:
    """dy [B, H, W, C] -> dx [B, 2 H, 2 W, C]: each derivative to its winner, zero to the others."""
    for b in range(dy.shape[0]):
        for h in range(dy.shape[1]):
            for w in range(dy.shape[2]):
                for i in range(4):
                    _keep(dy[b, h, w], winner[b, h, w], i, dx[b, 2 * h + i // 2, 2 * w + i % 2])


@_compile
def flip_crop(x: ndarray, flip: ndarray, down: ndarray, right: ndarray, out: ndarray) -> None:
    """x [n, C, H, W] -> out: pixel (h + down, w + right) of the image, of its mirror image if flip; zero outside."""
    n, channels, height, width = x.shape
    zero = x.dtype.type(0)
    for i in range(n):
        step = -1 if flip[i] else 1
        first = width - 1 - right[i] if flip[i] else right[i]
        for c in range(channels):
            for h in range(height):
                source, row = h + down[i], out[i, c, h]
                for w in range(width):
                    place = first + step * w
                    inside = 0 <= source < height and 0 <= place < width
                    row[w] = x[i, c, source, place] if inside else zero


@_compile
def descend(W: ndarray, d: ndarray, omega: ndarray, lr: float, moved: ndarray) -> None:
    """moved [S, P] = W - lr (d + omega W), omega [S]."""
    for i in range(W.shape[0]):
        w, direction, out, decay = W[i], d[i], moved[i], omega[i]
        if decay == 0:
            for j in range(W.shape[1]):
                out[j] = w[j] - direction[j] * lr
        else:
            for j in range(W.shape[1]):
                out[j] = w[j] - (w[j] * decay + direction[j]) * lr
