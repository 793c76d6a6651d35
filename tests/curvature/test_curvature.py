"""Curvature against closed forms, dense Hessians and another library; certificates against cases built to fool them."""

import json
import math

import numpy as np
import pytest
import scipy.sparse.linalg
import torch
from spectra import DOUBLE, Quadratic, normal, quadratic, tanh_network
from torch import nn
from torch.nn import functional

from artifact import curvature
from artifact.base.errors import UserError
from artifact.curvature import eigen
from artifact.models import networks


def outermost(eigenvalues, which, k):
    order = {"LA": -eigenvalues, "SA": eigenvalues, "LM": -np.abs(eigenvalues)}[which]
    return eigenvalues[np.argsort(order, kind="stable")][:k]


SPECTRA = {
    "separated": np.r_[np.linspace(0, 1, 95), 2, 3, 5, 8, 13],
    "negative-dominant": np.r_[-50, -np.linspace(1, 2, 100), 0.5, 0.1],
    "sign-tied": np.r_[7, -7, np.linspace(-1, 1, 100)],
    "nearly degenerate": np.r_[1, 1 - 1e-7, 1 - 2e-7, np.linspace(-0.5, 0.9, 100)],
    "plateau": np.r_[np.full(60, 3.0), np.linspace(-1, 1, 60)],
    "needle": np.r_[1.05, np.ones(200), 0.95],
    "low rank": np.r_[np.zeros(100), -1, 2, 4],
    "zero": np.zeros(50),
    "small": np.array([3.0, -4.0, 1.0]),
}


@pytest.mark.parametrize("which", ["LA", "SA", "LM"])
@pytest.mark.parametrize("name", SPECTRA)
def test_eigenvalues_of_quadratics(name, which):
    loss, w, truth, _ = quadratic(SPECTRA[name])
    for k in (1, 3):
        found = curvature.top_eigenvalues(loss, w, k=k, which=which)
        expected = outermost(truth, which, k)
        values = found.values.numpy()
        if which == "LM":  # the order inside a tie of +x and -x is free
            values, expected = np.sort(np.abs(values)), np.sort(np.abs(expected))
        errors = np.abs(values - expected)
        assert found.converged.all()
        assert (errors <= found.residuals.numpy() + 1e-15).all(), "inside the reported residual"
        assert (errors <= 1e-5 * np.abs(expected) + 1e-12).all()
        assert found.vectors.shape == (k, len(w))
        assert torch.allclose(found.vectors @ found.vectors.T, torch.eye(k, dtype=DOUBLE), atol=1e-10)


@pytest.mark.parametrize("which", ["LA", "SA", "LM"])
@pytest.mark.parametrize(
    "name", ["separated", "negative-dominant", "sign-tied", "plateau", "needle", "low rank", "zero"]
)
def test_power_iteration_is_right_or_says_that_it_is_not(name, which):
    loss, w, truth, H = quadratic(SPECTRA[name])
    found = curvature.power_iteration(loss, w, which=which)
    v, value = found.vectors[0], float(found.values[0])
    recomputed = float((H @ v - value * v).norm())
    assert recomputed <= float(found.residuals[0]) <= recomputed + 1e-11
    if found.converged[0]:
        assert abs(abs(value) - abs(outermost(truth, which, 1)[0])) <= 1e-5 * abs(value) + 1e-12
    assert bool(found.converged[0]) or which == "SA", "only the small ends of these spectra are too slow"


def naive_power_iteration(H, v, tol):
    """The usual rule: stop when two successive Rayleigh quotients agree to tol."""
    last = math.inf
    while True:
        value = float(v @ H @ v)
        if abs(value - last) <= tol * abs(value):
            return value
        last, v = value, H @ v / (H @ v).norm()


def test_invariant_start_is_accepted_by_naive_rules_and_flagged_here():
    """Started in an eigenvector that is not the top one, the residual is zero and the Rayleigh quotient never moves."""
    H = torch.diag(torch.cat([torch.tensor([9.0, 4.0]), torch.linspace(0, 1, 60)]).double())
    start = torch.zeros(62, dtype=DOUBLE)
    start[1] = 1.0
    assert naive_power_iteration(H, start, 1e-6) == 4.0
    found = curvature.power_iteration(lambda w: 0.5 * w @ H @ w, torch.ones(62, dtype=DOUBLE), start=start)
    assert float(found.values[0]) == 4.0 and float(found.residuals[0]) < 1e-12, "both naive tests pass"
    assert not found.converged[0]
    assert found.ceiling >= 9.0 - 1e-9


def test_needle_above_a_plateau_is_accepted_by_naive_rules_and_flagged_here():
    """One eigenvalue 1.05 above 4000 equal ones: a start that hardly touches it settles on the plateau first."""
    size = 4001
    d = torch.ones(size, dtype=DOUBLE)
    d[0] = 1.05
    start = torch.full((size,), size**-0.5, dtype=DOUBLE)
    start[0] = 1e-5
    loss = lambda w: 0.5 * (d * w * w).sum()  # noqa: E731
    assert naive_power_iteration(torch.diag(d), start / start.norm(), 1e-3) == pytest.approx(1.0, abs=1e-6)
    found = curvature.power_iteration(loss, torch.ones(size, dtype=DOUBLE), start=start, tol=1e-3)
    assert float(found.values[0]) == pytest.approx(1.0, abs=1e-6)
    assert float(found.residuals[0]) <= 1e-3
    assert not found.converged[0]
    proper = curvature.top_eigenvalues(loss, torch.ones(size, dtype=DOUBLE), k=1)
    assert proper.converged[0] and float(proper.values[0]) == pytest.approx(1.05, rel=1e-12)


def test_a_solver_that_misses_the_top_is_caught_and_repaired(monkeypatch):
    loss, w, truth, H = quadratic(SPECTRA["separated"])
    vectors = torch.linalg.eigh(H)[1].T
    monkeypatch.setattr(eigen, "_solve", lambda *_: (vectors[[-2, -4]], None))  # exact pairs, not the outermost two
    found = curvature.top_eigenvalues(loss, w, k=2)
    assert found.converged.all()
    assert found.values.numpy() == pytest.approx(truth[[-1, -2]], rel=1e-12)


def test_too_few_products_are_never_called_converged():
    loss, w, truth, _ = quadratic(np.r_[np.linspace(0, 1, 300), 1.001])
    found = curvature.top_eigenvalues(loss, w, k=2, max_iterations=6)
    assert not found.converged.any()
    assert math.isnan(found.ceiling)
    for value, residual in zip(found.values, found.residuals, strict=True):
        assert np.abs(truth - float(value)).min() <= float(residual)
    assert "not converged" in str(found) and len(str(found).splitlines()) == 2
    assert [row["value"] for row in found.rows()] == [None, None]
    assert json.loads(json.dumps(found.rows()))[0]["interval"][0] < truth[-1]


def test_ceiling_is_above_what_was_left_out():
    for seed in range(20):
        loss, w, truth, _ = quadratic(np.r_[5.0, np.linspace(-2, 1, 200)], seed=seed)
        assert curvature.top_eigenvalues(loss, w, k=1, seed=seed).ceiling >= truth[-2] - 1e-9


def test_seeds_repeat_and_leave_global_state():
    loss, w, _, _ = quadratic(SPECTRA["separated"])
    before = torch.get_rng_state()
    first, again = (curvature.top_eigenvalues(loss, w, k=2, seed=5) for _ in range(2))
    assert torch.equal(first.vectors, again.vectors) and torch.equal(first.values, again.values)
    assert torch.equal(before, torch.get_rng_state())


def test_linear_regression_closed_form():
    """L = |Xw - y|^2 / (2n) has the Hessian X'X / n."""
    X, y = normal(80, 40), normal(80, seed=1)
    loss = lambda w: (X @ w - y).square().sum() / 160  # noqa: E731
    H = X.T @ X / 80
    w = normal(40, seed=2)
    assert torch.allclose(curvature.dense_hessian(loss, w), H, atol=1e-13)
    found = curvature.top_eigenvalues(loss, w, k=5)
    truth = torch.linalg.eigvalsh(H).flip(0)[:5]
    assert (abs(found.values - truth) <= found.residuals + 1e-15).all()
    assert curvature.trace(loss, w, samples=400).value == pytest.approx(float(H.trace()), rel=0.02)


def test_logistic_regression_closed_form():
    """L = mean log(1 + exp(-s Xw)) has the Hessian X' diag(p(1-p)) X / n."""
    X = normal(100, 40)
    s = torch.sign(normal(100, seed=1))
    loss = lambda w: functional.softplus(-s * (X @ w)).mean()  # noqa: E731
    w = 0.3 * normal(40, seed=2)
    p = torch.sigmoid(X @ w)
    H = X.T @ ((p * (1 - p))[:, None] * X) / 100
    assert torch.allclose(curvature.dense_hessian(loss, w), H, atol=1e-13)
    found = curvature.top_eigenvalues(loss, w, k=3)
    truth = torch.linalg.eigvalsh(H).flip(0)[:3]
    assert (abs(found.values - truth) <= found.residuals).all() and found.converged.all()


def test_softmax_regression_closed_form():
    """A linear classifier's Hessian is the mean of (diag p - p p') (x) x x'."""
    x, y = normal(60, 12), torch.arange(60) % 4
    model = nn.Linear(12, 4, bias=False).double()
    risk = curvature.EmpiricalRisk(model, None, (x, y))
    w = 0.5 * normal(48, seed=3)
    p = torch.softmax(x @ w.reshape(4, 12).T, dim=1)
    inner = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    H = torch.einsum("nab,ni,nj->aibj", inner, x, x).reshape(48, 48) / 60
    assert torch.allclose(curvature.dense_hessian(risk, w), H, atol=1e-13)
    found = curvature.top_eigenvalues(risk, w, k=4)
    truth = torch.linalg.eigvalsh(H).flip(0)[:4]
    assert (abs(found.values - truth) <= found.residuals).all() and found.converged.all()


@pytest.fixture(scope="module")
def network():
    return tanh_network()


def test_network_hessian_is_the_dense_one(network):
    risk, w, H = network
    assert torch.allclose(curvature.dense_hessian(risk, w), H, atol=1e-12)
    V = normal(5, len(w), seed=8)
    assert torch.allclose(risk.hvp(w, V), V @ H, atol=1e-12)
    assert torch.allclose(risk.hvp(w, V[0]), H @ V[0], atol=1e-12)


@pytest.mark.parametrize("which", ["LA", "SA", "LM"])
def test_network_eigenvalues_agree_with_scipy_on_the_dense_matrix(network, which):
    risk, w, H = network
    reference = scipy.sparse.linalg.eigsh(H.numpy(), 4, which=which, return_eigenvectors=False)
    found = curvature.top_eigenvalues(risk, w, k=4, which=which)
    assert found.converged.all()
    assert found.values.numpy() == pytest.approx(outermost(reference, which, 4), rel=1e-5)


def test_float32_is_certified_to_its_own_precision(network):
    risk, w, H = network
    found = curvature.top_eigenvalues(risk, w.float(), k=2)
    truth = torch.linalg.eigvalsh(H).flip(0)[:2]
    assert found.vectors.dtype == torch.float32 and found.converged.all()
    assert found.values.numpy() == pytest.approx(truth.numpy(), rel=1e-4)


def test_blocks_are_the_dense_blocks(network):
    risk, w, H = network
    for _, part in risk.layout.slices():
        found = curvature.block_top_eigenvalue(risk, w, part)
        assert found.vectors.shape == (1, part.stop - part.start)
        assert float(found.values[0]) == pytest.approx(float(torch.linalg.eigvalsh(H[part, part])[-1]), rel=1e-8)
    with pytest.raises(UserError, match="slice"):
        curvature.block_top_eigenvalue(risk, w, slice(5, 5))


def test_agrees_with_curvlinops(network):
    """An independent implementation, on the same model, data and point (release 3.0.1, used by tests only)."""
    curvlinops = pytest.importorskip("curvlinops", reason="curvlinops is a test-only reference and not installed")
    risk, w, _ = network
    for parameter, view in zip(risk.model.parameters(), risk.layout.views(w).values(), strict=True):
        parameter.data.copy_(view)
    x, y = risk.data
    theirs = curvlinops.HessianLinearOperator(
        risk.model, nn.CrossEntropyLoss(), list(risk.model.parameters()), [(x[:20], y[:20]), (x[20:], y[20:])]
    )
    V = normal(3, len(w), seed=4)
    assert torch.allclose(risk.hvp(w, V), (theirs @ V.T).T, rtol=1e-8, atol=1e-10)
    reference = scipy.sparse.linalg.eigsh(theirs.to_scipy(), 3, which="LA", return_eigenvectors=False)
    found = curvature.top_eigenvalues(risk, w, k=3)
    assert found.values.numpy() == pytest.approx(np.sort(reference)[::-1], rel=1e-5)


def test_risk_does_not_depend_on_how_the_data_are_cut(network):
    risk, w, _ = network
    x, y = risk.data
    pairs = [(x[:7], y[:7]), (x[7:40], y[7:40]), (x[40:], y[40:])]
    cut = [
        curvature.EmpiricalRisk(risk.model, None, risk.data, batch=7),
        curvature.EmpiricalRisk(risk.model, None, pairs),
    ]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
    V = normal(2, len(w), seed=5)
    for other in [*cut, curvature.EmpiricalRisk(risk.model, None, loader)]:
        assert float(other(w)) == pytest.approx(float(risk(w)), rel=1e-13)
        assert torch.allclose(other.gradient(w), risk.gradient(w), atol=1e-14)
        assert torch.allclose(other.hvp(w, V), risk.hvp(w, V), atol=1e-13)
        assert torch.allclose(other.linearise(w)(V), risk.hvp(w, V), atol=1e-13)  # as eigenvalues are found


def test_clients_average_to_the_whole(network):
    risk, w, _ = network
    clients = [np.arange(0, 10), np.arange(10, 50)]
    V = normal(2, len(w), seed=5)
    mean = sum(len(c) / 50 * risk.subset(c).hvp(w, V) for c in clients)
    assert torch.allclose(mean, risk.hvp(w, V), atol=1e-13)


def test_memory_budget_sets_the_pass_size():
    model = networks.build("cnn-fmnist", (1, 8, 8), 10, seed=0)
    x, y = torch.rand(40, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 10
    whole, little = (curvature.EmpiricalRisk(model, None, (x, y), memory=m) for m in (1 << 30, 2_000_000))
    assert float(little(whole.weights)) == pytest.approx(float(whole(whole.weights)), rel=1e-5)
    assert whole.batch >= 40 > little.batch >= 1


def test_batchnorm_runs_in_evaluation_mode_and_stays_as_it_was():
    model = networks.build("cnn-fmnist", (1, 8, 8), 10, seed=0)
    model(torch.rand(16, 1, 8, 8, generator=torch.Generator().manual_seed(0)))  # statistics that are not the default
    model.norm1.eval()
    state = {name: t.clone() for name, t in model.state_dict().items()}
    x, y = torch.rand(12, 1, 8, 8, generator=torch.Generator().manual_seed(1)), torch.arange(12) % 10
    risk = curvature.EmpiricalRisk(model, None, (x, y), batch=5)
    value = float(risk(risk.weights.double()))
    risk.gradient(risk.weights)
    assert all(torch.equal(t, state[name]) for name, t in model.state_dict().items())
    assert model.training and not model.norm1.training and model.norm2.training
    model.eval()
    with torch.no_grad():
        assert value == pytest.approx(float(functional.cross_entropy(model(x), y)), rel=1e-5)
    shifted = {"norm1.running_mean": model.norm1.running_mean + 1}
    assert float(curvature.EmpiricalRisk(model, None, (x, y), buffers=shifted)(risk.weights)) != pytest.approx(
        value, rel=1e-3
    )


def noisy_loss():
    draw = torch.Generator().manual_seed(0)
    return lambda w: (w * w).sum() * (1 + 0.01 * torch.rand((), generator=draw, dtype=DOUBLE))


@pytest.mark.parametrize(
    "measure",
    [
        curvature.top_eigenvalues,
        curvature.power_iteration,
        curvature.trace,
        curvature.dense_hessian,
        curvature.spectral_density,
        lambda loss, w: curvature.sam_sharpness(loss, w, 0.1),
        lambda loss, w: curvature.landscape(loss, w, torch.ones(1, 6), [0.0, 1.0]),
    ],
)
def test_random_or_broken_losses_are_refused(measure):
    w = torch.ones(6, dtype=DOUBLE)
    for loss, said in (
        (noisy_loss(), "Dropout"),
        (lambda w: w.sum() / 0, "finite"),
        (lambda w: w, "one number"),
        (lambda w: 3.0, "one number"),
        ("loss", "scalar function"),
    ):
        with pytest.raises(UserError, match=said):
            measure(loss, w)
    for wrong in (w.reshape(2, 3), w.half(), torch.full((6,), math.nan, dtype=DOUBLE), [1.0, 2.0]):
        with pytest.raises(UserError, match=r"^w: "):
            measure(lambda w: (w * w).sum(), wrong)


def test_dropout_and_spent_iterators_are_refused(network):
    risk, w, _ = network

    class Always(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(6, 3).double()

        def forward(self, x):
            return functional.dropout(self.inner(x), 0.5, training=True)

    with torch.random.fork_rng():
        restless = curvature.EmpiricalRisk(Always(), None, risk.data)
        with pytest.raises(UserError, match="two evaluations"):
            curvature.trace(restless, restless.weights)
    with pytest.raises(UserError, match="iterated over again"):
        curvature.EmpiricalRisk(risk.model, None, iter([risk.data]))
    with pytest.raises(UserError, match="no samples"):
        curvature.trace(curvature.EmpiricalRisk(risk.model, None, []), w)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("k", lambda f, w: curvature.top_eigenvalues(f, w, k=7)),
        ("which", lambda f, w: curvature.top_eigenvalues(f, w, k=1, which="BE")),
        ("tol", lambda f, w: curvature.top_eigenvalues(f, w, k=1, tol=0.0)),
        ("max_iterations", lambda f, w: curvature.power_iteration(f, w, max_iterations=0)),
        ("samples", lambda f, w: curvature.trace(f, w, samples=1)),
        ("probes", lambda f, w: curvature.spectral_density(f, w, probes=1)),
        ("sigma", lambda f, w: curvature.spectral_density(f, w, sigma=-1.0)),
        ("rho", lambda f, w: curvature.sam_sharpness(f, w, 0.0)),
        ("directions", lambda f, w: curvature.landscape(f, w, torch.ones(3, 6), [0.0])),
        ("directions", lambda f, w: curvature.landscape(f, w, torch.ones(1, 5), [0.0])),
        ("grid", lambda f, w: curvature.landscape(f, w, torch.ones(6), ([0.0], [1.0]))),
        ("w", lambda f, w: curvature.dense_hessian(f, w, memory=10)),
    ],
)
def test_bad_arguments(field, call):
    with pytest.raises(UserError) as caught:
        call(lambda w: (w * w).sum(), torch.ones(6, dtype=DOUBLE))
    assert caught.value.field == field


def test_linear_loss_has_no_curvature():
    b = normal(40)
    w = normal(40, seed=1)
    assert torch.equal(curvature.dense_hessian(lambda w: b @ w, w), torch.zeros(40, 40, dtype=DOUBLE))
    assert curvature.top_eigenvalues(lambda w: b @ w, w, k=1).values.item() == 0.0


def test_products_by_hand_give_the_numbers_of_the_function():
    """What repeats a measurement some hundred times takes them; derivatives are taken everywhere else."""
    loss, w, _, H = quadratic(np.r_[np.linspace(-1, 5, 40), 60.0])
    by_hand, derived = (curvature.trace(of, w, samples=20) for of in (Quadratic(H), loss))
    assert torch.allclose(by_hand.samples, derived.samples, rtol=1e-10)
    by_hand, derived = (curvature.spectral_density(of, w, probes=3, steps=20) for of in (Quadratic(H), loss))
    assert torch.allclose(by_hand.density, derived.density, rtol=1e-8, atol=1e-12)


def test_trace_intervals_cover_at_their_level():
    """400 repetitions of a 95% interval: 3.3 standard deviations of the binomial around 95%."""
    _, w, truth, H = quadratic(np.linspace(-1, 5, 40))
    hits = 0
    for seed in range(400):
        low, high = curvature.trace(Quadratic(H), w, samples=20, seed=seed).interval(0.95)
        hits += low <= truth.sum() <= high
    assert 0.95 - 3.3 * 0.011 <= hits / 400 <= 0.95 + 3.3 * 0.011


def test_the_space_of_a_certificate_has_the_trace_that_it_says():
    loss, w, truth, H = quadratic(np.r_[np.linspace(-1, 5, 200), 60.0])
    found = curvature.top_eigenvalues(loss, w, k=2, keep_space=True)
    Q = found.space
    assert len(Q) > 20 and torch.allclose(Q @ Q.T, torch.eye(len(Q), dtype=DOUBLE), atol=1e-9)
    assert found.space_trace == pytest.approx(float((Q @ H @ Q.T).trace()), rel=1e-9)
    values = [curvature.trace(loss, w, 30, seed, deflate=found) for seed in range(100)]
    hits = sum(low <= truth.sum() <= high for low, high in (v.interval(0.95) for v in values))
    assert hits >= 95 - 3.3 * 2.2
    assert curvature.top_eigenvalues(loss, w, k=2).space is None


@pytest.mark.parametrize("dominant", [(40.0,), (60.0, 30.0), (200.0,)])
def test_trace_intervals_cover_with_dominant_eigenvalues(dominant):
    """One eigenvalue as large as the others' Frobenius norm or far above: where plain Hutchinson is most skewed."""
    _, w, truth, H = quadratic(np.r_[np.linspace(-1, 5, 200), dominant])
    hits = 0
    for seed in range(400):
        low, high = curvature.trace(Quadratic(H), w, samples=20, seed=seed).interval(0.95)
        hits += low <= truth.sum() <= high
    assert abs(hits / 400 - 0.95) <= 3.3 * 0.011


def test_trace_that_ends_at_its_error_still_covers():
    _, w, truth, H = quadratic(np.r_[np.linspace(-1, 5, 200), 60.0])
    found = [curvature.trace(Quadratic(H), w, 500, seed, relative_error=0.01) for seed in range(300)]
    assert all(24 <= len(f.samples) < 500 and f.standard_error <= 0.01 * f.value for f in found)
    hits = sum(low <= truth.sum() <= high for low, high in (f.interval(0.95) for f in found))
    assert hits / 300 >= 0.95 - 3.3 * 0.0126


def test_trace_of_a_small_hessian_is_exact():
    loss, w, truth, _ = quadratic([3.0, -4.0, 1.5])
    assert curvature.trace(loss, w, samples=10).value == pytest.approx(truth.sum(), rel=1e-12)


def test_trace_of_a_diagonal_hessian_is_exact():
    d = torch.linspace(0.1, 2, 50, dtype=DOUBLE)
    found = curvature.trace(lambda w: 0.5 * (d * w * w).sum(), torch.ones(50, dtype=DOUBLE), samples=5)
    assert abs(found.value - float(d.sum())) <= 3 * found.standard_error < 1e-12


def test_deflation_keeps_the_trace_and_takes_the_variance():
    loss, w, truth, H = quadratic(np.r_[np.linspace(-1, 1, 60), 20, 30])
    top = torch.linalg.eigh(H)[1].T[-2:]
    plain, deflated = (curvature.trace(loss, w, samples=40, sketch=0, deflate=Q) for Q in (None, top))
    assert deflated.standard_error < 0.25 * plain.standard_error
    assert curvature.trace(loss, w, samples=40).standard_error < 0.25 * plain.standard_error, "the sketch finds them"
    known = curvature.trace(loss, w, samples=40, deflate=curvature.top_eigenvalues(loss, w, k=2))
    assert known.value == pytest.approx(deflated.value, rel=1e-6)
    arbitrary = [torch.linalg.qr(normal(62, 3, seed=seed))[0].T for seed in range(200)]
    values = [curvature.trace(loss, w, samples=20, seed=i, deflate=Q).value for i, Q in enumerate(arbitrary)]
    assert np.mean(values) == pytest.approx(truth.sum(), abs=3.3 * np.std(values) / 200**0.5), "unbiased for any rows"
    with pytest.raises(UserError, match="orthonormal"):
        curvature.trace(loss, w, deflate=2 * top)


def smoothed(eigenvalues, grid, sigma):
    z = (grid[:, None] - torch.as_tensor(eigenvalues)) / sigma
    return torch.exp(-0.5 * z**2).mean(1) / (sigma * math.sqrt(2 * math.pi))


def test_density_intervals_cover_at_their_level():
    """Pointwise 95% intervals over 60 repetitions; neighbouring grid points are dependent, hence the allowance."""
    _, w, truth, H = quadratic(np.linspace(-1, 5, 40))
    shares = []
    for seed in range(60):
        found = curvature.spectral_density(Quadratic(H), w, probes=10, steps=40, points=24, sigma=0.4, seed=seed)
        low, high = found.interval(0.95)
        inside = (found.grid > -1) & (found.grid < 5)
        expected = smoothed(truth, found.grid, 0.4)
        shares.append(float(((low <= expected) & (expected <= high))[inside].double().mean()))
    assert 0.90 <= np.mean(shares) <= 0.99


def test_density_integrates_to_one_and_has_the_right_moments():
    loss, w, truth, _ = quadratic(np.r_[np.linspace(0, 1, 80), 10, 20])
    found = curvature.spectral_density(loss, w, probes=20, steps=60)
    grid, density, weights = found
    assert float(torch.trapezoid(density, grid)) == pytest.approx(1.0, abs=1e-3)
    assert float(weights.sum()) == pytest.approx(1.0, rel=1e-12)
    assert float(weights @ found.nodes) == pytest.approx(truth.mean(), rel=0.25)
    assert float(found.nodes.max()) == pytest.approx(20, rel=1e-6)
    few = curvature.spectral_density(loss, w, probes=2, steps=60)
    assert float(few.standard_error.mean()) != float(found.standard_error.mean())
