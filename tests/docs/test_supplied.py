"""What is supplied with a release, ``docs/robustness/sbom.json``, agrees with the lock file; licences are known."""

from __future__ import annotations

import json

import licences

from artifact.base import paths

#: packages whose metadata name no licence
UNSTATED = ["axe-playwright-python", "cuda-toolkit"]


def test_the_bill_of_materials_agrees_with_the_lock():
    bill = json.loads((paths.DOCS / "robustness" / "sbom.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert {part["name"]: part["version"] for part in bill["components"]} == licences.locked()


def test_every_package_states_a_licence():
    found = {package: licences.licence(package) for package in licences.locked()}
    assert "not installed here" not in found.values()
    assert [package for package, name in found.items() if name == "not stated"] == UNSTATED
