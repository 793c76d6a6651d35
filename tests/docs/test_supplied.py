"""What is supplied with a release: the bill of materials holds the lock file, and licences are known."""

from __future__ import annotations

import json

import licences
from click.testing import CliRunner

#: packages whose metadata name no licence
UNSTATED = ["axe-playwright-python", "cuda-toolkit"]


def test_the_bill_of_materials_holds_the_lock(tmp_path):
    result = CliRunner().invoke(licences.main, ["--sbom", str(tmp_path / "sbom.json")])
    assert result.exit_code == 0, result.exception
    bill = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert {part["name"]: part["version"] for part in bill["components"]} == licences.locked()
    assert all(part["externalReferences"][0]["hashes"] for part in bill["components"])


def test_every_package_states_a_licence():
    found = {package: licences.licence(package) for package in licences.locked()}
    assert "not installed here" not in found.values()
    assert [package for package, name in found.items() if name == "not stated"] == UNSTATED
