"""Twenty-four tasks of readers who see only the report and README: how many links away the answer is, and that it is
there. Clicks are counted from the front page, over links that a reader sees without typing; a folded part is open."""

from __future__ import annotations

import re
from collections import deque
from functools import cache
from html import unescape
from pathlib import Path

import pytest

from artifact.base import paths

README = (paths.ROOT / "README.md").read_text(encoding="utf-8")

#: (who, what they want to know, page, clicks at most, the answer)
TASKS = [
    ("newcomer", "what is this, and what came out", "index.html", 0, r"Theory\. A program decides \d+ statements"),
    ("newcomer", "what does 'repaired' mean", "index.html", 0, r"repaired false as printed; a corrected statement is"),
    (
        "newcomer",
        "what does FedSMOO do, step by step",
        "method-fedsmoo.html",
        2,
        r"Client, step k, ascent .* Dual of the perturbation .* Server \(lines 17 to 19\)",
    ),
    ("newcomer", "what is a Dirichlet split", "glossary.html", 1, r"class proportions are drawn from a Dirichlet"),
    (
        "newcomer",
        "what does MAN claim, section by section",
        "paper-yashwanth2023.html",
        1,
        r"(?s)Section 3.*Supplement",
    ),
    (
        "reviewer",
        "is FedSMOO better than FedDyn, over all settings",
        "pairs.html",
        1,
        r"row minus column in points.* FedSMOO .*\d+ settings +[-+]\d\.\d\*? +\[[-+]\d\.\d, [-+]\d\.\d\]",
    ),
    ("reviewer", "how many claims do the runs contradict", "index.html", 0, r"contradict \d+ and cannot tell for \d+"),
    (
        "reviewer",
        "at which scale was FedSMOO's Table 1 trained",
        "training.html",
        1,
        r"5,000 training images, LeNet, 60 rounds",
    ),
    ("reviewer", "which baselines repeat in two papers", "paper-fan2024-section-6.html", 2, r"128 of 128 cells"),
    (
        "reviewer",
        "what was MAN's Table 1 trained on here",
        "table-yashwanth2023-1.html",
        2,
        r"CIFAR-10 \(paper: CIFAR-100\)",
    ),
    ("reviewer", "on which machine and versions were runs made", "provenance.html", 1, r"torch \d"),
    (
        "practitioner",
        "which method for my split and budget",
        "choose.html",
        1,
        r"Dirichlet-0\.1, recycled pools, 10% of 100 clients .*? \d+\.\d %",
    ),
    ("practitioner", "what does a method cost in gradients and traffic", "costs.html", 1, r"(?i)gradients per step"),
    ("practitioner", "how do I train a method of my own", "index.html", 0, r"artifact run --add examples/fedsign\.py"),
    ("practitioner", "how much accuracy does the released code cost", "discrepancies.html", 1, r"excludes 0"),
    (
        "practitioner",
        "does the radius matter",
        "figure-sun2023-fig4.html",
        2,
        r"Stability with respect to r in training",
    ),
    (
        "author",
        "what speaks against FedLESAM's Theorem 1",
        "paper-fan2024-section-5.html",
        1,
        r"(?s)Counterexample.*Both sides",
    ),
    (
        "author",
        "how do I contest that",
        "paper-fan2024-section-5.html",
        1,
        r"(?s)Contest this.*Where an author's reply stands",
    ),
    ("author", "what does my released code do otherwise", "discrepancies.html", 1, r"(?s)LESAM-1.*Released code"),
    ("author", "who copied a fault", "genealogy.html", 1, r"Who carries it .* MediaBrain-SJTU/FedLESAM"),
    ("author", "the thesis' MLP on Fashion-MNIST, ours beside printed", "table-kakoun2024-5-3.html", 2, r"94\.51"),
    (
        "student",
        "two flat clients, one sharp average: the picture",
        "figures.html",
        1,
        r"(?i)flat clients, sharp average",
    ),
    (
        "student",
        "which notebook can I change",
        "index.html",
        0,
        r"reproduce\.sh setup.*\.venv/bin/jupyter lab notebooks/try",
    ),
    ("student", "how is a counterexample replayed", "paper-sun2023-section-4-2.html", 2, r"Assumptions in the replay"),
]


def words(page: str) -> str:
    """What a reader sees of a page: no script, no tags."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"(?s)<(script|style|math).*?</\1>|<[^>]+>", " ", page)))


@cache
def clicks(site: Path) -> dict[str, int]:
    """Page -> links to follow from the front page; what only the search shows is left out."""
    found, waiting = {"index.html": 0}, deque(["index.html"])
    while waiting:
        name = waiting.popleft()
        page = re.sub(r"(?s)<template>.*?</template>", "", (site / name).read_text(encoding="utf-8"))
        for link in re.findall(r'href="([^"#:?/]+\.html)', page):
            if link not in found and (site / link).is_file():
                found[link] = found[name] + 1
                waiting.append(link)
    return found


@pytest.mark.parametrize(("who", "task", "page", "most", "answer"), TASKS, ids=[task[1] for task in TASKS])
def test_the_answer_is_a_few_clicks_away(site, who, task, page, most, answer):
    assert clicks(site)[page] <= most
    assert re.search(answer, words((site / page).read_text(encoding="utf-8"))), task


def test_there_are_twenty_four_tasks_of_five_readers():
    assert len({task[1] for task in TASKS}) == 24 and len({task[0] for task in TASKS}) == 5


def test_the_pair_of_the_review_has_its_number(site):
    """R-U14: FedSMOO and FedDyn are compared over all columns, and the front page says where."""
    page = (site / "pairs.html").read_text(encoding="utf-8")
    assert re.search(r'href="pairs\.html\?a=FedSMOO&amp;b=FedDyn"><span class="where">\d+ settings</span> [-+]\d', page)
    assert 'href="pairs.html"' in (site / "index.html").read_text(encoding="utf-8").split("<main")[1]


def test_every_page_is_at_most_two_clicks_away(site):
    reached = clicks(site)
    assert {path.name for path in site.glob("*.html")} == set(reached) and max(reached.values()) <= 2


@pytest.mark.parametrize(
    "answer",
    [
        r"\./reproduce\.sh ",
        r"takes five to fifteen minutes",
        r"Neither a GPU nor any\s+data is needed",
        r"\[troubleshooting\]\(docs/troubleshooting\.md\)",
        r"\[CONTRIBUTING\]\(CONTRIBUTING\.md#contest-a-verdict\)",
        r"\[notebooks\]\(docs/notebooks\.md\)",
    ],
)
def test_readme_answers_what_the_report_cannot(answer):
    """How to make the report, how long it takes, what it needs, and where to turn."""
    assert re.search(answer, README)
