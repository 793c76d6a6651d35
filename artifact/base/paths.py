"""Where the files of a checkout are: the one place that counts folders upwards."""

from __future__ import annotations

from pathlib import Path

#: the package itself, and the checkout that holds it
PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent

CLAIMS, EXPERIMENTS, NOTEBOOKS, DOCS = ROOT / "claims", ROOT / "experiments", ROOT / "notebooks", ROOT / "docs"
#: the papers' tables as transcribed
PRINTED = CLAIMS / "tables"
