"""What a class says of its fields: the lines ``name: text`` of its docstring."""

from __future__ import annotations

import inspect
import re


def described(cls: type) -> dict[str, str]:
    """Field -> what it is, from the lines ``name: text`` of a class's docstring, or of its nearest ancestor's.

    A line that does not begin with ``name:`` goes on with the text above it.
    """
    texts: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        name = ""
        for line in inspect.cleandoc(parent.__dict__.get("__doc__") or "").split("\n"):
            found = re.match(r"(\w+): (.+)", line)
            if found:
                name, texts[found[1]] = found[1], found[2]
            elif line and name:
                texts[name] += f" {line}"
            else:
                name = ""
    return {name: text.rstrip(".") for name, text in texts.items()}
