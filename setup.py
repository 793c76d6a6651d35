"""What the wheel holds; everything else about the project stands in pyproject.toml.

The ledger and the declared experiments stand beside the package in a checkout and inside it where it is installed.
theory, checks and notebooks need a checkout, and their names would collide with those of others.
"""

from setuptools import find_packages, setup

DECLARED = ("claims", "experiments")

setup(
    packages=[*find_packages(include=["artifact*"]), *(f"artifact.{name}" for name in DECLARED)],
    package_dir={f"artifact.{name}": name for name in DECLARED},
    package_data={f"artifact.{name}": ["*.toml", "*.csv", "*/*.csv"] for name in DECLARED}
    | {"artifact": ["py.typed"], "artifact.accelerate": ["*.toml"], "artifact.audit": ["template/*", "template/*/*"]}
    | {"artifact.report": ["templates/*.html", "static/*", "text/*.toml"]},
)
