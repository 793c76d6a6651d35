"""What the wheel holds; everything else about the project stands in pyproject.toml.

The ledger and the declared experiments stand beside the package in a checkout and inside it where it is installed. So
do the kit of the proofs and the runner of checks, which an audit's own statements need: in ``artifact/beside``, which
only ``artifact audit`` puts on the path, since their names, theory and checks, would collide with those of others. The
papers' proofs and the notebooks need a checkout.
"""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

DECLARED = ("claims", "experiments")
#: package in the wheel -> folder of the checkout
BESIDE = {
    "artifact.beside.theory": "theory",
    "artifact.beside.theory.kit": "theory/kit",
    "artifact.beside.checks": "checks",
}
#: package of the wheel -> the modules that it takes from its folder; others take all
MODULES = {"artifact.beside.theory": ("__init__",), "artifact.beside.checks": ("__init__", "runner", "figures", "text")}


class SomeModules(build_py):
    def find_package_modules(self, package, package_dir):
        found = super().find_package_modules(package, package_dir)
        return [one for one in found if package not in MODULES or one[1] in MODULES[package]]


setup(
    cmdclass={"build_py": SomeModules},
    packages=[*find_packages(include=["artifact*"]), *(f"artifact.{name}" for name in DECLARED), *BESIDE],
    package_dir={f"artifact.{name}": name for name in DECLARED} | BESIDE,
    package_data={f"artifact.{name}": ["*.toml", "*.csv", "*/*.csv"] for name in DECLARED}
    | {"artifact": ["py.typed"], "artifact.accelerate": ["*.toml"], "artifact.audit": ["template/*", "template/*/*"]}
    | {"artifact.report": ["templates/*.html", "static/*", "text/*.toml"]},
)
