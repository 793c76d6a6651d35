"""Normalisation and augmentation as batched tensor operations on the device that holds the images.

The random numbers come in from outside, so the same draws give the same images on every device and backend.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from artifact.accelerate.loops import loops_for
from artifact.base.cache import cache
from artifact.data.dataset import Dataset


def normalise(images: Tensor, dataset: Dataset, dtype: torch.dtype = torch.float32) -> Tensor:
    """(pixel / scale - mean) / std per channel: uint8 [..., C, H, W] -> dtype [..., C, H, W].

    Types narrower than float32 are computed in float32 and rounded once. Numbers of a data set without constants stay,
    and tokens of a text stay int64.
    """
    if not dataset.mean:
        return images if images.dtype == torch.int64 else images.to(dtype)
    wide = dtype if dtype == torch.float64 else torch.float32
    slope, shift = _line(tuple(dataset.mean), tuple(dataset.std), dataset.scale, images.device, wide)
    return torch.addcmul(shift, images.to(wide), slope).to(dtype)


@cache
def _line(
    mean: tuple[float, ...], std: tuple[float, ...], scale: float, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Slope and shift [C, 1, 1] of the normalisation; kept on the device, which they would otherwise hold up."""
    own, spread = (torch.tensor(values, dtype=torch.float64)[:, None, None] for values in (mean, std))
    return (1.0 / (scale * spread)).to(device, dtype), (-own / spread).to(device, dtype)


def augment(images: Tensor, uniforms: Tensor, padding: int = 4, always_crop: bool = False) -> Tensor:
    """Released policy of FedSMOO, MAN and FedLESAM (their dataset code): a flip and a crop, each with probability 1/2.

    images: normalised [..., C, H, W]; uniforms: [..., 4] in [0, 1): flip if u0 < 1/2; crop if u1 < 1/2 (or always):
    pad by `padding` zeros on every side and cut H x W at row offset floor(u2 (2 padding + 1)), column offset from u3.
    Zeros are put around normalised images, so the border has the mean colour.
    """
    height, width = images.shape[-2:]
    uniforms = uniforms.to(images.device)
    flip = uniforms[..., 0] < 0.5
    crop = torch.ones_like(flip) if always_crop else uniforms[..., 1] < 0.5
    offset = (uniforms[..., 2:] * (2 * padding + 1)).long() - padding
    offset = offset * crop[..., None]
    loops = loops_for(images)
    if loops is not None:
        moved, lead = torch.empty_like(images), images.dim() - 3
        given = (images, flip, *offset.unbind(-1), moved)
        loops.flip_crop(*(t.reshape(-1, *t.shape[lead:]).numpy() for t in given))
        return moved
    rows = torch.arange(height, device=images.device) + offset[..., :1]
    columns = torch.arange(width, device=images.device) + offset[..., 1:]
    inside = ((rows >= 0) & (rows < height))[..., :, None] & ((columns >= 0) & (columns < width))[..., None, :]
    columns = torch.where(flip[..., None], width - 1 - columns, columns)
    source = rows.clamp(0, height - 1)[..., :, None] * width + columns.clamp(0, width - 1)[..., None, :]
    source = source.flatten(-2)[..., None, :].expand(*images.shape[:-2], height * width)
    moved = images.flatten(-2).gather(-1, source).unflatten(-1, (height, width))
    return moved * inside[..., None, :, :]


#: name -> function(images, uniforms, padding). "flip-crop" is the released policy.
POLICIES: dict[str, Callable[..., Tensor]] = {
    "flip-crop": augment,
    "flip-crop-always": partial(augment, always_crop=True),
}
