"""README's commands run, those of the other pages parse, and every generated block and the plot are current."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
import torch

from artifact import algorithms, cli
from artifact.__main__ import main
from artifact.base import paths
from artifact.interface.added import register_file
from artifact.report import headlines, markdown_blocks, what_sam_buys
from artifact.runs.command import config_of
from artifact.runs.store import read_checkpoint
from artifact.verdicts.estimate import estimate_command
from artifact.verdicts.targets import targets_command
from artifact.verdicts.tuning import tuning_command
from checks.__main__ import main as checks_command
from notebooks.__main__ import main as notebooks_command

ROOT = paths.ROOT
PAGES = ["README.md", *(f"docs/{name}.md" for name in ("contributing", "data", "experiments", "notebooks", "verdicts"))]


def _commands(page: str) -> set[str]:
    """What a page tells a reader to type, without what stands for something of the reader's own."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]
    lines += re.findall(r"`((?:python -m|\./reproduce\.sh) [^`]+)`", text) + re.findall(
        r"by: (python -m .+?) -->", text
    )
    found = {" ".join(line.split("#")[0].split()) for line in lines}
    return {c for c in found if c.startswith(("python -m", "./reproduce.sh")) and not re.search(r"[A-Z]{2}|pip ", c)}


README = sorted(_commands("README.md"))
COMMANDS = sorted(set.union(*map(_commands, PAGES)))
PROGRAMS = {  # beside artifact
    "checks": checks_command,
    "notebooks": notebooks_command,
    "fedsharp.verdicts.estimate": estimate_command,
    "fedsharp.verdicts.targets": targets_command,
    "fedsharp.verdicts.tuning": tuning_command,
}
EXAMPLE = next(line for line in README if "fedsharp run --add" in line)
COMPARISON = next(line for line in README if "fedsharp compare" in line)
#: README's other commands for a newcomer, which CI runs as they stand; its two verbs are what CI consists of
OTHERS = [
    c for c in README if c.startswith("python") and c not in (EXAMPLE, COMPARISON, "python -m fedsharp headlines")
]
SAM = (ROOT / "docs" / "sam.svg").read_text(encoding="utf-8")


def _parse(command: click.Command, words: list[str]) -> None:
    """Everything short of running it: options, arguments and, for ``run``, the config."""
    context = command.make_context(command.name or "", list(words))
    if isinstance(command, click.Group):
        name, child, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert name and child
        _parse(child, rest)
    elif command.name == "run":
        names = {"out", "data_root", "add", "resume", "checkpoint_seconds", "quiet", "as_json"}
        config_of({name: value for name, value in context.params.items() if name not in names})


def test_commands_are_found():
    assert len(COMMANDS) >= 35 and len(OTHERS) >= 5
    assert sum(line.startswith("./reproduce.sh") for line in COMMANDS) >= 3
    assert "./reproduce.sh test" in README
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "./reproduce.sh test" in ci and "./reproduce.sh quick" in ci


#: plays command lines of ``artifact`` one after the other in one process; prints of each, as JSON, code and output
PLAYED = """
import contextlib, io, json, sys
from artifact.__main__ import main
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(words)
    print(json.dumps([code, said.getvalue()]))
"""


def _process(*words: str, cwd: Path) -> str:
    """What Python prints with these words in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = (sys.executable, *words)
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    return done.stdout


def test_a_newcomers_commands_run(tmp_path):
    """Those of ``artifact`` in one process, which reads the stores once."""
    ours = [shlex.split(command)[3:] for command in OTHERS if command.startswith("python -m fedsharp ")]
    said = _process("-c", PLAYED, json.dumps(ours), cwd=tmp_path).splitlines()
    for words, line in zip(ours, said, strict=True):
        code, printed = json.loads(line)
        assert code == 0 and printed.strip(), words
    for command in OTHERS:
        if not command.startswith("python -m fedsharp "):
            _process(*shlex.split(command)[1:], cwd=tmp_path)


@pytest.mark.parametrize("line", COMMANDS)
def test_command_parses(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(algorithms, "ALGORITHMS", dict(algorithms.ALGORITHMS))  # --add registers only for this test
    words = shlex.split(line)
    if words[0] == "./reproduce.sh":
        usage = subprocess.run([ROOT / "reproduce.sh", "help"], capture_output=True, text=True, check=True).stdout
        assert all(f"\n  {verb} " in usage for verb in words[1:])
    elif words[1:3] == ["-m", "pytest"]:
        assert all((ROOT / word).exists() for word in words[3:])
    elif words[1:3] == ["-m", "tests.torture"]:  # its options are read before its help is shown
        subprocess.run([sys.executable, *words[1:], "--help"], check=True, capture_output=True)
    elif words[1:3] == ["-m", "mypy"]:
        assert words[3:] == []
    elif words[2] in PROGRAMS:
        _parse(PROGRAMS[words[2]], words[3:])
    else:
        assert words[:3] == ["python", "-m", "fedsharp"]
        if words[-1] == "--help":
            words.pop()
            assert words[3] in cli.COMMANDS
        else:
            _parse(cli.commands(words[3:]), words[3:])


def test_example_is_the_file_that_is_shown():
    text = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    assert code == (ROOT / "examples" / "fedsign.py").read_text(encoding="utf-8")


def _run(command: str, folder: Path) -> str:
    """Run a command of the README in a folder of its own; returns what it prints."""
    (folder / "examples").symlink_to(ROOT / "examples")
    return _process(*shlex.split(command)[1:], cwd=folder)


def test_command_of_the_example_trains_the_method(tmp_path):
    _run(EXAMPLE, tmp_path)
    (run,) = (tmp_path / "out" / "runs").iterdir()
    assert (run / "done").exists()
    assert '"algorithm": "fedsign"' in (run / "config.json").read_text()


def test_comparison_shows_the_method_beside_all_others(tmp_path):
    text = _run(COMPARISON, tmp_path)
    rows = [line.split(" | ")[0].strip("| *") for line in text.splitlines() if "(n=3)" in line]
    assert rows == ["FedSign", "FedAvg", "Local FedSAM", "Global FedSAM"]
    drawn = {path.suffix for path in (tmp_path / "out" / "compare").iterdir()}
    assert drawn == {".png", ".pdf", ".csv"}


FILES = ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("*.md")))]
GENERATED = {
    (name, block["command"]): block[0]
    for name in FILES
    for block in markdown_blocks.BLOCK.finditer((ROOT / name).read_text(encoding="utf-8"))
}


def _printed(command: str) -> str:
    """What a command prints, in this process, which has read the stores already."""
    words, said = shlex.split(command), io.StringIO()
    with contextlib.redirect_stdout(said), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "path", [*sys.path])
        try:
            if words[:2] == ["-m", "fedsharp"]:
                assert main(words[2:]) == 0
            elif words[0] == "-m":
                PROGRAMS[words[1]].main(words[2:])
            else:
                runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            assert not end.code
    return said.getvalue().strip()


@pytest.mark.parametrize(("name", "command"), GENERATED)
def test_a_generated_block_is_current(name, command, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = GENERATED[name, command]
    monkeypatch.setattr(markdown_blocks, "_output", _printed)
    assert markdown_blocks.refresh(text) == text, f"python -m fedsharp readme {name}"


def test_a_block_is_filled_by_a_process_of_its_own(monkeypatch):
    monkeypatch.chdir(ROOT)
    command = "-m fedsharp list experiments --markdown"
    assert markdown_blocks._output(command) == _printed(command)


def test_every_begin_of_a_generated_block_is_one():
    """In each of the files that have some; each command stands there once."""
    names = [name for name, _ in GENERATED]
    begins = {name: len(markdown_blocks.BEGIN.findall((ROOT / name).read_text(encoding="utf-8"))) for name in names}
    assert begins and begins == {name: names.count(name) for name in names}


def test_the_plot_of_the_front_page_is_current():
    assert what_sam_buys.dumbbells(headlines.STYLE) == SAM, "python -m fedsharp headlines --sam-svg docs/sam.svg"
    ElementTree.fromstring(SAM)
    for scene in what_sam_buys.scenes():
        assert all(what_sam_buys.in_points(one.gain) in SAM for one in scene.pairs)


def test_the_forest_plot_of_the_report_has_every_column_of_the_papers_table():
    drawn = headlines.forest()
    ElementTree.fromstring(drawn)
    for gain in headlines.gains():
        assert gain.columns == 8 and f"{gain.mean.mean:+.1f} [" in drawn


def test_a_gain_is_the_mean_of_paired_differences_over_the_columns_and_seeds_that_both_have():
    """Two columns, seeds 0 and 1 in common: differences 1 and 3 at seed 0, 2 and 4 at seed 1."""
    values = {
        "A": {"x": {0: 10.0, 1: 10.0, 2: 50.0}, "y": {0: 20.0, 1: 20.0}},
        "B": {"x": {0: 11.0, 1: 12.0}, "y": {0: 23.0, 1: 24.0, 2: 0.0}, "z": {0: 0.0}},
    }
    found = what_sam_buys._bought(("A", "B"), values)
    assert (found.base, found.other, found.gain.mean, found.gain.n) == (15.0, 17.5, 2.5, 2)
    assert what_sam_buys._bought(("A", "C"), values) is None


def test_results_on_the_front_page_are_generated():
    """Outside its generated blocks, code and links README has no decimal but a version of Python: results are made."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", markdown_blocks.BLOCK.sub("", text), flags=re.S)
    assert [number for number in re.findall(r"\d*\.\d+", text) if not number.startswith("3.1")] == []


FILLED = "<!-- generated by: python -m fedsharp costs -->\n\nold\n\n<!-- end of generated part -->\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            FILLED.split("<!-- end")[0] + "My own text.\n\n" + FILLED,
            ("block", "fedsharp costs", "end of generated part"),
        ),
        (FILLED + FILLED.split("<!-- end")[0], ("block", "fedsharp costs", "end of generated part")),
        (FILLED.replace("costs", 'costs "'), ("command", 'costs "', "quotation")),
        (b"\xff\xfe", ("file", "text.md", "UTF-8")),
    ],
    ids=["no end before the next", "no end at all", "open quote", "no UTF-8"],
)
def test_a_file_that_cannot_be_filled_is_one_line_and_stays(text, named, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        markdown_blocks.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0, "new", "")
    )
    path = tmp_path / "text.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = path.read_bytes()
    assert main(["readme", str(path)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and all(word in error for word in named), error
    assert path.read_bytes() == before


def test_example_without_mixing_is_fedavg(monkeypatch, tmp_path):
    """mix = 0: (1 - 0) g + 0 sign(g) mean|g| = g, bit for bit."""
    from artifact.runs import session
    from artifact.training import config

    monkeypatch.setattr(algorithms, "ALGORITHMS", dict(algorithms.ALGORITHMS))
    register_file(ROOT / "examples" / "fedsign.py")
    weights = {}
    for name, hyper in (("fedavg", {}), ("fedsign", {"mix": 0.0}), ("fedsign", {"mix": 0.5})):
        values = {"model": "mlp-16", "rounds": 2, "train_size": 200, "test_size": 50}
        run = session.execute(config.make(algorithm=name, hyper=hyper, **values), tmp_path).run
        weights[name, *hyper.values()] = read_checkpoint(run.checkpoint_file)[0]["w"]
    assert torch.equal(weights["fedavg",], weights["fedsign", 0.0])
    assert not torch.equal(weights["fedavg",], weights["fedsign", 0.5])
