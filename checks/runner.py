"""Runs checks in worker processes and compares their verdicts with the ledger.

A job is one check function, perhaps with a mutated constant; it decides every claim that the function is registered
for. Workers import the theory packages themselves, so nothing but plain data crosses the process border, and the
evidence that a test replays is the evidence that is stored.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import multiprocessing
import os
import platform
import re
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from artifact.accelerate import choose
from artifact.base import family
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.own_code import guarded, line_of
from artifact.papers import folders
from artifact.report import fingerprints
from artifact.runs import evidence as stored_evidence
from artifact.runs.processes import ENDING, end_with_driver
from artifact.verdicts.decide import Verdict, decide_all
from artifact.verdicts.ledger import PAPERS, Claim

#: processor seconds that a check may take, so that a busy machine stops none; on the clock it has ten times as long
LIMIT_SECONDS = 120.0
WORKERS = 2
STORE = Path(__file__).resolve().parents[1] / "results" / "checks"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "torch")
#: a folder in which results of checks are kept for other processes of one reproduction: the tests, the list of
#: verdicts and the notebooks decide the same claims with the same program
KEPT_VARIABLE = "FEDSHARP_KEPT_CHECKS"


class TimeLimit(Exception):
    """A check ran past its limit."""


@dataclass(frozen=True)
class Job:
    """claims: ids that one function decides. scale: factor on the constant under test, None for the claim itself."""

    claims: tuple[str, ...]
    scale: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of one claim.

    verdict: of the check, or of the stored runs where the experiments decide; "not-run" where those or a solver are
    missing; "error" where the check failed. evidence: plain data. margin: left/right at the worst point, or the margin
    that a paired interval was held against, or None. repaired: corrected statement or None. seconds: share of the
    function's wall time. skipped: why nothing was decided, where that is a stated skip. figure: path of the drawn
    figure. empirical: verdict of the stored runs beside the check's own, for a claim that has both. raised: the error
    is one that the check itself raised, not a limit on it or a dead worker.
    """

    claim: Claim
    verdict: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    margin: float | str | None = None
    repaired: str | None = None
    seconds: float = 0.0
    skipped: str | None = None
    figure: str | None = None
    empirical: str | None = None
    raised: bool = False

    @property
    def decided_as_expected(self) -> bool:
        """A stated skip is listed, not failed; everything else must equal the ledger's ``expected``."""
        return self.skipped is not None or (self.verdict == self.claim.expected and self.verdict != "error")

    @property
    def as_expected(self) -> bool:
        """The empirical verdict beside the first one must be the ledger's too."""
        return self.decided_as_expected and self.empirical in (None, self.claim.expected_empirical)

    @property
    def record(self) -> dict[str, Any]:
        """The entry of ``python -m checks --json``."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "verdict": self.verdict,
            "evidence": self.evidence,
            "margin": self.margin,
            "repaired": self.repaired,
            "seconds": round(self.seconds, 2),
        }


def plain(value: Any) -> Any:
    """Evidence as JSON: arrays and tuples as lists, rationals as "p/q", other numbers, inf and nan as their text."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    return str(value)


def import_theory(papers: Sequence[str] = PAPERS) -> dict[str, str]:
    """Import the papers' packages, which registers their checks. Returns paper -> error text for those that fail."""
    errors = {}
    for paper in papers:
        if paper in folders.AUDITS:
            errors |= _import_statements(folders.AUDITS[paper])
            continue
        name = f"theory.{paper}"
        if importlib.util.find_spec(name) is None:
            errors[paper] = f"package {name} does not exist"
            continue
        try:
            importlib.import_module(name)
        except Exception as error:
            errors[paper] = f"package {name} does not import: {type(error).__name__}: {error}"
    return errors


def _import_statements(audit: folders.Audit) -> dict[str, str]:
    """The same for the file of an audit; nothing where it has none."""
    name = f"statements of {audit.key}"
    if name in sys.modules or not audit.statements.is_file():
        return {}
    spec = importlib.util.spec_from_file_location(name, audit.statements.absolute())
    assert spec is not None and spec.loader is not None  # of a file that is there
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with guarded(audit.statements, "statements"):
            exec(compile(audit.statements.read_bytes(), str(audit.statements.absolute()), "exec"), vars(module))
    except (Exception, SystemExit) as error:  # the author's own code may raise anything
        del sys.modules[name]
        where = f"{audit.statements}, line {line_of(str(audit.statements), error)}"
        return {audit.key: f"{type(error).__name__}: {error} ({where})"}
    return {}


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimit in the main thread after so many processor seconds, or ten times as many on the clock.

    A long call inside a C library ends first.
    """
    timers = (signal.ITIMER_PROF, signal.SIGPROF, 1), (signal.ITIMER_REAL, signal.SIGALRM, 10)

    def expire(*_):
        raise TimeLimit(f"ran past the limit of {seconds:g} processor seconds, or of {10 * seconds:g} s on the clock")

    before = {number: signal.signal(number, expire) for _, number, _ in timers}
    for timer, _, times in timers:
        signal.setitimer(timer, times * seconds)
    try:
        yield
    finally:
        for timer, number, _ in timers:
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def execute(job: Job, limit: float = LIMIT_SECONDS, figures: Path | None = None) -> dict[str, Any]:
    """Run one job in this process: verdict as plain data, or the text of what went wrong. Never raises.

    Where ``$FEDSHARP_KEPT_CHECKS`` names a folder, a verdict that the same program has reached is taken from there.
    """
    kept = _kept(job)
    if kept and kept.exists():
        result = {**json.loads(kept.read_text(encoding="utf-8")), "job": job, "drawn": {}}
    else:
        result = _decide(job, limit)
        if kept and result["verdict"] not in ("not-run", "error"):
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(kept, json.dumps({name: result[name] for name in result if name not in ("job", "drawn")}))
    if figures and result["verdict"] != "error" and not result.get("skipped"):
        result["drawn"] = _draw_all(job, result, figures, limit)
    return result


def _kept(job: Job) -> Path | None:
    """The file of a job's result, by all that it depends on; None where nothing is kept. Mutations are always run."""
    from theory.kit.verdict import registry

    folder, function = os.environ.get(KEPT_VARIABLE), registry.checks[job.claims[0]].function
    if not folder or job.scale is not None or not function.__module__.startswith("theory."):
        return None
    first = min(claim for claim, check in registry.checks.items() if check.function is function)
    return Path(folder) / _program() / f"{first}.json"


@cache
def _program() -> str:
    """Fingerprint of the program, the ledger, the stored runs and the versions of the packages."""
    unit = os.environ.get(choose.PROCESSOR_VARIABLE, "")
    return fingerprints.digest(fingerprints.sources(), fingerprints.records([STORE.parent]), unit, *versions().values())


def _decide(job: Job, limit: float) -> dict[str, Any]:
    """The check's verdict as plain data, or the text of what went wrong."""
    from checks import labels
    from theory.kit import formula
    from theory.kit.certificates import MissingSolver
    from theory.kit.verdict import DECIDED, registry

    check = registry.checks[job.claims[0]]
    start, others = time.perf_counter(), family.descendants(os.getpid())
    formula.MADE.clear()
    result: dict[str, Any] = {"job": job, "drawn": {}}
    try:
        with time_limit(limit):
            verdict = check.run() if job.scale is None else check.run(scale=job.scale)
        result |= {"verdict": verdict.verdict, "evidence": plain(verdict.evidence), "repaired": verdict.repaired}
        # what is changed may be refuted by an instance that the replay does not know
        if job.scale is None and not formula.CHANGED:
            result["evidence"] |= contest(check, verdict.verdict, result["evidence"])
            typed = not check.function.__module__.startswith("theory.")
            result["evidence"] |= labels.labelled(verdict.verdict, result["evidence"], DECIDED, typed)
            result["evidence"] |= {"formulas": [made.latex for made in formula.MADE]} if formula.MADE else {}
        result["margin"] = plain(None if verdict.margin is None else float(verdict.margin))
    except MissingSolver as error:
        result |= {"verdict": "not-run", "evidence": {"reason": str(error)}, "skipped": str(error)}
    except Exception as error:
        raised = not isinstance(error, TimeLimit)
        if not raised:  # what the check has started ends with it
            family.end_descendants(os.getpid(), spared=others)
        text = f"{type(error).__name__}: {error}" if raised else str(error)
        result |= {"verdict": "error", "evidence": {"error": text, "traceback": traceback.format_exc(limit=-4)}}
        result["raised"] = raised
    result["seconds"] = time.perf_counter() - start
    return result


def contest(check: Any, verdict: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What an author needs to contest a refutation: the instance in words, its assumptions, both sides from the replay.

    instance: losses, start, cohort and steps, as the check's docstring states them. assumptions: name -> "tested" or
    ``BY_CONSTRUCTION``, also for one of an audit that no change of the instance breaks. sides: left, right and the
    relation that fails. refutation: its label.
    Raises ValueError for a replay that confirms nothing.
    """
    if verdict not in ("refuted", "repaired") or check.replay is None or "counterexample" not in evidence:
        return {}
    from checks.breaking import never_broken
    from checks.figures import sections
    from checks.labels import of_refutation
    from theory.kit.verdict import BY_CONSTRUCTION

    replay = check.replay(evidence)
    confirm(replay)
    tested = {name: held if isinstance(held, str) else "tested" for name, held in replay.assumptions.items()}
    if not check.function.__module__.startswith("theory."):  # for the papers' own checks a test does this
        tested |= dict.fromkeys(never_broken(check, evidence), BY_CONSTRUCTION)
    sides = {"left": replay.left, "right": replay.right, "relation": replay.relation}
    words = sections(check)
    instance = f"Assumptions: {words['Assumptions']} Method: {words['Method']}"
    label = of_refutation((replay.left, replay.right), tested)
    return plain({"instance": instance, "assumptions": tested, "sides": sides, "refutation": label})


def confirm(replay: Any) -> None:
    """Raises ValueError where a replay refutes nothing: the statement holds there, or an assumption fails."""
    if not replay.assumptions:
        raise ValueError("the replay names no assumption of the refuted statement")
    if failing := [name for name, held in replay.assumptions.items() if not held]:
        raise ValueError(f"the replayed counterexample does not meet {', '.join(failing)}")
    if not replay.violated:
        raise ValueError(
            f"the counterexample, replayed, violates nothing: {replay.left} {replay.relation} {replay.right}"
        )


def _draw_all(job: Job, result: Mapping[str, Any], folder: Path, limit: float) -> dict[str, str]:
    """Figures of a job's claims from plain evidence: claim id -> path, or the error text after "error: "."""
    from checks.figures import draw

    drawn = {}
    for claim in job.claims:
        path = folder / f"{claim}.png"
        try:
            with time_limit(limit):
                draw(claim, result, path)
            drawn[claim] = str(path)
        except Exception as error:
            drawn[claim] = f"error: {type(error).__name__}: {error}"
    return drawn


def _serve(pipe: Connection, papers: Sequence[str], audits: Sequence[Path], limit: float, figures: Path | None) -> None:
    """A worker process: one job after the other until the driver closes the pipe or is no more."""
    for name in set(ENDING) - {signal.SIGTERM}:  # they reach the whole process group; the driver deals with them
        signal.signal(name, signal.SIG_IGN)
    end_with_driver()
    warnings.simplefilter("ignore")  # they would interleave with the progress bar; pytest shows them
    for folder in audits:
        folders.open_audit(folder)
    import_theory(papers)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(execute(pipe.recv(), limit, figures))


class _Worker:
    """The driver's side of a worker process."""

    def __init__(self, *told: Any):
        processes = multiprocessing.get_context("spawn")
        self.pipe, theirs = processes.Pipe()
        self.process = processes.Process(target=_serve, args=(theirs, *told), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, job: Job) -> None:
        self.job = job
        with suppress(OSError):  # it is no more, which ``result`` finds out
            self.pipe.send(job)

    def result(self) -> dict[str, Any]:
        """Of the job that it began; its death is an error of that job alone."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            text = f"worker process failed: it ended with exit code {self.process.exitcode}"
            return {"verdict": "error", "evidence": {"error": text}, "seconds": 0.0, "drawn": {}}


def run_jobs(
    jobs: Sequence[Job],
    *,
    papers: Sequence[str] = PAPERS,
    limit: float = LIMIT_SECONDS,
    workers: int = WORKERS,
    figures: Path | None = None,
    progress: Callable[[Job, dict[str, Any]], None] = lambda job, result: None,
) -> dict[Job, dict[str, Any]]:
    """Run jobs in ``workers`` processes with one thread each; progress is called for every result.

    Workers take jobs from both ends in turn, since neighbours share theorems, whose runs a process makes once.
    A worker that dies gives an error result and is replaced.
    """
    results: dict[Job, dict[str, Any]] = {}
    audits = tuple(audit.folder for audit in folders.AUDITS.values())
    queue, told = deque(jobs), (tuple(papers), audits, limit, figures)
    pool: dict[_Worker, Callable[[], Job]] = {}  # the end of the queue from which each takes

    def start(take: Callable[[], Job]) -> None:
        worker = _Worker(*told)
        pool[worker] = take
        worker.begin(take())

    with _single_threaded():
        try:
            for number in range(min(workers, len(jobs))):
                start(queue.pop if number % 2 else queue.popleft)
            while pool:
                ready = wait([worker.pipe for worker in pool])
                for worker in [worker for worker in pool if worker.pipe in ready]:
                    results[worker.job] = worker.result()
                    progress(worker.job, results[worker.job])
                    if queue and worker.process.is_alive():
                        worker.begin(pool[worker]())
                        continue
                    take = pool.pop(worker)
                    worker.pipe.close()
                    worker.process.join()
                    if queue:
                        start(take)
        finally:
            for worker in pool:
                family.end(worker.process.pid)
                worker.process.join()
    return results


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Worker processes read these variables when they import numpy and torch."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def jobs_for(claims: Iterable[Claim]) -> list[Job]:
    """One job per check function that decides any of the claims (papers must have been imported)."""
    from theory.kit.verdict import registry

    groups: dict[Any, list[str]] = {}
    for claim in claims:
        if claim.decided_by == "checks" and claim.id in registry.checks:
            groups.setdefault(registry.checks[claim.id].function, []).append(claim.id)
    return [Job(tuple(ids)) for ids in groups.values()]


def mutations(claims: Iterable[str]) -> dict[Job, str]:
    """One job per check function of the claims and scale that it declares -> the verdict that it declares."""
    from theory.kit.verdict import registry

    groups: dict[Any, list[str]] = {}
    for name in claims:
        groups.setdefault(registry.checks[name].function, []).append(name)
    return {
        Job(tuple(names), scale): verdict
        for names in groups.values()
        for scale, verdict in registry.checks[names[0]].mutations
    }


def run_claims(
    claims: Sequence[Claim], *, each: Callable[[Outcome], None] = lambda outcome: None, **options: Any
) -> list[Outcome]:
    """Outcomes in ledger order. each: called for an outcome as soon as it is known. options: see ``run_jobs``."""
    papers = sorted({claim.paper for claim in claims}, key=PAPERS.index)
    errors = import_theory(papers)
    by_id = {claim.id: claim for claim in claims}
    outcomes: dict[str, Outcome] = {}
    empirical = {verdict.id: verdict for verdict in decide_all(claims)}

    def keep(claim: Claim, found: tuple[Job, dict[str, Any]] | None) -> None:
        outcomes[claim.id] = _outcome(claim, found, errors.get(claim.paper), empirical.get(claim.id))
        each(outcomes[claim.id])

    def progress(job: Job, result: dict[str, Any]) -> None:
        for name in job.claims:
            keep(by_id[name], (job, result))

    run_jobs(jobs_for(claims), papers=papers, progress=progress, **options)
    for claim in claims:
        if claim.id not in outcomes:
            keep(claim, None)
    in_order = [outcomes[claim.id] for claim in claims]
    if options.get("figures"):
        _draw_undecided(in_order, options["figures"])
    return in_order


def _draw_undecided(outcomes: Iterable[Outcome], folder: Path) -> None:
    """Figures of the claims that no check function decides: their comparisons, or a card with the reason."""
    from checks.figures import draw_card, draw_comparisons

    for outcome in outcomes:
        if outcome.claim.decided_by != "experiments" and not outcome.skipped:
            continue
        path = folder / f"{outcome.claim.id}.png"
        if outcome.evidence.get("comparisons"):
            draw_comparisons(outcome.claim, outcome.evidence, outcome.verdict, path)
        else:
            draw_card(outcome.claim, {"Statement": outcome.claim.statement, "Reason": outcome.evidence["reason"]}, path)


def _outcome(
    claim: Claim, found: tuple[Job, dict[str, Any]] | None, import_error: str | None, empirical: Verdict | None = None
) -> Outcome:
    if claim.decided_by == "experiments":
        return _of_the_runs(claim, empirical)
    if found is None:
        return Outcome(claim, "error", {"error": import_error or "no check function and no decided_by"})
    job, result = found
    return Outcome(
        claim,
        result["verdict"],
        result["evidence"],
        result.get("margin"),
        result.get("repaired"),
        result["seconds"] / len(job.claims),
        result.get("skipped"),
        result["drawn"].get(claim.id),
        empirical.verdict if empirical else None,
        result.get("raised", False),
    )


def _of_the_runs(claim: Claim, found: Verdict | None) -> Outcome:
    """A claim that training decides: the verdict of the committed store, with what decided it as the reason."""
    if found is None:
        return Outcome(claim, "not-run", {"reason": "decided by the experiments; the store was not asked"})
    record = plain(found.record)
    evidence = {"reason": record.pop("text"), **{k: v for k, v in record.items() if k not in ("id", "paper", "title")}}
    return Outcome(claim, found.verdict, evidence, found.margin if found.interval else None)


def unknown_checks(claims: Iterable[Claim]) -> list[str]:
    """Ids that a theory package registers although the ledger lacks them (or gives them to the experiments)."""
    from theory.kit.verdict import registry

    ledger = {claim.id: claim for claim in claims}
    return [i for i in registry.checks if i not in ledger or ledger[i].decided_by != "checks"]


def registered_in(file: Path) -> dict[str, int]:
    """Ids under which a file has registered checks -> line of the check."""
    from theory.kit.verdict import registry

    codes = {name: check.function.__code__ for name, check in registry.checks.items()}
    own = str(file.absolute())
    return {name: code.co_firstlineno for name, code in codes.items() if code.co_filename == own}


#: processor seconds of a trial
TRIAL_SECONDS = 20.0


def tried(claim: str) -> tuple[str, UserError | None, int | None]:
    """The verdict of the claim's check, tried in this process on a few problems; what it raised, and the file's line.

    A check that a few problems are too few for is tried on all of them. One that takes longer is left to ``run_jobs``.
    """
    from theory.kit import effort

    job = Job((claim,))
    with effort.at_most(effort.FEW):
        result = execute(job, TRIAL_SECONDS)
    if result.get("raised"):
        result = execute(job, TRIAL_SECONDS)
    if not result.get("raised"):
        return result["verdict"], None, None
    error = " ".join(str(result["evidence"]["error"]).split())
    fault = UserError("statements", claim, f"a check that returns a verdict: {error}")
    return "error", fault, _last_line(claim, result)


def _last_line(claim: str, result: Mapping[str, Any]) -> int | None:
    """The line of the check's own file that an error came through."""
    from theory.kit.verdict import registry

    file = registry.checks[claim].function.__code__.co_filename
    lines = re.findall(rf'File "{re.escape(file)}", line (\d+)', str(result["evidence"].get("traceback", "")))
    return int(lines[-1]) if lines else None


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def store(outcome: Outcome, folder: Path = STORE) -> Path | None:
    """Write one claim's evidence; the file of its paper. An error is not evidence: it removes what an earlier run left.

    What kept a check from its end (the limit, a dead worker) says nothing against what an earlier run found.
    Evidence that says the same stays as it is, also where other versions of the packages now find it. Evidence has no
    clock time: how long a check took is in the table that the command prints.
    """
    path = folder / f"{outcome.claim.paper}{stored_evidence.SUFFIX}"
    if outcome.verdict == "error":
        if outcome.raised:
            stored_evidence.remove(path, outcome.claim.id)
        return None
    content = {
        "id": outcome.claim.id,
        "paper": outcome.claim.paper,
        "verdict": outcome.verdict,
        "expected": outcome.claim.expected,
        "evidence": outcome.evidence,
        "margin": outcome.margin,
        "repaired": outcome.repaired,
        "command": folders.checked_by(outcome.claim.paper, outcome.claim.id),
        "versions": versions(),
    }
    content = plain(content)
    if _without_versions(stored_evidence.find(path, outcome.claim.id)) != _without_versions(content):
        stored_evidence.put(path, content)
    return path


def _without_versions(content: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (content or {}).items() if name != "versions"}


def stored(folder: Path = STORE) -> dict[str, dict[str, Any]]:
    """Claim id -> stored evidence of its check."""
    return stored_evidence.read_all(folder)
