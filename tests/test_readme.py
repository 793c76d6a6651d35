"""The README's commands parse, its example is the file that it names, and the command for it does what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import torch

from artifact import algorithms, cli
from artifact.store import read_checkpoint
from checks.__main__ import main as checks_command
from notebooks.__main__ import main as notebooks_command

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", TEXT, re.S)
LINES = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
IN_TEXT = re.findall(r"`(python -m [^`]+|\./reproduce\.sh [^`]+)`", TEXT) + re.findall(r"by: (python -m .+?) -->", TEXT)
COMMANDS = sorted({line for line in LINES + IN_TEXT if line.startswith(("python -m", "./reproduce.sh"))})
PROGRAMS = {"checks": checks_command, "notebooks": notebooks_command}  # beside artifact
EXAMPLE = next(line for line in COMMANDS if "--add" in line)


def _parse(command: click.Command, words: list[str]) -> None:
    """Everything short of running it: options, arguments and, for ``run``, the config."""
    context = command.make_context(command.name or "", list(words))
    if isinstance(command, click.Group):
        name, child, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert name and child
        _parse(child, rest)
    elif command.name == "run":
        names = {"out", "data_root", "add", "resume", "checkpoint_seconds", "quiet", "as_json"}
        cli._config({name: value for name, value in context.params.items() if name not in names})


def test_commands_are_found():
    assert len(COMMANDS) >= 15
    assert sum(line.startswith("./reproduce.sh") for line in COMMANDS) >= 3


@pytest.mark.parametrize("line", COMMANDS)
def test_command_parses(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(algorithms, "ALGORITHMS", dict(algorithms.ALGORITHMS))  # --add registers only for this test
    words = shlex.split(line)
    if words[0] == "./reproduce.sh":
        usage = subprocess.run([ROOT / "reproduce.sh", "help"], capture_output=True, text=True, check=True).stdout
        assert all(f"\n  {verb} " in usage for verb in words[1:])
    elif words[2] in PROGRAMS:
        _parse(PROGRAMS[words[2]], words[3:])
    else:
        assert words[:3] == ["python", "-m", "artifact"]
        if words[-1] == "--help":
            words.pop()
            assert words[3] in cli.commands([]).commands
        else:
            _parse(cli.commands(words[3:]), words[3:])


def test_example_is_the_file_that_is_shown():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert code == (ROOT / "examples" / "fedsign.py").read_text(encoding="utf-8")
    assert len(code.splitlines()) < 20


def _run(command: str, folder: Path) -> Path:
    """Run a command of the README in a folder of its own; returns the run's folder."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    words = [sys.executable, *shlex.split(command)[1:]]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
    (run,) = (folder / "out" / "runs").iterdir()
    return run


def test_command_of_the_example_trains_the_method(tmp_path):
    run = _run(EXAMPLE, tmp_path)
    assert (run / "done").exists()
    assert '"algorithm": "fedsign"' in (run / "config.json").read_text()


def test_example_without_mixing_is_fedavg(monkeypatch, tmp_path):
    """mix = 0: (1 - 0) g + 0 sign(g) mean|g| = g, bit for bit."""
    from artifact import config, session

    monkeypatch.setattr(algorithms, "ALGORITHMS", dict(algorithms.ALGORITHMS))
    algorithms.register_file(ROOT / "examples" / "fedsign.py")
    weights = {}
    for name, hyper in (("fedavg", {}), ("fedsign", {"mix": 0.0}), ("fedsign", {"mix": 0.5})):
        values = {"model": "mlp-16", "rounds": 2, "train_size": 200, "test_size": 50}
        run = session.execute(config.make(algorithm=name, hyper=hyper, **values), tmp_path).run
        weights[name, *hyper.values()] = read_checkpoint(run.checkpoint_file)[0]["w"]
    assert torch.equal(weights["fedavg",], weights["fedsign", 0.0])
    assert not torch.equal(weights["fedavg",], weights["fedsign", 0.5])
