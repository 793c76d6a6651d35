"""What readers asked the report and did not find: each answer, where it stands now."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from stored import stored_run

from artifact.algorithms.base import FedAvg
from artifact.papers import folders, needed_runs
from artifact.report import evidence, fingerprints, settings
from artifact.report.content import Content
from artifact.report.numbers import Numbers
from artifact.report.outstanding import Outstanding, told
from artifact.report.pages import choose, claims, discrepancies, methods
from artifact.report.site import Page, Site
from artifact.runs.sweep import sweep
from artifact.runs.sweep.estimate import Span
from artifact.training import config


def text_of(site: Path, name: str) -> str:
    """What a reader sees of a page: no script, no tags."""
    page = (site / name).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", unescape(re.sub(r"(?s)<(script|style|math).*?</\1>|<[^>]+>", " ", page)))


# ---- which lines of released code differ, and what that costs --------------------------------------------------------


def test_every_discrepancy_names_the_files_and_lines_of_the_code_or_says_that_it_has_none(site, content):
    entries = discrepancies.cited(content)
    assert set(content.code_lines) <= {row["id"] for row in entries}
    of_files = [row for row in entries if ".py" in row["where"]]
    assert len(of_files) > 30 and [row["id"] for row in of_files if not row["lines"]] == ["ASAM-2"]
    assert {row["no_lines"] for row in entries if row["id"] in ("ASAM-2", "SMOO-8")} == {
        "not known to us",
        "none: no released code takes part in this entry",
    }
    for row in (x for rows in content.code_lines.values() for x in rows):
        first, last = map(int, row["lines"].split("-"))
        assert 1 <= first <= last < first + 60 and re.fullmatch(r"[0-9a-f]{12}", row["commit"])
    every = (site / "discrepancies.html").read_text(encoding="utf-8")
    said = re.findall(r"<dt>File and lines of the code</dt><dd>(.*?)</dd>", every)
    assert len(said) == len(entries) and all(said)


def test_a_method_says_line_by_line_where_its_released_code_differs(site):
    page = (site / "method-fedsmoo.html").read_text(encoding="utf-8")
    assert page.count("FL-Simulator/blob/653ebb565e8b/utils.py#L32-L38") == 1
    assert "server/FedSMOO.py#L56-L60" in page and "client/fedsmoo.py#L38-L44" in page
    switches, lines = page.split('id="code-lines"')
    assert "FL-Simulator at 653ebb5, mended since" in re.search(r'#SMOO-11">SMOO-11</a></th>.*?</tr>', switches)[0]
    assert "<td></td></tr>" not in switches and len(re.findall(r"#SMOO-\d+", lines)) == 11
    left, others = lines.split("other entries, in which no line of the algorithm is computed otherwise")
    ids = {part: re.findall(r'#([A-Z]+-\d+)">[^<]*</a>', part) for part in (left, others)}
    assert {"GEN-1", "SMOO-3", "SMOO-11"} < set(ids[left]) and {"SMOO-1", "SMOO-2", "SMOO-8"} < set(ids[others])
    printed = re.findall(r"</a></th><td>(.*?)</td>", left)
    assert all(re.match(r"(FedSMOO )?Alg\. ?1 l\. ?\d", one) and ".py" not in one for one in printed), printed
    assert re.search(r"released \(FL-Simulator\): all its switches together .* by [-+]\d", left)


def test_an_entry_that_is_anothers_equation_in_one_method_speaks_of_that_method(site):
    page = text_of(site, "discrepancies.html")
    entry = page[page.index("SMOO-6: FedSMOO") : page.index("SMOO-7: FedSMOO")]
    assert "Printed no clipping" in entry and "Within released forms" in entry
    assert set(re.findall(r"(\S+), released \(", entry)) == {"FedSMOO"}


def test_what_a_whole_released_form_costs_is_told_apart_from_what_one_fault_costs(site):
    """FedLESAM has two numbers: its whole released form, and LESAM-1 as the only change; each with its scale and n."""
    page = text_of(site, "discrepancies.html")
    whole, alone = page.split("What one fault does by itself")
    number = r"(\S+ \[\S+ \S+\] points \(n=\d\))"
    one = re.search(rf"FedLESAM, released \(FedLESAM repository\) \S+ \S+ {number}", whole)[1]
    other = re.search(rf"FedLESAM, one scalar per tensor \(LESAM-1\) \S+ \S+ {number}", alone)[1]
    assert one != other
    assert re.search(r"Runs: [^.]*50 rounds , n=3", whole) and re.search(r"Runs: [^.]*100 rounds, n=6", alone)
    entry = page[page.index("LESAM-1: FedLESAM") : page.index("LESAM-2: FedLESAM")]
    by_itself, within = entry.split("Within released forms")
    assert "As the only change to a method (Fashion-MNIST, 5,000 training images" in by_itself and other in by_itself
    assert one in within and "a number is of all these differences together" in within
    assert "As the only change to a method" in page[page.index("SMOO-11: FedSMOO") :][:2_500]
    clipping = page[page.index("GEN-1: GENERAL") : page.index("GEN-2: GENERAL")]
    assert "As the only change" not in clipping and "of this entry by itself only at one switch" in clipping
    assert re.search(r"FedProx, released \(fedMAN\), 4 switches:", clipping)
    assert "what a whole released form costs" in text_of(site, "genealogy.html")


# ---- which verdicts are provisional ----------------------------------------------------------------------------------


def test_provisional_verdicts_are_counted_explained_and_listed(site, content):
    judged = [r for r in content.records.values() if r.counted("in_training") not in ("", "not-run")]
    provisional = sum(record.provisional for record in judged)
    page = (site / "training.html").read_text(encoding="utf-8")
    assert f"{provisional} of {len(judged)} verdicts are provisional" in page and 0 < provisional < len(judged)
    assert 'href="claims.html?asked=by+a+paper&amp;provisional=provisional#claims"' in page
    broken = Counter(re.findall(r"<li>([^<]*(?:<a[^>]*>[^<]*</a>[^<]*)?): (\d+)</li>", page))
    assert len(broken) >= 2 and max(int(n) for _, n in broken) <= provisional


def test_the_list_of_claims_can_be_filtered_by_provisional(site, content):
    page = (site / "claims.html").read_text(encoding="utf-8")
    assert '<select name="provisional"><option value="">all</option><option>provisional</option>' in page
    marked = dict(re.findall(r'<li id="([^"]*)" data-paper=.*? data-provisional="([^"]*)"', page))
    assert marked.keys() == content.records.keys()
    for id, record in content.records.items():
        decided = record.in_training not in ("", "not-run")
        assert marked[id] == ("provisional" if record.provisional else "final" if decided else ""), id


# ---- which command trains, what is not run, and how long it takes ----------------------------------------------------


def test_the_time_of_missing_runs_is_the_sweeps_own_estimate(content):
    """The slower end is the seconds of ``fedsharp sweep --dry-run``; nothing is missing where all are finished."""
    found = Outstanding(content).of("qu2022", "1", "laptop")
    configs = needed_runs.configs("qu2022/1", "laptop", everything=True)
    planned = sweep.plan(configs, content.root / content.stores["laptop"]).jobs
    assert len(found.runs) == len(planned) > 0 and found.of == len(configs)
    assert sum(span.usual for span in found.runs.values()) == pytest.approx(sum(job.seconds for job in planned))
    assert all(span is None or span.fast <= span.usual for span in found.runs.values())
    assert found.command == "python -m fedsharp sweep qu2022/1 --profile laptop --everything"
    whole = Outstanding(content).of("kakoun2024", "5.3", "laptop")
    assert not whole.runs and whole.time == "" and not whole.command.endswith("everything")
    assert len(whole.own) == whole.of and whole.anew and whole.part(True) == whole.part(False) == (0, "")
    anew = sweep.plan(needed_runs.configs("qu2022/1", "laptop"), content.root / "no-store").jobs
    assert len(found.own) == len(anew) and found.part(False) == (len(found.runs), found.time)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ([], ""),
        ([None], "an unknown time"),
        ([(7200.0, 7200.0), (1800.0, 1800.0)], "about 2 h 30 min"),
        ([(3600.0, 7260.0), None, None], "about 1 h 00 min to 2 h 01 min, without 2 runs whose time is not known"),
        ([(36_000.0, 7_200_000.0)], "about 10 h to 2,000 h"),
    ],
)
def test_times_are_told_in_words(seconds, said):
    assert told(None if one is None else Span(*one) for one in seconds) == said


def test_networks_that_no_store_holds_take_the_pace_that_bench_measured(content):
    """ResNet-18-GN; the batch-normalised one has its pace; of the vision transformer nothing was timed."""
    outstanding = Outstanding(content)
    of = {x.model: x for x in needed_runs.configs("fan2024/2", "paper", everything=True)}["resnet18-gn"]
    span = outstanding.span(of, "laptop")
    assert 1 < span.usual / span.fast < 20
    assert outstanding.span(of.model_copy(update={"model": "resnet18"}), "laptop") == span
    assert outstanding.span(of.model_copy(update={"model": "vit-b-32"}), "laptop") is None
    found = outstanding.of("campaign", "1", "laptop"), outstanding.of("campaign", "2", "laptop")
    a_run, another = (sum(span.usual for span in missing.runs.values()) / len(missing.runs) for missing in found)
    assert a_run == pytest.approx(another, rel=0.2)


# ---- how many runs ---------------------------------------------------------------------------------------------------


def test_runs_of_an_open_audit_are_counted_apart(tmp_path, monkeypatch):
    own, other = (config.make(algorithm=name, rounds=1) for name in ("fedavg", "fedsam"))
    stored_run(tmp_path / "own", own, [{"round": 1}])
    stored_run(tmp_path / "audit", other, [{"round": 1}])
    monkeypatch.setattr("artifact.runs.lookup.ALSO", [tmp_path / "audit"])
    content = Content(tmp_path, stores={"laptop": Path("own")})
    assert (len(content.runs), content.audit_runs) == (2, 1)


# ---- cells and claims ------------------------------------------------------------------------------------------------


# ---- where an answer is sent -----------------------------------------------------------------------------------------


def test_the_fingerprint_follows_contributing(tmp_path):
    (tmp_path / "CONTRIBUTING.md").write_text("# Contributing\n", encoding="utf-8")
    assert fingerprints.sources(tmp_path) == [tmp_path / "CONTRIBUTING.md"]


# ---- the losses of counterexamples -----------------------------------------------------------------------------------


def test_losses_of_counterexamples_stand_as_formulas_on_their_chart_and_their_cards_lead_there(site):
    page = (site / "figures.html").read_text(encoding="utf-8")
    chart = page[page.index('id="loss-sharp-average"') :].split("</figure>")[0]
    assert chart.count("<math") == 2 and "Loss of client 1:" in chart and "No method runs on it" in chart
    assert "Every method starts at (1.5, 0.5)" in page
    cards = "".join(path.read_text(encoding="utf-8") for path in site.glob("paper-kakoun2024-chapter-3*.html"))
    card = cards[cards.index('<article id="thesis-fig3.1-concl"') :].split("</article>")[0]
    assert 'href="figures.html#loss-sharp-average"' in card


# ---- words in the right sense ----------------------------------------------------------------------------------------


# ---- counts ----------------------------------------------------------------------------------------------------------


def test_an_audit_is_counted_apart_everywhere(content, monkeypatch):
    """As if a paper of the ledger were an audit: every count leaves it out, and its claims have their own filter."""
    before, own = content.counts(), content.of_paper("qu2022")
    monkeypatch.setitem(folders.AUDITS, "qu2022", None)
    after = content.counts()
    assert after.statements == before.statements - sum(not record.claim.reading for record in own)
    assert after.readings == before.readings - sum(record.claim.reading for record in own)
    assert dict(after.audits) == {folders.TITLES["qu2022"]: len(own)}
    for name in ("on_paper", "in_training"):
        apart = Counter(verdict for record in own if (verdict := record.counted(name)))
        assert getattr(after, name) == getattr(before, name) - apart == claims._matrix(content, name)["totals"]
    assert {record.asked for record in own} <= {"by an audit", "by an audit's ledger"}


# ---- what pages said wrongly -----------------------------------------------------------------------------------------


def test_a_figure_names_the_data_and_network_that_were_run(site):
    """FedLESAM's Figure 4 is on CIFAR-10 by its title; other data were run, too."""
    page = text_of(site, "figures-fan2024.html")
    assert re.search(r"Here: [^.]*CIFAR-10: Fashion-MNIST, 10,000 training images[^.]*rounds ?, n=\d", page)


def test_no_two_settings_have_one_name(content):
    names = [setting.name for setting in settings.collect(Numbers(content))]
    assert len(names) == len(set(names)) > 20


def test_all_test_images_are_one_setting_whether_counted_or_not(content):
    """Two tables of Fashion-MNIST name the 10,000 test images as 10000 and as all; what differs is the schedule."""
    found = settings.collect(Numbers(content))
    assert not [s.name for s in found if "test size" in s.name or "None" in s.name or "None" in " ".join(s.lines)]
    several = [
        s
        for s in found
        if {"tables-horizon.html#table-man", "tables-horizon.html#table-qu2022"} <= {t.link for t in s.tables}
    ]
    assert len(several) == 2
    for setting in several:
        assert {"SCAFFOLD", "FedAvg+MAN"} <= setting.lines.keys()
        usual, other = setting.lines["FedAvg"], setting.lines["FedAvg (lr decay 0.9975)"]
        assert (usual.tables, other.tables) == (["tables-horizon.html#table-qu2022"], ["tables-horizon.html#table-man"])
        assert setting.forms_of("FedAvg+MAN", "FedAvg") == ("FedAvg+MAN", "FedAvg (lr decay 0.9975)")


def test_a_method_that_two_tables_train_alike_has_the_seeds_of_both(content, monkeypatch):
    """Of one of the two tables the first four seeds are left out, of the other the last four."""
    links = ["tables-horizon.html#table-iid", "tables-horizon.html#table-qu2022"]

    def of(seeds, entry):
        runs = [run for run in entry.runs if run.config()["seed"] in seeds]
        return replace(entry, runs=runs, values={seed: v for seed, v in entry.values.items() if seed in seeds})

    def cut(at):
        seeds = range(14, 20) if at.link == links[0] else range(10, 16)
        return replace(at, entries=[of(seeds, entry) for entry in at.entries])

    monkeypatch.setattr(Numbers, "tables", [cut(at) for at in Numbers(content).tables if at.link in links])
    (iid,) = (s for s in settings.collect(Numbers(content)) if len(s.tables) == 2)
    assert sorted(iid.lines["FedAvg"].tables) == links and [*iid.lines["FedAvg"].ends] == [*range(10, 20)]
    assert iid.lines["SCAFFOLD"].tables == links[1:] and [*iid.lines["SCAFFOLD"].ends] == [*range(10, 16)]
    assert choose._budgets(iid)["n"] == "6 to 10"


def test_settings_of_one_name_say_what_differs():
    place = {name: i for i, name in enumerate(settings.ALIKE)}
    one, other = (["same"] * len(place) for _ in range(2))
    other[place["weight_decay"]] = 0.001
    found = {tuple(p): settings.Setting("MNIST (CNN)", "IID", "all", "", 1) for p in (one, other)}
    told_apart = settings._told_apart(found)
    assert [setting.data for setting in told_apart] == [
        "MNIST (CNN, weight decay same)",
        "MNIST (CNN, weight decay 0.001)",
    ]
    other[place["weight_decay"]] = None
    unset = settings._told_apart({tuple(p): settings.Setting("MNIST (CNN)", "IID", "all", "", 1) for p in (one, other)})
    assert unset[1].data == "MNIST (CNN, weight decay unset)"


def test_forms_of_one_method_are_no_methods_to_choose_among(content):
    """A table that compares forms of one method, such as 'radius as meant' and 'released', has no setting."""
    several = [at for at in Numbers(content).tables if at.runs and at.table.given is None]
    alone = {at.link for at in several if len({run.config()["algorithm"] for run in at.runs}) == 1}
    assert not alone & {at.link for setting in settings.collect(Numbers(content)) for at in setting.tables}
    at = next(at for at in several if at.link not in alone and list(settings._accuracies(at)))
    name = at.runs[0].config()["algorithm"]
    entries = [e for e in at.entries if e.runs and {r.config()["algorithm"] for r in e.runs} == {name}]
    assert entries and not list(settings._accuracies(replace(at, entries=entries)))


def test_a_method_that_two_tables_train_differently_stands_in_a_setting_in_both_forms(content):
    """MoFedSAM's radius is 0.01 in FedSMOO's table and 0.1 in FedLESAM's, on the same data."""
    lines = settings.collect(Numbers(content))[1].lines
    usual, other = lines["MoFedSAM"], lines["MoFedSAM (rho 0.1)"]
    assert (usual.tables, other.tables) == (["tables-sun2023.html#table-1"], ["tables-fan2024.html#table-2"])
    assert len(lines["FedAvg"].tables) == 2 and usual.ends != other.ends


def test_splits_say_whether_pools_are_recycled_and_shares_stand_as_papers_and_claims_write_them(content):
    for setting in settings.collect(Numbers(content)):
        config = next(run for at in setting.tables for run in at.runs).config()
        assert re.fullmatch(r"\d+% of \d+ clients", setting.share)
        if "kakoun2024" in setting.tables[0].link or "yashwanth2023" in setting.tables[0].link:
            assert "recycled" not in setting.split
        elif config["split"].endswith(":replace"):
            assert setting.split.endswith(", recycled pools")


def test_pairs_say_over_how_many_settings_and_have_an_interval_from_three_on(site):
    page = (site / "pairs.html").read_text(encoding="utf-8")
    cells = re.findall(r'<a class="cell".*?<span class="where">(\d+) settings?</span>(.*?)</a>', page)
    assert len({n for n, _ in cells}) > 4
    for n, text in cells:
        assert ("[" in text) == (int(n) >= settings.FEWEST) and (int(n) >= settings.FEWEST or "*" not in text)
    trained = [int(n) for n in re.findall(r'<th scope="row">\S[^<]*<span class="where">(\d+) settings</span>', page)]
    assert len(trained) > 8 and trained == sorted(trained, reverse=True)


def test_toy_data_and_training_are_not_taken_for_each_other(content):
    """Where a check trained toy problems and the runs say another thing, the first sentence names the toy data."""
    toys = [record for record in content.records.values() if record.on_paper == "on-toy-data"]
    assert toys
    for record in toys:
        assert evidence.parts(record)[0].text.startswith("On the toy data of the check: ")


def test_a_method_of_an_audit_has_a_title_an_idea_and_no_broken_link(content):
    class FedOwn(FedAvg):
        """One sentence about it,
        over two lines.

        More of it.
        """

    said = methods._of_an_audit(FedOwn)
    assert said["title"] == "FedOwn" and said["idea"] == "One sentence about it, over two lines."
    assert "test_answers.py of an audit" in said["source"] and said["steps"] == []
    page = Site(content).render(Page("method-own.html", "method.html", _context_of_a_method(said)))
    assert "GLOSS-1" in page and "#GLOSS-1" not in page and 'href="discrepancies.html#GEN-1"' in page


def _context_of_a_method(said):
    empty = {key: [] for key in ("code", "bases", "options", "switches", "special", "tables", "claims")}
    empty |= {"discrepancies": {True: [], False: []}, "whole": [], "scale": ""}
    text = {"title": said["title"], "name": "own", "method": said, "steps": []}
    return empty | text | {"released": ["GEN-1", "GLOSS-1"], "known": {"GEN-1"}}


def test_a_dash_of_a_table_stays_a_dash(site):
    """FedSMOO's Tables 3 and 7 print '-' where FedAdam never reaches 74 %."""
    page = text_of(site, "tables-sun2023.html")
    assert "paper target accuracy" not in page and re.search(r"FedAdam [^%]*paper - ", page)


@pytest.mark.parametrize("name", ["tables-fan2024.html"])
def test_columns_that_were_not_run_are_told_apart(site, name):
    """Names of columns hold commas, so that a list of them has semicolons."""
    page = text_of(site, name)
    assert re.search(r"Not run, in whole or in part \([^)]*\): CIFAR-100, 10% of 100, \S+; CIFAR-100, 10% of 100", page)
