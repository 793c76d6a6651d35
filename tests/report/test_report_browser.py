"""The pages of the report in a headless browser: errors, widths, accessibility, filters, charts and switches."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from test_report import landscape

from artifact.report.pages import figures
from artifact.report.site import Site
from artifact.verdicts import ledger

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LEDGER = ledger.load()
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


@pytest.fixture
def surfaces(content, site, tmp_path) -> Path:
    """A page with the loss surfaces of two models."""
    panels = figures._surface_panels([landscape("FedAvg", {}, 1.0), landscape("FedSAM", {}, 0.5)])
    source = '{% extends "base.html" %}{% import "macros.html" as m with context %}{% block main %}{{ m.chart(c) }}'
    template = Site(content).environment.from_string(source + "{% endblock %}")
    (tmp_path / "static").symlink_to(site / "static")
    html = template.render(c=figures._surfaces("s", panels), title="t", description="", page="", interactive=True)
    (tmp_path / "index.html").write_text(html, encoding="utf-8")
    return tmp_path / "index.html"


@needs_browser
def test_loss_surfaces_are_switched_scaled_and_put_together(visit, surfaces):
    page = visit("index.html")
    page.goto(surfaces.as_uri())
    page.wait_for_selector(".chart[data-drawn=true]")
    tops = "wanted => String([...document.querySelectorAll('.plot')].map(p => p.data[0].zmax)) == wanted"
    page.wait_for_function(tops, arg="32,32")
    page.uncheck("[data-shared]")
    page.wait_for_function(tops, arg="32,16")
    page.uncheck("[data-series='FedAvg']")
    assert [plot.is_visible() for plot in page.locator(".plot").all()] == [False, True]
    page.check("[data-series='FedAvg']")
    page.select_option("[data-view]", "together")
    names = "wanted => String(document.querySelector('.plot').data.map(t => t.name)) == wanted"
    page.wait_for_function(names, arg="FedAvg,FedSAM")
    page.uncheck("[data-series='FedAvg']")
    page.wait_for_function(names, arg="FedSAM")
    page.select_option("[data-view]", "contour")
    assert [plot.is_visible() for plot in page.locator(".plot").all()] == [False, True]
    assert page.problems == []


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
