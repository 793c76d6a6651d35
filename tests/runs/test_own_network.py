"""Curvature of a network in a user's file from the command line, with a figure each."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from artifact.cli import commands

FILE = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
model[0].requires_grad_(False)


def data():
    return torch.randn(60, 4, generator=torch.Generator().manual_seed(1)), torch.arange(60) % 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(FILE)
    return path


def said(*words):
    words = list(map(str, words))
    result = CliRunner().invoke(commands(words), words)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("command", ["sharpness", "density", "bounds"])
def test_a_command_measures_a_file_and_draws_it(command, file, tmp_path):
    picture = tmp_path / "drawn.png"
    output = said(command, "--model", file, "--figure", picture)
    assert "18 of 43 parameters (trainable ones)" in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    whole = said(command, "--model", file, "--parameters", "all", "--json")
    assert "all 43 parameters" in whole
    assert json.loads(whole)


def test_landscapes_of_a_file(file, tmp_path):
    output = said("landscape", "--model", file, "--points", 3, "--folder", tmp_path / "out", "--axes", 1)
    written = json.loads((tmp_path / "out" / "filter-1d-net.json").read_text())
    assert (tmp_path / "out" / "filter-1d-net-profile.png").exists()
    loss = float(re.search(r"loss ([\d.]+)", output).group(1))
    assert written["models"][0]["loss"] == pytest.approx(loss, rel=1e-3)
    assert f"--model {file}" in written["command"]
    assert len(written["models"][0]["values"]) == 3


@pytest.mark.parametrize("command", ["sharpness", "density", "bounds", "landscape"])
def test_nothing_and_unknown_names_are_one_line(command, file):
    for words, hint in (((), "--model FILE.py"), (("--model", file, "--parameters", "head.*"), "such as 0.weight")):
        words = [command, *map(str, words)]
        result = CliRunner().invoke(commands(words), words)
        assert result.exit_code != 0
        assert hint in str(result.exception) + result.output
