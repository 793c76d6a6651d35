"""The student's notebook runs as it stands, and with another network, penalty and radius."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbclient import NotebookClient

from artifact.base import paths

FILE = paths.ROOT / "examples" / "bounds.ipynb"
BRANCHES = """

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(64, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = self.a(x.flatten(1)).relu()
        return self.out(x + self.b(x).tanh())


ZETA, RHO, METHOD, ROUNDS, make_model = 0.6, 0.02, "fedavg", 2, Branches
"""


def notebook():
    return nbformat.read(FILE, as_version=4)


def cells(kind="code"):
    return {cell["id"]: cell["source"] for cell in notebook()["cells"] if cell["cell_type"] == kind}


def test_it_is_valid_and_holds_no_output():
    nbformat.validate(notebook())
    code = [cell for cell in notebook()["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_it_runs_in_a_kernel_as_it_stands():
    client = NotebookClient(notebook(), timeout=300, resources={"metadata": {"path": str(FILE.parent)}})
    done = {cell["id"]: cell for cell in client.execute()["cells"]}
    shown = {id: "".join(one.get("text", "") for one in done[id].get("outputs", ())) for id in cells()}
    assert all(float(value) > 0.6 for value in re.findall(r"accuracy ([\d.]+)", shown["training"])), "it learns"
    assert shown["layers"].count("bound / curvature") == 2 and "VIOLATED" not in shown["layers"]
    assert "bounds that failed: none" in shown["round"]
    assert any("image/png" in one.get("data", {}) for one in done["layers"]["outputs"])


@pytest.mark.filterwarnings("ignore::UserWarning")  # a bound that fails is warned of, and printed
def test_it_runs_with_another_network_penalty_and_radius(capsys):
    names: dict = {}
    for id, code in cells().items():
        exec(code + (BRANCHES if id == "choices" else ""), names)
    text = capsys.readouterr().out
    assert "zeta 0.6" in text and "it is no chain" in text, "a network with branches has the first bound"
    assert [line.split()[0] for line in text.split("curvature, ZETA")[1].splitlines()[1:4]] == ["a", "b", "out"]
