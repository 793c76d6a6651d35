"""``fedsharp audit``: a paper of one's own from a folder outside the tree, its faults with file and line."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from registries import kept

from artifact.__main__ import main
from artifact.audit import check
from artifact.papers import experiments
from artifact.runs import evidence
from checks import runner
from theory.kit.verdict import registry


@pytest.fixture(autouse=True)
def _forgotten():
    with kept(registry.checks):
        yield


@pytest.fixture(autouse=True)
def _checks_here(monkeypatch):
    """Checks run in this process, which has imported what a worker would import for seconds; ``made`` has workers."""

    def run_jobs(jobs, *, papers, progress=lambda job, result: None):
        results = {}
        for job in jobs:
            results[job] = runner.execute(job)
            progress(job, results[job])
        return results

    monkeypatch.setattr(runner, "run_jobs", run_jobs)


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may change."""
    target = tmp_path / "half2025"
    subprocess.run(["cp", "-r", made[0], target], check=True)
    return target


def edit(folder, name, old, new):
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return 1 + text[: text.index(old)].count("\n")


def test_the_template_is_a_paper_whose_claims_hold(made):
    assert {(record["id"], record["by"]): record["verdict"] for record in made[1]} == {
        ("half2025-step", "check"): "proved",
        ("half2025-step", "check at scale 3"): "refuted",
        ("half2025-better", "laptop runs"): "seen",
    }
    assert all(record["as_expected"] for record in made[1])
    assert set(evidence.read_all(made[0] / "results" / "checks")) == {"half2025-step"}


def test_the_schema_of_claims_names_every_field(made):
    schema = json.loads((made[0] / "claims.schema.json").read_text())
    fields = schema["properties"]["claim"]["items"]["properties"]
    assert {"id", "statement", "expected", "predicate", "undecided"} <= set(fields)
    assert not {"paper", "judged"} & set(fields)


def test_other_commands_take_the_folder_too(folder, capsys):
    words = ["--audit", str(folder), "--profile", "laptop", "--lookup", "--json"]
    assert main(["table", "half2025/1", *words]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["n"] for cell in cells] == [4, 4]
    assert cells[1]["printed"] == 63.5


def test_a_sweep_of_the_folder_trains_into_the_folder(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gone = next((folder / "results").glob("*/done")).parent
    shutil.rmtree(gone)
    words = ["--audit", str(folder), "--profile", "laptop", "--quiet", "--jobs", "1"]
    assert main(["sweep", "half2025", *words]) == 0
    assert "7 runs are finished, 1 to make" in capsys.readouterr().out
    assert (gone / "done").is_file() and not (tmp_path / "results").exists()
    assert main(["sweep", "all", *words]) == 2
    assert "selection: 'all'" in capsys.readouterr().err


def test_the_released_form_of_the_folders_method_is_a_variant(folder, capsys):
    assert main(["list", "algorithms", "--audit", str(folder), "--json"]) == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "mine")
    assert row["released"] == ["MINE-1"]


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("statements.py", "scale * eta / 2 * gradient", "3 * eta / 2 * gradient", "half2025-step.*refuted: counter"),
        ("claims.toml", '["Mine", "FedAvg"]', '["FedAvg", "Mine"]', "half2025-better.*reversed"),
        ("claims.toml", "margin = 1.0", "margin = 40.0", "half2025-better.*(mostly-seen|reversed)"),
        ("claims.toml", 'expected = "proved"', 'expected = "refuted"', "half2025-step.*proved"),
        ("statements.py", '(3.0, "refuted")', '(0.5, "refuted")', "half2025-step.*refuted, .*scale 0.5 says vacuous"),
    ],
)
def test_a_planted_false_claim_is_caught(folder, name, old, new, said, capsys):
    edit(folder, name, old, new)
    code = main(["audit", "run", str(folder), "--no-report", "--lookup"])
    error = capsys.readouterr().err
    assert code == 1
    assert re.search(f"^unexpected: .*{said}", error, re.M), error
    assert re.search(r"claims\.toml, line \d+\)$", error.strip()), error


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("claims.toml", 'kind = "lemma"', 'kind = "poem"', "kind"),
        ("claims.toml", 'kind = "lemma"', "kind = lemma", "TOML"),
        ("claims.toml", 'location = "Lemma 1"', 'place = "Lemma 1"', "field place: 'Lemma 1'"),
        ("claims.toml", 'location = "Lemma 1"', 'locaton = "Lemma 1"', "field locaton: .*location, which is nearest"),
        ("claims.toml", 'within = ["digits"]', 'witin = ["digits"]', r"witin: \['digits'\].*within, which is nearest"),
        ("claims.toml", 'type = "ordering"', 'type = "order"', "type"),
        ("claims.toml", '["Mine", "FedAvg"]', '["Mine", "FedAvgg"]', "FedAvgg"),
        ("claims.toml", '["Mine", "FedAvg"]', '["Mine", "Mine"]', "order: .*labels that differ, where Mine"),
        ("claims.toml", '["Mine", "FedAvg"]', '["Mine", "mine"]', "order: 'mine'.*another row than Mine "),
        ("claims.toml", '["Mine", "FedAvg"]', '["Mine", "FedProx"]', "order: 'FedProx'.*; allowed: FedAvg, Mine "),
        (
            "claims.toml",
            "margin = 1.0",
            'measure = "acuracy"',
            "measure: 'acuracy'.*; allowed: metric, curve, rise, train",
        ),
        ("claims.toml", "margin = 1.0", 'measure = "drif.cos"', "measure: 'drif.cos'.*PART server.*drift"),
        ("claims.toml", 'within = ["digits"]', 'within = ["mnist"]', "within: 'mnist'.*; allowed: digits "),
        ("claims.toml", 'table = "half2025/1"', 'table = "half2025/7"', "half2025/7"),
        ("claims.toml", 'key = "half2025"', 'key = "Half 2025"', "key"),
        ("experiments.toml", "clients = 20", "clients = 0", "clients"),
        ("experiments.toml", 'algorithm = "fedavg"', 'algorithm = "fedavgg"', "fedavgg"),
        ("experiments.toml", "factor = 2.0", "factor = -2.0", "factor"),
        ("experiments.toml", "factor = 2.0", "factr = 2.0", "factr"),
        ("experiments.toml", 'csv = "table1.csv"', 'csv = "table2.csv"', "table2.csv"),
        ("experiments.toml", "lr = 0.01", "lr = ", "TOML"),
        ("experiments.toml", 'location = "Table 1"', 'where = "Table 1"', "where|location"),
        (
            "experiments.toml",
            'against = "FedAvg"',
            'against = "FedAvgX"',
            "against: 'FedAvgX'.*row of table 1: FedAvg ",
        ),
        ("experiments.toml", 'against = "FedAvg"', 'against = "Mine"', "against: 'Mine'.*of table 1: FedAvg "),
        ("experiments.toml", "seeds = [0, 1, 2, 3]", "seeds = [0,0, 1, 1]", r"seeds: \[0, 0, 1, 1\].*that differ"),
        ("tables/table1.csv", "Mine,digits", "Yours,digits", "Yours"),
        (
            "tables/table1.csv",
            "algorithm,",
            "method,",
            "header: 'method, split, value, std'.*algorithm, split, value; ",
        ),
        ("tables/table1.csv", ",value,", ",valu,", "header: 'algorithm, split, valu, std'.*split, value; "),
        ("tables/table1.csv", "algorithm,split,value,std\n", "", "header: 'FedAvg, digits, 41.2, 1.9'.*line 1"),
        ("tables/table1.csv", "63.5", "abc", "value: 'abc'.*from 0 to 100"),
        ("tables/table1.csv", "63.5", "nan", "value: 'nan'.*from 0 to 100"),
        ("tables/table1.csv", "63.5", "885", "value: '885'.*from 0 to 100"),
        ("tables/table1.csv", "63.5", "-0.1", "value: '-0.1'.*from 0 to 100"),
        ("tables/table1.csv", "2.4", "-1", "std: '-1'.*"),
        ("tables/table1.csv", "2.4", "inf", "std: 'inf'.*"),
        ("method.py", "factor: Positive", "factor: Positiv", "Positiv"),
        ("method.py", "return self.factor", "return return", "SyntaxError"),
        ("statements.py", "gradient = curvature * w", "gradient = curvature * width", "half2025-step.*NameError"),
        ("statements.py", "sp.factor(", "sp.factr(", "half2025-step.*AttributeError"),
        ("statements.py", "    Statement: For", "    For", "Statement"),
        ("statements.py", '(3.0, "refuted")', '(1.0, "refuted")', r"mutations: \(1.0, 'refuted'\).*other than 1"),
        ("statements.py", '(3.0, "refuted")', '(3.0, "wrong")', r"mutations: \(3.0, 'wrong'\).*and a verdict"),
        ("statements.py", '(3.0, "refuted")', '("3", "refuted")', "mutations: .*a finite factor"),
        ("statements.py", '(3.0, "refuted")', '(0.5, "proved")', "mutations: 'half2025-step'.*the verdict proved"),
        ("statements.py", "import sympy", "import sympie", "sympie"),
        ("statements.py", '"half2025-step"', '"half2025-stp"', "half2025-stp.*half2025-step"),
    ],
)
def test_a_fault_is_told_with_file_and_line(folder, name, old, new, said, capsys):
    line = edit(folder, name, old, new)
    code = main(["audit", "run", str(folder), "--no-report", "--lookup"])
    error = capsys.readouterr().err
    assert (code, len(error.splitlines())) == (2, 1), error
    assert re.search(said, error), error
    told = re.search(r"line (\d+)", error)
    assert told is not None, error
    assert abs(int(told[1]) - line) <= 4, error  # a missing field is told at its entry, a class at its decorator
    assert name.split("/")[-1] in error


def test_an_id_and_a_printed_number_that_are_there_twice_are_told_with_both_lines(folder, capsys):
    table = folder / "tables" / "table1.csv"
    table.write_text(table.read_text(encoding="utf-8") + "Mine,digits,60.0,2.0\n", encoding="utf-8")
    first = edit(folder, "claims.toml", 'id = "half2025-step"', 'id = "half2025-better"')
    second = 1 + (folder / "claims.toml").read_text().rpartition('id = "half2025-better"')[0].count("\n")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert re.search(rf"half2025-better.*claims\.toml, line {first} \(.*claims\.toml, line {second}\)$", errors[0])
    said = f"'Mine, digits, test accuracy' is not possible; allowed: one line, not also line 3 ({table}, line 4)"
    assert errors[-1] == f"error: printed number: {said}"


def test_a_typing_error_in_a_predicate_is_told_with_its_line_and_the_predicates_own_fields(folder, capsys):
    line = edit(folder, "claims.toml", "margin = 1.0", "magin = 1.0")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 2
    error = capsys.readouterr().err
    assert f"claims.toml, line {line})" in error
    assert "margin" in error
    assert "decided_by" not in error  # which is a field of the claim


def test_a_claim_without_enough_seeds_says_how_many_it_needs(folder, capsys):
    edit(folder, "experiments.toml", "seeds = [0, 1, 2, 3]", "seeds = [0]")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 2
    assert re.search(r"seeds: \[0\].*2 seeds at least at the profile laptop.*line \d+\)", capsys.readouterr().err)


def test_a_claim_that_runs_decide_without_a_predicate_says_so(folder, capsys):
    text = (folder / "claims.toml").read_text(encoding="utf-8")
    (folder / "claims.toml").write_text(text[: text.index("[claim.predicate]")], encoding="utf-8")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 2
    assert "predicate: nothing is given; allowed: a [claim.predicate] that says" in capsys.readouterr().err


def test_a_verdict_of_a_claim_says_whether_it_is_provisional_or_only_expected(folder, capsys):
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "half2025-better" in line]
    assert "provisional: 4 seeds that are not the protocol's" in line
    assert main(["list", "claims", "--audit", str(folder), "--paper", "half2025"]) == 0
    assert [line.split("  ")[-1] for line in capsys.readouterr().out.splitlines()] == [
        "expected: proved",
        "expected: seen",
    ]


@pytest.mark.parametrize("name", ["half2025", "half2025/fig1"])
def test_a_folder_without_figures_says_so(folder, name, capsys):
    assert main(["figure", name, "--audit", str(folder), "--lookup"]) == 2
    assert "half2025 declares none in experiments.toml" in capsys.readouterr().err


def test_every_table_of_the_ledger_passes_the_rule_for_printed_numbers():
    tables = [table for _, table in experiments.all_tables() if table.csv is not None]
    assert len(tables) > 25
    for table in tables:
        lines = list(enumerate(experiments.transcription(table), 2))
        assert list(check.numbers(table, lines)) == []


def test_a_dash_of_the_paper_is_an_empty_field(folder):
    edit(folder, "tables/table1.csv", "63.5,2.4", ",")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 0


def test_a_check_that_looks_at_nothing_is_caught_by_its_mutation(folder, capsys):
    path = folder / "statements.py"
    text = path.read_text(encoding="utf-8").replace("(3.0,", "(2.0,")
    head = text[: text.index('    w, curvature, eta = sp.symbols("w L eta"')]
    path.write_text(head + '    return Verdict("proved", {"certificate": "obvious"})\n', encoding="utf-8")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 1
    assert re.match(
        "unexpected: half2025-step: its mutation declares refuted, the check at scale 2 says proved: obvious",
        capsys.readouterr().err,
    )


REFUTED = '''

from theory.kit.verdict import Replay


def again(evidence):
    x = evidence["counterexample"]["x"]
    return Replay({"x is whole": x == int(x)}, x, 4)


@check("half2025-step", replay=again)
def small():
    """
    Statement: x <= 4.
    Assumptions: x is whole.
    Method: One x is larger.
    Verdict: refuted.
    Reference: Lemma 1.
    """
    return Verdict("refuted", {"counterexample": {"x": 5}})
'''


@pytest.fixture
def refuted(folder):
    """A folder whose lemma is refuted, by a counterexample that a replay confirms."""
    edit(folder, "claims.toml", 'expected = "proved"', 'expected = "refuted"')
    text = (folder / "statements.py").read_text(encoding="utf-8")
    (folder / "statements.py").write_text(text[: text.index("@check")].rstrip() + REFUTED, encoding="utf-8")
    return folder


def test_a_refutation_says_whether_a_replay_confirms_it(refuted, capsys):
    assert main(["audit", "run", str(refuted), "--no-report", "--lookup"]) == 0
    assert "no replay" not in capsys.readouterr().out
    del sys.modules["statements of half2025"], registry.checks["half2025-step"]
    edit(refuted, "statements.py", ", replay=again", "")
    assert main(["audit", "run", str(refuted), "--no-report", "--lookup"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ok half2025-step")]
    assert line.endswith("check: counterexample x 5; no replay confirms the counterexample")
    stored = evidence.read_all(refuted / "results" / "checks")["half2025-step"]
    assert stored["evidence"]["label"] == "tested"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('{"x": 5}', '{"x": 4}', "violates nothing: 4 <= 4"),
        ('{"x": 5}', '{"x": 4.5}', "does not meet x is whole"),
        ("return Replay(", "return dict(", "dict expected at most 1"),
        ("return Replay(", "Replay(", "NoneType"),
    ],
)
def test_a_replay_that_confirms_nothing_is_a_fault_of_its_check(refuted, old, new, said, capsys):
    edit(refuted, "statements.py", old, new)
    assert main(["audit", "run", str(refuted), "--no-report", "--lookup"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(rf"half2025-step.*{said}.*statements\.py, line \d+\)$", line), line


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mine = [\n", "ours = [\n", "paper: steps: 'ours' is not possible; allowed: a method of method.py: mine"),
        (
            "walks $K$ steps",
            r"walks $\\frac{K$ steps",
            r"'\\frac{K' is not possible; allowed: TeX that the report can show",
        ),
    ],
)
def test_steps_of_no_method_and_with_a_broken_formula_are_told_with_their_line(folder, old, new, said, capsys):
    line = edit(folder, "claims.toml", old, new)
    assert main(["audit", "check", str(folder)]) == 2
    told = capsys.readouterr()
    assert said in told.out + told.err and f"claims.toml, line {line})" in told.out + told.err, told


def test_a_personalised_paper_goes_through_the_door(folder, tmp_path, capsys):
    """Clients keep the output layer, and a run's accuracy is the mean over the clients' own models."""
    edit(folder, "experiments.toml", "[settings] ", '[settings]\npersonal = ["fc2"] #')
    words = ["table", "half2025/1", "--profile", "quick", "--audit", str(folder), "--out", str(tmp_path / "runs")]
    assert main(["audit", "check", str(folder)]) == 0 and main([*words, "--quiet"]) == 0
    configs = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("runs/*/config.json")]
    assert len(configs) == 4 and all(config["personal"] == ["fc2"] for config in configs)
    last = [json.loads(path.read_text().splitlines()[-1]) for path in tmp_path.glob("runs/*/metrics.jsonl")]
    assert all(row["server"]["accuracy"] == row["server"]["client_mean"] for row in last)
    assert all(len(row["final"]["per_client"]) == 20 for row in last)
    capsys.readouterr()
    line = edit(folder, "experiments.toml", '["fc2"]', '["head"]')
    assert main(["audit", "check", str(folder)]) == 2
    told = "".join(capsys.readouterr())
    assert told.count("personal: 'head' is not possible") == 1 and f"experiments.toml, line {line})" in told


@pytest.mark.parametrize(("name", "kind"), [("topology", "decentralised"), ("staleness", "asynchronous")])
def test_a_setting_of_a_paper_that_does_not_fit_is_refused_with_the_reason(folder, name, kind, capsys):
    line = 1 + edit(folder, "experiments.toml", "[settings] ", f"[settings]\n{name} = 3 #")
    assert main(["audit", "check", str(folder)]) == 2
    told = capsys.readouterr()
    assert f"error: {name}: 3 is not possible; allowed: no {kind} run: " in told.out + told.err
    assert f"experiments.toml, line {line})" in told.out + told.err


def test_claims_without_the_file_of_their_checks_are_told(folder, capsys):
    (folder / "statements.py").unlink()
    text = (folder / "claims.toml").read_text(encoding="utf-8")
    line = 1 + text[: text.index('id = "half2025-step"')].count("\n")
    assert main(["audit", "run", str(folder), "--no-report", "--lookup"]) == 2
    error = capsys.readouterr().err
    assert re.search(rf"half2025-step.*statements\.py.*claims\.toml, line {line}\)$", error.strip()), error


PAGES = """
import sys
import tomllib
from pathlib import Path
from artifact.papers.folders import open_audit
open_audit(Path(sys.argv[1]))
from artifact.report.content import Content
from artifact.report.pages import discrepancies, methods, papers, tables
from artifact.report.site import Site
site = Site(Content())
for page in [*papers.build(site), *tables.build(site)]:
    if page.context.get("paper") == "half2025" or "half2025" in page.name:
        print(site.render(page))
print("=====")
for page in [*discrepancies.build(site), *methods.build(site)]:
    if page.name in ("discrepancies.html", "method-mine.html"):
        print(site.render(page))
"""


def test_the_reports_commands_and_files_of_a_folders_claims_are_the_folders(made, monkeypatch):
    """Each command on its pages names the folder; those that train nothing run as they stand."""
    monkeypatch.chdir(made[0].parent)
    words = [sys.executable, "-c", PAGES, "half2025"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    papers, _, others = done.stdout.partition("=====")
    entry = others[others.index('id="MINE-1"') :].partition("</section>")[0]
    shown = html.unescape(re.sub("<[^>]+>", "", entry))
    assert "return self.factor * g\n" in shown and "return self.factor * g if c.k == 0 else g" in shown
    assert "table half2025/1 --audit half2025" in shown
    assert "<li>The server takes the mean of the clients&#39; models.</li>" in others
    named = {html.unescape(code) for code in re.findall("<code>(.*?)</code>", papers)}
    commands = [code.split()[3:] for code in named if re.match("python -m fedsharp (table|sweep|verdicts) ", code)]
    assert {words[0] for words in commands} <= {"table", "sweep", "verdicts"} and commands
    for words in commands:
        assert words[words.index("--audit") + 1] == "half2025"
        assert words[0] == "sweep" or main(words) == 0
    assert "half2025/results/checks/half2025.jsonl" in named
    assert not {"claims/half2025.toml", "results/"} & named


def test_a_folder_that_is_none_and_one_that_is_full_are_refused(folder, tmp_path, capsys):
    assert main(["audit", "run", str(tmp_path / "nothing")]) == 2
    assert main(["audit", "init", str(folder)]) == 2
    assert main(["audit", "init", str(tmp_path / "x"), "--key", "A b"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


@pytest.mark.parametrize("title", ["\udcff", "two\nlines", r"a\b", "\u202e"])
def test_a_title_that_cannot_stand_in_a_file_leaves_no_folder(tmp_path, capsys, title):
    assert main(["audit", "init", str(tmp_path / "x2025"), "--title", title]) == 2
    assert capsys.readouterr().err.startswith("error: title: ") and not (tmp_path / "x2025").exists()


@pytest.mark.parametrize("name", ["\udcff", "two\nlines"])
def test_a_folder_of_any_name_holds_readable_files(tmp_path, name):
    place = tmp_path / name
    assert main(["audit", "init", str(place), "--key", "x2025", "--title", "Größe, 'quoted' and \"so\""]) == 0
    assert tomllib.loads((place / "claims.toml").read_text(encoding="utf-8"))["paper"]["title"].startswith("Größe, ")
    assert ascii(str(place)) in (place / "README.md").read_text(encoding="utf-8")
