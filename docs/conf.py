"""Settings of the documentation site, which ``python -m fedsharp docs`` builds."""

from artifact import __version__, cli  # noqa: F401  (registers the command line, which a page lists)

project = "fedsharp"
version = release = __version__
extensions = ["myst_parser", "artifact.report.docs_site"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4
root_doc = "index"
exclude_patterns = ["performance", "robustness", "protocol", "findings", "figures", "genealogy"]
html_theme = "furo"
html_title = "fedsharp"
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # a browser fetches no page of a folder on its disk
html_math_renderer = "mathml"
