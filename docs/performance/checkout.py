"""Imported first by the scripts of this folder, which measure the checkout that they lie in, installed or not."""

from __future__ import annotations

import sys
from pathlib import Path

#: this folder, which holds the results too
HERE = Path(__file__).resolve().parent

if str(HERE.parents[1]) not in sys.path:
    sys.path.insert(0, str(HERE.parents[1]))
