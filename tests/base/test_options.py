"""Types of options that several commands share."""

from __future__ import annotations

import click
import pytest

from artifact.base.errors import UserError
from artifact.base.options import Place


@pytest.mark.parametrize("word", ["", "a\0b"])
def test_a_word_that_no_file_can_have_is_refused_with_the_options_name(word):
    option = click.Option(["--out"], type=Place())
    with pytest.raises(UserError, match=r"out: .* is not possible; allowed: the name of a file or folder"):
        option.type.convert(word, option, None)
