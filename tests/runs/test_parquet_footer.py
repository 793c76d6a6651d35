"""A Parquet file says what it unpacks to before it is unpacked; keys of its runs are names of folders, and no more."""

from __future__ import annotations

import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.base.errors import UserError
from artifact.runs import archive, parquet_footer
from artifact.runs.archive import Shelf

KEY = "0" * 16


def written(frame, **how):
    frame.write_parquet(stream := io.BytesIO(), **how)
    return stream.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_the_footer_counts_every_value_of_every_column(compression):
    """Three rows of a number, a text and a list: 3, 3 and 2 + 1 + 4 values, in one or in three groups of rows."""
    frame = pl.DataFrame({"a": [1, 2, None], "b": ["x", "y", "z"], "c": [[1.0, 2.0], [3.0], [1.0] * 4]})
    for rows in (None, 1):
        assert parquet_footer.values(written(frame, compression=compression, row_group_size=rows)) == 13


def test_a_small_file_that_unpacks_to_much_is_one_line(monkeypatch):
    lists = pl.repeat(1.0, 1_000_000, eager=True).implode().alias("round.x")
    data = written(pl.DataFrame({"key": [KEY]}).with_columns(lists), compression="zstd")
    assert len(data) < 10_000 and parquet_footer.values(data) == 1_000_001
    monkeypatch.setattr(archive, "MOST_VALUES", 1_000_000)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("it was decoded"))
    for vouched in (True, False):
        with pytest.raises(UserError, match="unpacks to at most 1000000 values; this has 1000001"):
            _ = Shelf(archive.Path("a.parquet"), data, vouched).rows


@pytest.mark.parametrize("key", ["../../out", "/tmp/out", "", None, "a b", "A" * 16, "a" * 65, KEY + "\n"])
def test_a_run_whose_key_is_no_name_of_a_folder_is_one_line(key):
    shelf = Shelf(archive.Path("a.parquet"), written(pl.DataFrame({"key": [KEY, key]})), False)
    with pytest.raises(UserError, match="each with a key of letters a to z and digits") as caught:
        _ = shelf.rows
    assert str(caught.value).isprintable()


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_a_damaged_footer_is_told_or_counted(data):
    whole = bytearray(written(pl.DataFrame({"key": [KEY] * 3, "a": [[1.0], [2.0] * 3, []]})))
    size = int.from_bytes(whole[-8:-4], "little")
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(len(whole) - 8 - size, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert parquet_footer.values(bytes(whole)) >= 0
    except ValueError as error:
        assert str(error)


@given(st.binary(max_size=200))
def test_other_bytes_are_no_parquet_file(data):
    with pytest.raises(ValueError, match=r"Parquet|footer|number|value|text|list"):
        parquet_footer.values(b"PAR1" + data + len(data).to_bytes(4, "little") + b"PAR0")
