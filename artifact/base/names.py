"""Names that come from a file of somebody else.

A TOML file, a table of runs or an audit says ids, keys and file names; some become names of files that this project
reads or writes. Each has one of the types below, which pydantic checks as it reads the file, and
``files.inside`` is the one way from such a name to a path.
"""

from __future__ import annotations

import re
from typing import Annotated, TypeGuard

from pydantic import Field

#: characters of the longest name: with an ending and a folder's name beside it still a name of every file system
LONGEST = 100

PAPER = r"^[a-z][a-z0-9]*$"
SLUG = r"^[a-z0-9]+([.-]+[a-z0-9]+)*$"
CLAIM = r"^[A-Za-z0-9]+([._-]+[A-Za-z0-9]+)*$"
TABLE = r"^[a-z][a-z0-9]*/[a-z0-9]+([.-]+[a-z0-9]+)*(/[a-z0-9]+([.-]+[a-z0-9]+)*)?$"
FILE = r"^\w[\w.+ -]*$"
RUN = r"^[0-9a-z]{1,64}$"

#: key of a paper, such as ``author2025``
PaperKey = Annotated[str, Field(pattern=PAPER, max_length=LONGEST)]
#: id of a table, figure, panel, row, column or metric, such as ``fig3`` or ``fedsam-man``
Slug = Annotated[str, Field(pattern=SLUG, max_length=LONGEST)]
#: id of a claim, such as ``author2025-thmB.6``
ClaimId = Annotated[str, Field(pattern=CLAIM, max_length=LONGEST)]
#: ``PAPER/TABLE`` or ``PAPER/FIGURE/PANEL``
TableName = Annotated[str, Field(pattern=TABLE, max_length=3 * LONGEST)]
#: a file of a known folder, without any folder's name
FileName = Annotated[str, Field(pattern=FILE, max_length=LONGEST)]

#: what each pattern takes, in words
WORDS = {
    PAPER: "a lower-case letter, then lower-case letters and digits",
    SLUG: "lower-case letters and digits, with dots and hyphens between them",
    CLAIM: "letters and digits, with dots, hyphens and underscores between them",
    TABLE: "PAPER/TABLE or PAPER/FIGURE/PANEL, of lower-case letters, digits, dots and hyphens",
    FILE: "the name of a file, without a folder: letters, digits, spaces and _ . + -, the first a letter or digit",
    RUN: "letters a to z and digits",
}


def fits(text: object, pattern: str) -> TypeGuard[str]:
    """Whether a value is a text of at most ``LONGEST`` characters that one of the patterns matches as a whole."""
    return isinstance(text, str) and len(text) <= LONGEST and re.fullmatch(pattern, text) is not None
