"""The notebooks: every claim once, nothing stored that a run makes, and what running them writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.papers import needed_runs
from artifact.report import notebooks
from artifact.verdicts.ledger import load
from notebooks import __main__ as command
from notebooks import claim as cards
from notebooks import empirical, render, shape
from notebooks.__main__ import main

ROOT = paths.ROOT
LEDGER = {claim.id: claim for claim in load()}
NAMES = notebooks.names()
#: small ones whose claims need no training
EXECUTED = ("qu2022-appendix-a", "sun2023-sections-1-3")
SENTENCE = re.compile(r"[.!?](?=\s|$)")


def _words(name: str) -> dict[str, str]:
    """Claim id -> the sentences above its cell."""
    cells = notebooks.read(name)["cells"]
    pairs = [(before, notebooks.shown(cell)) for before, cell in pairwise(cells)]
    return {claim: shape.sentences(notebooks.source(before)) for before, claim in pairs if claim}


def test_every_claim_is_in_exactly_one_notebook():
    shown = Counter(claim for name in NAMES for claim in notebooks.claims_of(name))
    assert set(shown) == set(LEDGER)
    assert {claim: n for claim, n in shown.items() if n > 1} == {}


def test_a_notebook_holds_one_paper_in_the_order_of_names():
    assert all({LEDGER[c].paper for c in notebooks.claims_of(name)} == {name.partition("-")[0]} for name in NAMES)
    chapters = [name for name in NAMES if name.startswith("kakoun2024")]
    assert [name.removeprefix("kakoun2024-") for name in chapters] == [
        "chapters-1-2",
        "chapter-3",
        "chapter-4",
        "chapter-5",
        "appendix-a",
    ]


def test_location_names_notebook_and_anchor():
    for claim in ("qu22-thm3.1-full", "thesis-tab5.3"):
        stem, anchor = notebooks.location(claim)
        assert claim in notebooks.claims_of(stem) and anchor == claim
    with pytest.raises(UserError, match="no-such-claim"):
        notebooks.location("no-such-claim")


def test_location_loads_nothing_heavy():
    code = (
        "import artifact.report.notebooks, sys; print({'torch', 'matplotlib', 'sympy', 'IPython'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", NAMES)
def test_files_are_valid_and_hold_no_output(name):
    content = nbformat.read(notebooks.FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(content)
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("name", NAMES)
def test_each_code_cell_is_one_call_under_two_sentences(name):
    cells = notebooks.read(name)["cells"]
    assert notebooks.source(cells[0]).startswith("# ")
    code = [notebooks.source(cell) for cell in cells if cell["cell_type"] == "code"]
    assert code[: len(shape.SETUP)] == list(shape.SETUP.values())
    assert code[len(shape.SETUP) :] == [f'show("{claim}")' for claim in notebooks.claims_of(name)]
    words = _words(name)
    assert list(words) == notebooks.claims_of(name)
    for claim, text in words.items():
        assert len(SENTENCE.findall(text)) == 2, claim
        assert text.count("$") % 2 == 0, claim


def test_no_sentence_is_used_twice():
    sentences = Counter(s for name in NAMES for text in _words(name).values() for s in re.split(r"(?<=[.!?])\s", text))
    assert [s for s, n in sentences.items() if n > 1] == []
    assert len(sentences) == 2 * len(LEDGER)


def test_headings_follow_the_ledger_and_refresh_keeps_the_sentences(tmp_path):
    for name in NAMES:
        before = (notebooks.FOLDER / f"{name}.ipynb").read_bytes()
        (tmp_path / f"{name}.ipynb").write_bytes(before)
        shape.refresh(name, tmp_path)
        assert (tmp_path / f"{name}.ipynb").read_bytes() == before, f"python -m notebooks --refresh --only {name}"


def test_refresh_mends_a_heading_and_drops_outputs(tmp_path):
    name = EXECUTED[0]
    content = notebooks.read(name)
    about = next(cell for cell in content["cells"] if cell["id"].startswith("about-"))
    about["source"] = notebooks.source(about).replace("## ", "## An old title of ")
    content["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    (tmp_path / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")
    assert CliRunner().invoke(main, ["--refresh", "--folder", str(tmp_path)]).exit_code == 0
    assert notebooks.read(name, tmp_path) == notebooks.read(name)


@pytest.mark.parametrize("folder", [ROOT, ROOT / "notebooks"])
def test_the_first_cell_finds_the_project(folder):
    code = shape.SETUP["path"] + "\nimport importlib.util as u; assert u.find_spec('notebooks.claim')"
    subprocess.run([sys.executable, "-I", "-c", code], cwd=folder, check=True)


# ---- running them ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    """Pages of two executed notebooks by name."""
    out = tmp_path_factory.mktemp("pages")
    only = [word for name in EXECUTED for word in ("--only", name)]
    done = CliRunner().invoke(main, ["--out", str(out), "--jobs", "2", *only])
    assert done.exit_code == 0, done.output
    assert sorted(path.stem for path in out.iterdir()) == sorted(EXECUTED)
    return {path.stem: path.read_text(encoding="utf-8") for path in out.iterdir()}


class Tags(HTMLParser):
    """Start tags of a page with their attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", EXECUTED)
def test_pages_show_every_claim_with_its_verdict(pages, name):
    tags = Tags(pages[name]).found
    anchors = [attributes["id"] for tag, attributes in tags if tag == "a" and "id" in attributes]
    assert anchors == notebooks.claims_of(name)
    for claim in anchors:
        assert f"Verdict on paper: {LEDGER[claim].expected}</strong>" in pages[name]
        assert f'href="../paper-{LEDGER[claim].paper}.html#{claim}"' in pages[name]
    assert pages[name].count('class="card"') == len(anchors)
    assert "The ledger expects" not in pages[name]


@pytest.mark.parametrize("name", EXECUTED)
def test_pages_need_nothing_from_outside(pages, name):
    tags = Tags(pages[name]).found
    assert not {"script", "iframe", "object", "embed"} & {tag for tag, _ in tags}
    links = [(tag, a[key]) for tag, a in tags for key in ("href", "src", "srcset", "data") if key in a]
    assert all(tag == "a" or link.startswith("data:") for tag, link in links)
    assert all(link.startswith(("#", "../", "data:")) for _, link in links)
    style = pages[name].split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


@pytest.mark.parametrize("name", EXECUTED)
def test_pages_are_accessible(pages, name):
    tags = Tags(pages[name]).found
    assert dict(tags)["html"] == {"lang": "en"}
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(len(attributes.get("alt", "")) > 20 for tag, attributes in tags if tag == "img")
    assert any(tag == "meta" and "width=device-width" in (a.get("content") or "") for tag, a in tags)
    assert "<math" in pages[name] and "$" not in re.sub(r"<code>.*?</code>", "", pages[name], flags=re.S)


def test_a_page_is_made_again_only_when_its_inputs_have_changed(tmp_path, monkeypatch):
    name = EXECUTED[0]
    executed = []

    async def run(name, folder, kernel):
        executed.append(name)
        return nbformat.read(folder / f"{name}.ipynb", as_version=4)

    monkeypatch.setattr(command, "_run", run)
    shutil.copy(notebooks.FOLDER / f"{name}.ipynb", tmp_path)
    words = ["--folder", str(tmp_path), "--out", str(tmp_path / "pages")]
    monkeypatch.setattr(command.fingerprints, "records", lambda stores: [])
    for expected in (1, 1):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0 and len(executed) == expected, done.output
    assert "0 of 0 notebooks executed, 1 up to date" in done.output
    assert CliRunner().invoke(main, [*words, "--force"]).exit_code == 0 and len(executed) == 2
    text = (tmp_path / f"{name}.ipynb").read_text(encoding="utf-8")
    (tmp_path / f"{name}.ipynb").write_text(text.replace("# ", "# Changed: ", 1), encoding="utf-8")
    assert CliRunner().invoke(main, words).exit_code == 0 and len(executed) == 3
    monkeypatch.setattr(command.fingerprints, "sources", lambda: [tmp_path / "pages" / f"{name}.html"])
    assert CliRunner().invoke(main, words).exit_code == 0 and len(executed) == 4


def test_a_cell_that_raises_fails_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    claims = [LEDGER["qu22-lemA.1-1"], LEDGER["qu22-lemA.2"]]
    content = shape.build("# Two claims", claims, {claim.id: "One. Two." for claim in claims})
    content["cells"][-1]["source"] = ['show("no-such-claim")']
    (tmp_path / "notebooks").mkdir()
    shape.write(content, "qu2022-broken", tmp_path / "notebooks")
    out = tmp_path / "pages"
    done = CliRunner().invoke(main, ["--out", str(out), "--folder", str(tmp_path / "notebooks")])
    assert done.exit_code == 1
    assert "notebook qu2022-broken, claim no-such-claim: UserError" in done.output
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"), [(["--only", "no-such"], "notebook: 'no-such'"), (["--jobs", "0"], "'--jobs'")]
)
def test_bad_input_is_one_line(words, said):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert said in done.output and done.output.count("\n") == 1


DAMAGED = {
    "empty": b"",
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "no UTF-8": b"\xff\xfe{}",
    "no object": b"[]",
    "no cells": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "odd cell": b'{"cells": [5], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "no source": b'{"cells": [{"cell_type": "code"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "odd source": b'{"cells": [{"cell_type": "code", "source": [1]}], "metadata": {}, "nbformat": 4}',
    "no format": b'{"cells": [{"cell_type": "code", "source": ""}]}',
    "odd format": b'{"cells": [{"cell_type": "code", "source": ""}], "nbformat": "x"}',
    "no outputs": b'{"cells": [{"cell_type": "code", "source": "", "metadata": {}}], "metadata": {}, "nbformat": 4, '
    b'"nbformat_minor": 4}',
    "folder": None,
}


@pytest.mark.parametrize("words", [[], ["--refresh"]])
@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_notebook_is_one_line_and_nothing_is_written(damage, words, tmp_path):
    folder, good = tmp_path / "notebooks", f"{EXECUTED[0]}.ipynb"
    bad = folder / "sun2023-bad.ipynb"  # after the good one, which is not begun
    bad.mkdir(parents=True) if damage is None else (folder.mkdir(), bad.write_bytes(damage))
    (folder / good).write_bytes((notebooks.FOLDER / good).read_bytes().replace(b"## ", b"## Old "))
    before = (folder / good).read_bytes()
    done = CliRunner().invoke(main, ["--folder", str(folder), "--out", str(tmp_path / "pages"), *words])
    assert done.exit_code == 2 and done.output.startswith("error: notebook: ") and str(bad) in done.output
    assert done.output.count("\n") == 1
    assert (folder / good).read_bytes() == before and not (tmp_path / "pages").exists()


def test_a_notebook_of_no_paper_is_one_line(tmp_path):
    shutil.copy(notebooks.FOLDER / f"{EXECUTED[0]}.ipynb", tmp_path / "mine.ipynb")
    done = CliRunner().invoke(main, ["--folder", str(tmp_path)])
    assert done.exit_code == 2 and done.output.startswith("error: notebook: 'mine'") and done.output.count("\n") == 1


def test_what_the_system_refuses_is_one_line(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(command, "_marks", refuse)
    done = CliRunner().invoke(main, ["--only", EXECUTED[0]])
    assert done.exit_code == 2 and "Permission denied" in done.output and done.output.count("\n") == 1


# ---- what a cell calls -----------------------------------------------------------------------------------------------


def test_show_runs_the_check_now(monkeypatch):
    called = []
    monkeypatch.setattr(cards.runner, "execute", lambda job: called.append(job) or _outcome("refuted"))
    cards._result.cache_clear()
    card = cards.show("qu22-lemA.1-1")
    cards._result.cache_clear()
    assert [job.claims for job in called] == [("qu22-lemA.1-1",)]
    assert card.verdict == "refuted" and "The ledger expects proved." in card._repr_html_()
    assert repr(card).startswith("qu22-lemA.1-1: refuted")


def test_a_check_that_ends_in_an_error_raises(monkeypatch):
    monkeypatch.setattr(cards, "_result", lambda claims: {"verdict": "error", "evidence": {"error": "ran too long"}})
    with pytest.raises(cards.CheckFailed, match=r"qu22-lemA\.2: ran too long"):
        cards.show("qu22-lemA.2")


def _outcome(verdict: str) -> dict:
    evidence = {"counterexample": {"x": "1/2"}, "sides": {"left": 2, "right": 1, "relation": "<="}}
    return {"verdict": verdict, "evidence": evidence, "margin": 2.0, "repaired": None, "seconds": 0.1}


def test_an_unknown_claim_is_refused():
    with pytest.raises(UserError, match=r"qu22-lemA\.1"):
        cards.show("qu22-lemA.1-9")


def test_only_the_quick_profile_trains(monkeypatch):
    trained = []
    monkeypatch.setattr(empirical, "train", lambda name, profile: trained.append((name, profile)))
    empirical._table.cache_clear()
    committed = str(empirical._table("kakoun2024/5.3", "laptop"))
    assert trained == [] and "<table>" in committed and "94.51" in committed
    assert empirical.MINIATURE not in committed
    assert empirical.MINIATURE in str(empirical._table("kakoun2024/5.3", "quick"))
    empirical._table.cache_clear()
    assert trained == [("kakoun2024/5.3", "quick")]


def test_training_makes_what_is_missing_and_reads_the_store_anew(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(empirical, "_store", lambda profile: tmp_path)
    monkeypatch.setattr(empirical.sweep, "run_missing", lambda configs, settings, quiet: made.extend(configs))
    empirical._opened.cache_clear()
    before = empirical._opened("quick")
    empirical.train("kakoun2024/5.3", "quick")
    assert made == needed_runs.configs("kakoun2024/5.3", "quick")
    assert empirical._opened("quick") is not before
    monkeypatch.undo()
    empirical._opened.cache_clear()


def test_the_badge_is_the_verdict_of_the_committed_runs_and_a_miniature_decides_nothing(monkeypatch):
    said = {"laptop": "not-run", "quick": "reproduced"}
    found = empirical.decide.decide

    def decide(claim, profile, store):
        return replace(found(claim, "quick", Path("nowhere")), verdict=said[profile], profile=profile)

    monkeypatch.setattr(empirical.decide, "decide", decide)
    section = empirical.section(LEDGER["thesis-toy-radius"], "quick")
    assert section.verdict == "not-run"
    assert "decides no claim: reproduced" in "".join(section.parts)


def test_a_claim_without_runs_and_figures_has_no_section():
    assert empirical.section(LEDGER["qu22-lemA.2"], "laptop") == empirical.Section("not-run", ())


def test_text_is_escaped_and_mathematics_drawn():
    shown = str(render.paragraphs("a < b and $x^2<y$\nsecond", "Lead"))
    assert shown.startswith('<p><strong>Lead.</strong> a &lt; b and <math display="inline">')
    assert shown.endswith("<p>second</p>")
    assert render.image(b"png", 'a "b"') == (
        '<figure><img src="data:image/png;base64,cG5n" alt="a &#34;b&#34;"></figure>'
    )


def test_a_folder_without_notebooks_is_refused(tmp_path):
    with pytest.raises(UserError, match="a folder with notebooks"):
        command._select((), tmp_path / "nowhere")
