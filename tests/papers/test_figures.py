"""Figures of the five papers: none missing, every panel drawn in quick, the data file says what the picture shows."""

from __future__ import annotations

import json
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner
from stored import COST, stored_run

from artifact.base import plots
from artifact.base.errors import UserError
from artifact.papers import charts, experiments, figures, needed_runs
from artifact.papers.figures import command, drawing, surface_figures, surfaces, training
from artifact.papers.figures.series import PanelAt
from artifact.runs import session
from artifact.runs.lookup import find_runs, finished_runs, merged
from artifact.runs.seal import seal
from artifact.runs.store import Run, dumps, finite
from artifact.training import config

#: panels of the papers' figures; panels of ours beside them are allowed
PAPERS = {
    "qu2022": {"fig1": 3, "fig2": 3, "fig3": 4, "fig4": 3, "fig5": 4, "fig6": 4},
    "sun2023": {
        "fig1": 2,
        "fig2": 1,
        "fig3": 3,
        "fig4": 4,
        "fig5": 2,
        "fig6": 1,
        "fig7": 4,
        "fig8": 4,
        "fig9": 4,
        "fig10": 4,
    },
    "fan2024": {"fig1": 6, "fig2": 2, "fig3": 5, "fig4": 4, "fig5": 8, "fig6": 6},
    "yashwanth2023": {"fig1": 3, "fig2": 3, "fig3": 3, "fig4": 2, "fig5": 1, "fig6": 3, "fig7": 3},
    "kakoun2024": {"fig1.1": 1, "fig3.1": 1},
}
FIGURES = [f"{paper}/{figure}" for paper, declared in PAPERS.items() for figure in declared]


# ---- a store of made-up runs -----------------------------------------------------------------------------------------


def _metrics(one: config.RunConfig, rng: np.random.Generator) -> list[dict]:
    """Rising accuracies, falling losses and the probes' values, one line per round."""
    lines = []
    for t in range(1, one.rounds + 1):
        line = {"round": t, "cost": COST}
        if t % one.eval_every == 0 or t > one.rounds - one.eval_last:
            values = {"accuracy": 0.9 - 0.6 / t + 0.02 * rng.random(), "loss": 0.2 + 1 / t}
            line |= dict.fromkeys((*one.evaluate, *(("train",) if one.eval_train else ())), values)
            line |= {"drift": {"drift": rng.random()}} if "drift" in one.probes else {}
            line |= {"sharpness": {"ascent": rng.random()}} if "sharpness" in one.probes else {}
        lines.append(line)
    return lines


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Finished runs of every quick panel, without training: (folder, runs by what they are)."""
    root, rng = tmp_path_factory.mktemp("store"), np.random.default_rng(0)
    for one in merged(figures.configs("", "quick")):
        stored_run(root, one, _metrics(one, rng)).checkpoint_file.write_bytes(b"")
    return root, finished_runs(root)


@pytest.fixture
def invented(monkeypatch):
    """Measurements of models as made-up numbers, so that no model is needed."""

    def measured(kind, folder, first, top, data_root):
        rng = np.random.default_rng(int(folder.name, 16))
        if kind == "spectrum":
            return {"values": sorted(rng.random(top), reverse=True), "unconverged": 0}
        if kind == "density":
            grid = np.linspace(-1, 5, 40)
            columns = {name: np.exp(-(grid**2)).tolist() for name in ("density", "low", "high")}
            return {"grid": grid.tolist(), **columns, "positive": 3.0, "negative": -0.5}
        rises = (rng.random((surfaces.DIRECTIONS, 1)) * np.array(surfaces.RADII) ** 2).tolist()
        a, b = np.meshgrid(surfaces.GRID, surfaces.GRID, indexing="ij")
        surface = {"surface": (0.3 + a**2 + b**2).tolist()} if first else {}
        return {"centre": 0.3, "radii": surfaces.RADII, "rises": rises, "top_eigenvalue": 2.0} | surface

    monkeypatch.setattr(surfaces, "_measured", measured)


def _records(name, store):
    root, stored = store
    return [finite(figures.record(panel, stored, root, measure=True)) for panel in figures.select(name, "quick")]


# ---- what is declared ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_no_figure_and_no_panel_is_missing(paper):
    declared = {figure.id: len(figure.panel) for figure in experiments.load(paper).figure}
    assert {name: declared.get(name, 0) >= number for name, number in PAPERS[paper].items()} == dict.fromkeys(
        PAPERS[paper], True
    )


@pytest.mark.parametrize("profile", experiments.PROFILES)
def test_every_panel_has_a_state_and_none_goes_without_runs_or_a_reason(profile, tmp_path):
    states = figures.states(profile, tmp_path)
    assert len(states) == sum(len(figure.panel) for _, figure in experiments.all_figures())
    assert all(state in ("given", "missing") or state.startswith("not-run: ") for state in states.values())
    for panel in figures.select("", profile):
        assert panel.panel.shows, panel.id
        if states[panel.id] == "missing":
            assert any(not series.not_run for series in panel.series), panel.id


def test_quick_trains_every_panel_that_needs_runs(tmp_path):
    assert not [id for id, state in figures.states("quick", tmp_path).items() if state.startswith("not-run")]


def test_figures_train_only_what_no_table_trains_and_that_is_small():
    def numbers(one):  # probes change none
        return one.model_dump_json(exclude={"probes"})

    tables = [table for _, table in experiments.all_tables() if table.given is None]
    table_runs = {
        numbers(one) for table in tables for cell in experiments.cells(table, "quick") for one in cell.configs
    }
    own = {numbers(one) for one in figures.configs("", "quick")} - table_runs
    assert len(own) <= 360
    assert all(one.dataset == "digits" and one.rounds <= 20 for one in figures.configs("", "quick"))


def test_claims_named_by_figures_are_in_the_ledger():
    from artifact.verdicts import ledger

    known = {claim.id for claim in ledger.load()}
    named = {id for _, figure in experiments.all_figures() for id in figure.claims}
    assert named <= known


def test_configs_come_seed_by_seed_and_once():
    found = needed_runs.configs("sun2023/fig4", "quick")
    assert [c.seed for c in found] == sorted(c.seed for c in found)
    assert len({c.model_dump_json() for c in found}) == len(found)


def test_an_unknown_figure_names_those_there_are():
    with pytest.raises(UserError, match=r"fig3\.1"):
        figures.find("kakoun2024/fig9")


def test_a_swept_value_replaces_every_other_setting_and_is_divided_for_the_axis():
    (panel,) = [p for p in figures.select("fan2024/fig4", "quick") if p.panel.id == "cifar10"]
    swept = [s for s in panel.series if s.x is not None]
    assert [s.configs[0].hyper["rho"] for s in swept] == list(panel.values)
    assert [s.x for s in swept] == pytest.approx([s.configs[0].hyper["rho"] / s.configs[0].lr for s in swept])
    (level,) = [s for s in panel.series if s.x is None]
    assert level.configs[0].algorithm == "fedavg"


# ---- drawing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_the_picture_shows_the_record_and_nothing_else(name, store, invented):
    records = _records(name, store)
    canvas = drawing.compose(name, records, figures.find(name).panels_per_row)
    try:
        titles = [axis.get_title() for axis in canvas.axes]
        for record in records:
            start = drawing._title(record).split("\n")[0]
            axes = [axis for axis in canvas.axes if axis.get_title().split("\n")[0] == start]
            assert axes, titles
            _assert_shown(axes[0], record, canvas)
        texts = "\n".join(text.get_text() for text in canvas.texts).replace("\n      ", " ")
        for record in records:
            assert record["texts"], record["id"]
            for text in record["texts"]:
                assert text in texts
    finally:
        plt.close(canvas)


def _assert_shown(axis, record, canvas):
    drawn = {line.get_label(): line for line in axis.get_lines()}
    if record["kind"] in ("curves", "probe", "sweep", "spectrum"):
        for line in record["lines"]:
            shown = next(handle for label, handle in drawn.items() if label.startswith(f"{line['label']} (n="))
            mean = line["smoothed"] if record["kind"] == "curves" else np.mean(line["values"], 0)
            assert np.allclose(shown.get_xdata(), training.positions(record, line["x"]))
            assert np.allclose(shown.get_ydata(), mean)
        assert len({id(h) for label, h in drawn.items() if not label.startswith("_")}) == len(record["lines"])
    elif record["kind"] == "heatmap":
        assert np.array_equal(axis.images[0].get_array(), np.array(record["counts"]).T)
    elif record["kind"] == "bars":
        heights = [[bar.get_height() for bar in group] for group in axis.containers]
        assert heights == [line["totals"] for line in record["lines"]]
    elif record["kind"] == "sketch":
        for line in (*record["lines"], *record["points"]):
            assert np.allclose(drawn[line["label"]].get_ydata(), line["y"])
    elif record["kind"] == "density":
        for line in record["lines"]:
            shown = next(handle for label, handle in drawn.items() if label.startswith(f"{line['label']} (n="))
            assert np.allclose(shown.get_ydata(), np.maximum(line["density"], 1e-5))
    else:
        rises = {h.get_label(): h for a in canvas.axes if a.get_title().startswith("rise") for h in a.get_lines()}
        for line in record["lines"]:
            shown = next(handle for label, handle in rises.items() if label.startswith(f"{line['label']} (n="))
            assert np.allclose(shown.get_ydata(), np.mean(line["values"], 0))


def test_surfaces_of_a_figure_share_height_and_colours(store, invented):
    canvas = drawing.compose("", _records("fan2024/fig3", store), 4)
    surfaces_of, contours_of = (
        [a for a in canvas.axes if hasattr(a, "get_zlim") == solid and a.get_ylabel().startswith("b")]
        for solid in (True, False)
    )
    coloured = [
        [c for a in of for c in a.collections if c.get_array() is not None] for of in (surfaces_of, contours_of)
    ]
    plt.close(canvas)
    assert len(surfaces_of) == len(contours_of) == 5
    assert len({axis.get_zlim() for axis in surfaces_of}) == 1
    assert [len({tuple(c.get_clim()) for c in group if c.get_cmap().name == "viridis"}) for group in coloured] == [1, 1]


def test_contours_show_the_rise_over_the_model_itself():
    surface = [[3.0, None, 3.5], [2.5, 2.0, 2.25], [4.0, 3.0, 5.0]]
    expected = [[1, np.nan, 1.5], [0.5, 0, 0.25], [2, 1, 3]]
    assert np.array_equal(surface_figures.rise_of(surface), expected, equal_nan=True)


def test_panels_of_the_same_runs_share_a_statement_and_letters_are_the_papers():
    records = [
        {"id": f"p/f/{id}", "title": "radius", "texts": texts}
        for id, texts in (("a", ["A above B: holds"]), ("b", ["A above B: holds", "flat"]), ("r", ["flat"]))
    ]
    assert drawing.sentences(records) == ["(a), (b): A above B: holds", "(b), radius: flat"]


def test_one_method_looks_the_same_everywhere_and_no_two_alike():
    looks = {name: plots.style(name) for name in plots.METHODS}
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(looks)
    assert plots.style("FedAvg+MAN").colour == looks["FedAvg"].colour
    assert plots.style("FedLESAM, released").marker == looks["FedLESAM"].marker
    labels = {s.label for panel in figures.select("", "quick") for s in panel.series}
    known = {look.colour for look in looks.values()}
    assert {plots.style(label).colour for label in labels} <= known


def _drawings(folder, several):
    """Drawings of one curve each, ``several`` of them, named by their number."""
    runs = [{1: 0.1, 2: 0.2}]
    panel = {"IID": {"FedAvg": runs}}
    return [partial(charts.curves, panel, "server", "title", folder, str(i)) for i in range(several)]


def test_many_figures_are_those_that_are_drawn_one_by_one_in_the_same_order(tmp_path):
    many = list(plots.draw_all(_drawings(tmp_path / "many", plots.MANY)))
    few = list(plots.draw_all(_drawings(tmp_path / "few", 2)))
    assert [[path.name for path in paths] for paths in many[:2]] == [[path.name for path in paths] for paths in few]
    assert [paths[0].stem for paths in many] == [str(i) for i in range(plots.MANY)]
    pairs = [(a, b) for one, other in zip(few, many[:2], strict=True) for a, b in zip(one, other, strict=True)]
    assert pairs and all(a.read_bytes() == b.read_bytes() for a, b in pairs)


@pytest.mark.parametrize("several", [1, plots.MANY])
def test_bad_input_of_a_drawing_is_the_same_from_another_process(several, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"figures: .*file/folder.* is not possible; allowed: a folder that can be"):
        list(plots.draw_all(_drawings(tmp_path / "file" / "folder", several)))


def test_smoothing_keeps_a_line_and_its_window():
    rounds = np.array([10, 20, 30, 31, 32, 33.0])
    assert np.allclose(plots.smooth(rounds, 2 * rounds, 1.0), 2 * rounds)
    assert np.allclose(plots.smooth(rounds, np.full(6, 3.0), 25), 3)
    # half width 2: weights 1 and (1 + cos(pi/2))/2 = 1/2 at distance 1, none at distance 2
    assert plots.smooth([0, 1, 2], np.array([0.0, 4.0, 8.0]), 2.0)[0] == pytest.approx((0 + 0.5 * 4) / 1.5)


# ---- measured panels and the command ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A two-round run of the digits with its checkpoint as a sweep leaves it: the model without the clients' state."""
    root = tmp_path_factory.mktemp("trained")
    one = config.make(algorithm="feddyn", model="mlp-8", clients=4, cohort=2, rounds=2, local_steps=3, batch_size=20)
    run = session.execute(one, root, quiet=True).run
    run.slim()
    return one, run


def test_the_surface_of_a_model_is_its_loss_and_lowest_rises_belong_to_flat_models(trained):
    _, run = trained
    risk, w = surfaces.load(run.folder)
    entry = surfaces._surface(risk, w, risk.layout, first=True)
    middle = len(surfaces.GRID) // 2
    assert entry["surface"][middle][middle] == pytest.approx(float(risk(w)), rel=1e-5)
    plane = surfaces._directions(risk.layout, w, 0)
    corner = float(risk(w + surfaces.GRID[0] * plane[0] + surfaces.GRID[-1] * plane[1]))
    assert entry["surface"][0][-1] == pytest.approx(corner, rel=1e-4)
    assert np.shape(entry["rises"]) == (surfaces.DIRECTIONS, len(surfaces.RADII))


def test_a_model_is_measured_on_the_data_that_the_command_names(trained, tmp_path, monkeypatch):
    """``--data`` reaches the data sets, and data that are not those of the run are refused."""
    asked = []

    def other(one, root):
        asked.append(root)
        return session.data.load(one.dataset, root).subset(100, 50, 0)

    monkeypatch.setattr(session, "load_data", other)
    with pytest.raises(UserError, match=r"^data: "):
        surfaces.load(trained[1].folder, tmp_path)
    assert asked == [tmp_path]


def test_spectrum_and_density_agree_on_the_trace(trained):
    risk, w = surfaces.load(trained[1].folder)
    spectrum, density = surfaces._spectrum(risk, w, 5), surfaces._density(risk, w)
    assert spectrum["values"] == sorted(spectrum["values"], reverse=True)
    assert spectrum["values"][0] <= density["grid"][-1]
    assert density["positive"] >= spectrum["values"][0]


def test_a_measurement_is_recorded_and_found_again_by_the_key_of_its_run(store, invented, monkeypatch):
    root, stored = store
    panel = next(p for p in figures.select("yashwanth2023/fig1", "quick") if p.panel.id == "a")
    first = surfaces.entries(panel, stored, root, measure=True)
    monkeypatch.setattr(surfaces, "_measured", lambda *_: pytest.fail("measured twice"))
    assert finite(surfaces.entries(panel, stored, root, measure=True)) == finite(first)
    path = root / "figures" / f"{panel.name}.json"
    content = json.loads(path.read_text())
    content["models"][0]["key"] = "another run"
    path.write_text(json.dumps(seal(content)))
    assert len(surfaces.entries(panel, stored, root, measure=False)) == len(first) - 1
    path.unlink()


def test_an_interrupted_measurement_keeps_what_it_has(store, invented, monkeypatch):
    root, stored = store
    panel = figures.select("yashwanth2023/fig4/a", "quick")[0]
    path = root / "figures" / f"{panel.name}.json"
    path.unlink(missing_ok=True)
    monkeypatch.setattr(surfaces, "_MADE", {})
    measure, made = surfaces._measured, []

    def third_fails(*given):
        made.append(given)
        if len(made) == 3:
            raise KeyboardInterrupt
        return measure(*given)

    monkeypatch.setattr(surfaces, "_measured", third_fails)
    with pytest.raises(KeyboardInterrupt):
        surfaces.entries(panel, stored, root, measure=True)
    assert len(surfaces.entries(panel, stored, root, measure=False)) == 2
    found = surfaces.entries(panel, stored, root, measure=True)
    assert len(found) == 12 and len(made) == 3 + 10
    assert finite(surfaces.entries(panel, stored, root, measure=False)) == finite(found)
    path.unlink()


def test_a_surface_on_record_for_one_panel_is_not_measured_for_another(store, invented, monkeypatch):
    root, stored = store
    one, other = (figures.select(f"fan2024/fig3/{letter}", "quick")[0] for letter in "ad")
    for path in (root / "figures").glob("*.json"):
        path.unlink()
    first = surfaces.entries(one, stored, root, measure=True)
    made = []
    monkeypatch.setattr(surfaces, "_MADE", {})
    measure = surfaces._measured
    monkeypatch.setattr(surfaces, "_measured", lambda *given: made.append(given) or measure(*given))
    entries = surfaces.entries(other, stored, root, measure=True)
    assert finite([e for e in entries if e["label"] == "FedAvg"]) == finite(first)
    assert len(made) == len(entries) - len(first)
    for panel in (one, other):
        (root / "figures" / f"{panel.name}.json").unlink()


def test_flatter_means_a_smaller_rise():
    rises = {"flat": 0.1, "steep": 1.0}
    entries = [
        {"label": name, "seed": s, "key": name, "centre": 0.5, "top_eigenvalue": 1.0, "rises": [[r * (1 + s / 50)] * 4]}
        for name, r in rises.items()
        for s in range(3)
    ]
    lines = surface_figures.rise_lines(entries)
    statements = surface_figures.flatness(lines, ["steep > flat"])
    assert statements[-1].holds is True
    assert statements[-1].value == pytest.approx(0.9 * 1.02)


def test_runs_that_diverged_count_as_no_accuracy(tmp_path):
    run = Run(tmp_path, "k")
    run.folder.mkdir()
    lines = [{"round": 1, "server": {"accuracy": 0.5}}, {"round": 2, "diverged": True}]
    run.metrics_file.write_text("".join(dumps(line) + "\n" for line in lines))
    assert training.final(run, "server.accuracy") == 0.0


def test_the_command_draws_and_writes_data_that_read_back(store, tmp_path):
    arguments = ["sun2023/fig4", "--lookup", "--out", str(store[0]), "--folder", str(tmp_path), "--json"]
    result = CliRunner().invoke(command.figure_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"sun2023-fig4-quick.{suffix}" for suffix in ("png", "pdf", "json")}
    content = json.loads((tmp_path / "sun2023-fig4-quick.json").read_text())
    states = figures.states("quick", store[0], "sun2023/fig4")
    assert {record["id"]: record["state"] for record in content["panels"]} == states
    assert all(record["runs"] for record in content["panels"])


def test_pictures_of_the_same_data_are_kept_and_of_other_data_drawn_anew(tmp_path):
    records = command.collect("kakoun2024/fig1.1", "quick", tmp_path)
    picture = command.draw("kakoun2024/fig1.1", "quick", records, tmp_path)[0]
    before = picture.stat().st_mtime_ns
    command.draw("kakoun2024/fig1.1", "quick", records, tmp_path)
    assert picture.stat().st_mtime_ns == before
    command.draw("kakoun2024/fig1.1", "quick", [records[0] | {"title": "another"}], tmp_path)
    assert picture.stat().st_mtime_ns > before


def test_a_figure_without_runs_is_computed_again_after_any_change_of_code(tmp_path, monkeypatch):
    name, arguments = "kakoun2024/fig1.1", ["kakoun2024/fig1.1", "--folder", str(tmp_path), "--out", str(tmp_path)]
    assert command.kept(name, "quick", tmp_path) is None
    first = CliRunner().invoke(command.figure_command, arguments, catch_exceptions=False)
    assert command.kept(name, "quick", tmp_path) == finite(command.collect(name, "quick", tmp_path))
    monkeypatch.setattr(command, "_record", lambda *_: pytest.fail("computed twice"))
    again = CliRunner().invoke(command.figure_command, arguments, catch_exceptions=False)
    assert again.stdout == first.stdout and "holds" in again.stdout
    data = tmp_path / "kakoun2024-fig1.1-quick.json"
    for damaged in ("{", "[]"):
        data.write_text(damaged)
        assert command.kept(name, "quick", tmp_path) is None
    monkeypatch.undo()
    CliRunner().invoke(command.figure_command, arguments, catch_exceptions=False)
    drawn = data.with_suffix(".png").stat().st_mtime_ns
    monkeypatch.setattr(command, "_everything", lambda: "another")
    assert command.kept(name, "quick", tmp_path) is None
    CliRunner().invoke(command.figure_command, arguments, catch_exceptions=False)
    assert command.kept(name, "quick", tmp_path) is not None
    assert data.with_suffix(".png").stat().st_mtime_ns == drawn


def test_pictures_of_another_program_are_drawn_anew(tmp_path, monkeypatch):
    records = command.collect("kakoun2024/fig1.1", "quick", tmp_path)
    picture = command.draw("kakoun2024/fig1.1", "quick", records, tmp_path)[0]
    before = picture.stat().st_mtime_ns
    monkeypatch.setattr(command, "_program", lambda: "another")
    command.draw("kakoun2024/fig1.1", "quick", records, tmp_path)
    assert picture.stat().st_mtime_ns > before


def test_a_paper_or_all_names_every_figure():
    assert command._names("kakoun2024") == [
        f"kakoun2024/{name}"
        for name in ("fig1.1", "fig3.1", "fig-radii", "fig-centralised", "grid", "fig-radii-protocol", "fig-bounds")
    ]
    assert set(FIGURES) <= set(command._names("all"))
    with pytest.raises(UserError, match="fan2024"):
        command._names("nobody")


def test_looking_up_an_empty_store_trains_nothing_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "execute", lambda *_, **__: pytest.fail("trained"))
    records = command.collect("qu2022/fig1", "laptop", tmp_path)
    assert [record["state"].split(":")[0] for record in records] == ["not-run", "missing", "not-run", "missing"]
    canvas = drawing.compose("", records, 4)
    shown = "".join(text.get_text() for axis in canvas.axes for text in axis.texts).replace("\n", " ")
    plt.close(canvas)
    assert "EMNIST does not come with the project" in shown
    assert "no finished runs in the store" in shown


def test_a_panel_that_is_not_run_borrows_no_runs_of_a_panel_on_other_data(tmp_path):
    (elsewhere,), (own,) = figures.select("qu2022/fig5/c", "laptop"), figures.select("qu2022/fig3/c", "laptop")
    one = own.series[0].configs[0]
    assert one in elsewhere.series[0].configs
    stored_run(tmp_path, one, [{"round": 1, "server": {"accuracy": 0.5, "loss": 1.0}}])
    stored = finished_runs(tmp_path)
    assert len(find_runs(elsewhere.series[0].configs, stored)) == 1
    assert figures.record(elsewhere, stored, tmp_path, measure=False)["lines"] == []
    assert figures.states("laptop", tmp_path, "qu2022/fig5/c")["qu2022/fig5/c"].startswith("not-run: EMNIST")
    assert figures.states("laptop", tmp_path, "qu2022/fig3/c")["qu2022/fig3/c"].startswith("finished 1/")


def test_a_panel_reads_no_runs_of_another_profile():
    quick, laptop = (
        PanelAt(p.figure, p.panel, p.profile)
        for p in (figures.select("qu2022/fig3/a", "quick") + figures.select("qu2022/fig3/a", "laptop"))
    )
    assert {c.dataset for s in quick.series for c in s.configs} == {"digits"}
    assert {c.dataset for s in laptop.series for c in s.configs} == {"fashion-mnist"}
