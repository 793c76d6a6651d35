"""``python docs/robustness/licences.py``: licences of the packages of requirements.lock, from their own metadata."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from artifact.base.tables_as_text import markdown_table  # noqa: E402


def locked() -> dict[str, str]:
    """Package -> version of the lock file."""
    return dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(encoding="utf-8")))


def licence(package: str) -> str:
    """The expression that a package states, else its classifiers, else the first line of its free text."""
    try:
        stated = metadata(package)
    except PackageNotFoundError:
        return "not installed here"
    if expression := stated.get("License-Expression"):
        return expression
    classifiers = [text.split(" :: ")[-1] for text in stated.get_all("Classifier", []) if text.startswith("License ::")]
    free = (stated.get("License") or "").strip().splitlines()
    return "; ".join(classifiers) or (free[0][:60] if free else "not stated")


def main() -> None:
    found = defaultdict(list)
    for package in locked():
        found[licence(package)].append(package)
    rows = [[name, str(len(packages)), ", ".join(packages)] for name, packages in sorted(found.items())]
    print("\n".join(markdown_table(["licence", "packages", "which"], rows)))


if __name__ == "__main__":
    main()
