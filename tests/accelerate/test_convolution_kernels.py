"""Kernels of a cohort's convolutions, by Triton's interpreter on a CPU, against torch's convolution by client."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

#: clients, images, channels in and out, kernel, stride, padding, pixels a side
SHAPES = [
    (2, 3, 3, 5, (3, 3), (1, 1), (1, 1), (6, 6)),  # small, padded
    (2, 2, 3, 8, (7, 7), (2, 2), (3, 3), (12, 12)),  # the stem of ResNet-18
    (1, 2, 70, 66, (3, 3), (2, 2), (1, 1), (5, 4)),  # strided, more channels than a tile, no square
    (3, 4, 8, 4, (1, 1), (2, 2), (0, 0), (4, 4)),  # a shortcut
    (2, 5, 4, 6, (5, 5), (1, 1), (0, 0), (7, 7)),  # LeNet's, without padding
    (2, 3, 6, 5, (2, 3), (1, 1), (0, 1), (3, 2)),  # a kernel that was fitted to its image
]

SCRIPT = """
import json, sys, torch
from artifact.accelerate.convolution_kernels import convolved
torch.manual_seed(0)
found = []
for S, B, C, O, kernel, stride, padding, image in json.loads(sys.argv[1]):
    plain, last = "contiguous_format", "channels_last"
    for dtype, layout in (("float32", plain), ("float32", last), ("bfloat16", last)):
        kind = getattr(torch, dtype)
        x = torch.randn(B, S * C, *image).to(kind).to(memory_format=getattr(torch, layout)).requires_grad_()
        w = (torch.randn(S, O, C, *kernel) / (C * kernel[0] * kernel[1]) ** 0.5).to(kind).requires_grad_()
        ours = convolved(x, w, tuple(stride), tuple(padding))
        d = torch.randn(ours.shape).to(kind)
        ours = [ours, *torch.autograd.grad(ours, [x, w], d)]
        a, b = x.detach().double().requires_grad_(), w.detach().double().requires_grad_()
        parts = [torch.conv2d(p, q, None, stride, padding) for p, q in zip(a.chunk(S, 1), b, strict=True)]
        plain = torch.cat(parts, 1)
        plain = [plain, *torch.autograd.grad(plain, [a, b], d.double())]
        off = [float((p.double() - q).abs().max() / q.abs().max()) for p, q in zip(ours, plain, strict=True)]
        found.append([dtype, max(off)])
print(json.dumps(found))
"""

NETWORK = """
import torch
from artifact.models.networks import build
from artifact.training.gradients import Group, Oracle, Penalty
torch.manual_seed(0)
model = build("convnet-tiny", (1, 8, 8), 4, 0).train()
oracle = Oracle(model, Penalty(0.3), "kernels")
W = oracle.layout.flatten(dict(model.named_parameters())).detach().repeat(2, 1)
W = W + 0.1 * torch.randn_like(W)
group = Group(None, torch.randn(2, 3, 1, 8, 8), torch.tensor([[0, 1, 2], [3, 1, 0]]))
double = Group(None, group.x.double(), group.y)
expected = Oracle(model.double(), Penalty(0.3), "loop").gradients(W.double(), None, double)
model.float()
print(float((oracle.gradients(W, None, group) - expected).abs().max() / expected.abs().max()))
"""


def interpreted(*words):
    """What a process prints in which Triton runs kernels on the CPU; Triton asks once how it shall run them."""
    told = os.environ | {"TRITON_INTERPRET": "1"}
    ended = subprocess.run([sys.executable, "-c", *words], env=told, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="there is no Triton here")
def test_the_interpreted_kernels_are_torchs_convolutions():
    """Forward, of the input and of the weights."""
    found = interpreted(SCRIPT, json.dumps(SHAPES))
    for (dtype, off), shape in zip(found, [s for s in SHAPES for _ in range(3)], strict=True):
        assert off < {"float32": 1e-5, "bfloat16": 2e-2}[dtype], (dtype, shape)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="there is no Triton here")
def test_a_network_by_interpreted_kernels_has_the_gradients_of_the_loop():
    """Biases, norms, pooling and MAN's penalty around them."""
    assert 0 < interpreted(NETWORK) < 1e-4


COMPILED = """
import json, warnings
warnings.simplefilter("ignore")
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from artifact.accelerate import convolution_kernels as own, descent_kernel

def compiled(kernel, types, constants):
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in names}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    text = made.asm["ptx"]
    matrices = "wgmma" in text or "mma.sync" in text
    return [kernel.__name__, types["d"], matrices, made.metadata.shared, len(made.asm["cubin"])]

fixed = dict(K=3, N=3, S1=1, S2=1, P1=1, P2=1, R=own.ROWS, Q=own.COLUMNS, T=own.SUMMED, WIDE=False)
found = []
for kernel, out in ((own._forward, "*bf16"), (own._of_input, "*bf16"), (own._of_weights, "*fp32")):
    found.append(compiled(kernel, {"x": "*bf16", "w": "*bf16", "d": "*bf16", "out": out}, fixed))
numbers = {"w": "*fp32", "d": "*fp32", "lr": "*fp32", "omega": "fp32"}
found.append(compiled(descent_kernel._descend, numbers, {"N": 1024}))
print(json.dumps(found))
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="there is no Triton here")
def test_every_kernel_compiles_for_an_h100_and_an_h200():
    """No GPU is needed for it. In bfloat16 the products go to the tensor cores, and tiles fit the shared memory.

    It takes seconds, which a compiler's error on a rented GPU would take, too.
    """
    told = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ended = subprocess.run([sys.executable, "-c", COMPILED], env=told, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout)
    assert len(found) == 4
    for kernel, images, matrices, shared, size in found:
        assert size > 1000 and shared <= 227 * 1024, kernel
        assert matrices == (images == "*bf16"), (kernel, images)
