"""The notebooks that a student changes: one for each paper, they run, and a number that is moved moves the figure."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import nbformat
import pytest
from click.testing import CliRunner
from matplotlib import pyplot as plt

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.report import notebooks
from artifact.runs import evidence
from artifact.verdicts.ledger import PAPERS, load
from notebooks import claim as cards
from notebooks.__main__ import main

CHECKS = paths.ROOT / "results" / "checks"
FOLDER = notebooks.FOLDER / "try"
NAMES = notebooks.names(FOLDER)
#: a claim that runs alone decide
TRAINED = next(claim.id for claim in load() if claim.decided_by == "experiments")
#: notebook -> a line of it, and what a student writes in its place
MOVED = {
    "kakoun2024-flat-clients-sharp-average": ("MIDDLE, NARROW", "MIDDLE, NARROW, SHALLOW = 3.0, 1.5, 0.5"),
    "fan2024-move-the-radius": ("RHO, START", "RHO, START = 0.2, 2.0"),
    "sun2023-what-the-duals-do": ("BETA, RATE", "BETA, RATE, STEPS, ROUNDS = 0.3, 0.05, 50, 60"),
}


def code(name: str) -> list[str]:
    cells = notebooks.read(name, FOLDER)["cells"]
    return [notebooks.source(cell) for cell in cells if cell["cell_type"] == "code"]


def run(name: str, before: str = "", after: str = "") -> tuple[dict, bytes]:
    """What the cells define, and their last figure; of a changed line the beginning and the whole new one."""
    names: dict = {}
    for source in code(name):
        lines = [after if before and line.startswith(before) else line for line in source.splitlines()]
        if not source.startswith(("show(", "from notebooks", "import sys")):
            exec(compile("\n".join(lines), name, "exec"), names)
    picture = io.BytesIO()
    names["figure"].savefig(picture, format="png", metadata={"Software": None})
    plt.close("all")
    return names, picture.getvalue()


def test_there_is_one_for_each_paper_and_no_output_in_it():
    assert [name.partition("-")[0] for name in NAMES] == list(PAPERS)
    for name in NAMES:
        content = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        nbformat.validate(content)
        cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
        assert notebooks.source(content["cells"][-1]).startswith("## Now you")
    listed = (paths.DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"(../notebooks/try/{name}.ipynb)" not in listed] == []


def test_they_run_as_they_stand(tmp_path):
    done = CliRunner().invoke(main, ["--folder", str(FOLDER), "--out", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    for name in NAMES:
        assert "<img src=" in (tmp_path / f"{name}.html").read_text(encoding="utf-8"), name


@pytest.mark.parametrize("folder", [FOLDER, paths.NOTEBOOKS, paths.ROOT / "examples"], ids=lambda folder: folder.name)
def test_jupyter_finds_the_project_from_a_notebooks_own_folder(folder):
    """Where JupyterLab starts a kernel; isolated, so that neither PYTHONPATH nor an install helps."""
    for name in notebooks.names(folder):
        sources = map(notebooks.source, notebooks.read(name, folder)["cells"])
        first = next(source for source in sources if "sys.path" in source)
        code = f"{first}\nfrom importlib.util import find_spec\nprint(find_spec('notebooks').origin)"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, cwd=folder)
        assert (folder / done.stdout.strip()).resolve() == paths.NOTEBOOKS / "__init__.py", name


@pytest.mark.parametrize("name", MOVED)
def test_a_number_that_is_moved_moves_the_figure(name):
    (_, first), (_, again), (_, moved) = run(name), run(name), run(name, *MOVED[name])
    assert first == again != moved


def test_what_the_notebooks_say_is_so():
    flat, _ = run("kakoun2024-flat-clients-sharp-average")
    assert flat["at_mean"] == pytest.approx(48, rel=1e-3) and max(flat["at_clients"]) == pytest.approx(1.5, rel=1e-3)
    radius, _ = run("fan2024-move-the-radius")
    card = evidence.read(CHECKS / "fan2024.jsonl")["fan24-thm1"]
    assert str(radius["mean_gradient"](10_000, 1.0))[:12] in json.dumps(card["evidence"])
    assert radius["mean_gradient"](10_000, 1.0) > radius["bound"](10_000, 1.0)
    assert radius["mean_gradient"](10_000, 0.2) < radius["bound"](10_000, 0.2)
    duals, _ = run("sun2023-what-the-duals-do")
    averaged, dynamic = duals["found"].values()
    assert averaged[-1] > 0.5 and dynamic[-1] < 1e-12


# ---- parameters of the cells that show a claim -----------------------------------------------------------------------


@pytest.fixture
def stored(monkeypatch):
    """``show`` takes the evidence that is stored, so that no check runs."""

    def result(claims):
        return evidence.read_all(CHECKS)[claims[0]]

    monkeypatch.setattr(cards, "_result", lambda claims: result(claims) | {"seconds": 0.0})


def picture(card) -> str:
    return card._repr_html_().split("base64,")[1].split('"')[0]


def test_a_claims_instance_is_moved_and_its_figure_with_it(stored):
    printed, near, far = (cards.show("fan24-thm1", **moved) for moved in ({}, {"rho": 0.1}, {"rho": "3/2"}))
    assert "Your instance" not in printed._repr_html_()
    assert "the printed statement holds: 0.11" in near._repr_html_()
    assert "the printed statement fails: 1.47" in far._repr_html_() and "Every assumption is met" in far._repr_html_()
    assert len({picture(card) for card in (printed, near, far)}) == 3
    assert {card.verdict for card in (printed, near, far)} == {"repaired"}
    mine, theirs = near._repr_html_().split("The project&#39;s instance")  # no part mixes the two
    assert "the printed statement holds: 0.11" in mine and "0.1" not in theirs.split("<table>")[1].split("</table>")[0]


def test_a_moved_instance_needs_no_check(monkeypatch):
    """The check of this claim replays its proofs for a third of a minute."""
    monkeypatch.setattr(cards.runner, "execute", lambda job: pytest.fail("a check ran"))
    assert "the printed statement holds" in cards.show("fan24-thm1", rho=0.1)._repr_html_()


def test_an_assumption_that_the_moved_instance_breaks_is_named(stored):
    assert "Not met there: T &gt;= 100 and T &gt;= EN" in cards.show("fan24-thm1", T=90)._repr_html_()


@pytest.mark.parametrize(
    ("claim", "changed", "said"),
    [
        ("fan24-thm1", {"nu": 1}, "allowed: T, w0, rho"),
        ("fan24-thm1", {"rho": "much"}, "a number, or a fraction"),
        ("thesis-tab5.3", {"rho": 1}, "no instance to change"),
        (TRAINED, {"rho": 1}, f"runs decide {TRAINED}"),
    ],
)
def test_a_parameter_that_a_claim_has_not_is_refused(stored, claim, changed, said):
    with pytest.raises(UserError, match=said):
        cards.show(claim, **changed)


def test_most_refuted_claims_have_an_instance_that_can_be_moved():
    stored = evidence.read_all(CHECKS)
    found = [stored[claim.id] for claim in load() if claim.id in stored]
    refuted = [one["evidence"] for one in found if one["verdict"] in ("refuted", "repaired")]
    movable = [e for e in refuted if isinstance(e.get("counterexample"), dict)]
    assert len(movable) > 0.5 * len(refuted) > 50
