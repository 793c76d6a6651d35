"""The bound calculator: hand-derived numbers, the best step, warnings, budgets, the command, a run's numbers."""

from __future__ import annotations

import doctest
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import artifact
from artifact.__main__ import main
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.rates import METHODS, bound, theorems
from artifact.rates.bound import BUDGETS, best_step
from artifact.rates.theorems import Condition, Formula

EXAMPLE = {"L": 10, "rho": 0.05, "sigma_g": 1, "sigma_l": 1, "K": 50, "N": 100, "S": 10, "T": 800}


def test_a_bound_by_hand():
    """One client, one local step of 1/2, L = 1, so x = 0: 2 delta/(A T) + 2 L^2 rho^2."""
    found = artifact.rate("fedsam", L=1, T=100, rho=0.1, delta=1, eta_l=0.5)
    assert found.theorem.name == "inexact-gradients-cohorts"
    assert found.bound == pytest.approx(2 / (0.5 * 100) + 2 * 0.01)
    assert found.dominant == "start above the optimum"


def test_the_sharpest_theorem_that_applies_is_taken():
    """Five local steps, x = 1/10, exact gradients: the corollary for them has 5/4 where the others have more."""
    found = artifact.rate("fedsam", L=1, T=100, K=5, N=4, sigma_g=3, eta_l=0.025)
    assert found.theorem.name == "inexact-gradients-exact"
    assert found.bound == pytest.approx(81 / (40 * 0.125 * 100) + 5 / 4 * 0.01 * 9)
    assert artifact.rate("fedsam", L=1, T=100, K=5, N=4, sigma_l=3, eta_l=0.025).theorem.name != found.theorem.name


def test_without_a_radius_fedsam_and_fedavg_have_one_bound():
    fedavg, fedsam = (artifact.rate(name, **EXAMPLE | {"rho": 0}) for name in ("fedavg", "fedsam"))
    assert fedavg.terms == fedsam.terms
    assert artifact.rate("fedavg", **EXAMPLE).bound == fedsam.bound


def test_algorithm_3_has_no_floor_and_fedsam_has_one():
    numbers = {"L": 2, "rho": 0.1, "N": 5}
    long = [artifact.rate(name, T=10**9, **numbers).bound for name in ("globalfedsam", "fedsam")]
    assert long[0] < 1e-7 < 4 * 0.01 < long[1]


@pytest.mark.parametrize(
    ("method", "numbers", "said"),
    [
        ("fedsam", {"K": 50, "eta_l": 0.001}, ["x = 0.49 > 0.1"]),
        ("fedsam", {"eta_l": 0.1, "sigma_l": 1}, ["A L = 1 > 0.5"]),
        ("mofedsam", {"eta_l": 0.1, "beta": 0.5}, ["A L = 1 > beta/4 = 0.125"]),
        ("fedsmoo", {"eta_l": 0.1, "N": 4}, ["L beta = 1 > 0.111", "16 L^2 beta^2 = 16 > theta = 1"]),
        ("globalfedsam", {"N": 4, "S": 2}, ["S = 2 < N = 4, and the theorem is for all clients"]),
    ],
)
def test_what_is_outside_the_hypotheses_is_said(method, numbers, said):
    found = artifact.rate(method, L=10, T=800, **numbers)
    assert list(found.outside) == said
    assert found.bound == math.inf and found.dominant is None and "outside the hypotheses" in str(found)


def test_a_factor_that_the_radius_uses_up_is_outside():
    found = artifact.rate("globalfedsam", L=10, rho=0.2, T=10)
    assert found.best is None and "<= 0, so nothing is left to bound" in found.outside[0]


@settings(max_examples=12, deadline=None)
@given(
    method=st.sampled_from(sorted(METHODS)),
    L=st.floats(1e-3, 1e3),
    T=st.integers(1, 10**5),
    K=st.integers(1, 100),
    N=st.integers(1, 100),
    share=st.floats(0, 1),
    sigma=st.floats(0, 10),
)
def test_no_step_of_a_grid_is_better_than_the_best(method, L, T, K, N, share, sigma):
    S = N if method == "globalfedsam" else max(1, round(share * N))
    numbers = {"L": L, "T": T, "K": K, "N": N, "S": S, "rho": 0.1 / L, "sigma_g": sigma, "sigma_l": sigma}
    found = artifact.rate(method, **numbers)
    assert not found.outside
    for step in found.step * np.geomspace(1e-3, 1e3, 31):
        assert found.at(float(step)).bound >= found.bound * (1 - 1e-9)


def test_the_methods_stand_side_by_side_on_one_budget():
    found = artifact.rate("fedsam", **EXAMPLE)
    rounds = {equal: {one.method: one.setting.T for one in found.beside(equal)} for equal in BUDGETS}
    assert set(rounds["rounds"].values()) == {800}
    assert rounds["gradients"]["fedavg"] == 1600 and rounds["gradients"]["globalfedsam"] == 533  # 2, 1 and 3 per step
    assert rounds["traffic"]["mofedsam"] == 533 and rounds["traffic"]["fedsmoo"] == 400  # 2, 3 and 4 models a round
    assert all(one.bound <= other.bound for one, other in zip(*[found.beside()[k:] for k in (0, 1)], strict=False))
    with pytest.raises(UserError, match="rounds, gradients, traffic"):
        found.beside("time")


@pytest.mark.parametrize(
    ("method", "numbers", "told"),
    [
        ("fedsma", {"L": 1, "T": 1}, "method: 'fedsma'"),
        ("fedsam", {"T": 1}, "L: nothing is given"),
        ("fedsam", {"L": -1, "T": 1}, "L: -1"),
        ("fedsam", {"L": math.nan, "T": 1}, "L: nan"),
        ("fedsam", {"L": 1, "T": 1.5}, "T: 1.5"),
        ("fedsam", {"L": 1, "T": 1, "N": 2, "S": 3}, "S: 3"),
        ("mofedsam", {"L": 1, "T": 1, "beta": 2}, "beta: 2"),
        ("fedsam", {"L": 1, "T": 1, "gamma": 2}, "gamma: 2"),
    ],
)
def test_numbers_that_are_not_possible_are_told(method, numbers, told):
    with pytest.raises(UserError, match=told):
        artifact.rate(method, **numbers)


def test_only_arithmetic_is_read_from_a_proof():
    with pytest.raises(UserError, match="sums, products"):
        Formula.of("__import__('os')")
    with pytest.raises(UserError, match="an exported proof"):
        theorems.theorem("no-such-theorem")


def test_a_condition_is_read_from_its_slack():
    condition = Condition.of("-16*L**2*beta**2 + theta", strict=False)
    assert condition.fails({"L": 1, "beta": 0.25, "theta": 1}) is None
    assert condition.fails({"L": 1, "beta": 0.5, "theta": 1}) == "16 L^2 beta^2 = 4 > theta = 1"
    assert Condition.of("-A*L + 1", strict=True).fails({"A": 1, "L": 1}) == "A L = 1 >= 1"


def test_every_condition_of_every_theorem_bounds_the_step_from_above():
    """What the search for the best step rests on: no positive term of a slack grows with the step."""
    for method in METHODS.values():
        for name in method.theorems:
            step = {"beta"} if name.startswith("fedsmoo") else {"eta", "A", "X", "Y"}
            assert all(not step & condition.large.letters for condition in theorems.theorem(name).conditions)


def test_the_command_prints_draws_and_warns(tmp_path, capsys):
    words = [
        "--L",
        "10",
        "--rho",
        "0.05",
        "--sigma-g",
        "1",
        "--sigma-l",
        "1",
        "--K",
        "50",
        "--N",
        "100",
        "--S",
        "10",
        "--T",
        "800",
    ]
    assert main(["rate", "fedsam", *words, "--figure", str(tmp_path / "bound.png")]) == 0
    out = capsys.readouterr().out
    assert "dominant: perturbation" in out and "best admissible one is eta_l" in out and "mofedsam" in out
    assert (tmp_path / "bound.png").read_bytes().startswith(b"\x89PNG")
    assert main(["rate", "fedsam", *words, "--eta-l", "0.001"]) == 1
    assert "outside the hypotheses: x = 0.49 > 0.1" in capsys.readouterr().out
    assert main(["rate", "fedsam", *words, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["bound"] == pytest.approx(sum(plain["terms"].values())) and len(plain["beside"]) == len(METHODS)
    assert main(["rate", "fedsam", "--L", "1"]) == 2
    assert main(["rate", "fedsam", *words, "--figure", "bound.txt"]) == 2


def test_a_run_gives_its_numbers_and_says_what_they_are_worth(tmp_path, capsys):
    words = ["--algorithm", "fedsam", "--model", "mlp-16", "--lr", "0.01"]
    words += ["--rounds", "2", "--clients", "6", "--cohort", "3"]
    assert main(["run", *words, "--out", str(tmp_path), "--quiet"]) == 0
    (key,) = {path.parent.name for path in tmp_path.rglob("checkpoint.safetensors")}
    capsys.readouterr()
    code = main(["rate", "--run", key, "--out", str(tmp_path), "--rho", "0.01", "--json"])
    found = json.loads(capsys.readouterr().out)
    setting = found["setting"]
    assert (setting["T"], setting["N"], setting["S"], setting["eta_l"], setting["rho"]) == (2, 6, 3, 0.01, 0.01)
    assert found["method"] == "fedsam" and "no guarantee" in found["worth"]
    assert all(setting[name] > 0 for name in ("L", "sigma_g", "sigma_l"))
    assert 1 < setting["delta"] < 5  # about log 10, the loss of a network that knows nothing
    assert code == bool(found["outside"])


def test_the_examples_run():
    assert doctest.testmod(bound).failed == 0
    page = (paths.DOCS / "api.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(from fedsharp import rate.*?)```", page, re.S)[1]
    known = {}
    exec(code, known)
    assert best_step("fedsam", known["found"].setting, known["found"].theorem) == known["found"].step
