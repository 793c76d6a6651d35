"""Where files are: the one place that counts folders upwards.

In a checkout the ledger and the experiments stand beside the package. Where it is installed they stand inside it, and
the folder that a command is started in takes the place of the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
INSTALLED = (PACKAGE / "claims").is_dir()
#: where stores and documents are looked for
ROOT = Path.cwd() if INSTALLED else PACKAGE.parent
_DECLARED = PACKAGE if INSTALLED else ROOT

CLAIMS, EXPERIMENTS, NOTEBOOKS, DOCS = (
    _DECLARED / "claims",
    _DECLARED / "experiments",
    ROOT / "notebooks",
    ROOT / "docs",
)
#: the papers' tables as transcribed
PRINTED = CLAIMS / "tables"
#: the exported proofs of the theorems
PROOFS = PACKAGE / "proofs" if INSTALLED else DOCS / "proofs"


def kept_results() -> Path:
    """Where an installed package keeps stored runs that it was given: $FEDSHARP_RESULTS, else the user's own data."""
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return Path(os.environ.get("FEDSHARP_RESULTS") or data / "fedsharp" / "results")
