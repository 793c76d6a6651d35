"""One module per kind of page; each gives the pages that it builds from the site."""

from __future__ import annotations

from artifact.report.pages import (
    choose,
    claims,
    discrepancies,
    figures,
    front,
    genealogy,
    learn,
    methods,
    papers,
    reference,
    sam,
    tables,
    training,
)

PAGES = (
    front.build,
    sam.build,
    claims.build,
    training.build,
    choose.build,
    papers.build,
    tables.build,
    figures.build,
    methods.build,
    discrepancies.build,
    genealogy.build,
    reference.build,
    learn.build,
)
