"""What edits of all numbers came to: the words, one check tried in full, and the record that is stored."""

from __future__ import annotations

import pytest
from nightly import nightly

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


def test_every_number_gets_a_word_and_an_unnoticed_one_its_place(monkeypatch):
    """Three numbers, each edited up and down: refused, shown, and one whose edits nothing shows."""
    sites = [edits.Site("a", "checks.edits", at, at + 1, str(at), 1) for at in range(3)]
    outcomes = {(0, 1): "fails", (0, -1): "fails", (1, 1): "changes", (1, -1): "changes"}
    monkeypatch.setattr(edits, "in_child", lambda call: call())
    monkeypatch.setattr(edits, "seen", lambda owner, shown: {"fails": ""})
    monkeypatch.setattr(edits, "after_edit", lambda site, shown, by: outcomes.get((site.start, by), "unnoticed"))
    monkeypatch.setattr(edits, "outcome", lambda before, after: after)
    monkeypatch.setattr(edits, "reached", lambda site: {"reached": True})
    found = edits_record.tried("a", sites)
    assert [found[kind] for kind in edits_record.WORDS] == [1, 0, 1, 1, 0] and found["digest"] == digest(sites)
    assert len(found["places"]) == 1 and found["places"][0].startswith("a: 2 in ")


@nightly
def test_the_record_of_a_check_is_made_again():
    found = edits_record.tried("fan24-alg1-fedavg", owners()["fan24-alg1-fedavg"])
    assert found == stored()["fan24-alg1-fedavg"]


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
