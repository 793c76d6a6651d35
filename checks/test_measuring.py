"""What runs report as sigma_g, sigma_l, rho, Gamma and the rest is what plain loops find on the same run.

Then each operation in the code that measures is exchanged for another one, and the comparison must notice.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from checks import by_hand
from checks.by_hand import Recorder, ascent, length, squared
from checks.exchanged import exchanged
from theory.inexact import decreasing, runs, strongly_convex, vanishing_radius
from theory.inexact.runs import Problem, Setting

CLOSE = 1e-6
PROBLEM = Problem(
    share=np.array([[0.25, 0.0], [0.5, 0.75], [0.0, 0.5]]),
    curvature=np.array([[1.0, 1.0], [0.5, -0.25], [0.75, 0.5]]),
    centre=np.array([[0.0, 0.5], [1.0, -0.5], [-1.5, 0.25]]),
    start=np.array([-1.0, 0.5]),
)
LOSSES = by_hand.cosines_and_quadratics(PROBLEM.share, PROBLEM.curvature, PROBLEM.centre)


def recorded(monkeypatch, module) -> Recorder:
    found = Recorder(module.simulate)
    monkeypatch.setattr(module, "simulate", found)
    return found


def agree(found, expected):
    """Every number that is expected is the one that was found."""
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=CLOSE, abs=CLOSE), name


def test_hand_derived_numbers_of_the_plain_loops():
    """x^2 and -x^2/2: slopes 2 and -1 at 1, mean 1/2, spread (3/2)^2; three of four: kappa = 1/9."""
    losses = by_hand.Losses([[lambda x: x**2], [lambda x: -(x**2) / 2]])
    assert losses.mean_gradient([1.0])[0] == pytest.approx(0.5, abs=CLOSE)
    assert losses.spread([1.0]) == pytest.approx(2.25, abs=CLOSE)
    assert by_hand.cost_of_sampling(4, 3) == pytest.approx(1 / 9)
    assert by_hand.least(lambda x: (x - 0.3) ** 2) == pytest.approx(0.3, abs=CLOSE)


# ------------------------------------------------------------ what a run reports, by loops


def lesam(rho: float):
    """FedLESAM: rho along the model that the client saw last minus today's; none on a first visit."""
    seen: dict[int, int] = {}

    def perturb(t, client, x, here, models):
        last = seen.get(client, t)
        away = [a - b for a, b in zip(models[last], models[t], strict=True)]
        if perturb.at != (t, client):  # a new round of this client
            perturb.at, perturb.own = (t, client), away
            seen[client] = t
        size = length(perturb.own)
        return [rho * a / size if size else 0.0 for a in perturb.own]

    perturb.at, perturb.own = None, []
    return perturb


PERTURB = {"fedsam": ascent, "fedlesam": lesam, "mofedsam": ascent}


def expected(losses, simulations, perturb, rho):
    """sigma_g, sigma_l, rho, Gamma, Delta, N, K, T, A, X of some runs of one method on one problem."""
    squares, spreads, sizes, radii = [], [], [], []
    for simulation in simulations:
        models, lengths = by_hand.replay(losses, simulation, perturb(rho))
        assert np.allclose(models, simulation.models, rtol=0, atol=CLOSE)
        radii += lengths
        begun = simulation.models[:-1]
        squares.append(sum(squared(losses.mean_gradient(w)) for w in begun) / len(begun))
        spreads.append(max(losses.spread(w) for w in begun))
        sizes += [length(noise) for noise in by_hand.noises(losses, simulation)]
    first = simulations[0]
    steps, eta = first.options["steps"], first.options["lr"]
    L = 1.0
    assert losses.largest_curvature() <= L + CLOSE
    start = first.models[0]
    return {
        "Gamma": sum(squares) / len(squares),
        "sigma_g": math.sqrt(max(spreads)),
        "sigma_l": max(sizes),
        "rho": max(radii),
        "L": L,
        "Delta": losses.value(start) - min(losses.value(start), losses.value(losses.minimiser())),
        "N": len(losses.by_coordinate),
        "K": steps,
        "T": first.rounds,
        "eta": eta,
        "eta_g": first.method.server_lr,
        "A": steps * eta * first.method.server_lr,
        "X": (steps - 1) * L * eta,
    }


SETTINGS = {
    "fedsam": Setting(3, 2, 2, 3, 0.1, 2.5, 0.3, 0.4),
    "fedlesam": Setting(3, 2, 3, 4, 0.05, 1.5, 0.3, 0.4),
    "mofedsam": Setting(3, 3, 2, 3, 0.1, 1.25, 0.3, 0.4, {"beta": 0.5}),
}


def check_measured(monkeypatch, method="fedsam"):
    with monkeypatch.context() as patch:
        recorder = recorded(patch, runs)
        s = SETTINGS[method]
        found = runs.measured(method, PROBLEM, s, np.random.default_rng(4))
    assert len(recorder.simulations) == runs.NOISE_RUNS
    cost = by_hand.cost_of_sampling(s.clients, s.active)
    agree(found, expected(LOSSES, recorder.simulations, PERTURB[method], s.rho) | {"kappa": cost, "S": s.active})
    return found


@pytest.mark.parametrize("method", SETTINGS)
def test_what_a_run_reports_is_what_plain_loops_find(monkeypatch, method):
    assert check_measured(monkeypatch, method).get("beta") == SETTINGS[method].options.get("beta")


def check_law(monkeypatch, method="fedsam"):
    """Noise, error, radius and spread of every local step."""
    s = SETTINGS[method]
    with monkeypatch.context() as patch:
        recorder = recorded(patch, runs)
        law = runs.law(method, PROBLEM, s, np.random.default_rng(4), 2)
    moved, turned, lowest = [], [], math.inf
    for run, simulation in enumerate(recorder.simulations):
        for t in range(s.rounds):
            assert list(law.cohorts[run][t]) == simulation.cohort(t)
            assert law.spreads[run][t] == pytest.approx(LOSSES.spread(simulation.models[t]), abs=CLOSE)
            for client in simulation.cohort(t):
                own, x = simulation.of(t, client), simulation.models[t]
                for k in range(s.steps):
                    last = own[k][-1]
                    exact = LOSSES.gradient(client, last.point)
                    error = by_hand.minus(exact, LOSSES.gradient(client, x))
                    at = run, t * s.steps + k, client
                    assert np.allclose(law.errors[at], error, rtol=0, atol=CLOSE)
                    assert np.allclose(law.noise[at], by_hand.minus(last.answer, exact), rtol=0, atol=CLOSE)
                    moved.append(length(by_hand.minus(last.point, x)))
                    turned.append(length(error))
                    x = [a - s.local * g for a, g in zip(x, last.answer, strict=True)]
        lowest = min(lowest, *(LOSSES.value(w) for w in simulation.models))
    for name, values in {"moved": moved, "radii": moved, "turned": turned}.items():
        assert np.allclose(sorted(getattr(law, name)), sorted(values), rtol=0, atol=CLOSE), name
    spread = [max(x) for x in zip(*law.spreads, strict=True)]
    means = [sum(x) / len(x) for x in zip(*law.spreads, strict=True)]
    assert max(spread) > 0 and max(moved) > 0.1 and max(turned) > 0.01
    assert law.lowest == pytest.approx(lowest, abs=CLOSE)
    least = LOSSES.value(LOSSES.minimiser())
    numbers = {"L": 1.0, "N": s.clients, "S": s.active, "rho": max(moved), "sigma_l": s.noise, "F_star": least}
    agree(law.values, numbers | {"sigma_g": math.sqrt(max(means))})


@pytest.mark.parametrize("method", ["fedsam", "fedlesam"])
def test_what_happened_along_a_run_is_what_plain_loops_find(monkeypatch, method):
    check_law(monkeypatch, method)


# ------------------------------------------------------------ measurements that draw their own problem


#: seeds of random problems that are rich enough to tell errors apart
SEEDS = {decreasing: 298, strongly_convex: 17, vanishing_radius: 31}


def run_of(monkeypatch, module, simulator):
    """(found, problem, simulations) of a random problem."""
    with monkeypatch.context() as patch:
        recorder, problems = recorded(patch, simulator), []
        whole = runs.path
        patch.setattr(runs, "path", lambda *args, **own: problems.append(args[1]) or whole(*args, **own))
        if module is vanishing_radius:
            draw = module.Quadratics.draw
            patch.setattr(module.Quadratics, "draw", lambda rng: problems.append(draw(rng)) or problems[-1])
        return module.measured(np.random.default_rng(SEEDS[module])), problems[-1], recorder.simulations


def rich(found, losses, simulations):
    """Noise, radius, several steps and clients; the least loss is not zero, the spread not largest at the start."""
    start = simulations[0].models[0]
    rho = found.get("rho", found.get("S_rho"))
    several = min(rho, found["sigma_l"]) > 0 and min(found["K"], found["N"]) > 1
    if not several or len(simulations[0].cohort(0)) > 4 or not 0 < len(simulations) / 4 < 10:
        return False
    grows = found["sigma_g"] ** 2 > losses.spread(start) + 0.001
    return grows and abs(losses.value(losses.minimiser())) > 0.01 and losses.value(start) > 0.01


def losses_of(problem):
    """The problem by hand."""
    if isinstance(problem, Problem):
        return by_hand.cosines_and_quadratics(problem.share, problem.curvature, problem.centre)
    return by_hand.quadratics(problem.q, problem.c, problem.sizes)


def check_decreasing(monkeypatch):
    """Steps and radius of every round: the sums that stand in the bound, and the weighted mean of the squares."""
    found, problem, rounds = run_of(monkeypatch, decreasing, runs)
    losses = losses_of(problem)
    assert found["kappa"] > 0 and rich(found, losses, rounds)
    assert found["W"] < 0.9 * len(rounds) / runs.NOISE_RUNS * found["A"]
    T = len(rounds) // runs.NOISE_RUNS
    sums, squares, spreads = [0.0] * 5, [], []
    for run in range(runs.NOISE_RUNS):
        weighted = 0.0
        for t in range(T):
            one = rounds[run * T + t]
            rho, steps, eta = one.method.rho, one.options["steps"], one.options["lr"]
            models, radii = by_hand.replay(losses, one, ascent(rho))
            assert np.allclose(models, one.models, rtol=0, atol=CLOSE)
            assert max(radii) == pytest.approx(rho)
            A, x = steps * eta * one.method.server_lr, (steps - 1) * eta
            w = one.models[0]
            weighted += A * squared(losses.mean_gradient(w))
            spreads.append(losses.spread(w))
            if run == 0:
                parts = (A, A * A, A * x * x, A * rho * rho, A * x * eta)
                sums = [a + b for a, b in zip(sums, parts, strict=True)]
        squares.append(weighted / sums[0])
    first = rounds[0]
    expect = dict(zip(("W", "S_A", "S_x", "S_rho", "S_eta"), sums, strict=True))
    best = min(losses.value(first.models[0]), losses.value(losses.minimiser()))
    sizes = [length(z) for one in rounds for z in by_hand.noises(losses, one)]
    agree(
        found,
        expect
        | {
            "Gamma": sum(squares) / len(squares),
            "sigma_g": math.sqrt(max(spreads)),
            "sigma_l": max(sizes),
            "Delta": losses.value(first.models[0]) - best,
            "kappa": by_hand.cost_of_sampling(len(losses.by_coordinate), len(first.cohort(0))),
            "L": 1.0,
            "K": first.options["steps"],
            "N": len(losses.by_coordinate),
            "eta": first.options["lr"],
            "A": first.options["steps"] * first.options["lr"] * first.method.server_lr,
            "X": (first.options["steps"] - 1) * first.options["lr"],
        },
    )


def test_sums_over_the_rounds_are_what_plain_loops_find(monkeypatch):
    check_decreasing(monkeypatch)


def check_strongly_convex(monkeypatch):
    """Steps that decrease, the gap at the end and the distance at the start, on quadratics."""
    found, problem, rounds = run_of(monkeypatch, strongly_convex, runs)
    losses = losses_of(problem)
    assert found["kappa"] > 0 and rich(found, losses, rounds)
    T = int(found["T"])
    best, gaps, spreads = losses.minimiser(), [], []
    for place, one in enumerate(rounds):
        t = place % T
        steps = one.options["steps"]
        assert one.method.server_lr == 1.0
        eta = 2 / (steps * found["mu"] * (t + found["gamma"] + 2))
        assert one.options["lr"] == pytest.approx(eta)
        models, radii = by_hand.replay(losses, one, ascent(found["rho"]))
        assert np.allclose(models, one.models, rtol=0, atol=CLOSE)
        assert max(radii) == pytest.approx(found["rho"])
        spreads.append(losses.spread(one.models[0]))
        if t == T - 1:
            gaps.append(losses.value(one.models[1]) - losses.value(best))
    assert len(gaps) == runs.NOISE_RUNS
    start, first = rounds[0].models[0], rounds[0]
    sizes = [length(z) for one in rounds for z in by_hand.noises(losses, one)]
    assert found["mu"] <= losses.least_curvature() + 1e-5
    agree(
        found,
        {
            "L": 1.0,
            "K": first.options["steps"],
            "more": first.options["steps"] - 1,
            "N": len(losses.by_coordinate),
            "kappa": by_hand.cost_of_sampling(len(losses.by_coordinate), len(first.cohort(0))),
            "sigma_g": math.sqrt(max(spreads)),
            "sigma_l": max(sizes),
            "Gap": sum(gaps) / len(gaps),
            "D_0": squared(by_hand.minus(start, best)),
        },
    )


def test_the_gap_of_a_strongly_convex_run_is_what_plain_loops_find(monkeypatch):
    check_strongly_convex(monkeypatch)


def check_vanishing(monkeypatch):
    """Global FedSAM: weights, signed radii of the mean gradient's length, and what of them a bound is told."""
    found, problem, simulations = run_of(monkeypatch, vanishing_radius, vanishing_radius)
    losses = losses_of(problem)
    assert rich(found, losses, simulations)
    assert len(simulations) == 4
    spreads, squares = [], []

    def signed(t, client, x, here, models):
        own, mean = losses.gradient(client, models[t]), losses.mean_gradient(models[t])
        r = sum(a * b for a, b in zip(own, mean, strict=True)) / length(own)
        assert abs(r) <= length(mean) * (1 + CLOSE)
        return [found["rho"] * r * g / length(here) for g in here]

    for one in simulations:
        models, _ = by_hand.replay(losses, one, signed)
        assert np.allclose(models, one.models, rtol=0, atol=1e-5)
        begun = one.models[:-1]
        squares.append(sum(squared(losses.mean_gradient(w)) for w in begun) / len(begun))
        spreads.append([losses.spread(w) for w in begun])
    first = simulations[0]
    steps, eta = first.options["steps"], first.options["lr"]
    means = [sum(row) / len(row) for row in zip(*spreads, strict=True)]
    sizes = [length(z) for one in simulations for z in by_hand.noises(losses, one)]
    start = first.models[0]
    assert losses.largest_curvature() <= 1 + 1e-5
    agree(
        found,
        {
            "L": 1.0,
            "K": steps,
            "N": 1 / max(losses.shares),
            "T": first.rounds,
            "eta": eta,
            "A": steps * eta * first.method.server_lr,
            "X": (steps - 1) * eta,
            "kappa": 0.0,
            "rho": first.method.rho,
            "nu": max(length(z) for one in simulations for z in by_hand.noises(losses, one, before=True)),
            "sigma_g": math.sqrt(max(means)),
            "sigma_l": max(sizes),
            "Gamma": sum(squares) / len(squares),
            "Delta": losses.value(start) - losses.value(losses.minimiser()),
        },
    )


def test_what_a_run_of_global_fedsam_reports_is_what_plain_loops_find(monkeypatch):
    check_vanishing(monkeypatch)


# ------------------------------------------------------------ an operation exchanged for another one is noticed


def check_problem(monkeypatch):
    check_measured(monkeypatch)
    check_law(monkeypatch)


def check_every_law(monkeypatch):
    for method in ("fedsam", "fedlesam"):
        check_law(monkeypatch, method)


QUADRATICS = vanishing_radius.Quadratics
MEASURING = [
    (runs, "measured", check_measured, ("chance",)),
    (runs, "law", check_every_law, ()),
    (runs, "local_steps", check_every_law, ()),
    *((Problem, name, check_problem, ()) for name in ("gradients", "_coordinates", "value", "infimum")),
    (decreasing, "measured", check_decreasing, ("falls", "eta", "chance")),
    (strongly_convex, "measured", check_strongly_convex, ("least", "first")),
    (vanishing_radius, "measured", check_vanishing, ("local", "noise")),
    *((QUADRATICS, name, check_vanishing, ()) for name in ("p", "curvature", "minimiser")),
]
#: changes that no run of several clients shows, that add a constant to every loss, or look at the first gradient twice
SAME = (
    *("in max(s.clients - 1, 1)", "in max(clients - 1, 1)", "max -> min in max(s.clients", "max -> min in max(clients"),
    *("1 -> 2 in 1 - np.cos(x)", "0 -> 1 in place == 0"),
)


@pytest.mark.parametrize(("owner", "name", "check", "settings"), MEASURING)
def test_an_exchanged_operation_in_the_measuring_code_is_noticed(monkeypatch, owner, name, check, settings):
    found = getattr(owner, name)
    is_property = isinstance(found, property)
    check(monkeypatch)
    unnoticed, count = [], 0
    for what, other in exchanged(found.fget if is_property else found, settings):
        count += 1
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, property(other) if is_property else other)
            try:
                check(patch)
            except Exception:  # whatever the changed code ends with
                continue
        unnoticed += [] if any(same in what for same in SAME) else [what]
    assert count and unnoticed == []
