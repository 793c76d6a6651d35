"""What ``./reproduce.sh`` runs: the steps of each profile, with what they need and how long they take."""

from __future__ import annotations

from dataclasses import dataclass

from artifact.base import paths

#: folders of papers that came in by a folder of their own
AUDITS = tuple(f"audits/{file.parent.name}" for file in sorted((paths.ROOT / "audits").glob("*/claims.toml")))
#: data sets that a profile needs beyond the handwritten digits, which come with the package
DATA_SETS = {
    "laptop": ("mnist", "fashion-mnist", "cifar10"),
    "paper": ("mnist", "fashion-mnist", "emnist", "cifar10", "cifar100"),
}
PROFILES = ("quick", "laptop", "paper")


@dataclass(frozen=True)
class Step:
    """One command of a replication.

    name: also that of the log. what: for the reader. command: arguments of ``python -m``.
    minutes: on two idle cores; None where the step itself says how long it will take.
    after: names of steps that must have ended before. alone: it keeps all cores busy, so nothing runs beside it.
    makes: what must be there for the step to count as done. shows: a page that can be opened once the step is done.
    """

    name: str
    what: str
    command: str
    minutes: float | None
    after: tuple[str, ...] = ()
    alone: bool = False
    makes: tuple[str, ...] = ()
    shows: str = ""


def steps(profile: str) -> list[Step]:
    """The steps of a profile, in the order in which they are started."""
    return _smoke() if profile == "smoke" else _replication(profile)


def _replication(profile: str) -> list[Step]:
    figures = f"out/{profile}/figures"
    everything = " --everything" if profile == "paper" else ""
    lookup = " --lookup" if profile == "paper" else ""  # its cells at the paper's setting are asked for by name
    variants = "laptop" if profile == "paper" else profile  # discrepancies have no setting of the papers' own
    report, page = " ".join(["artifact report", *(f"--audit {folder}" for folder in AUDITS)]), "out/report/index.html"
    fetched = [
        Step(f"data-{name}", f"the data set {name}", f"artifact data fetch {name}", 0.5)
        for name in DATA_SETS.get(profile, ())
    ]
    trained = ("runs",)
    audits = [
        Step(
            f"audit-{folder.rpartition('/')[2]}",
            "a paper that stands in a folder of its own",
            f"artifact audit run {folder} --profile {profile}{lookup} --no-store --no-report",
            0.4,
            after=trained,
        )
        for folder in AUDITS
    ]
    drawn = ("tables", "figures", "variants", "checks-drawn", "costs", "verdicts", *(step.name for step in audits))
    return [
        Step("report-of-stored-evidence", "the report of the stored evidence", report, 0.8, makes=(page,), shows=page),
        *fetched,
        Step("checks", "theory claims decided, compared with the ledger", "checks --no-store", 2.5, alone=True),
        Step(
            "runs",
            "every run that a table or a figure needs",
            f"artifact sweep --profile {profile}{everything}",
            1.8 if profile == "quick" else None,
            after=("checks", *(step.name for step in fetched)),
            alone=True,
        ),
        Step(
            "figures",
            "every figure: PNG, PDF, data",
            f"artifact figure all --profile {profile} --folder {figures}",
            3.2,
            after=trained,
            makes=(figures,),
        ),
        Step(
            "tables",
            "every table, ours beside the paper's, paired by seed",
            f"artifact table all --profile {profile} --figures {figures}",
            1.0,
            after=trained,
            makes=(figures,),
        ),
        Step(
            "variants",
            "what the released codes change, paired by seed",
            f"artifact variants --profile {variants} --figures {figures}",
            0.1,
            after=trained,
            makes=(figures,),
        ),
        Step(
            "checks-drawn",
            "the figures of the checks, from their evidence",
            "checks --draw",
            0.8,
            after=("checks",),
            makes=("out/figures",),
        ),
        Step("costs", "what every method costs, counted, beside the papers' figures", "artifact costs", 0.1),
        Step("verdicts", "what the stored runs say of the claims", "artifact verdicts", 0.1, after=trained),
        *audits,
        Step(
            "notebooks", "the notebooks, executed", "notebooks", 1.0, after=drawn, alone=True, makes=("out/notebooks",)
        ),
        Step(
            "report",
            "the report with your own runs",
            report,
            0.8,
            after=("report-of-stored-evidence", "notebooks", *drawn),
            makes=(page,),
            shows=page,
        ),
    ]


def _smoke() -> list[Step]:
    return [
        Step(
            "tests",
            "the tests of the optimisers, of the base and of the layers",
            "pytest -q -p no:cacheprovider tests/optim tests/base tests/test_house.py",
            0.5,
        ),
        Step(
            "training",
            "two rounds of FedSAM on the handwritten digits",
            "artifact run --algorithm fedsam --model mlp-16 --rounds 2 --out out/smoke/runs --quiet",
            0.1,
        ),
        Step("claim", "one claim of theory, decided", "checks --claim thesis-fig3.1-concl --no-store", 0.1),
        Step("verdict", "one claim of training, from the stored runs", "artifact verdicts --claim sun23-tab2", 0.1),
    ]
