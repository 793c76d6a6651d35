"""The declared estimate: the mean of a seed's eight differences, over ten seeds, and the rule that was declared."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from artifact.base.stats import Interval
from artifact.papers import experiments
from artifact.report import headlines
from artifact.report.prose import fits
from artifact.verdicts.estimate import Estimate, estimate, estimate_command, lines

NAMES = "horizon/fashion-mnist", "fedsmoo", "feddyn"


def planted(monkeypatch, difference, seeds=range(10, 20)):
    """FedDyn has 80 everywhere, FedSMOO as much more as ``difference(column, seed)`` says."""
    columns = [cell.column.id for cell in experiments.select(NAMES[0], "laptop", row="fedsmoo")]

    def by_seed(cell, stored):
        more = difference if cell.row.id == "fedsmoo" else lambda column, seed: 0.0
        return {seed: 80 + more(columns.index(cell.column.id), seed) for seed in seeds}

    monkeypatch.setattr(experiments, "by_seed", by_seed)


def test_the_interval_is_over_seeds_alone(monkeypatch):
    """Columns differ by far more than seeds do: seed s has column / 2 + (-1)^s, whose mean over 0 ... 7 is 1.75.

    Ten values of 1.75 +- 1 have the standard deviation sqrt(10/9), the standard error 1/3 and, with t(9) = 2.2622, the
    half width 0.754.
    """
    planted(monkeypatch, lambda column, seed: column / 2 + (-1) ** seed)
    table = lines(estimate(*NAMES, {}))
    assert len(table) == 2 + 8 + 1
    assert table[-1].endswith("| +1.75 [+1.00, +2.50] (n=10); the interval excludes zero: FedSMOO is better |")
    assert table[2].endswith("| 80.00 | 80.00 | +0.00 [-0.75, +0.75] (n=10) |")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.01, 3.0, "the interval excludes zero: FedSMOO is better"),
        (0.01, 0.5, "the interval excludes zero: FedSMOO is better, by at most 0.5 points"),
        (-3.0, -0.01, "the interval excludes zero: FedSMOO is worse"),
        (-0.5, 0.5, "the interval lies within 0.5 points of zero"),
        (-0.51, 0.2, "open"),
        (-0.2, 0.51, "open"),
    ],
)
def test_the_answer_follows_the_declared_rule(low, high, said):
    assert Estimate("FedSMOO", "FedDyn", {}, Interval((low + high) / 2, low, high, 10)).answer == said


def test_nothing_is_said_before_all_declared_seeds_are_there(monkeypatch, tmp_path, capsys):
    planted(monkeypatch, lambda column, seed: 1.0, seeds=range(10, 19))
    assert estimate(*NAMES, {}) is None
    with pytest.raises(SystemExit) as end:
        estimate_command([*NAMES, "--out", str(tmp_path)])
    assert end.value.code == 2 and "every declared seed of fedsmoo and feddyn" in capsys.readouterr().err


def test_the_front_says_it_in_a_paragraph_that_is_read_once(monkeypatch, content):
    """Nothing before the runs are there; then one interval, its n, level and scale."""
    said = headlines._estimated.__wrapped__
    monkeypatch.setattr(headlines, "estimate", lambda *asked: None)
    assert said() == []
    entry = SimpleNamespace(
        cell=SimpleNamespace(row=SimpleNamespace(id="feddyn")),
        runs=[SimpleNamespace(config=lambda: {"rounds": 400, "dataset": "fashion-mnist", "model": "mlp-64"})],
    )
    monkeypatch.setattr(headlines, "_entries", lambda table: [entry])
    found = Estimate("FedSMOO", "FedDyn", {}, Interval(0.2, 0.1, 0.3, 10))
    monkeypatch.setattr(headlines, "estimate", lambda *asked: found)
    ((about, text),) = said()
    assert about == "FedSMOO and FedDyn" and fits(text)
    assert text.startswith("After 400 rounds FedSMOO minus FedDyn is +0.20 [+0.10, +0.30] points")
    assert "(95 %, n=10; Fashion-MNIST, small perceptron; `docs/protocol.md`)" in text
