"""Every discrepancy that changes numbers has a switch; every switch changes numbers where it says it does."""

import csv
import itertools
import json
import math
from types import SimpleNamespace

import pytest
import torch

from artifact.__main__ import main
from artifact.algorithms import ALGORITHMS, HOME, UNRELEASED, build, resolve
from artifact.algorithms.cohort import Cohort
from artifact.algorithms.switches import EXCLUSIVE, OPTIONS, SAME_EQUATION, SOURCES, SWITCHES
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.flat import Layout, norm
from artifact.training.rounds import play

LEDGER = paths.CLAIMS / "discrepancies.csv"
P, SIZES, BATCH, EPOCHS = 6, [12, 9, 12, 7], 5, 2
LAYOUT = Layout(("fc.weight", "fc.bias"), ((2, 2), (2,)))

#: high and medium rows that change no number of a method, with the reason
DOCUMENTATION = {
    "GEN-2": "paper and code agree once weight decay is placed; the paper names no place",
    "GEN-12": "the repository does not start; nothing is computed",
    "GEN-13": "two papers print the same measurements",
    "DYN-1": "the same algebra in other variables",
    "DC-1": "the paper's recursion is known from memory only; the released variates are the specified form",
    "MIME-1": "a baseline named without definition",
    "ROB-1": "a baseline named without hyper-parameters",
    "SMOO-3": "index K is never computed; the last perturbation is the only reading",
    "ASAM-2": "which radius an experiment used",
    "GSAM-6": "the objective's exact gradient is not what the algorithm computes; a statement on the objective",
    "GSAM-8": "settings that are not printed",
    "MAN-4": "which weight an experiment used",
}


def losses(W, clients):
    """Gradients of smooth non-quadratic client losses, one per client."""
    shift = torch.tensor([[-1.0], [0.5], [2.0], [-0.3]], dtype=W.dtype)[clients]
    scale = torch.linspace(1, 2, P, dtype=W.dtype)
    return scale * torch.tanh(W - shift) * 4 + 0.3 * torch.cos(3 * W + shift)


def own_steps(active):
    return [EPOCHS * -(-SIZES[i] // BATCH) for i in active]


def cohort(active, t=0):
    """The cohort of a round, with unequal sizes."""
    index, sizes = torch.tensor(active), torch.tensor(SIZES, dtype=torch.float64)[:, None]
    return Cohort(
        clients=index,
        sizes=sizes[index],
        K=torch.tensor(own_steps(active), dtype=torch.float64)[:, None],
        m=len(SIZES),
        t=t,
        lr=0.1 * 0.9**t,
        first_lr=0.1,
        layout=LAYOUT,
        full_gradient=lambda v: losses(v.repeat(len(index), 1), index),
        relative_size=sizes[index] / sizes.mean(),
        K_first=EPOCHS * SIZES[0] / BATCH,
        K_mean=EPOCHS * 2,
    )


def rounds(method, clip=2.0, cohorts=([0, 1, 3], [1, 2], [0, 1, 2])):
    """Rounds with unequal sizes, partial participation, weight decay and an active clip.

    Yields the server model, the cohort, its local models and the method's state after each.
    """
    w = torch.linspace(-1, 1, P, dtype=torch.float64)
    state = method.init(w, len(SIZES))
    for t, active in enumerate(cohorts):
        C, index, steps = cohort(active, t), torch.tensor(active), own_steps(active)
        steps = [EPOCHS * 2] * len(active) if method.equal_steps else steps

        def minibatches(k, rows, index=index):
            own = index if rows is None else index[rows]
            return lambda W: losses(W, own) * (1 + 0.2 * torch.cos(torch.tensor(float(k))))

        w, local, _ = play(method, state, w, C, steps, minibatches, weight_decay=0.01, clip=clip)
        yield w, C, local, state


def trajectory(method, clip=2.0, **options):
    return torch.stack([w for w, *_ in rounds(method, clip, **options)])


def concerned(id):
    """Names of methods, one class each, that the id's switch concerns."""
    return [
        n for n, cls in ALGORITHMS.items() if n not in ("fedrobust",) and any(s.concerns(cls) for s in SWITCHES[id])
    ]


@pytest.mark.parametrize("id", sorted(set(SWITCHES) - {"MAN-1"}))  # MAN-1 acts on the loss: test_reductions.py
def test_a_switch_changes_the_trajectory(id):
    changes = {}
    for name in concerned(id):
        # PROX-2 shows only where the whole direction is clipped, SPEED-1 only where two gradients are mixed
        variant = "released" if id == "PROX-2" and name not in UNRELEASED else "paper"
        extra = {"mixing": 0.5} if id == "SPEED-1" else {}
        plain, flipped = build(name, variant, **extra), build(name, variant, switches=[id], **extra)
        assert (id in flipped.switches) != (id in plain.switches)
        changes[name] = (trajectory(plain) - trajectory(flipped)).abs().max().item()
    visible = 1e-10 if id == "SAM-4" else 1e-8  # SAM-4 is a relative change of 1e-7 in a radius
    assert max(changes.values()) > visible, changes


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n != "fedrobust"])
@pytest.mark.parametrize("id", ["AVG-2", "GEN-4"])
def test_a_switch_that_would_do_nothing_is_refused(id, name):
    if name in concerned(id):
        plain, flipped = (trajectory(build(name, switches=switches)) for switches in ((), (id,)))
        assert not torch.equal(plain, flipped)
    else:
        with pytest.raises(UserError, match=id):
            build(name, switches=[id])


STABILISERS = [("fedsam", "fl-simulator", 1e-7), ("fedsam", "fedlesam", 1e-7), ("fedsam", "fedman", 1e-16)]
STABILISERS += [("fedasam", "fedman", 1e-16), ("fedspeed", "fedman", 1e-7), ("fedsmoo", "fl-simulator", 1e-7)]


@pytest.mark.parametrize(("name", "source", "stabiliser"), STABILISERS)
def test_each_repository_has_its_own_stabiliser(name, source, stabiliser):
    assert build(name, "released", source).stabiliser == stabiliser
    assert build(name).stabiliser == 0


def test_fedman_has_a_weak_proximal_term_of_its_own():
    """PROX-2 in FedProx; FedDC, whose halves are clipped together too, keeps its default."""
    assert build("fedprox", "released", "fedman").lam == 1e-4 != build("fedprox", "released", "fl-simulator").lam
    assert build("feddc", "released", "fedman").lam == build("feddc").lam


@pytest.mark.parametrize("name", ["fedsam", "fedasam"])
def test_a_gradient_as_small_as_the_stabiliser_halves_the_ascent(name):
    """SAM-4: rho |g| / (|g| + 1e-16)."""
    small = torch.full((1, 4), 0.5e-16, dtype=torch.float64)
    biases = SimpleNamespace(is_weight=torch.zeros(4, dtype=torch.bool))
    paper, released = (build(name, *form, rho=0.5) for form in (("paper",), ("released", "fedman")))
    for method, radius in ((paper, 0.5), (released, 0.25)):
        ascent = method.perturbation(torch.zeros_like(small), lambda W: small, biases)
        assert norm(ascent).item() == pytest.approx(radius)


def test_two_ids_with_one_mixin():
    both, one = (build("mofedsam", switches=ids) for ids in (["CM-1", "MOSAM-2"], ["MOSAM-2"]))
    assert torch.equal(trajectory(both), trajectory(one))


@pytest.mark.parametrize(
    ("name", "ids"), [("fedcm", ["CM-1"]), ("fedcm", ["CM-1", "GEN-4"]), ("mofedsam", ["MOSAM-2"])]
)
def test_the_printed_server_step_is_the_momentum_that_is_sent(name, ids):
    """w - eta_g Delta, Delta the mean of Delta_i / (K_i eta_t): clients of unequal sizes are not weighted by steps."""
    w = torch.linspace(-1, 1, P, dtype=torch.float64)
    for w_next, _, _, state in rounds(build(name, switches=ids, server_lr=0.7)):
        assert (w_next - (w - 0.7 * state["momentum"])).abs().max() <= 1e-12
        w = w_next


@pytest.mark.parametrize("ids", [[], ["DYN-3"]])
def test_fedspeed_averages_local_models_and_their_drifts(ids):
    """xhat_i = w_{K_i} - lam_s ghat_i with the client's own lam_s is w_{K_i} + h_i, h_i the sum of its Delta_i."""
    w = torch.linspace(-1, 1, P, dtype=torch.float64)
    drift = torch.zeros(len(SIZES), P, dtype=torch.float64)
    for w_next, C, W, _ in rounds(build("fedspeed", switches=ids)):
        drift[C.clients] += W - w
        assert (w_next - (W + drift[C.clients]).mean(0)).abs().max() <= 1e-12
        w = w_next


@pytest.mark.parametrize("ids", [[], ["SCAF-6"]])
def test_the_weight_of_the_variates_acts(ids):
    """Without it FedLESAM-S is FedLESAM, here with as many steps for all."""
    plain, none = (build("fedlesam-s", switches=ids, correction_weight=weight) for weight in (1.0, 0.0))
    assert not torch.equal(trajectory(plain), trajectory(none))
    if not ids:
        assert torch.equal(trajectory(none), trajectory(build("fedlesam", rho=none.rho)))


@pytest.mark.parametrize(("one", "other"), EXCLUSIVE)
def test_two_replacements_of_one_equation_are_refused(one, other):
    name = next(n for n in ALGORITHMS if n in concerned(one) and n in concerned(other))
    for switches in ([one, other], [other, one]):
        with pytest.raises(UserError, match=f"{one} with {other}"):
            build(name, switches=switches)


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n != "fedrobust"])
def test_of_two_switches_each_does_something(name):
    """Two ids that may be on at once differ from either alone."""
    # GEN-1 clips the whole direction, which is the gradient here unless a method adds to it; MAN-1 acts on the loss;
    # SPEED-1 shows only where two gradients are mixed; CM-1 and MOSAM-2 share one mixin; 1e-16 is below rounding
    alike = {"GEN-1", "MAN-1", "SPEED-1", "CM-1"} | ({"SAM-4"} if HOME.get(name) == "fedman" else set())
    for pair in itertools.combinations([i for i in SWITCHES if name in concerned(i) and i not in alike], 2):
        if pair in EXCLUSIVE or pair[::-1] in EXCLUSIVE:
            continue
        both = trajectory(build(name, switches=pair))
        for id in pair:
            assert not torch.equal(both, trajectory(build(name, switches=[id]))), f"{id} decides alone in {pair}"


def test_printed_servers_by_hand():
    """The mean with weights over all 40 samples (AVG-1), and the sum of updates at the server's rate (AVG-2)."""
    C, w = cohort([0, 1, 3]), torch.linspace(-1, 1, P, dtype=torch.float64)
    W = torch.arange(3.0 * P, dtype=torch.float64).reshape(3, P) / 7

    def server(*switches):
        return build("fedavg", switches=switches, server_lr=0.2).finish({}, SimpleNamespace(), w, W, C)

    unnormalised = (12 / 40 * W[0] + 9 / 40 * W[1] + 7 / 40 * W[2]) / 3
    assert torch.allclose(server("AVG-1"), unnormalised, rtol=0, atol=1e-14)
    assert torch.allclose(server("AVG-2"), w + 0.2 * (W[0] + W[1] + W[2] - 3 * w), rtol=0, atol=1e-14)


def vectors(n, *rows):
    """n arrays of different numbers, [P] or [rows, P]."""
    count = n * math.prod(rows) * P
    return torch.cos(torch.arange(count, dtype=torch.float64)).reshape(n, *rows, P).unbind()


def same(ours, expected):
    return torch.allclose(ours, expected, rtol=0, atol=1e-13)


def test_printed_variates_and_momentum_by_hand():
    """SCAF-2: c + (1/K) sum C_i^+; CM-1, MOSAM-2: w + eta_g (1/S) sum Delta_i / (eta_l K_i)."""
    C, (c, w), (c_plus, c_i, W) = cohort([0, 1, 3]), vectors(2), vectors(3, 3)
    accumulated = build("scaffold", switches=["SCAF-2"]).server_variate(c, c_plus, c_i, C)
    assert same(accumulated, c + (c_plus[0] + c_plus[1] + c_plus[2]) / 3)
    step = sum((W[i] - w) / (0.1 * steps) for i, steps in enumerate(own_steps([0, 1, 3]))) / 3
    for name, id in (("fedcm", "CM-1"), ("mofedsam", "MOSAM-2")):
        method = build(name, switches=[id], server_lr=0.3)
        assert same(method.finish(method.init(w, 4), SimpleNamespace(), w, W, C), w + 0.3 * step)
    uphill = build("mofedsam", switches=["MOSAM-1"])
    state = uphill.init(w, 4)
    uphill.finish(state, SimpleNamespace(), w, W, C)
    assert same(state["momentum"], step)


def test_printed_fedlesam_by_hand():
    """LESAM-3: w_old starts at zero; LESAM-4: rho^2; LESAMD-1: + lambda_i; LESAMD-2, -3: the server's lines."""
    C, (w, dual), (W, g, dual_i) = cohort([0, 1, 3]), vectors(2), vectors(3, 3)
    for switches, radius in (([], 0.3), (["LESAM-4"], 0.09)):
        first = build("fedlesam", switches=["LESAM-3", *switches], rho=0.3)
        assert same(first.begin(first.init(w, 4), w, C)["e"], -radius * w.expand(3, P) / w.norm())
    c = SimpleNamespace(dual_i=dual_i, coefficient=0.2, w=W)
    assert same(build("fedlesam-d", switches=["LESAMD-1"]).direction(g, c), g + dual_i - 0.2 * W)
    total = (W - w).sum(0)
    state = {"dual": dual.clone()}
    unused = build("fedlesam-d", switches=["LESAMD-2"], server_lr=0.4, lam=0.2).server_dual(state, w, total, C)
    assert same(unused, w + 0.4 * total / 3) and same(state["dual"], dual - 0.2 / 4 * total)
    state = {"dual": dual.clone()}
    active = build("fedlesam-d", switches=["LESAMD-3"], lam=0.2).server_dual(state, w, total, C)
    assert same(state["dual"], dual - 0.2 / 3 * total) and same(active, w + total / 3 - state["dual"] / 0.2)


def test_printed_global_fedsam_by_hand():
    """GSAM-1: r_k = ||G_k|| sum_j p_j cos(G_j, G_k); GSAM-2: p_k over all 40 samples; GSAM-4: r_k = 1 at first."""
    (w,), (G, W) = vectors(1), vectors(2, 3)
    C = cohort([0, 1, 3])
    p = [n / 28 for n in (12, 9, 7)]
    gbar = sum(p[j] * G[j] for j in range(3))
    own = [G[k].norm() * sum(p[j] * G[j] @ G[k] / (G[j].norm() * G[k].norm()) for j in range(3)) for k in range(3)]
    assert same(build("globalfedsam", switches=["GSAM-1"]).ratio(G, gbar, C), torch.stack(own)[:, None])
    method = build("globalfedsam", switches=["GSAM-2"])
    assert same(method.finish({}, SimpleNamespace(), w, W, C), 12 / 40 * W[0] + 9 / 40 * W[1] + 7 / 40 * W[2])
    first = build("globalfedsam", switches=["GSAM-4"])
    assert same(first.ratio(G, gbar, C), torch.ones(3, 1, dtype=torch.float64))
    later = torch.stack([gbar @ G[k] / G[k].norm() for k in range(3)])[:, None]
    assert same(first.ratio(G, gbar, cohort([0, 1, 3], t=1)), later)


def test_other_readings_of_fedsmoo_by_hand():
    """SMOO-1: g - mu_i + s and s from mu_i + e_i; SMOO-2: mu_i moves once a round, by the last perturbation."""
    mu, e, s, g = vectors(4, 3)
    consistent, c = build("fedsmoo", switches=["SMOO-1"]), SimpleNamespace(mu=mu, e=e, s=s)
    assert same(consistent.corrected(g, c), g - mu + s) and same(consistent.estimate(mu, e), mu + e)
    once = build("fedsmoo", switches=["SMOO-2"])
    assert same(once.step_dual(c), mu) and same(once.round_dual(c), mu + e - s)


def test_the_printed_server_line_of_fedlesam_d_is_a_sum():
    """Fan et al. 2024, Algorithm 4: w - eta_g sum_S (w - w_i), without 1/K (AVG-2) and without the dual (LESAMD-2)."""
    three = [[0, 1, 3], [0, 1, 2], [1, 2, 3]]
    printed = build("fedlesam-d", switches=["AVG-2", "LESAMD-2"], server_lr=0.2)
    mean = build("fedlesam-d", switches=["LESAMD-2"], server_lr=3 * 0.2)
    assert torch.allclose(trajectory(printed, cohorts=three), trajectory(mean, cohorts=three), rtol=0, atol=1e-12)


def test_with_all_clients_active_speed2_changes_nothing():
    """Its two servers differ in whose drift they average, also where the penalty depends on the size (DYN-3)."""
    everybody = [[0, 1, 2, 3]] * 3
    for variant, source, switches in (("released", "fedman", []), ("paper", None, ["DYN-3"])):
        one, other = (build("fedspeed", variant, source, [*switches, *more]) for more in ([], ["SPEED-2"]))
        one, other = (trajectory(method, None, cohorts=everybody) for method in (one, other))
        assert torch.allclose(one, other, rtol=0, atol=1e-12)


def ratios(name, *switches):
    """r_k of clients 0, 1 and 3, and the models sent up for it."""
    C, w = cohort([0, 1, 3]), torch.linspace(-1, 1, P, dtype=torch.float64)
    return build(name, switches=switches).begin({}, w, C)["r"], C.traffic.up


@pytest.mark.parametrize("name", ["globalfedsam", "globalfedsam-norm"])
def test_weights_over_all_clients_enter_the_ratios_too(name):
    """GSAM-2: p_j is one weight, in r_k as in the server's mean, whichever norm r_k has (GSAM-1)."""
    share = 1.0 if name == "globalfedsam-norm" else sum(SIZES[i] for i in (0, 1, 3)) / sum(SIZES)
    for other in ([], ["GSAM-1"]):
        assert torch.allclose(ratios(name, "GSAM-2", *other)[0], share * ratios(name, *other)[0], rtol=1e-12)


def test_the_printed_norm_leaves_normalisation_and_traffic_alone():
    """GSAM-1 replaces a norm inside r_k, which the server forms from the gradients that it has anyway."""
    C, w = cohort([0, 1, 3]), torch.linspace(-1, 1, P, dtype=torch.float64)
    length = (C.p * C.full_gradient(w)).sum(0).norm()
    (r, up), (normalised, _) = ratios("globalfedsam", "GSAM-1"), ratios("globalfedsam-norm", "GSAM-1")
    assert torch.allclose(normalised, r / length, rtol=1e-12)
    assert up == ratios("globalfedsam")[1] == 1


@pytest.mark.parametrize("name", ["fedlesam", "fedlesam-s", "fedlesam-d"])
def test_released_lesam_with_the_printed_start(name):
    with pytest.raises(UserError, match="LESAM-2 with LESAM-3"):
        build(name, "released", switches=["LESAM-3"])
    own_start = build(name, "released", switches=["LESAM-2", "LESAM-3"])
    assert torch.isfinite(trajectory(own_start)).all()


@pytest.mark.parametrize("id", sorted(SWITCHES))
def test_flipping_twice_changes_nothing(id):
    name = concerned(id)[0]
    assert build(name, switches=[id, id]).switches == build(name).switches


@pytest.mark.parametrize("id", sorted(SAME_EQUATION))
def test_ids_of_the_same_equation_turn_that_switch(id):
    name = next(
        n for n, cls in ALGORITHMS.items() if all(any(s.concerns(cls) for s in SWITCHES[i]) for i in SAME_EQUATION[id])
    )
    assert build(name, switches=[id]).switches == build(name).switches ^ set(SAME_EQUATION[id])


def test_every_severe_discrepancy_has_a_switch_an_option_or_a_reason():
    with open(LEDGER, newline="", encoding="utf-8") as file:
        severe = {r["id"] for r in csv.DictReader(file) if r["severity"] in ("high", "med")}
    known = set(SWITCHES) | set(SAME_EQUATION) | set(OPTIONS) | set(DOCUMENTATION)
    assert severe <= known, severe - known
    assert not set(DOCUMENTATION) & (set(SWITCHES) | set(SAME_EQUATION) | set(OPTIONS))


def test_ids_are_those_of_the_ledger():
    with open(LEDGER, newline="", encoding="utf-8") as file:
        ledger = {r["id"] for r in csv.DictReader(file)}
    assert set(SWITCHES) | set(SAME_EQUATION) | set(OPTIONS) <= ledger


def test_list_discrepancies_shows_every_switch(capsys):
    assert main(["list", "discrepancies", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(SWITCHES) | set(SAME_EQUATION) | set(OPTIONS)
    assert all(row["explanation"] for row in rows.values())
    assert "fedlesam" in rows["LESAM-1"]["methods"]


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n not in UNRELEASED])
def test_released_form_differs_only_where_something_is_wrong(name):
    """With equal sizes, no clip and nothing but GEN-1, GEN-4 or a 1e-7 stabiliser, released is the paper's method."""
    harmless = {"GEN-1", "GEN-4", "SAM-4"}
    difference = (trajectory(build(name, "released"), None) - trajectory(build(name), None)).abs().max().item()
    if resolve(name, "released", None, ()) <= {"GEN-1", "SAM-4"}:
        assert difference < 1e-6
    elif not resolve(name, "released", None, ()) <= harmless:
        assert difference > 1e-8


def test_unknown_names_are_refused():
    for arguments in ({"variant": "printed"}, {"switches": ["LESAM-1"]}, {"rho": 1.0}, {"server_lr": -1.0}):
        with pytest.raises(UserError):
            build("fedavg", **arguments)
    with pytest.raises(UserError):
        build("fedsam", "released", source="somewhere")


#: algorithms.md, section 3 and GEN-12, ASAM-3: a released form that no repository has
NOT_RELEASED_THERE = [
    *[("fl-simulator", name) for name in ("fedasam", "feddc", "fedlesam", "fedlesam-s", "fedlesam-d")],
    *[("fedlesam", name) for name in ("fedspeed", "feddyn-sam", "fedgamma", "fedsmoo", "fedasam", "feddc")],
    *[("fedman", name) for name in ("fedadam", "fedcm", "mofedsam", "fedgamma", "fedsmoo", "feddyn-sam")],
    *[("fedman", name) for name in ("fedlesam", "fedlesam-s", "fedlesam-d")],
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_released_form_needs_a_repository_with_the_method(name, source):
    if name in UNRELEASED or (source, name) in NOT_RELEASED_THERE:
        with pytest.raises(UserError, match="code"):
            build(name, "released", source)
    else:
        assert "GEN-1" in build(name, "released", source).switches


@pytest.mark.parametrize("source", [*SOURCES, "foo"])
def test_a_source_goes_with_the_released_variant_only(source):
    with pytest.raises(UserError, match="source"):
        build("fedavg", "paper", source)


def test_spellings_of_the_papers():
    assert build("FedLESAM-S").name == build("FedLESAM_S").name == "fedlesam-s"
    assert build("Local FedSAM").name == "fedsam"
    assert build("Global FedSAM").name == "globalfedsam"


def test_duals_without_offsets_read_the_beginning_for_every_tensor():
    """LAYOUT has tensors of 4 and 2 numbers: the second reads numbers 0 and 1 instead of 4 and 5 (SMOO-11)."""
    w, C = torch.zeros(P), cohort([0, 2])
    for switches, read in ((frozenset(), [0, 1, 2, 3, 4, 5]), (frozenset({"SMOO-11"}), [0, 1, 2, 3, 0, 1])):
        method = build("fedsmoo", switches=switches)
        state = method.init(w, len(SIZES))
        state["s"] = torch.arange(6.0)
        state["mu"][C.clients] = torch.stack([torch.arange(6.0) + 10, torch.arange(6.0) + 20])
        own = method.begin(state, w, C)
        assert own["s"].reshape(-1, 6)[0].tolist() == read
        assert own["mu"].tolist() == [[10.0 + j for j in read], [20.0 + j for j in read]]


def test_squared_weights_scale_the_ascent():
    """w = (2, -1), g = (3, 4): |w| g = (6, 4), so e = rho (12, 4) / sqrt(52) (SAM-8)."""
    W, G = torch.tensor([[2.0, -1.0]]), lambda _W: torch.tensor([[3.0, 4.0]])
    found = build("fedsam", rho=0.5, switches=["SAM-8"]).perturbation(W, G, SimpleNamespace())
    assert torch.allclose(found, torch.tensor([[12.0, 4.0]]) * 0.5 / math.sqrt(52))


def test_a_momentum_fades_over_steps_and_clients():
    """Clients of 6, 4 and 6 steps: at step 1 the exponents are 2, 6 + 2 and 10 + 2 (MOSAM-5)."""
    method, C, w = build("mofedsam", beta=0.1, switches=["MOSAM-5"]), cohort([0, 1, 2]), torch.ones(P).double()
    state = method.init(w, len(SIZES)) | {"momentum": torch.ones(P).double()}
    c = SimpleNamespace(k=1, **method.begin(state, w, C))
    assert C.K[:, 0].tolist() == [6, 4, 6]
    expected = torch.tensor([[0.9**2], [0.9**8], [0.9**12]]).double().expand(3, P)
    assert torch.allclose(method.direction(torch.zeros(3, P).double(), c), expected)


def test_a_variate_of_the_mean_moves_by_a_share_of_the_cohort():
    """Three of four clients move by 1: the sum over all is 3/4, the mean over all 1/4 (GAMMA-4)."""
    C, zero, one = cohort([0, 1, 2]), torch.zeros(3, P), torch.ones(3, P)
    for switches, moved in (((), 0.75), (("GAMMA-4",), 0.25)):
        method = build("fedgamma", switches=switches)
        assert method.server_variate(torch.zeros(P), one, zero, C).tolist() == [moved] * P


def test_a_variate_without_the_rate_is_the_rate_times_as_long():
    """Of one round in which all variates begin at 0, at the rate 0.1 (GAMMA-5)."""
    ((*_, right), *_), ((*_, wrong), *_) = (
        list(rounds(build("fedgamma", switches=switches), cohorts=([0, 1, 3],))) for switches in ((), ("GAMMA-5",))
    )
    assert torch.allclose(wrong["c"], 0.1 * right["c"], rtol=1e-12)
    assert right["c"].abs().max() > 0.1
