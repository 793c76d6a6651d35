"""How numbers and formulas of the checks are written."""

from __future__ import annotations

import re


def margin_text(margin: float | str | None) -> str:
    """Margin with four significant digits; empty where a check has none."""
    return "" if margin is None else f"{float(margin):.4g}"


def tight(text: str) -> str:
    """A text whose formulas have no growing brackets and no spaces that LaTeX does not need."""
    return re.sub(r"[$][^$]+[$]", _without_spaces, text)


def _without_spaces(formula: re.Match[str]) -> str:
    return re.sub(r" (?=[\\+(-])|(?<=[+)}-]) ", "", re.sub(r"\\(left|right)(?=[()])", "", formula[0]))
