"""Licences of the packages of requirements.lock, and a bill of materials in CycloneDX.

``python docs/robustness/licences.py`` prints a table from the packages' own metadata; ``--sbom FILE`` writes every
package of the lock file with version, hashes and licence as CycloneDX 1.6, for programs that look for known faults.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from artifact.base.files import write_atomic  # noqa: E402
from artifact.base.tables_as_text import markdown_table  # noqa: E402

#: a requirement of the lock file: its name, its version, and the lines with its hashes
REQUIREMENT = re.compile(r"(?m)^([\w.-]+)==(\S+)((?: \\\n +--hash=\S+)*)")


def locked() -> dict[str, str]:
    """Package -> version of the lock file."""
    return {name: version for name, version, _ in _requirements()}


def _requirements() -> list[tuple[str, str, str]]:
    return REQUIREMENT.findall((ROOT / "requirements.lock").read_text(encoding="utf-8"))


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


def bill() -> dict[str, Any]:
    """The lock file as CycloneDX; the same bytes for the same lock file and environment."""
    parts = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "licenses": [{"license": {"name": licence(name)}}],
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"https://pypi.org/project/{name}/{version}/",
                    "hashes": [{"alg": "SHA-256", "content": one} for one in re.findall(r"sha256:(\w+)", hashes)],
                }
            ],
        }
        for name, version, hashes in _requirements()
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": parts}


@click.command()
@click.option("--sbom", type=click.Path(dir_okay=False, path_type=Path), help="Write the bill of materials here.")
def main(sbom: Path | None) -> None:
    """Print the licences, or write the bill of materials."""
    if sbom is not None:
        write_atomic(sbom, json.dumps(bill(), indent=1) + "\n")
        return
    found = defaultdict(list)
    for package in locked():
        found[licence(package)].append(package)
    rows = [[name, str(len(packages)), ", ".join(packages)] for name, packages in sorted(found.items())]
    click.echo("\n".join(markdown_table(["licence", "packages", "which"], rows)))


if __name__ == "__main__":
    main()
