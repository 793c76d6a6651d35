"""How numbers of the checks are written."""

from __future__ import annotations


def margin_text(margin: float | str | None) -> str:
    """Margin with four significant digits; empty where a check has none."""
    return "" if margin is None else f"{float(margin):.4g}"
