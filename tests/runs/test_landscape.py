"""Sharpness, surfaces, layers and figures: what is drawn and reported from the curvature of a model."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from spectra import DOUBLE, normal, quadratic, tanh_network
from torch.nn import functional

from artifact import curvature
from artifact.base.errors import UserError
from artifact.base.plots import save
from artifact.curvature import figures
from artifact.models import activations, networks


@pytest.fixture(scope="module")
def network():
    return tanh_network()


def test_sam_step_is_the_unit_gradient_and_exact_is_the_trust_region_maximum():
    """max b'd + d'Hd/2 on |d| = rho solves (mu - H) d = b + Hw with mu above the spectrum."""
    loss, w, truth, H = quadratic(np.linspace(-1, 5, 30))
    g = torch.func.grad(loss)(w)
    step = curvature.sam_sharpness(loss, w, 0.5)
    assert torch.allclose(step.perturbation, 0.5 * g / g.norm(), atol=1e-14)
    assert step.value == pytest.approx(float(loss(w + step.perturbation) - loss(w)), rel=1e-12)
    solve = lambda mu: torch.linalg.solve(mu * torch.eye(30, dtype=DOUBLE) - H, g)  # noqa: E731
    best = solve(brentq(lambda mu: float(solve(mu).norm()) - 0.5, truth[-1] + 1e-9, 1e4))
    maximum = float(g @ best + 0.5 * best @ H @ best)
    exact = curvature.sam_sharpness(loss, w, 0.5, exact=True)
    assert exact.value == pytest.approx(maximum, rel=1e-6) and exact.value >= step.value
    assert float(exact.perturbation.norm()) <= 0.5 * (1 + 1e-12)


def test_sharpness_at_critical_points():
    """No gradient: the SAM step is zero; the exact one finds rho^2 lambda / 2 at a minimum and 0 at a maximum."""
    d = torch.linspace(1, 3, 20, dtype=DOUBLE)
    w = torch.zeros(20, dtype=DOUBLE)
    bowl = lambda w: 0.5 * (d * w * w).sum()  # noqa: E731
    assert curvature.sam_sharpness(bowl, w, 0.2).value == 0.0
    assert curvature.sam_sharpness(bowl, w, 0.2, exact=True).value == pytest.approx(0.06, rel=1e-4)
    assert curvature.sam_sharpness(lambda w: -bowl(w), w, 0.2, exact=True).value == 0.0


def test_m_sharpness_and_sharpness_along_a_path(network):
    risk, w, _ = network
    groups = curvature.m_sharpness(risk, w, 0.1, m=10)
    assert groups.shape == (5,)
    whole = curvature.m_sharpness(risk, w, 0.1, m=50)
    assert float(whole[0]) == pytest.approx(curvature.sam_sharpness(risk, w, 0.1).value, rel=1e-9)
    assert float(groups.mean()) > float(whole[0]), "small groups' own gradients raise their own loss more"
    along = curvature.sharpness_along(risk, [w, 0 * w], 0.1)
    assert float(along[0]) == pytest.approx(float(whole[0]), rel=1e-9)
    with pytest.raises(UserError, match=r"^m: "):
        curvature.m_sharpness(risk, w, 0.1, m=51)


def test_landscape_is_the_loss_on_the_grid(network):
    risk, w, _ = network
    D = normal(2, len(w), seed=9)
    line = curvature.landscape(risk, w, D[0], [-1.0, 0.0, 0.5])
    assert line.tolist() == pytest.approx([float(risk(w + a * D[0])) for a in (-1.0, 0.0, 0.5)], rel=1e-13)
    plane = curvature.landscape(risk, w, D, (np.array([-1.0, 0.0]), np.array([0.0, 1.0, 2.0])), memory=8 * len(w) * 2)
    assert plane.shape == (2, 3)
    for i, a in enumerate((-1.0, 0.0)):
        for j, b in enumerate((0.0, 1.0, 2.0)):
            assert float(plane[i, j]) == pytest.approx(float(risk(w + a * D[0] + b * D[1])), rel=1e-13)
    square = curvature.landscape(lambda v: (v * v).sum(), w, [D[0], D[1]], torch.linspace(-1, 1, 4))
    assert square.shape == (4, 4)


def test_directions(network):
    risk, w, H = network
    raw = curvature.orthogonal_directions(w)
    assert torch.allclose(raw @ raw.T, torch.eye(2, dtype=DOUBLE), atol=1e-13)
    D = curvature.filter_normalised_directions(risk.layout, w)
    for name, part in risk.layout.views(D).items():
        if name.endswith("bias"):
            assert not part.any()
        else:
            model_rows = risk.layout.views(w)[name].norm(dim=1)
            assert torch.allclose(part.norm(dim=2), model_rows.expand(2, -1), rtol=1e-12)
    assert abs(float(functional.cosine_similarity(D[0], D[1], dim=0))) < 0.9
    top = curvature.eigenvector_directions(risk, w)
    assert abs(float(top[0] @ torch.linalg.eigh(H)[1][:, -1])) == pytest.approx(1, abs=1e-6)
    with pytest.raises(UserError, match="not converged"):
        curvature.eigenvector_directions(risk, w, max_iterations=3)


def test_layers_by_hand():
    """Softmax layer alone: input norms are those of the data; the block Hessian is the whole one."""
    model = networks.build("mlp-5", (1, 4, 4), 3, seed=0).double()
    x, y = torch.rand(30, 1, 4, 4, generator=torch.Generator().manual_seed(0), dtype=DOUBLE), torch.arange(30) % 3
    risk = curvature.EmpiricalRisk(model, None, (x, y), batch=11)
    first, second = curvature.layer_curvature(risk, risk.weights)
    hidden = torch.relu(model.fc1(x.flatten(1)))
    assert (first.name, second.name, first.units, second.units) == ("fc1", "fc2", 16, 5)
    assert first.squared_norm == pytest.approx(float(x.flatten(1).square().sum(1).mean()), rel=1e-12)
    assert second.squared_norm == pytest.approx(float(hidden.detach().square().sum(1).mean()), rel=1e-12)
    H = curvature.dense_hessian(risk, risk.weights)
    for layer in (first, second):
        truth = float(torch.linalg.eigvalsh(H[layer.slice, layer.slice])[-1])
        assert layer.ratio == pytest.approx(truth / layer.squared_norm, rel=1e-8)
    terms = curvature.activation_terms(risk, risk.weights)
    assert terms == pytest.approx({"relu_fc1": float(hidden.detach().square().mean())}, rel=1e-12)
    assert tuple(terms) == activations.hidden_layers(model)
    with pytest.raises(UserError, match="fc1, fc2"):
        curvature.layer_curvature(risk, risk.weights, layers=["fc3"])


def test_figures_share_their_scale(tmp_path):
    axis = torch.linspace(-1, 1, 9)
    a, b = torch.meshgrid(axis, axis, indexing="ij")
    surfaces = {"flat": a**2 + b**2, "sharp": 9 * (a**2 + b**2)}
    figure = figures.contours(surfaces, (axis, axis), ("d1", "d2"))
    panels = [panel for panel in figure.axes if panel.get_title()]
    limits = {panel.collections[0].get_clim() for panel in panels}
    assert len(panels) == 2 and limits == {(0.0, 2.0)}, "the lowest of the panels' maxima is the common top"
    space = figures.surfaces_3d(surfaces, (axis, axis), ("d1", "d2"), ceiling=4.0)
    assert {panel.get_zlim() for panel in space.axes if panel.get_title()} == {(0.0, 4.0)}
    for name, drawn in (("c", figure), ("s", space)):
        assert all(path.stat().st_size > 1000 for path in save(drawn, tmp_path, name))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.pdf", "c.png", "s.pdf", "s.png"]


def test_a_dollar_sign_of_a_label_is_text(tmp_path):
    axis, labels = torch.linspace(-1, 1, 3), ("d1", "d2")
    surfaces = {"a$b{$": torch.ones(3, 3), "$x": torch.arange(9.0).reshape(3, 3)}
    lines = {name: values[0] for name, values in surfaces.items()}
    drawn = figures.contours(surfaces, (axis, axis), labels), figures.surfaces_3d(surfaces, (axis, axis), labels)
    for number, figure in enumerate((*drawn, figures.profiles(lines, axis, "step"))):
        assert all(path.stat().st_size > 1000 for path in save(figure, tmp_path, str(number)))


def test_other_figures_and_bad_folders(tmp_path):
    line = figures.profiles({"a": torch.arange(3.0), "b": torch.ones(3)}, torch.arange(3.0), "step")
    assert len(line.axes[0].lines) == 2
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^figures: "):
        save(line, tmp_path / "file" / "folder", "a")
    with pytest.raises(UserError, match=r"^surfaces: "):
        figures.contours({"line": torch.ones(3)}, (torch.ones(3), torch.ones(3)), ("a", "b"))
