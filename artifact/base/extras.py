"""What a plain install leaves out: which extra brings which library, and the line that says so."""

from __future__ import annotations

#: extra -> the modules that it brings; what none of them names comes with ``pip install fedsharp``
EXTRAS = {
    "theory": ("cvxpy", "PEPit", "z3"),  # with matplotlib, for the figures of checks
    "results": ("polars",),
    "report": (
        "PIL",
        "contourpy",
        "joblib",
        "latex2mathml",
        "matplotlib",
        "mistune",
        "pygments",
    ),
    "data": ("torchvision",),
    "fast": ("numba",),
    "lab": ("ipykernel", "jupyter_client", "jupyterlab", "nbclient", "nbconvert", "nbformat"),
    "cluster": ("ray",),
    "flower": ("flwr",),
    "docs": ("docutils", "furo", "myst_parser", "sphinx"),
    "test": ("playwright", "pytest"),
}
#: command of ``fedsharp``, and programs of a checkout -> extras that it needs beside the plain install
COMMANDS_NEED: dict[str, tuple[str, ...]] = {
    "list": (),
    "run": (),
    "replay": (),
    "data": (),
    "sweep": ("results",),
    "export": (),
    "doctor": (),
    "bench": (),
    "sharpness": (),
    "density": (),
    "bounds": (),
    "rate": (),
    "audit": (),
    "store": ("results",),
    "table": ("results",),
    "variants": ("results",),
    "verdicts": ("results",),
    "fidelity": ("results",),
    "compare": ("results",),
    "costs": ("theory", "results"),
    "headlines": ("results",),
    "readme": ("report",),
    "docs": ("docs",),
    "figure": ("report",),
    "landscape": ("report",),
    "report": ("report", "theory", "lab"),
    "checks": ("theory",),
    "notebooks": ("lab", "theory", "report"),
}
EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}


def how_to_install(error: ImportError) -> str:
    """One line for a library that is not installed; empty for any other fault of an import.

    >>> how_to_install(ModuleNotFoundError(name="matplotlib.pyplot"))
    'matplotlib is not installed; the extra "report" brings it: pip install "fedsharp[report]"'
    """
    module = (error.name or "").split(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module not in EXTRA_OF:
        return ""
    extra = EXTRA_OF[module]
    return f'{module} is not installed; the extra "{extra}" brings it: pip install "fedsharp[{extra}]"'
