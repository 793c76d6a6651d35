"""Python source as the pages show it."""

from __future__ import annotations

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer


def highlighted(source: str) -> Markup:
    """Source as HTML; coloured."""
    return Markup('<pre class="python"><code>{}</code></pre>').format(
        Markup(highlight(source, PythonLexer(), HtmlFormatter(nowrap=True)))
    )
