"""Predicates of the ledger against what is declared, and the page and the command that show their verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from artifact.base.errors import UserError
from artifact.base.stats import Crossing
from artifact.papers import experiments
from artifact.papers.experiments import Cell
from artifact.statements.comparisons import Spent, tree
from artifact.verdicts import ledger
from artifact.verdicts.command import verdicts_command
from artifact.verdicts.finding_rule import finding
from artifact.verdicts.lookup import Evidence, Store, reader

LEDGER = ledger.load()


class Anything(Store):
    """Numbers for every declared cell and panel, so that only names can be missing."""

    def __init__(self):
        super().__init__(Path("nowhere"))
        self.generator = np.random.default_rng(0)

    def runs(self, cell: Cell):
        return {key: [] for key in range(3)}

    def values(self, cell, measure):
        if measure != "metric":
            reader(measure)
        return dict(enumerate(self.generator.normal(size=3)))

    def spent(self, cell, target):
        return {seed: Spent(Crossing(10 * (seed + 1), 9, False, 40), 1.0) for seed in range(3)}

    def lines(self, panel):
        by_label = {}
        for series in panel.series:
            by_label.setdefault(series.label, []).append(series.x)
        swept = sorted({x for series in by_label.values() for x in series if x is not None})
        points = swept or [0.25, 0.5, 0.75, 1.0]
        values = self.generator.normal(50, size=(3, len(points))).tolist()
        return [{"label": name, "seeds": [0, 1, 2], "keys": [], "x": points, "values": values} for name in by_label]


def _declared(predicate, profile):
    """Whether the predicate's table has the profile, or one of its panels is drawn at it."""
    if predicate.of_figure:
        return any(not panel.not_run for panel in Store(Path("nowhere")).panels(predicate.table, profile))
    return profile in experiments.find(predicate.table)[1].profiles


PLACES = [(c.id, p) for c in LEDGER if c.predicate for p in c.predicate.profiles if _declared(c.predicate, p)]


def test_every_predicate_can_be_decided_at_some_profile():
    assert {name for name, _ in PLACES} == {c.id for c in LEDGER if c.predicate}


@pytest.mark.parametrize(("claim_id", "profile"), PLACES)
def test_every_predicate_of_the_ledger_names_what_is_declared(claim_id, profile):
    one = next(c for c in LEDGER if c.id == claim_id)
    node = tree(one.predicate, Evidence(one.predicate, profile, Anything()))
    assert finding(node, None, 0.5).word in ledger.EMPIRICAL[:-1]


def test_every_claim_of_the_experiments_has_a_predicate_or_a_reason():
    left = [c for c in LEDGER if c.decided_by == "experiments"]
    assert left and [c.id for c in left if bool(c.predicate) == bool(c.undecided)] == []


def test_command_prints_verdicts_as_text_and_json():
    result = CliRunner().invoke(verdicts_command, ["--claim", "thesis-tab5.4", "--json"])
    (record,) = json.loads(result.output)
    assert result.exit_code == 0 and record["id"] == "thesis-tab5.4" and record["profile"] == "laptop"
    assert record["n"] == 3 and len(record["comparisons"]) == 6 and len(record["runs"]) == 27
    assert "thesis-tab5.4" in CliRunner().invoke(verdicts_command, ["--claim", "thesis-tab5.4"]).output


def test_only_the_committed_laptop_runs_are_accepted(tmp_path):
    for arguments in (["--profile", "quick"], ["--out", str(tmp_path)]):
        result = CliRunner().invoke(verdicts_command, ["--accept", *arguments])
        assert isinstance(result.exception, UserError)


def test_a_line_names_the_scale_of_its_runs_and_those_of_smaller_ones():
    lines = CliRunner().invoke(verdicts_command, ["--claim", "sun23-tab1"]).output.splitlines()
    assert "short, CIFAR-10, 5,000 training images, LeNet, 60 rounds" in lines[0]
    assert lines[1].split()[0] == "and"
    assert "toy, Fashion-MNIST" in lines[1]
