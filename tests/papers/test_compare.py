"""An own method beside a table's methods: paired on the same randomness, right statistics, only missing runs made."""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from artifact import algorithms
from artifact.__main__ import main
from artifact.base import paths, plots
from artifact.interface.added import register_file
from artifact.papers import experiments
from artifact.papers.compare import with_own_row
from artifact.runs.archive import finished
from artifact.training.config import RunConfig

FEDSIGN = paths.ROOT / "examples" / "fedsign.py"
SEEDS = (0, 1, 2)
TOY = """
paper = "toy"
title = "Toy"
[[table]]
id = "1"
title = "toy"
location = "Table 1"
[table.settings]
model = "mlp-16"
clients = 6
cohort = 3
local_steps = 3
rounds = 6
lr = 0.1
[[table.columns]]
id = "even"
label = "even"
settings = { split = "iid" }
[[table.columns]]
id = "uneven"
label = "uneven"
settings = { split = "dirichlet:0.1" }
[[table.rows]]
id = "fedavg"
label = "FedAvg"
settings = { algorithm = "fedavg" }
[[table.rows]]
id = "fedsam"
label = "FedSAM"
settings = { algorithm = "fedsam", rho = 0.5 }
[table.profiles.quick]
seeds = [0, 1, 2]
minutes = 1
"""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(plots, "METHODS", dict(plots.METHODS))
    before = dict(algorithms.ALGORITHMS)
    yield
    for name in set(algorithms.ALGORITHMS) - set(before):
        del algorithms.ALGORITHMS[name]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a toy table of two methods and two columns; its store fills as the tests go."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "toy.toml").write_text(TOY)
    return folder


@pytest.fixture
def compare(place, monkeypatch, capsys):
    """compare(words) -> (exit code, output, errors), on the toy table with one worker per core."""
    monkeypatch.setattr(experiments, "EXPERIMENTS", place)

    def run(*words: str) -> tuple[int, str, str]:
        add = [] if any(word == "--add" for word in words) else ["--add", str(FEDSIGN)]
        for name in [key for key, cls in algorithms.ALGORITHMS.items() if cls.added_from]:
            del algorithms.ALGORITHMS[name]
        capsys.readouterr()
        code = main(["compare", "toy/1", "--out", str(place / "store"), "--quiet", *add, *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def _of(store: Path, algorithm: str, split: str) -> dict[int, list[dict]]:
    """seed -> metrics of a method's runs in a store."""
    wanted = [r for r in finished(store) if (r.config()["algorithm"], r.config()["split"]) == (algorithm, split)]
    return {run.config()["seed"]: run.metrics() for run in wanted}


def _values(found: dict[int, list[dict]]) -> list[float]:
    return [100 * np.mean([line["server"]["accuracy"] for line in found[seed]]) for seed in SEEDS]


def _own_store(place: Path) -> Path:
    """The store of the last own method."""
    return max((place / "store" / "added").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)


def test_statistics_are_those_of_the_paired_runs(compare, place):
    code, text, _ = compare("--json")
    assert code == 0
    result = json.loads(text)["comparisons"]
    places = [(record["method"], record["column"]) for record in result]
    assert places == list(itertools.product(("FedAvg", "FedSAM"), ("even", "uneven")))
    p_values = []
    for record in result:
        split = {"even": "iid", "uneven": "dirichlet:0.1"}[record["column"]]
        own = _values(_of(_own_store(place), "fedsign", split))
        other = _values(_of(place / "store", record["method"].lower(), split))
        d = np.subtract(own, other)
        assert (record["n"], record["own_method"]) == (3, "FedSign")
        assert (record["own"], record["other"]) == pytest.approx((np.mean(own), np.mean(other)))
        interval = stats.ttest_rel(own, other).confidence_interval(0.95)
        assert (record["difference"], record["low"], record["high"]) == pytest.approx((d.mean(), *interval))
        assert record["p_t"] == pytest.approx(stats.ttest_rel(own, other).pvalue)
        flips = [abs(np.dot(signs, d)) >= abs(d.sum()) - 1e-12 for signs in itertools.product((-1, 1), repeat=3)]
        assert record["p_sign"] == pytest.approx(np.mean(flips))
        p_values.append(record["p_t"])
    for record, p in zip(result, p_values, strict=True):
        smaller = sorted(q for q in p_values if q <= p)
        steps = [min(1.0, (4 - rank) * q) for rank, q in enumerate(smaller)]
        assert record["holm_t"] == pytest.approx(max(steps))


def test_own_method_meets_the_same_cohorts_partitions_and_weights(compare, place):
    """With mix = 0 the example is FedAvg: the differences are exactly 0 in every round, so nothing else differed."""
    code, text, _ = compare("--json", "--hyper", "mix=0")
    assert code == 0
    for record in json.loads(text)["comparisons"]:
        if record["method"] == "FedAvg":
            assert (record["difference"], record["low"], record["high"], record["p_t"]) == (0, 0, 0, 1)
            assert record["p_sign"] == 1
    own = [run for run in finished(_own_store(place)) if run.config()["hyper"]["mix"] == 0]
    assert len(own) == 6
    for run in own:
        config = run.config()
        assert run.metrics() == _of(place / "store", "fedavg", config["split"])[config["seed"]]


def test_only_what_is_missing_is_run(compare, place):
    compare("--hyper", "mix=0")
    before = {path: path.stat().st_mtime_ns for path in (place / "store").rglob("metrics.jsonl")}
    assert len(before) >= 18
    compare("--hyper", "mix=0")
    assert {path: path.stat().st_mtime_ns for path in (place / "store").rglob("metrics.jsonl")} == before
    compare("--column", "uneven", "--hyper", "mix=0", "--hyper", "lr=0.05")
    after = {path: path.stat().st_mtime_ns for path in (place / "store").rglob("metrics.jsonl")}
    assert len(after) == len(before) + len(SEEDS) and before.items() <= after.items()
    assert all(_own_store(place) in path.parents for path in set(after) - set(before))


def test_edited_source_is_another_method(compare, place, tmp_path):
    """Runs are looked up by the method's name; the results of an earlier version of the file must not be found."""
    compare("--column", "even", "--hyper", "mix=0")
    edited = tmp_path / "fedsign.py"
    edited.write_text(FEDSIGN.read_text().replace("return (1 - self.mix) * g", "return 2 * (1 - self.mix) * g"))
    code, text, _ = compare("--column", "even", "--json", "--hyper", "mix=0", "--add", str(edited))
    assert code == 0
    assert [r["difference"] != 0 for r in json.loads(text)["comparisons"]] == [True, True]


def test_formats_hold_the_same_numbers(compare):
    _, text, _ = compare("--json")
    records = json.loads(text)["comparisons"]
    _, text, _ = compare("--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["difference"]) for row in rows] == pytest.approx([r["difference"] for r in records])
    _, text, _ = compare()
    lines = [line for line in text.splitlines() if line.startswith("| Fed")]
    by_column = sorted(records, key=lambda record: record["column"])
    assert [line.split(" | ")[2].split()[0] for line in lines] == [f"{r['difference']:+.2f}" for r in by_column]
    _, text, _ = compare("--format", "latex")
    body = [line for line in text.splitlines() if line.startswith("Fed")]
    assert len(body) == 6 and all(line.count("&") == 6 for line in body)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2 and text.count("{") == text.count("}")
    assert "±" not in "".join(body)


def test_figures_show_every_method_and_difference(compare, tmp_path):
    code, _, errors = compare("--figures", str(tmp_path))
    assert code == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    stem = "compare-fedsign-toy-1-quick"
    assert names == sorted(f"{stem}-{k}.{e}" for k in ("curves", "differences") for e in ("png", "pdf", "csv"))
    assert all(str(tmp_path / name) in errors for name in names)
    with open(tmp_path / f"{stem}-curves.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    methods = ("FedAvg", "FedSAM", "FedSign")
    assert {(r["panel"], r["method"]) for r in rows} == set(itertools.product(("even", "uneven"), methods))
    assert len({plots.style(name).colour for name in methods}) == 3


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--column", "odd"], ("column", "odd", "even")),
        (["--hyper", "mix"], ("hyper", "mix", "NAME=VALUE")),
        (["--hyper", "mix=much"], ("hyper", "mix=much", "number")),
        (["--hyper", "mix=2"], ("mix", "2", "1")),
        (["--hyper", "seed=3"], ("hyper", "seed=3", "lr")),
        (["--algorithm", "fedavg"], ("algorithm", "fedavg", "fedsign")),
        (["--profile", "paper"], ("profile", "paper", "quick")),
        (["--add", "nowhere.py"], ("add", "nowhere.py", "Python file")),
    ],
)
def test_bad_input_is_one_line(words, named, compare, place):
    before = sorted((place / "store").rglob("*")) if (place / "store").exists() else []
    code, out, error = compare(*words)
    assert code == 2 and not out
    assert len(error.splitlines()) == 1 and all(part in error for part in named), error
    assert before == (sorted((place / "store").rglob("*")) if (place / "store").exists() else [])


def test_a_bad_value_is_told_before_anything_is_trained(compare, tmp_path):
    store = tmp_path / "store"
    code, _, error = compare("--hyper", "mix=2", "--out", str(store))
    assert code == 2 and error.startswith("error: mix: 2.0") and not store.exists()


def test_lookup_without_runs_is_one_line(compare, tmp_path):
    code, out, error = compare("--lookup", "--out", str(tmp_path / "typo"))
    assert code == 2 and out == "" and "store that is there" in error and len(error.splitlines()) == 1
    (tmp_path / "empty").mkdir()
    code, out, error = compare("--lookup", "--out", str(tmp_path / "empty"))
    assert code == 2 and not out and "lookup" in error and len(error.splitlines()) == 1
    assert not list((tmp_path / "empty").iterdir()) and not (tmp_path / "typo").exists()


EXCEPT = """
exceptions = [
  { cells = "fedsign*/*", settings = { mix = 0.75, lr_decay = 0.9 } },
  { cells = "*/even", settings = { lr = 0.2, weight_decay = 0.5 } },
  { cells = "*sam/even", settings = { lr = 0.3 } },
]
[table.settings]"""


def test_own_settings_win_over_columns_and_exceptions(place, tmp_path, monkeypatch):
    """An exception that names rows by a pattern does not mean the own one; one for all rows does, but for --hyper."""
    text = (place / "toy.toml").read_text().replace("\n[table.settings]", EXCEPT)
    text = text.replace('{ split = "iid" }', '{ split = "iid" }\nat.quick = { lr = 0.4, clip = 5.0, local_steps = 2 }')
    (tmp_path / "toy.toml").write_text(text)
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    register_file(FEDSIGN)
    _, table = experiments.find("toy/1")

    def made(**settings) -> RunConfig:
        own = with_own_row(table, "quick", "fedsign", settings)
        return experiments.cells(own, "quick")[0].configs[0]

    named = made(mix=0.25, lr=0.01, clip=1.0)
    assert (named.hyper["mix"], named.lr, named.clip) == (0.25, 0.01, 1.0)
    assert (named.lr_decay, named.weight_decay, named.local_steps) == (1.0, 0.5, 2)
    assert (made().hyper.get("mix"), made().lr, made().clip) == (None, 0.2, 5.0)


def test_values_that_the_own_class_refuses_are_one_line(compare, tmp_path):
    path = tmp_path / "fedsign.py"
    check = "\n    def __post_init__(self):\n        if self.mix > 0.5:\n            raise ValueError('too much')\n"
    path.write_text(FEDSIGN.read_text() + check)
    code, out, error = compare("--add", str(path), "--hyper", "mix=0.75", "--out", str(tmp_path / "store"))
    assert code == 2 and not out and len(error.splitlines()) == 1 and not (tmp_path / "store").exists()
    assert error.startswith("error: add: ") and "fedsign.py" in error and "ValueError: too much, line" in error


def test_holm_is_told_of_what_was_compared(compare, place, tmp_path):
    """Without own runs, or with one seed, nothing is tested; a method without runs of the same seeds is not counted."""
    compare("--hyper", "mix=0")
    code, text, _ = compare("--hyper", "mix=0", "--lookup")
    assert code == 0 and "Holm over 4 comparisons" in text and "with 3 seeds is 0.25" in text
    code, text, _ = compare("--hyper", "mix=0.125", "--lookup")
    assert code == 0 and "FedSAM" in text and "Holm over" not in text and "seeds is" not in text
    store = tmp_path / "store"
    shutil.copytree(place / "store", store)
    _drop(store / "added", lambda config: config["seed"] > 0)
    assert "Holm over" not in compare("--hyper", "mix=0", "--lookup", "--out", str(store))[1]
    shutil.rmtree(store)
    shutil.copytree(place / "store", store)
    _drop(store / "added", lambda config: config["split"] == "iid")
    assert "Holm over 2 comparisons" in compare("--hyper", "mix=0", "--lookup", "--out", str(store))[1]


def _drop(store: Path, unwanted: Callable[[dict], bool]) -> None:
    """Remove the runs with such a config from the stores below a folder."""
    for path in store.glob("*/*/config.json"):
        if unwanted(json.loads(path.read_text())):
            shutil.rmtree(path.parent)
