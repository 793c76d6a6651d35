"""Glossary links: where a page, or a claim on it, first uses a term in its text, the term leads to the glossary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from markupsafe import escape

#: elements whose text is left alone
SKIPPED = {
    *("a", "button", "code", "fieldset", "figcaption", "h1", "h2", "h3", "h4", "label", "legend", "math", "nav"),
    *("noscript", "option", "pre", "script", "select", "style", "summary", "svg", "th"),
}
TOKENS = re.compile(r"(<[^>]*>)")
NAME = re.compile(r"<(/?)([a-z0-9]+)")


def anchor(word: str) -> str:
    """Id of an entry in the glossary."""
    return re.sub(r"\W+", "-", word.lower()).strip("-")


class Linker:
    """Links terms in finished pages. glossary: entries with ``word``, ``meaning`` and ``forms`` (as texts write it)."""

    def __init__(self, glossary: Sequence[Mapping[str, str]]):
        self.entries = {form.lower(): entry for entry in glossary for form in entry.get("forms", ())}
        forms = sorted(self.entries, key=len, reverse=True)
        self.pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, forms))})(?![\w-])" if forms else "(?!)", re.I)

    def linked(self, html: str) -> str:
        """The page with links inside its main element; every article starts afresh."""
        head, start, rest = html.partition("<main")
        main, end, tail = rest.partition("</main>")
        if not (start and end):
            return html
        used: set[str] = set()
        depth, pieces = 0, []
        for token in TOKENS.split(main):
            tag = NAME.match(token)
            if tag is None:
                pieces.append(token if depth or not token.strip() else self._text(token, used))
                continue
            depth += (1 if not tag[1] else -1) if tag[2] in SKIPPED else 0
            if tag[2] == "article" and not tag[1]:
                used.clear()
            pieces.append(token)
        return head + start + "".join(pieces) + end + tail

    def _text(self, text: str, used: set[str]) -> str:
        def link(found: re.Match[str]) -> str:
            entry = self.entries[found[1].lower()]
            if entry["word"] in used:
                return found[0]
            used.add(entry["word"])
            return (
                f'<a class="term" href="glossary.html#{anchor(entry["word"])}" '
                f'title="{escape(entry["meaning"])}">{found[0]}</a>'
            )

        return self.pattern.sub(link, text)
