"""The work of a round against counts by hand, the limits that follow, and the hours of a sweep on another machine."""

import itertools
import json
from pathlib import Path

import cell_limits
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.base.tables_as_text import markdown_table
from artifact.models.networks import build
from artifact.runs import roofline
from artifact.runs.roofline import Machine, Reached, counted, machines, of_round, parts
from artifact.training.config import make
from artifact.training.gradients import Group, Oracle

#: ResNet-18 behind the ImageNet stem on 32 x 32 pixels: channels in and out, kernel, stride, padding, pixels a side
CONVOLUTIONS = [
    (3, 64, 7, 2, 3, 32),
    *[(64, 64, 3, 1, 1, 8)] * 4,
    (64, 128, 3, 2, 1, 8), (128, 128, 3, 1, 1, 4), (64, 128, 1, 2, 0, 8), *[(128, 128, 3, 1, 1, 4)] * 2,
    (128, 256, 3, 2, 1, 4), (256, 256, 3, 1, 1, 2), (128, 256, 1, 2, 0, 4), *[(256, 256, 3, 1, 1, 2)] * 2,
    (256, 512, 3, 2, 1, 2), (512, 512, 3, 1, 1, 1), (256, 512, 1, 2, 0, 2), *[(512, 512, 3, 1, 1, 1)] * 2,
]  # fmt: skip
CELL = {"dataset": "cifar10", "model": "resnet18-gn", "clients": 100, "cohort": 10, "local_epochs": 5}
CELL |= {"batch_size": 50, "dtype": "bfloat16", "rounds": 800, "eval_every": 1000}

CELLS = [make(algorithm=method, **cell_limits.CELL) for method in cell_limits.METHODS]


def by_loops():
    """(multiplications of a gradient of one image, live weights, numbers put out) of the cell's network."""
    multiplications = weights = numbers = 0
    for position, (inside, outside, k, stride, padding, n) in enumerate(CONVOLUTIONS):
        pixels = [o for o in range(n) if o * stride - padding + k <= n + padding]
        meeting = sum(any(0 <= o * stride - padding + entry < n for o in pixels) for entry in range(k))
        own = inside * outside * meeting**2
        weights += own + 2 * outside  # the norm's scale and shift
        multiplications += own * len(pixels) ** 2 * (2 if position == 0 else 3)
        numbers += 2 * outside * len(pixels) ** 2  # of the convolution and of the norm
    numbers += 64 * 8 * 8 + 10  # pooling behind the stem, and the logits
    return multiplications + 3 * 512 * 10, weights + 512 * 10 + 10, numbers


def test_the_cell_of_the_papers_agrees_with_a_count_by_loops():
    multiplications, live, numbers = by_loops()
    work = of_round(make(algorithm="fedavg", **CELL))
    images = 10 * 5 * 500
    evaluated = 10_000 / 1000 * 2 * multiplications / 3
    assert work.operations == pytest.approx(2 * multiplications * images + evaluated, rel=0.05)
    assert (work.live, work.weights, work.steps) == (live, 11_181_642, 500)
    a_step = 50 * 2 * (5 * numbers + 2 * 3 * 32 * 32) + live * (2 + 2 + 4 + 12 + 2)
    assert work.moved == pytest.approx(500 * a_step + 10 * 4 * 11_181_642 * 2, rel=0.05)


@pytest.mark.parametrize(
    ("model", "shape"), [("lenet", (3, 32, 32)), ("mlp-200", (1, 28, 28)), ("cnn-mnist", (1, 28, 28))]
)
def test_without_padding_the_count_is_torchs(model, shape):
    network = build(model, shape, 10, 0).eval()
    x = torch.zeros(1, *shape)
    with FlopCounterMode(display=False) as counter:
        torch.nn.functional.cross_entropy(network(x), torch.zeros(1, dtype=torch.int64)).backward()
    assert 2 * sum(part.gradient for part in parts(network)) == counter.get_total_flops()
    assert sum(part.live for part in parts(network)) == sum(p.numel() for p in network.parameters())


def test_the_cells_count_is_what_torch_multiplies_in_a_fitted_network():
    """Kernels without the entries that meet only padding; torch counts the rest of the padding, as we do."""
    network = build("resnet18-gn", (3, 32, 32), 10, 0)
    oracle = Oracle(network, backend="cropped")
    W = oracle.layout.flatten(dict(network.named_parameters())).detach()[None]
    group = Group(None, torch.zeros(1, 1, 3, 32, 32), torch.zeros(1, 1, dtype=torch.long))
    oracle.gradients(W, None, group)  # the first one fits the kernels, for which it looks at the images
    with FlopCounterMode(display=False) as counter:
        oracle.gradients(W, None, group)
    assert counter.get_total_flops() == pytest.approx(2 * sum(part.gradient for part in parts(network)), rel=0.05)


def test_the_page_on_gpus_has_the_numbers_of_today():
    """Limits and measured times stand side by side, and so does what a night would hold."""
    page = Path("docs/gpu.md").read_text()
    block = page.split("python docs/performance/cell_limits.py -->")[1].split("<!-- end")[0].strip()
    assert block == "\n".join(markdown_table(list(cell_limits.COLUMNS), cell_limits.rows()))
    for card, run in itertools.product(("h200", "h100"), CELLS):
        assert of_round(run).bound_by(machines()[card], run.dtype) == "memory"
    nights = [int(row[-1]) for row in cell_limits.rows()]
    assert 80 < sum(nights) / len(nights) < 150, "about a hundred, says the page"


def test_attention_is_refused():
    class Attending(torch.nn.Module):
        name = "attending"

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.MultiheadAttention(4, 2)

    with pytest.raises(UserError, match="attending"):
        parts(Attending())


def test_a_method_costs_what_a_trainer_counts():
    run = make(algorithm="fedsmoo", **CELL)
    assert counted(run) == (2, 0, 2)
    plain, twice = of_round(make(algorithm="fedavg", **CELL)), of_round(make(algorithm="fedsam", **CELL))
    assert twice.operations == pytest.approx(2 * plain.operations, rel=0.01)
    assert plain.moved < twice.moved < of_round(run).moved


def test_the_limit_is_the_longer_of_two_times():
    work = roofline.Work(operations=6e12, moved=2e12, live=1, weights=1, steps=1)
    slow_memory = Machine(title="a", copy_tb=0.5, products={"float32": 3.0})
    slow_products = Machine(title="b", copy_tb=2.0, products={"float32": 3.0, "bfloat16": 6.0})
    assert (work.seconds(slow_memory, "float32"), work.bound_by(slow_memory, "float32")) == (4.0, "memory")
    assert (work.seconds(slow_products, "float32"), work.bound_by(slow_products, "float32")) == (2.0, "arithmetic")
    assert work.seconds(slow_products, "bfloat16") == 1.0
    assert work.seconds(slow_memory, "bfloat16") == 4.0  # products in float32 stand in
    assert work.seconds(slow_products, "float64") == 4.0


def test_shares_of_networks_that_were_not_timed_are_the_lowest_known():
    known = Reached(machines()["h200"], {("lenet", "bfloat16"): (0.5, 3), ("mlp-200", "float32"): (0.2, 2)})
    lenet = make(algorithm="fedavg", **(CELL | {"model": "lenet"}))
    assert known.share(lenet) == (0.5, True)
    assert known.share(make(algorithm="fedavg", **CELL)) == (0.2, False)
    limit = of_round(lenet).seconds(machines()["h200"], "bfloat16")
    assert known.seconds(lenet) == pytest.approx(800 * limit / 0.5)


def test_stored_runs_of_the_cell_are_between_the_limit_and_twice_what_the_model_expects():
    """The H200's runs: their rounds are as long as runs that reach the stored share of the limit."""
    known = roofline.reached(machines()["h200"], Path("results"))
    share, runs = known.runs["resnet18-gn", "bfloat16"]
    assert runs >= 3 and 0.05 < share < 1
    (again,) = {machines()["h100"].like}
    assert roofline.reached(machines()["h100"], Path("results")).runs and again == "h200"


def test_a_dry_run_tells_the_hours_elsewhere(tmp_path, capsys):
    words = ["sweep", "campaign/cell", "--profile", "paper", "--out", str(tmp_path), "--dry-run", "--json"]
    assert main([*words, "--on", "h200"]) == 0
    on = json.loads(capsys.readouterr().out)["on"]
    assert on["machine"] == "one NVIDIA H200" and on["left_out"] == 0
    assert 0 < on["at_the_limit"] <= on["hours"]


def test_hours_elsewhere_are_told_of_plans_only(tmp_path, capsys):
    assert main(["sweep", "campaign/cell", "--out", str(tmp_path), "--on", "h200"]) == 2
    assert "dry-run" in capsys.readouterr().err and not any(tmp_path.iterdir())
