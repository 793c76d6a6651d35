"""Compiled loops against torch's operations: the same bits, and what happens where they do not apply."""

from __future__ import annotations

import sys
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from artifact.accelerate import loops
from artifact.accelerate.cpu.pooling import PooledReLU, _PooledReLU
from artifact.accelerate.sgd_step import sgd_step
from artifact.data.augment import POLICIES
from artifact.models import networks
from artifact.training.gradients import Group, Oracle

SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), 1e-40]


@pytest.fixture
def by_torch(monkeypatch):
    """A switch: ``by_torch(True)`` does without the loops, ``by_torch(False)`` uses them however few numbers."""
    compiled = loops.compiled()
    assert compiled is not None, "numba is a dependency"

    def switch(plain: bool) -> None:
        monkeypatch.setattr(loops, "FEW", 0)
        monkeypatch.setattr(loops, "compiled", lambda: None if plain else compiled)

    return switch


def both(by_torch, work):
    """What a piece of work gives by torch's operations and by the loops."""
    results = []
    for plain in (True, False):
        by_torch(plain)
        results.append(work())
    return results


#: the same numbers, bit by bit but for the sign of zeros; what is not a number is so in both
same = partial(torch.testing.assert_close, rtol=0, atol=0, equal_nan=True)


def images(seed: int, shape, dtype, values=None) -> torch.Tensor:
    """Few different numbers, so that pixels of a window are often equal; channels innermost."""
    g = torch.Generator().manual_seed(seed)
    table = torch.tensor(values or [-2.0, -1.0, 0.0, 1.0, 1.5, 3.0])
    x = table[torch.randint(len(table), shape, generator=g)].to(dtype)
    return x.contiguous(memory_format=torch.channels_last)


# ---- pooling --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.sampled_from([2, 4, 6]), st.sampled_from([2, 4, 10])),
    dtype=st.sampled_from([torch.bfloat16, torch.float32]),
    special=st.booleans(),
)
def test_pooled_relu_has_the_bits_of_the_two_layers(seed, shape, dtype, special):
    """Also with equal pixels, where the first one gets the derivative, and with infinities."""
    x = images(seed, shape, dtype, SPECIAL if special else None)
    g = torch.Generator().manual_seed(seed)
    dy = torch.randn(*shape[:2], shape[2] // 2, shape[3] // 2, generator=g).to(dtype)
    plain = x.clone(memory_format=torch.preserve_format).requires_grad_()
    expected = F.relu(F.max_pool2d(plain, 2))
    x.requires_grad_()
    y = _PooledReLU.apply(x, loops.compiled())
    same(y, expected)
    same(torch.autograd.grad(y, x, dy)[0], torch.autograd.grad(expected, plain, dy)[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_not_a_number_stays_so(dtype, sign):
    """Of either sign: a run that has left the numbers must not seem to come back."""
    x = images(0, (1, 3, 4, 4), dtype)
    x[0, 1, 2, 3] = torch.copysign(torch.tensor(float("nan")), torch.tensor(sign)).to(dtype)
    y = _PooledReLU.apply(x, loops.compiled())
    same(y, F.relu(F.max_pool2d(x, 2)))
    assert y[0, 1, 1, 1].isnan() and y.isnan().sum() == 1


def test_hand_derived_pooling(by_torch):
    """Windows [1 3; 2 3], a tie that its first pixel wins, and [-1 -2; -3 0], which ReLU closes; 64 equal channels."""
    by_torch(False)
    x = torch.tensor([[1.0, 3.0, -1.0, -2.0], [2.0, 3.0, -3.0, 0.0]]).expand(1, 64, 2, 4)
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    y = PooledReLU(nn.MaxPool2d(2))(x)
    dx = torch.autograd.grad(y, x, torch.tensor([[5.0, 7.0]]).expand(1, 64, 1, 2))[0]
    assert "PooledReLU" in y.grad_fn.name() and torch.equal(y[0], torch.tensor([[3.0, 0.0]]).expand(64, 1, 2))
    assert torch.equal(dx[0], torch.tensor([[0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]).expand(64, 2, 4))


@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (nn.MaxPool2d(3), (2, 64, 6, 6)),
        (nn.MaxPool2d(2, stride=1), (2, 64, 6, 6)),
        (nn.MaxPool2d(2, padding=1), (2, 64, 6, 6)),
        (nn.MaxPool2d(2, ceil_mode=True), (2, 64, 5, 5)),
        (nn.MaxPool2d(2), (2, 64, 5, 7)),
        (nn.MaxPool2d(2), (2, 3, 6, 6)),
    ],
)
def test_other_poolings_stay_with_torch(by_torch, pool, shape):
    by_torch(False)
    x = images(1, shape, torch.float32).requires_grad_()
    y = PooledReLU(pool)(x)
    assert torch.equal(y, F.relu(pool(x))) and "PooledReLU" not in y.grad_fn.name()


# ---- the local step and augmentation --------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 70)),
    omega=st.sampled_from([0.0, 1e-3, 0.7, "rows"]),
    lr=st.floats(1e-4, 2.0),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_local_step_has_the_bits_of_four_operations(seed, shape, omega, lr, dtype):
    g = torch.Generator().manual_seed(seed)
    W, d = (torch.randn(shape, generator=g, dtype=dtype) for _ in range(2))
    omega = torch.rand(shape[0], 1, generator=g, dtype=dtype) if omega == "rows" else omega
    expected = W - ((W * omega + d) * lr if torch.is_tensor(omega) or omega else d * lr)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "FEW", 0)
        assert torch.equal(sgd_step(W, d, omega, lr), expected)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (1, 1 << 14), (2, (1 << 14) - 1)])
def test_a_direction_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="direction of a step"):
        sgd_step(torch.zeros(2, 1 << 14), torch.zeros(shape), 0.0, 0.1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("lead", [(7,), (3, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_augmentation_is_the_same(by_torch, policy, lead, dtype):
    g = torch.Generator().manual_seed(3)
    x, draws = torch.randn(*lead, 3, 9, 11, generator=g, dtype=dtype), torch.rand(*lead, 4, generator=g)
    expected, got = both(by_torch, lambda: POLICIES[policy](x, draws))
    assert torch.equal(got, expected) and not torch.equal(got, x)


# ---- whole gradients ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "shape", "backend", "bfloat16"),
    [
        ("lenet", (3, 32, 32), "loop", False),
        ("lenet", (3, 32, 32), "loop", True),
        ("cnn-cifar", (3, 32, 32), "loop", False),
        ("cnn-mnist", (1, 28, 28), "loop", False),
    ],
)
def test_gradients_have_the_same_bits(by_torch, model, shape, backend, bfloat16):
    net = networks.build(model, shape, 10, seed=0)
    g = torch.Generator().manual_seed(0)
    w = torch.cat([p.detach().flatten() for p in net.parameters()])
    W = w + 0.01 * torch.randn(2, len(w), generator=g)
    x, y = torch.rand(2, 6, *shape, generator=g), torch.randint(10, (2, 6), generator=g)
    u = torch.rand(2, 6, net.dropout_units, generator=g) if net.dropout_units else None

    def work():
        oracle = Oracle(net, backend=backend, bfloat16=bfloat16)
        assert oracle.backend == backend
        return oracle.gradients(W, None, Group(None, x, y, u))

    expected, got = both(by_torch, work)
    assert torch.equal(got, expected) and got.abs().sum() > 0


# ---- where they do not apply ----------------------------------------------------------------------------------------


def test_loops_are_for_plain_memory(monkeypatch):
    monkeypatch.setattr(loops, "FEW", 8)
    fitting = torch.zeros(4, 4)
    assert loops.loops_for(fitting) is not None
    for other in (
        torch.zeros(7),
        torch.zeros(4, 4, device="meta"),
        torch.zeros(4, 4).mT[:, :3],
        torch.zeros(4, 4, requires_grad=True),
        torch.zeros(4, 4, dtype=torch.int64),
    ):
        assert loops.loops_for(other) is None
    assert loops.loops_for(fitting, torch.zeros(4, 4, dtype=torch.bfloat16)) is None


def test_without_numba_torch_does_it(monkeypatch):
    """As in an environment that is not ours."""
    loops.compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "artifact.accelerate.cpu.compiled_loops", None)
    try:
        assert loops.loops_for(torch.zeros(1 << 15)) is None
        x = images(0, (2, 64, 16, 16), torch.float32)
        assert torch.equal(PooledReLU(nn.MaxPool2d(2))(x), F.relu(F.max_pool2d(x, 2)))
    finally:
        loops.compiled.cache_clear()


def test_loops_leave_pythons_lock_to_others():
    """What lets workers compute side by side."""
    compiled = loops.compiled()
    for name in ("pool_relu", "pool_relu_backward", "flip_crop", "descend"):
        assert getattr(compiled, name).targetoptions["nogil"], name
        assert not getattr(compiled, name).targetoptions.get("fastmath"), name
