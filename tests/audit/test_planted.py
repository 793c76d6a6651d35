"""Twenty mistakes planted in one folder: all are told at once, each with its file and line, before anything trains."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

FIGURE = """
[[figure]]
id = "fig1"
title = "Factor"
location = "Figure 1"
claims = ["half2025-nowhere"]
[[figure.panel]]
id = "a"
kind = "sweep"
title = "digits"
rows = [{ label = "Mine", settings = { algorithm = "mine" } }]
x = "factor"
values = { quick = [1.0, 2.0] }
checks = ["peak at 9"]
"""
CIRCLE = """
[[table]]
id = "2"
title = "Two rows, each held against the other"
location = "Table 2"
[[table.rows]]
label = "One"
against = "Two"
settings = { algorithm = "fedavg" }
[[table.rows]]
label = "Two"
against = "One"
settings = { algorithm = "fedsam", rhoo = 0.1 }
[[table.columns]]
label = "digits"

[[table]]
id = "3"
like = "3"
title = "Like itself"
location = "Table 3"

[[table]]
id = "4"
title = "One row twice"
location = "Table 4"
csv = "table4.csv"
[[table.rows]]
label = "One"
settings = { algorithm = "fedavg" }
[[table.rows]]
label = "One"
settings = { algorithm = "fedavg" }
[[table.columns]]
label = "digits"
"""
CLAIM = """
[[claim]]
id = "half2025-more"
location = "Table 1"
kind = "table"
title = "A level that is not swept"
statement = '''For $\\frac{1$ it holds.'''
how_to_check = '''Train.'''
needs = "cpu"
decided_by = "experiments"
expected = "seen"

[[claim]]
id = "half2025-level"
location = "Figure 1"
kind = "figure"
title = "A level that is not swept"
statement = '''It peaks.'''
how_to_check = '''Train.'''
needs = "cpu-real"
decided_by = "experiments"
expected = "seen"
[claim.predicate]
type = "trend"
shape = "peak-at"
says = "it peaks"
table = "half2025/fig1/b"
along = "columns"
within = ["Mine"]
level = "0.3"
"""
#: file, what is replaced (at the end: nothing), by what, a part of the line that is told, a part of what is said
PLANTED = [
    ("claims.toml", 'kind = "lemma"', 'kind = "poem"', 'kind = "poem"', "field kind"),
    ("claims.toml", "0<\\eta\\le 1/L$: $f", "0<\\eta\\le 1/L: $f", "statement = ", "dollar sign without its pair"),
    ("claims.toml", '["Mine", "FedAvg"]', '["Mine", "FedAvgg"]', "FedAvgg", "order: FedAvgg"),
    ("claims.toml", 'within = ["digits"]', 'within = ["mnist"]', 'within = ["mnist"]', "within: mnist"),
    ("claims.toml", "", CLAIM, 'needs = "cpu"', "needs: cpu"),
    (None, None, None, "$\\frac{1$ it", "opening brace"),
    (None, None, None, 'table = "half2025/fig1/b"', "half2025/fig1/a"),
    ("experiments.toml", "clients = 20", "clientss = 20", "clientss", "clientss"),
    ("experiments.toml", "factor = 2.0", "factor = -2.0", "factor = -2.0", "factor: -2.0"),
    ("experiments.toml", "", CIRCLE, 'against = "Two"', "circle"),
    (None, None, None, "rhoo = 0.1", "rhoo: 0.1"),
    (None, None, None, 'like = "3"', "comes back to itself"),
    (None, None, None, "[[table]]", "used once"),
    ("experiments.toml", "", FIGURE, "values = { quick", "laptop has none"),
    (None, None, None, 'claims = ["half2025-nowhere"]', "half2025-nowhere"),
    (None, None, None, 'checks = ["peak at 9"]', "peak at 9"),
    ("tables/table1.csv", "63.5", "163.5", "163.5", "value: 163.5"),
    ("tables/table1.csv", "", "Mine,digits,60.0,2.0\n", "Mine,digits,60.0", "not also line"),
    ("tables/table1.csv", "", "Mine,digits,60.0\n", "Mine,digits,60.0\n", "4 entries, not 3"),
    ("statements.py", "sp.factor(", "sp.factr(", "sp.factr(", "AttributeError"),
    (
        "method.py",
        "return self.factor * g\n",
        "return self.factor * g @ g\n",
        "self.factor * g @ g",
        "method: mine",
    ),
    ("README.md", "# ", "# \udce9", "", "encoding: byte 0xe9"),
]


def put(path, old, new):
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    assert not old or old in text, (path, old)
    path.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8", errors="surrogateescape")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The folder with every mistake, and the faults that one pass tells of it."""
    folder = tmp_path_factory.mktemp("planted") / "half2025"
    words = [sys.executable, "-m", "artifact", "audit"]
    subprocess.run([*words, "init", str(folder)], check=True, capture_output=True)
    for name, old, new, *_ in PLANTED:
        if name is not None:
            put(folder / name, old, new)
    done = subprocess.run([*words, "check", str(folder), "--json"], check=False, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert not (folder / "results").exists()
    return folder, json.loads(done.stdout), done.stderr


def test_every_planted_mistake_is_told_with_its_file_and_line_in_one_pass(told):
    folder, faults, _ = told
    assert len(PLANTED) > 20
    for *_, part, said in PLANTED:
        found = [one for one in faults if said in f"{one['field']}: {one['value']}; {one['allowed']}"]
        assert len(found) == 1, (said, faults)
        path = folder.parent / found[0]["file"]
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        assert part in lines[found[0]["line"] - 1], (found, lines[found[0]["line"] - 1])


def test_nothing_else_is_told(told):
    """A mistake has no echo: where one file is wrong, the others are not blamed for it."""
    _, faults, errors = told
    assert len(faults) == len(PLANTED), errors
    assert len(re.findall("^error: ", errors, re.M)) == len(PLANTED)
