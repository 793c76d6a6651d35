"""What several commands share: types of options, and words that none of them takes."""

from __future__ import annotations

import click
import pytest

from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.base.options import Place


def test_an_empty_word_for_a_file_is_refused_with_the_options_name():
    option = click.Option(["--out"], type=Place())
    with pytest.raises(UserError, match=r"out: '' is not possible; allowed: the name of a file or folder"):
        option.type.convert("", option, None)


@pytest.mark.parametrize("words", [["audit", "check", "a\0b"], ["bounds", "a\0b"], ["data", "status", "--data=a\0b"]])
def test_a_zero_byte_in_a_word_is_refused_in_one_line(words, capsys):
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "words without a zero byte" in shown.err
