"""One module per kind of page; each gives the pages that it builds from the site."""

from __future__ import annotations

from artifact.report.pages import choose, figures, front, genealogy, methods, papers, reference, tables, unrun

PAGES = (
    front.build,
    choose.build,
    papers.build,
    tables.build,
    figures.build,
    methods.build,
    genealogy.build,
    reference.build,
    unrun.build,
)
