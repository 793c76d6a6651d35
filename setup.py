"""What the wheel holds; everything else about the project stands in pyproject.toml.

The ledger and the declared experiments stand beside the package in a checkout and inside it where it is installed, as
the exported proofs do, whose bounds ``fedsharp rate`` computes. So do the kit of the proofs and the runner of checks,
which an audit's own statements need: in ``artifact/beside``, which only ``fedsharp audit`` puts on the path, since
their names, theory and checks, would collide with those of others. The papers' proofs and the notebooks need a
checkout.
"""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

DECLARED = ("claims", "experiments")
#: package in the wheel -> folder of the checkout: the exported proofs, whose bounds are computed, and their verifier
PROOFS = {"artifact.proofs": "docs/proofs"}
#: package in the wheel -> folder of the checkout
BESIDE = {
    "artifact.beside.theory": "theory",
    "artifact.beside.theory.kit": "theory/kit",
    "artifact.beside.checks": "checks",
}


class WithoutTests(build_py):
    """Of the proofs themselves, whose folder holds the kit, only the name; of the runner's folder no tests."""

    def find_package_modules(self, package, package_dir):
        found = super().find_package_modules(package, package_dir)
        if package == "artifact.beside.theory":
            return [one for one in found if one[1] == "__init__"]
        return [one for one in found if not one[1].startswith("test_") and one[1] != "conftest"]


setup(
    cmdclass={"build_py": WithoutTests},
    packages=[
        *find_packages(include=["artifact*", "fedsharp"]),
        *(f"artifact.{name}" for name in DECLARED),
        *PROOFS,
        *BESIDE,
    ],
    package_dir={f"artifact.{name}": name for name in DECLARED} | PROOFS | BESIDE,
    package_data={f"artifact.{name}": ["*.toml", "*.csv", "*/*.csv"] for name in DECLARED}
    | {
        "artifact": ["py.typed"],
        "artifact.accelerate": ["*.toml"],
        "artifact.runs": ["*.toml"],
        "artifact.audit": ["publication/*", "template/*", "template/*/*"],
        "artifact.data": ["*.gz"],
        "artifact.proofs": ["*.json", "README.md"],
        "artifact.report": ["templates/*.html", "static/*", "text/*.toml"],
        "fedsharp": ["py.typed"],
    },
)
