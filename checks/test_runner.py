"""The runner's contract: exit codes, JSON, evidence files, limits, stated skips, figures."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace

import pytest
from click.testing import CliRunner

from artifact.base import files
from artifact.base.errors import UserError
from artifact.base.stats import Interval
from artifact.statements.predicates import parse
from artifact.verdicts.decide import Verdict as EmpiricalVerdict
from artifact.verdicts.ledger import Claim
from artifact.verdicts.printed_numbers import comparisons
from checks import figures, report, runner
from checks.__main__ import main
from theory.kit.certificates import MissingSolver
from theory.kit.verdict import Check, Replay, Verdict, registry

CLAIM = Claim("demo", "qu2022", "Sec 1", "text", "A demonstration", "s", "h", "cpu-toy", expected="proved")


def passing():
    """Title.

    Statement: one is one. Assumptions: none. Method: look. Verdict: proved. Reference: none.
    """
    return Verdict("proved", {"certificate": "1 = 1"}, margin=0.5)


def endless():
    """Title."""
    while True:
        pass


def asleep():
    """Title."""
    time.sleep(60)


def without_solver():
    """Title."""
    raise MissingSolver("z3")


def failing():
    """Title."""
    raise ZeroDivisionError("no such number")


@pytest.fixture
def registered(monkeypatch):
    def register(function, **more):
        monkeypatch.setitem(registry.checks, "demo", Check("demo", function, **more))
        monkeypatch.setitem(figures.ledger(), "demo", CLAIM)
        return runner.Job(("demo",))

    return register


def _outcome(verdict="proved", **more):
    return runner.Outcome(CLAIM, verdict, {"certificate": "1 = 1"}, **more)


def test_execute_returns_plain_data(registered):
    result = runner.execute(registered(passing))
    words = {"by_program": {}, "same": 0, "in_words": ["1 = 1"]}
    evidence = {"certificate": "1 = 1", "label": "derived", "parts": words}
    assert (result["verdict"], result["evidence"], result["margin"]) == ("proved", evidence, 0.5)
    json.dumps(result["evidence"])


def test_a_verdict_is_kept_for_the_same_program_alone(registered, monkeypatch, tmp_path):
    """Three parts of a reproduction decide the same claims; a changed program, and a mutation, decide anew."""
    ran = []

    def counted(scale=1.0):
        ran.append(scale)
        return passing()

    counted.__module__ = "theory.demo"
    job = registered(counted)
    monkeypatch.setenv(runner.KEPT_VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(runner, "_program", lambda: "one")
    first, second = runner.execute(job), runner.execute(job)
    assert first == second and ran == [1.0]
    monkeypatch.setattr(runner, "_program", lambda: "another")
    runner.execute(job)
    runner.execute(replace(job, scale=2.0))
    assert ran == [1.0, 1.0, 2.0]
    monkeypatch.setattr(runner, "_program", lambda: "a third")
    job = registered(failing)
    monkeypatch.setattr(failing, "__module__", "theory.demo")
    assert runner.execute(job)["verdict"] == runner.execute(job)["verdict"] == "error"
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json"))
    assert found == ["kept/another/demo.json", "kept/one/demo.json"]


@pytest.mark.parametrize(("check", "limit", "least"), [(endless, 0.2, 0.2), (asleep, 0.05, 0.5)])
def test_a_limit_is_of_processor_seconds_and_of_ten_times_as_many_on_the_clock(check, limit, least, registered):
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGPROF)
    result = runner.execute(registered(check), limit=limit)
    assert result["verdict"] == "error" and f"limit of {limit:g} processor s" in result["evidence"]["error"]
    assert least <= result["seconds"] < 10 * least + 5
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGPROF)) == before


def test_failure_is_an_error_line(registered):
    result = runner.execute(registered(failing))
    assert result["verdict"] == "error" and result["evidence"]["error"] == "ZeroDivisionError: no such number"


def refuting():
    """Title.

    Statement: x <= 4.
    Assumptions: x is whole.
    Method: look.
    Verdict: refuted.
    Reference: none.
    """
    return Verdict("refuted", {"counterexample": {"x": 4}})


@pytest.mark.parametrize(
    ("replay", "verdict", "said"),
    [
        (Replay({"whole": True}, 5, 4), "refuted", ""),
        (Replay({"whole": True}, 4, 4), "error", "violates nothing: 4 <= 4"),
        (Replay({"whole": False}, 5, 4), "error", "does not meet whole"),
    ],
)
def test_a_refutation_whose_replay_confirms_nothing_is_an_error_of_its_check(registered, replay, verdict, said):
    result = runner.execute(registered(refuting, replay=lambda evidence: replay))
    assert (result["verdict"], result.get("raised", False)) == (verdict, verdict == "error")
    assert said in result["evidence"].get("error", "")


def test_missing_solver_is_a_stated_skip(registered):
    result = runner.execute(registered(without_solver))
    assert result["verdict"] == "not-run" and "z3-solver" in result["skipped"]
    outcome = _outcome("not-run", skipped=result["skipped"])
    assert outcome.as_expected
    assert report.problems([outcome]) == [f"skipped    demo: {result['skipped']}"]
    assert report.table([outcome]).splitlines()[1].startswith("s demo")


def test_unexpected_verdict_is_marked_and_listed():
    outcome = _outcome("refuted")
    assert not outcome.as_expected
    assert report.table([outcome]).splitlines()[1].startswith("! demo")
    assert report.problems([outcome]) == ["unexpected demo: refuted, the ledger expects proved"]
    assert not replace(outcome, verdict="error").as_expected


def test_claim_without_check_is_an_error_and_one_of_the_experiments_is_not_run():
    missing = runner._outcome(CLAIM, None, None)
    assert missing.verdict == "error" and "no check function" in missing.evidence["error"]
    later = runner._outcome(replace(CLAIM, decided_by="experiments", expected="not-run"), None, None)
    assert later.as_expected and later.verdict == "not-run" and later.evidence["reason"]


RUNS = EmpiricalVerdict(
    "demo", "qu2022", "A", "contradicted", "laptop", "a beats b", "a better than b: -2 [-3, -1] points (n=3)",
    margin=0.5, unit="points", interval=Interval(-2.0, -3.0, -1.0, 3), decided_by="a better than b", n=3,
)  # fmt: skip


def test_claim_of_the_experiments_takes_the_verdict_of_the_runs():
    claim = replace(CLAIM, decided_by="experiments", expected="contradicted")
    outcome = runner._outcome(claim, None, None, RUNS)
    assert outcome.as_expected and outcome.verdict == "contradicted" and outcome.margin == 0.5
    assert outcome.evidence["reason"] == RUNS.text and outcome.evidence["interval"]["low"] == -3.0
    assert not runner._outcome(replace(claim, expected="not-run"), None, None, RUNS).as_expected


def test_runs_give_a_second_verdict_beside_the_one_of_a_check():
    predicate = parse(
        {"type": "ordering", "says": "a beats b", "table": "qu2022/1", "within": ["c"], "order": ["a", "b"],
         "expected": "contradicted"}, "demo",
    )  # fmt: skip
    claim = replace(CLAIM, predicate=predicate)
    result = {"verdict": "proved", "evidence": {"certificate": "1 = 1"}, "seconds": 1.0, "drawn": {}}
    outcome = runner._outcome(claim, (runner.Job(("demo",)), result), None, RUNS)
    assert outcome.verdict == "proved" and outcome.as_expected
    assert outcome.evidence == {"certificate": "1 = 1"} and outcome.empirical == "contradicted"
    surprising = replace(outcome, empirical="reproduced")
    assert surprising.decided_as_expected and not surprising.as_expected
    text = "unexpected demo: the runs say reproduced, the ledger expects contradicted of them"
    assert report.problems([surprising]) == [text]
    assert report.beside([surprising, outcome]).endswith("verdicts): 1 reproduced, 1 contradicted")
    assert report.beside([_outcome()]) == ""


def test_one_function_shares_its_seconds_between_its_claims(monkeypatch):
    claims = [replace(CLAIM, id=name) for name in ("one", "two")]
    for claim in claims:
        monkeypatch.setitem(registry.checks, claim.id, Check(claim.id, passing))
    assert runner.jobs_for(claims) == [runner.Job(("one", "two"))]
    result = {"verdict": "proved", "evidence": {}, "seconds": 3.0, "drawn": {}}
    assert runner._outcome(claims[0], (runner.Job(("one", "two")), result), None).seconds == 1.5


def test_evidence_file(tmp_path):
    path = runner.store(_outcome(seconds=1.23456, margin=0.5), tmp_path)
    (line,) = path.read_text().splitlines()
    content = json.loads(line)
    assert content["id"] == "demo" and content["paper"] == path.stem == CLAIM.paper
    keys = ["id", "paper", "verdict", "expected", "evidence", "margin", "repaired"]
    keys += ["command", "versions", "seal"]
    assert list(content) == keys
    assert list(tmp_path.iterdir()) == [path]
    assert runner.stored(tmp_path)["demo"]["verdict"] == "proved"


def test_evidence_that_says_the_same_is_not_written_again(tmp_path, monkeypatch):
    path = runner.store(_outcome(seconds=1.0, margin=0.5), tmp_path)
    first = path.read_bytes(), path.stat().st_ino
    monkeypatch.setattr(runner, "versions", lambda: {"python": "9.9"})
    runner.store(_outcome(seconds=7.0, margin=0.5), tmp_path)
    assert (path.read_bytes(), path.stat().st_ino) == first
    runner.store(_outcome(seconds=7.0, margin=0.25), tmp_path)
    assert json.loads(path.read_text())["versions"] == {"python": "9.9"}
    path.write_text('{"id": "demo", ')
    runner.store(_outcome(margin=0.5), tmp_path)
    assert runner.stored(tmp_path)["demo"]["margin"] == 0.5


def test_error_removes_the_evidence_of_an_earlier_run(tmp_path):
    runner.store(_outcome(), tmp_path)
    assert runner.store(_outcome("error", raised=True), tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def dead_worker():
    """A worker that was killed before its job ended."""
    worker = runner._Worker((), 1.0, None)
    worker.process.kill()
    worker.begin(runner.Job(("demo",)))
    return worker


def test_a_killed_worker_costs_its_own_job_alone(monkeypatch):
    """It is replaced, and the jobs behind it are run."""
    jobs, begin = [runner.Job((name,)) for name in ("man-eq6", "man-eq7")], runner._Worker.begin

    def kill_first(worker, job):
        begin(worker, job)
        if job == jobs[0]:
            worker.process.kill()

    monkeypatch.setattr(runner._Worker, "begin", kill_first)
    results = runner.run_jobs(jobs, papers=["yashwanth2023"], workers=1)
    assert results[jobs[0]]["verdict"] == "error"
    assert "exit code -9" in results[jobs[0]]["evidence"]["error"] and results[jobs[1]]["verdict"] != "error"


def test_what_kept_a_check_from_its_end_leaves_the_stored_evidence(tmp_path, registered, dead_worker):
    """A limit and a dead worker say nothing of the claim; an error that the check raised does."""
    ends = [
        dead_worker.result(),
        runner.execute(registered(endless), limit=0.1),
        runner.execute(registered(failing)),
    ]
    for result, left in zip(ends, (1, 1, 0), strict=True):
        runner.store(_outcome(), tmp_path)
        outcome = runner._outcome(CLAIM, (runner.Job(("demo",)), result), None)
        assert outcome.verdict == "error" and runner.store(outcome, tmp_path) is None
        assert len(list(tmp_path.iterdir())) == left, outcome.evidence["error"]


def test_outcomes_are_passed_on_as_they_come_and_returned_in_ledger_order(monkeypatch, registered):
    job = registered(passing)
    unchecked = replace(CLAIM, id="unchecked")

    def run_jobs(jobs, *, papers, progress):
        assert jobs == [job] and papers == ["qu2022"]
        progress(job, runner.execute(job) | {"seconds": 1.0})

    monkeypatch.setattr(runner, "run_jobs", run_jobs)
    monkeypatch.setattr(runner, "import_theory", lambda papers: {})
    seen = []
    outcomes = runner.run_claims([unchecked, CLAIM], each=lambda outcome: seen.append(outcome.claim.id))
    assert seen == ["demo", "unchecked"]
    assert [(o.claim.id, o.verdict) for o in outcomes] == [("unchecked", "error"), ("demo", "proved")]


def test_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    files.write_atomic(path, "old")
    monkeypatch.setattr(files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(UserError):
        files.write_atomic(path, "new")
    assert path.read_text() == "old" and [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_record_has_the_documented_keys():
    assert list(_outcome().record) == ["id", "paper", "verdict", "evidence", "margin", "repaired", "seconds"]


def test_totals_and_readme_count():
    outcomes = [_outcome(), _outcome("refuted"), _outcome("error")]
    assert report.totals(outcomes).splitlines()[-1].split() == ["all", "1", "1", "1", "3"]
    table = report.readme([CLAIM, replace(CLAIM, id="two")], {"demo": {"verdict": "proved"}})
    assert table.splitlines()[0] == "On paper: 2 claims, of which a check decides 1."
    assert table.splitlines()[2] == "| paper | proved | missing | total |"
    assert table.splitlines()[-1] == "| all | 1 | 1 | 2 |"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--claim", "no-such"], "no-such"),
        (["--paper", "no-such"], "no-such"),
        (["--no-such"], "--no-such"),
        (["--limit", "-1"], "--limit"),
        (["--workers", "0"], "--workers"),
        (["--limit", "soon"], "soon"),
        (["--claim", "fan24-thm1", "--no-store", "--limit", "1e300"], "86400"),
    ],
)
def test_bad_value_ends_in_one_line_and_code_two(arguments, named):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2 and named in result.output and len(result.output.strip().splitlines()) == 1


def test_command_decides_a_claim_and_prints_json():
    result = CliRunner().invoke(main, ["--claim", "man-eq6", "--json", "--no-store"])
    (record,) = json.loads(result.output)
    assert (record["id"], record["paper"], record["verdict"]) == ("man-eq6", "yashwanth2023", "proved")
    assert result.exit_code == 0 and record["evidence"]["certificate"]


GENERIC = [
    ("proved", {"certificate": "x = x"}),
    ("holds", {"evaluations": 1000, "worst_ratio": 0.5, "function_class": "lines", "seed": 0, "history": [0.1, 0.5]}),
    ("inconsistent", {"printed": ["1.0", "n/a"], "derived": [1.3, "x"], "where": ["a", "b"]}),
    ("consistent", {"printed": {"a": "1.0"}, "derived": {"a": 1.0}}),
    ("inconsistent", {"printed": "2", "derived": "3"}),
    ("vacuous", {"reason": "the right side is infinite"}),
    ("not-run", {"reason": "needs a figure that the text lacks"}),
]


@pytest.mark.parametrize(("verdict", "evidence"), GENERIC)
def test_generic_figure(verdict, evidence, registered, tmp_path):
    registered(passing)
    figures.draw("demo", {"verdict": verdict, "evidence": evidence}, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").stat().st_size > 5000


def test_figure_of_an_empirical_claim(tmp_path):
    rows = [
        {"label": f"a better than {i}", "mean": 1.0 - i / 10, "low": 0.5 - i / 10, "high": 1.5 - i / 10, "margin": 0.2}
        for i in range(30)
    ]
    evidence = {"comparisons": rows, "unit": "points", "says": "a beats 30 others", "n": 3, "profile": "laptop"}
    figures.draw_comparisons(CLAIM, evidence, "contradicted", tmp_path / "demo.png")
    assert (tmp_path / "demo.png").stat().st_size > 10000


def test_disagreeing_rows_come_first():
    rows = comparisons({"printed": ["1.0", "2.0"], "derived": [1.04, 2.06]})
    assert [row[3] for row in rows] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--limit", "nan"], ("limit", "nan")), (["--figures", "/dev/null/x"], ("out", "/dev/null/x"))],
)
def test_a_bad_option_is_one_line_before_any_check(arguments, words):
    done = CliRunner().invoke(main, ["--claim", "fan24-thm1", "--no-store", *arguments])
    assert done.exit_code == 2 and len(done.output.splitlines()) == 1
    assert done.output.startswith("error: ") and all(word in done.output for word in words)
