"""How far apart two colours are: CIEDE2000, for normal sight and for a simulated lack of green receptors."""

from __future__ import annotations

import numpy as np

#: from linear RGB to what someone without green receptors sees (Machado, Oliveira and Fernandes 2009, severity 1)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(rgb: tuple[int, int, int]) -> np.ndarray:
    """sRGB from 0 to 255 -> linear RGB from 0 to 1."""
    share = np.asarray(rgb, float) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """Linear RGB -> CIELAB under D65."""
    ratio = XYZ @ np.clip(light, 0, 1) / XYZ.sum(1)
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Distance of two colours in CIELAB (Sharma, Wu and Dalal 2005, with k = 1)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    more = 1 + (1 - np.sqrt(mean**7 / (mean**7 + 25**7))) / 2
    c1, c2 = np.hypot(more * a1, b1), np.hypot(more * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, more * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = h1 + turn / 2 if c1 * c2 else h1 + h2
    t = 1 - 0.17 * np.cos(np.radians(hue - 30)) + 0.24 * np.cos(np.radians(2 * hue))
    t += 0.32 * np.cos(np.radians(3 * hue + 6)) - 0.2 * np.cos(np.radians(4 * hue - 63))
    sl = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    bend = (
        -np.sin(np.radians(60 * np.exp(-(((hue % 360 - 275) / 25) ** 2))))
        * 2
        * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    )
    return float(np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + bend * dc / sc * dh / sh))


def apart(one: tuple[int, int, int], other: tuple[int, int, int], sight: np.ndarray = DEUTERANOPIA) -> float:
    """Distance of two sRGB colours as someone with that sight sees them."""
    return ciede2000(lab(sight @ linear(one)), lab(sight @ linear(other)))
