"""The report: formulas, evidence in words, charts, the command; and its pages in a headless browser."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from artifact import algorithms, claims, notebook
from artifact.errors import UserError
from artifact.report import charts, evidence, plots
from artifact.report.command import report_command
from artifact.report.content import ROOT, Content, Record
from artifact.report.mathematics import Converter, mathml, mended
from artifact.report.pages.papers import statement_parts
from artifact.report.pictures import Pictures
from artifact.report.site import Site, build

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LEDGER = claims.load()
KINDS = (
    "index.html",
    "paper-yashwanth2023.html",
    "tables.html",
    "tables-kakoun2024.html",
    "figures.html",
    "methods.html",
    "method-fedsmoo.html",
    "discrepancies.html",
    "costs.html",
    "provenance.html",
    "glossary.html",
)
WIDTHS = {"desktop": 1280, "phone": 390}


@pytest.fixture(scope="module")
def content() -> Content:
    return Content()


# ---- formulas --------------------------------------------------------------------------------------------------------


def test_every_formula_of_the_ledger_and_of_the_stored_repairs_becomes_mathml():
    convert = Converter()
    for claim in LEDGER:
        html = convert.html(claim.statement, claim.id) + convert.html(claim.how_to_check, claim.id)
        assert "$" not in re.sub(r"<code>.*?</code>", "", html), claim.id
    for path in sorted((ROOT / "results" / "checks").glob("*.json")):
        convert.html(json.loads(path.read_text(encoding="utf-8"))["repaired"] or "", path.stem)
    assert convert.converted > 3500
    assert convert.failures == []


def test_a_formula_that_cannot_be_converted_is_shown_as_text_and_counted():
    convert = Converter()
    html = convert.inline(r"before $\unknowncommand{x}$ after", "somewhere")
    assert html == r'before <code class="tex">\unknowncommand{x}</code> after'
    assert [(name, tex) for name, tex, _ in convert.failures] == [("somewhere", r"\unknowncommand{x}")]


def test_delimiters_are_mended():
    assert mended(r"a \(x\) b \[y\]") == "a $x$ b $$y$$"
    assert mended("costs 3$ in all") == r"costs 3\$ in all"
    assert Converter().inline("costs 3$ in all") == "costs 3$ in all"


def test_long_formulas_break_before_relations_and_never_inside_brackets():
    assert mathml(r"a+b+c=d+e+f\le g").count("<math>") == 3
    assert mathml(r"f(a+b+c+d=e)").count("<math>") == 1


def test_letters_of_mathematical_alphabets_are_unicode():
    html = mathml(r"\mathbb R^d,\mathbb E,\mathcal E,\mathcal A,\mathbf x")
    assert all(letter in html for letter in "ℝ𝔼ℰ𝒜𝐱")
    assert "mathvariant" not in html


def test_text_is_escaped():
    assert Converter().inline("<b> `x < y`") == "&lt;b&gt; <code>x &lt; y</code>"


# ---- evidence --------------------------------------------------------------------------------------------------------


def _record(verdict: str, **content) -> Record:
    return Record(LEDGER[0], verdict, content)


def test_tested_and_proved_are_never_confused():
    search = {"evaluations": 10, "worst_ratio": 0.5, "function_class": "quadratics", "seed": 1}
    held = " ".join(part.text + part.heading for part in evidence.parts(_record("holds", **search)))
    assert "not a proof" in held
    both = evidence.parts(_record("repaired", repair=search | {"certificate": "x - x = 0"}))
    headings = [part.heading for part in both]
    assert "The repaired statement was also tested" in headings
    assert "The repaired statement is proved" in headings
    tested = evidence.parts(_record("repaired", repair=search))
    assert "The repaired statement was tested, not proved" in [part.heading for part in tested]


def test_a_search_of_a_statement_with_an_open_constant_says_which_constant_covers_it():
    search = {"evaluations": 10, "worst_ratio": 1.5, "function_class": "f", "constant_that_covers_it": 4.0}
    text = next(p.text for p in evidence.parts(_record("repaired", repair=search)) if p.text.startswith("10 eval"))
    assert "1.5, with the constant 1; the constant 4 covers it" in text
    assert "violation" not in text


def test_no_tested_ratio_exceeds_one_without_a_constant_that_covers_it(content):
    for record in content.records.values():
        for search in (record.evidence, record.evidence.get("repair", {})):
            if "worst_ratio" in search and record.verdict in ("holds", "repaired"):
                assert float(search["worst_ratio"]) <= 1 + 1e-9 or search.get("constant_that_covers_it"), (
                    record.claim.id
                )


def test_printed_numbers_agree_when_the_derived_ones_round_to_them():
    rows = evidence.comparisons({"printed": ["52.03", "52.02", "x"], "derived": [52.02, 52.0249, "x"]})
    assert [row[3] for row in rows] == [False, True, True]


def test_disagreements_come_first_and_are_marked():
    stored = {"printed": ["1.0", "2.0"], "derived": [1.0, 3.0], "what": ["good", "bad"]}
    part = next(p for p in evidence.parts(_record("inconsistent", **stored)) if p.heading == "Printed against derived")
    assert part.rows[0] == ("bad", "2.0", "3")
    assert part.marks == (False, True)
    assert part.text.startswith("2 compared, 1 disagree")


def test_exact_fractions_show_their_decimal():
    assert evidence.value("1/10") == "1/10 (= 0.1)"
    assert evidence.value("1/3") == "1/3 (about 0.333333)"
    assert evidence.value([1, [2, 3]]) == "1; 2, 3"


def test_both_sides_of_a_counterexample_are_drawn():
    parts = evidence.parts(
        _record("refuted", counterexample={"x": 1}, sides={"left": 4, "right": "7/2", "relation": "<="})
    )
    sides = next(part for part in parts if part.heading == "Both sides")
    assert "left side is at most the right side" in sides.text
    assert "left side 4, right side 3.5" in sides.chart
    assert charts.sides(float("inf"), 1.0) == ""


def test_every_stored_piece_of_evidence_is_put_into_words(content):
    for record in content.records.values():
        shown = [*evidence.parts(record), *evidence.experiment(record)]
        assert any(part.text or part.code or part.rows for part in shown), record.claim.id


# ---- charts ----------------------------------------------------------------------------------------------------------


def test_a_line_carries_its_mean_interval_and_number_of_seeds():
    found = plots.line("FedSAM", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
    assert found["mean"].tolist() == [2.0, 2.0]
    assert found["n"] == 2
    assert found["low"][0] < 1.0 < 3.0 < found["high"][0]
    assert (found["low"][1], found["high"][1]) == (2.0, 2.0)


def test_chart_data_are_safe_inside_a_script_element():
    panel = plots.lines_panel("</script>", [plots.line("a", [1], np.array([[float("nan")]]))], "x", "y")
    data = plots.lines_chart("c", "t", [panel]).data
    assert "</script>" not in data
    assert json.loads(data)["panels"][0]["lines"][0]["mean"] == [None]


def test_a_small_picture_keeps_its_shape(tmp_path):
    from PIL import Image

    Image.new("RGB", (1240, 620), "white").save(tmp_path / "wide.png")
    found = Pictures((tmp_path,)).find("wide", small=True)
    assert (found.width, found.height, found.pdf) == (620, 310, None)
    assert Pictures((tmp_path,)).find("missing") is None


def test_settings_are_split_off_only_when_a_statement_follows():
    assert statement_parts("Setting (A). Text.\nClaim: x.") == ("Setting (A). Text.", "Claim: x.")
    assert statement_parts("Setting (A). Text.") == ("", "Setting (A). Text.")


def test_every_method_has_steps_and_every_text_a_method(content):
    methods = content.methods
    assert set(methods) == set(algorithms.ALGORITHMS)
    assert all(method["steps"] and method["source"] and method["idea"] for method in methods.values())
    convert = Converter()
    for name, method in methods.items():
        for step in method["steps"]:
            convert.inline(step, name)
    assert convert.failures == []


def test_a_claim_links_to_its_notebook_once_that_has_been_rendered(content, tmp_path):
    names = notebook.names()
    assert names
    claim = notebook.claims_of(names[0])[0]
    assert Site(content, tmp_path).notebook(claim) is None
    (tmp_path / f"{names[0]}.html").write_text("<html></html>")
    assert Site(content, tmp_path).notebook(claim) == f"notebooks/{names[0]}.html#{claim}"


# ---- command ---------------------------------------------------------------------------------------------------------


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UserError, match="earlier report"):
        build(Content(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_unknown_profile_is_refused():
    result = CliRunner().invoke(report_command, ["--profile", "huge"])
    assert result.exit_code == 2
    assert "huge" in result.output


# ---- the site --------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Ids, links, sources and article ids of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.articles: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if found.get("id"):
            self.ids[found["id"]] += 1
            if tag == "article":
                self.articles.append(found["id"])
        if tag in ("a", "link") and found.get("href"):
            self.links.append(found["href"])
        if found.get("src"):
            self.sources.append(found["src"])
        if tag == "img":
            self.images.append(found)


@pytest.fixture(scope="module")
def site(content, tmp_path_factory) -> Path:
    """The site of the repository's own stores."""
    return build(content, tmp_path_factory.mktemp("report") / "site").folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Elements]:
    return {path.name: Elements(path.read_text(encoding="utf-8")) for path in sorted(site.glob("*.html"))}


def test_every_claim_is_an_article_on_exactly_one_page_and_no_other_id_is(pages):
    counted = Counter(id for page in pages.values() for id in page.articles)
    assert counted == Counter(claim.id for claim in LEDGER)


def test_ids_are_unique_on_every_page(pages):
    assert [(name, id) for name, page in pages.items() for id, n in page.ids.items() if n > 1] == []


def test_every_internal_link_anchor_and_source_resolves_and_nothing_is_fetched_from_outside(site, pages):
    broken = []
    for name, page in pages.items():
        for target in [*page.links, *page.sources]:
            path, _, anchor = target.partition("#")
            path = path.partition("?")[0] or name
            inside = ":" not in path and not path.startswith("/") and (site / path).is_file()
            known = not anchor or path not in pages or anchor in pages[path].ids
            if not target.startswith("data:") and not (inside and known):
                broken.append((name, target))
    assert broken == []


def test_every_image_has_size_and_description(pages):
    for name, page in pages.items():
        for image in page.images:
            assert image["width"] and image["height"] and len(image["alt"]) > 20, (name, image)


def test_the_front_page_is_small(site, pages):
    needed = {target for target in pages["index.html"].sources if not target.startswith("data:")}
    needed |= {target for target in pages["index.html"].links if target.endswith(".css")}
    assert "static/plotly.min.js" not in needed
    total = (site / "index.html").stat().st_size + sum((site / target).stat().st_size for target in needed)
    assert total < 1_000_000


def test_a_second_build_gives_the_same_bytes(content, site, tmp_path):
    again = build(content, tmp_path / "again").folder
    first, second = ({str(p.relative_to(f)): p for p in f.rglob("*") if p.is_file()} for f in (site, again))
    assert first.keys() == second.keys()
    changed = [name for name, path in first.items() if path.read_bytes() != second[name].read_bytes()]
    assert changed == []


# ---- in a browser ----------------------------------------------------------------------------------------------------

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, site):
    """Opens a page of the site and remembers console errors and requests that leave the file system."""
    contexts = []

    def open_page(name: str, width: int = 1280, scheme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("requestfailed", lambda r: page.problems.append(r.url))
        page.on(
            "request",
            lambda r: page.problems.append(r.url) if not r.url.startswith(("file:", "data:", "blob:")) else None,
        )
        page.goto(f"{site.as_uri()}/{name}")
        return page

    yield open_page
    for context in contexts:
        context.close()


@needs_browser
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("name", KINDS)
def test_pages_load_without_errors_and_fit_the_screen(visit, name, width):
    page = visit(name, width, "dark" if width == WIDTHS["phone"] else "light")
    page.evaluate("document.querySelectorAll('img').forEach(i => { i.loading = 'eager' })")
    page.wait_for_function("[...document.images].every(i => i.complete)")
    assert page.evaluate("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)") == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert page.problems == []


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS)
def test_accessibility_rules_report_nothing_serious(visit, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(name, WIDTHS["phone"] if scheme == "dark" else WIDTHS["desktop"], scheme)
    found = axe.run(page).response["violations"]
    serious = [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]
    assert serious == []


@needs_browser
def test_filter_search_and_deep_links_of_the_claims(visit):
    wanted = [c.id for c in LEDGER if c.paper == "sun2023"]
    page = visit("index.html?paper=sun2023#claims")
    visible = "[...document.querySelectorAll('#list li')].filter(i => !i.hidden).map(i => i.id)"
    if page.locator("#more").is_visible():
        page.click("#more")
    assert page.evaluate(visible) == wanted
    page.select_option("select[name=paper]", "")
    page.fill("input[name=q]", "qu22-eq3-sign")
    assert page.evaluate(visible) == ["qu22-eq3-sign"]
    assert "q=qu22-eq3-sign" in page.url
    page.fill("input[name=q]", "no such words anywhere")
    assert page.evaluate(visible) == []
    assert page.inner_text("#found").startswith("0 entries")


@needs_browser
def test_a_deep_link_shows_its_claim_even_outside_the_filter(visit):
    page = visit("index.html?paper=qu2022&verdict=proved#thesis-lem1")
    assert page.locator("#thesis-lem1").is_visible()
    shown = page.evaluate("[...document.querySelectorAll('#list li')].filter(i => !i.hidden).map(i => i.dataset)")
    assert all(
        item["paper"] == "qu2022" and item["verdict"] == "proved" for item in shown if item["paper"] != "kakoun2024"
    )


@needs_browser
def test_a_number_of_the_matrix_filters_the_list_by_keyboard(visit):
    page = visit("index.html")
    cell = page.locator(".matrix tbody a.cell").first
    count = int(cell.inner_text())
    cell.focus()
    page.keyboard.press("Enter")
    assert page.inner_text("#found").startswith(f"{count} entr")
    assert page.evaluate("document.activeElement.name") == "verdict"


@needs_browser
def test_the_theme_switch_goes_round_and_changes_the_colours(visit):
    page = visit("glossary.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: dark"
    assert page.evaluate(colour) != light


@needs_browser
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_curves_show_values_on_hover_and_switch_methods(visit, width):
    page = visit("tables-kakoun2024.html", width)
    chart = page.locator(".chart[data-kind=lines]").first
    chart.scroll_into_view_if_needed()
    page.wait_for_selector(".chart[data-drawn=true]")
    first = chart.locator(".plot").first
    lines = "e => e.querySelectorAll('.scatterlayer .js-line').length"
    page.wait_for_function("document.querySelector('.chart[data-drawn] .plot .js-line')")
    before = first.evaluate(lines)
    box = first.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_selector(".hoverlayer text")
    assert re.search(r"\d+\.\d", first.locator(".hoverlayer").text_content())
    chart.locator("[data-series]").first.uncheck()
    page.wait_for_function(
        "n => document.querySelector('.chart[data-drawn] .plot').querySelectorAll('.js-line').length < n", arg=before
    )
    chart.locator("button[data-all=true]").click()
    page.wait_for_function(
        "n => document.querySelector('.chart[data-drawn] .plot').querySelectorAll('.js-line').length == n", arg=before
    )
    assert page.problems == []


@needs_browser
def test_panels_share_their_scale_until_it_is_switched_off(visit):
    page = visit("tables-kakoun2024.html")
    chart = page.locator(".chart:has([data-shared])").first
    chart.scroll_into_view_if_needed()
    page.wait_for_selector(".chart:has([data-shared])[data-drawn=true]")
    ranges = "e => [...e.querySelectorAll('.plot')].map(p => String(p.layout.yaxis.range.map(v => v.toFixed(4))))"
    page.wait_for_timeout(300)
    assert len(set(chart.evaluate(ranges))) == 1
    chart.locator("[data-shared]").uncheck()
    page.wait_for_timeout(300)
    assert len(set(chart.evaluate(ranges))) > 1


@needs_browser
def test_skip_link_is_the_first_stop_and_leads_to_the_content(visit):
    page = visit("index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@needs_browser
def test_boxes_that_scroll_can_be_reached_by_keyboard(visit):
    page = visit("paper-qu2022.html", WIDTHS["phone"])
    stuck = page.evaluate(
        "[...document.querySelectorAll('.scroll, .wide, pre')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0).length"
    )
    assert stuck == 0
