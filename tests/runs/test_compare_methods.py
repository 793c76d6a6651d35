"""``fedsharp compare`` without a table: the runs are those of ``fedsharp run``, tuned on other seeds, and resumed."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.interface.compare import TUNING
from artifact.runs.compare_methods import config_of, method_of, methods_of
from artifact.runs.lookup import find_run, finished_runs

SETTING = {"dataset": "digits", "model": "mlp-8", "rounds": 2, "clients": 5, "cohort": 2, "train_size": 200}
WORDS = [word for name, value in SETTING.items() for word in (f"--{name.replace('_', '-')}", str(value))]
METHODS = ["--method", "plain=fedavg", "--method", "fedsam rho=0.01,0.5 lr=0.2"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    line = ["compare", *METHODS, *WORDS, "--seeds", "2", "--tuning-seeds", "1", "--workers", "2"]
    line += ["--out", str(folder / "runs"), "--figures", str(folder / "shown"), "--format", "json", "--quiet"]
    return folder, line


def test_the_table_is_that_of_the_stored_runs(compared, capsys):
    folder, line = compared
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    stored = finished_runs(folder / "runs")
    assert sum(map(len, stored.values())) == 2 + 2 * 2

    def last(method, seed, **options):
        run = find_run(config_of({"method": method, **options}, seed, SETTING), stored)
        return run.metrics()[-1]["server"]["accuracy"]

    tried = {rho: last("fedsam", TUNING, rho=rho, lr=0.2) for rho in (0.01, 0.5)}
    assert found["chosen"]["fedsam"]["rho"] == max(tried, key=tried.get)
    chosen = found["chosen"]["fedsam"]["rho"]
    gaps = [last("fedsam", s, rho=chosen, lr=0.2) - last("fedavg", s) for s in range(2)]
    plain, own = found["table"]
    assert (plain["method"], own["method"]) == ("plain", "fedsam")
    assert own["difference"] == pytest.approx(np.mean(gaps)) and own["from"] <= own["difference"] <= own["to"]
    assert (plain["gradients"], own["gradients"]) == (2, 4)
    with open(folder / "shown" / "curves.csv", encoding="utf-8") as file:
        assert [(r["method"], r["round"]) for r in csv.DictReader(file)] == [
            (name, str(t)) for name in ("plain", "fedsam") for t in (1, 2)
        ]
    assert (folder / "shown" / "curves.png").stat().st_size > 1000


def test_a_finished_comparison_trains_nothing(compared, capsys, monkeypatch):
    from artifact.runs.sweep import sweep

    _, line = compared
    assert main(line) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(sweep, "run_all", lambda *a: pytest.fail("a run was made again"))
    assert main(line) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["--dataset", "digits"], "model: nothing is given; allowed: PAPER/TABLE, or one of"),
        (["--dataset", "digits", "--model", "mlp-8"], "method: nothing is given"),
        ([*WORDS, "--method", "fedsam rho"], "METHOD NAME=VALUE"),
        ([*WORDS, "--method", "fedsam roh=0.1"], "roh"),
        ([*WORDS, "--method", "fedsam rho=-1"], "rho"),
        ([*WORDS, "--method", "fedavg", "--method", "fedavg lr=0.2"], "stands twice"),
        ([*WORDS, "--method", "fedavg", "--reference", "fedsam"], "reference"),
        ([*WORDS, "--method", "fedavg", "--lookup"], "lookup"),
        (["kakoun2024/5.3", "--add", "x.py", "--rounds", "3"], "rounds"),
        (["kakoun2024/5.3"], "one Python file"),
    ],
)
def test_what_is_not_possible_is_one_line(line, told, tmp_path, monkeypatch, capsys):
    (tmp_path / "x.py").write_text("import artifact\n@artifact.network\ndef nothing_else(shape, classes): pass\n")
    monkeypatch.chdir(tmp_path)
    line = [str(tmp_path / word) if word == "x.py" else word for word in line]
    if "--add" in line:
        line[line.index("--add") :] = ["--rounds", "3"]
    assert main(["compare", *line]) == 2
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == 1, err
    assert not (tmp_path / "out").exists()


def test_texts_of_methods():
    label, options = method_of("slow=FedSAM rho=0.1,0.2 weight-decay=1e-3")
    assert (label, options) == ("slow", {"method": "fedsam", "rho": [0.1, 0.2], "weight_decay": 1e-3})
    with pytest.raises(UserError, match="fedfoo"):
        methods_of(("fedfoo",))
