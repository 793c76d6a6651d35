"""docs/robustness/determinism.json: golden values hold on whatever machine; its bits where its kind is known."""

from __future__ import annotations

import json

import determinism
import pytest
import torch

from artifact import NUMBERS

KEPT = json.loads(determinism.OUT.read_text(encoding="utf-8"))
MOVED = "a number of a stored run moves: raise artifact.NUMBERS, then python docs/robustness/determinism.py measure"
VECTORISED = torch.backends.cpu.get_cpu_capability() != "DEFAULT"


@pytest.fixture(scope="module")
def here():
    return determinism.played({})


@pytest.mark.parametrize("name", KEPT["golden"])
def test_golden_values_hold_within_what_is_allowed(here, name):
    golden, (_, row) = KEPT["golden"][name], here[1][name]
    allowed = determinism.allowed(next(one for one in determinism.TOLERANCE if f"-{one}-" in name), VECTORISED)
    assert KEPT["numbers"] == NUMBERS, MOVED
    assert row["norm"] == pytest.approx(golden["norm"], rel=allowed), MOVED
    assert row["loss"] == pytest.approx(golden["loss"], rel=allowed), MOVED


def test_the_bits_of_a_known_kind_are_those_that_were_kept(here):
    kind, cases = here
    if kind != KEPT["kind"]:
        pytest.skip(f"bits are kept for {KEPT['kind']}; this is {kind}")
    assert {name: row["digest"] for name, (_, row) in cases.items()} == {
        name: row["digest"] for name, row in KEPT["golden"].items()
    }, MOVED


@pytest.mark.parametrize("changed", [{"lr": 0.05 * (1 + 1e-6)}, {"seed": 1}, {"weight_decay": 1e-6}])
def test_a_change_far_below_what_anybody_would_see_is_noticed(changed):
    """In float64, in the surroundings of this test: the golden value moves by more than is allowed."""
    case = ("mlp", "float64", "fedsam")
    golden = KEPT["golden"]["-".join(case)]
    _, as_it_is = determinism.play(case)
    _, moved = determinism.play(case, **changed)
    allowed = determinism.allowed("float64", VECTORISED)
    assert as_it_is["norm"] == pytest.approx(golden["norm"], rel=allowed)
    assert moved["norm"] != pytest.approx(golden["norm"], rel=1e-10)


def test_every_kind_of_surroundings_stays_within_what_is_allowed():
    for words, cases in KEPT["surroundings"].items():
        assert set(cases) == set(KEPT["golden"])
        for name, row in cases.items():
            dtype = next(one for one in determinism.TOLERANCE if f"-{one}-" in name)
            assert row["weights"] <= determinism.allowed(dtype, words != "no vector unit"), (words, name)
            assert row["same bits"] == (row["weights"] == 0), (words, name)
    assert all(row["same bits"] for row in KEPT["surroundings"]["as it is, once more"].values())
