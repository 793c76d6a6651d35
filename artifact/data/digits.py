"""The handwritten digits that come with the package: small enough to be there without a download."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: rows of 64 pixels, 0 to 16, and the label: the test part of the UCI set (Alpaydin and Kaynak 1998, CC BY 4.0), in the
#: order in which scikit-learn hands it out
FILE = Path(__file__).with_name("digits.csv.gz")


def handwritten_digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """1,797 images of 8 x 8 pixels, and what they show.

    Returns pixels [1797, 64], whole numbers from 0 to 16, and labels [1797], 0 to 9.

    >>> pixels, labels = handwritten_digits()
    >>> pixels.shape, labels[:5].tolist()
    ((1797, 64), [0, 1, 2, 3, 4])
    """
    with gzip.open(FILE, "rt", encoding="ascii") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.int64)
    return rows[:, :-1].astype(np.float64), rows[:, -1].copy()
