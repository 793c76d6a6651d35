"""What edits of all numbers came to: the words, one check tried in full, and the record that is stored."""

from __future__ import annotations

import pytest

from checks import edits, edits_record
from checks.edits_record import digest, owners, stale, stored, word


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["fails", "fails"], "refused"),
        (["fails", "changes"], "one way"),
        (["changes", "fails"], "one way"),
        (["changes", "changes"], "shown"),
        (["fails", "unnoticed by evidence"], "unnoticed"),
    ],
)
def test_the_word_follows_from_both_edits(found, expected):
    assert word(found) == expected


@pytest.mark.slow
def test_every_number_of_a_check_gets_a_word():
    sites = owners()["fan24-alg1-fedavg"]
    found = edits_record.tried("fan24-alg1-fedavg", sites)
    assert sum(found[kind] for kind in edits_record.WORDS) == len(sites) == 3
    assert len(found["places"]) == found["unnoticed"] == 0 and found["digest"] == digest(sites)


def test_a_changed_line_makes_a_record_stale(monkeypatch):
    known = {name: [edits.Site(name, "checks.edits", at, at + 1, name, 1)] for at, name in enumerate("12")}
    monkeypatch.setattr(edits_record, "owners", lambda: known)
    records = {name: {"digest": digest(own)} for name, own in known.items()}
    assert stale(records) == {}
    assert stale({**records, "1": {"digest": "0"}}) == {"1": known["1"]} and stale({}) == known


def test_the_record_is_that_of_today_and_counts_every_number():
    records = stored()
    assert not {owner for owner in stale(records) if owner in records}, "python -m checks.edits_record"
    assert records.keys() <= owners().keys()
    for record in records.values():
        assert record["unnoticed"] == len(record["places"])
