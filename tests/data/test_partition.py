"""Partitions: cover, disjointness, sizes, the released protocols' duplicates, and the law of the filling loop."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.base.errors import UserError
from artifact.data import load
from artifact.data.dataset import apportion
from artifact.data.figures import partition_heatmap
from artifact.data.partition import Partition, _fill, _filling_order, _inverse_cdf, parse_split, partition

CIFAR_LABELS = np.repeat(np.arange(10), 5000)
TRUE_SPLITS = ["iid", "iid:stratified", "dirichlet:0.1", "dirichlet:1e-6", "dirichlet:1e-300", "dirichlet:50"]


@st.composite
def problems(draw):
    labels = np.array(draw(st.lists(st.integers(0, 6), min_size=1, max_size=80)))
    return labels, draw(st.integers(1, len(labels))), draw(st.integers(0, 2**40))


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from(TRUE_SPLITS), st.sampled_from(["equal", "lognormal:0.7", "lognormal:5"]))
def test_true_partitions_are_disjoint_and_cover(problem, spec, sizes):
    labels, clients, seed = problem
    sizes = "equal" if spec == "iid:stratified" else sizes
    made = partition(spec, labels, clients, seed, sizes=sizes)
    assert sorted(np.concatenate(made.indices).tolist()) == list(range(len(labels)))
    assert made.reused == 0 and made.sizes.min() >= 1
    assert all(part.dtype == np.int64 for part in made.indices)


@settings(max_examples=100, deadline=None)
@given(problems(), st.sampled_from(["dirichlet:0.1:replace", "pathological:1", "pathological:1:replace", "iid"]))
def test_equal_sizes_differ_by_one_and_the_first_clients_get_the_remainder(problem, spec):
    labels, clients, seed = problem
    each, rest = divmod(len(labels), clients)
    assert partition(spec, labels, clients, seed).sizes.tolist() == [each + (i < rest) for i in range(clients)]


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from([*TRUE_SPLITS, "pathological:1", "dirichlet:0.1:replace"]))
def test_counts_agree_with_the_labels(problem, spec):
    labels, clients, seed = problem
    made = partition(spec, labels, clients, seed)
    counts = made.counts(labels)
    assert counts.shape == (clients, labels.max() + 1)
    for part, row in zip(made.indices, counts, strict=True):
        assert Counter(labels[part].tolist()) == {c: n for c, n in enumerate(row) if n}


def test_atypicality_by_hand():
    """Shares of all data 1/2, 1/3, 1/6; clients 1, 0, 0 and 1/4, 1/2, 1/4: half the summed distances is 1/2 and 1/4."""
    made = Partition("by hand", (np.array([0, 1]), np.array([2, 3, 4, 5])))
    assert made.atypicality(np.array([0, 0, 0, 1, 1, 2])) == pytest.approx([1 / 2, 1 / 4], abs=1e-15)


@pytest.mark.parametrize("spec", ["iid", "dirichlet:0.3", "dirichlet:0.3:replace", "pathological:3"])
def test_the_seed_alone_decides(spec):
    first = partition(spec, CIFAR_LABELS[::10], 20, 7)
    again = partition(spec, torch.from_numpy(CIFAR_LABELS[::10].copy()), 20, 7)
    assert again.fingerprint == first.fingerprint
    assert len({partition(spec, CIFAR_LABELS[::10], 20, seed).fingerprint for seed in range(12)}) == 12


@pytest.mark.parametrize(
    "spec, start",
    [
        ("iid", "73684be0f3f37fb6"),
        ("iid:stratified", "ca6773b599ad551e"),
        ("dirichlet:0.1", "66e9ef8fd5f5c66c"),
        ("dirichlet:0.1:replace", "3e2f56cf40ee03a6"),
        ("pathological:3", "9bfe7843053c331d"),
        ("pathological:3:replace", "5e3c26d92aceddc5"),
    ],
)
def test_partitions_of_the_digits_stay_what_they_are(spec, start):
    """Pinned: stored runs rest on these indices. A change here needs a raised artifact.NUMBERS."""
    assert partition(spec, load("digits").train_y, 20, 1).fingerprint.startswith(start)


def test_the_fingerprint_sees_where_a_client_ends():
    whole = partition("iid", np.zeros(6, int), 2, 0)
    other = type(whole)("iid", (whole.indices[0][:2], np.concatenate([whole.indices[0][2:], whole.indices[1]])))
    assert other.fingerprint != whole.fingerprint


# Shares of GEN-5 (mean over seeds, CIFAR-10 with 100 clients); bands of four standard errors of 12 seeds around ours.
@pytest.mark.parametrize(
    "spec, printed, band",
    [
        ("dirichlet:0.1:replace", 8.5, 2.1),
        ("dirichlet:0.6:replace", 4.5, 1.1),
        ("pathological:3:replace", 6.0, 2.2),
        ("pathological:6:replace", 3.3, 1.1),
    ],
)
def test_recycled_pools_repeat_as_many_samples_as_the_released_protocol(spec, printed, band):
    shares = [100 * partition(spec, CIFAR_LABELS, 100, seed).reused / len(CIFAR_LABELS) for seed in range(12)]
    assert abs(np.mean(shares) - printed) < band


def test_recycled_pools_take_from_the_end_and_use_all_of_a_class_before_repeating():
    labels = np.repeat(np.arange(4), 25)
    made = partition("dirichlet:0.2:replace", labels, 5, 3)
    given_out = Counter(np.concatenate(made.indices).tolist())
    for label in range(4):
        uses = np.array([given_out[i] for i in np.flatnonzero(labels == label)])
        assert (np.diff(uses) >= 0).all() and uses.max() - uses.min() <= 1
    assert made.reused > 0


@pytest.mark.parametrize("spec", ["pathological:3", "pathological:3:replace"])
def test_pathological_clients_hold_only_their_classes(spec):
    active = (partition(spec, CIFAR_LABELS, 100, 0).counts(CIFAR_LABELS) > 0).sum(1)
    assert active.max() == 3 and (active == 3).mean() > 0.9


def test_pathological_without_replacement_repeats_less_than_with_recycled_pools():
    for seed in range(5):
        strict = partition("pathological:3", CIFAR_LABELS, 100, seed).reused
        assert 0 < strict < partition("pathological:3:replace", CIFAR_LABELS, 100, seed).reused


def test_pathological_classes_are_chosen_uniformly():
    holders = sum(
        (partition("pathological:2", CIFAR_LABELS[::50], 100, s).counts(CIFAR_LABELS[::50]) > 0) for s in range(40)
    )
    per_class = holders.sum(0) / 4000
    assert np.abs(per_class - 0.2).max() < 0.03


def test_iid_stratified_gives_every_client_every_class_equally():
    counts = partition("iid:stratified", np.repeat(np.arange(100), 500), 100, 1).counts(np.repeat(np.arange(100), 500))
    assert (counts == 5).all()


def test_small_alpha_concentrates_and_large_alpha_does_not():
    top = [
        partition(f"dirichlet:{a}", CIFAR_LABELS, 50, 0).counts(CIFAR_LABELS).max(1).mean() for a in (0.05, 0.6, 100)
    ]
    assert top[0] > 1.5 * top[1] > 2 * top[2]


def test_the_filling_order_follows_the_law_of_the_released_draw():
    """Clients with 2 and 1 slots. First slot: 1/2 each. P(0,0,1) = 1/4, P(0,1,0) = 1/4, P(1,0,0) = 1/2."""
    rng = np.random.default_rng(0)
    seen = Counter(tuple(_filling_order(np.array([2, 1]), rng)) for _ in range(8000))
    assert set(seen) == {(0, 0, 1), (0, 1, 0), (1, 0, 0)}
    for order, chance in (((0, 0, 1), 0.25), ((0, 1, 0), 0.25), ((1, 0, 0), 0.5)):
        assert abs(seen[order] / 8000 - chance) < 4 * np.sqrt(chance * (1 - chance) / 8000)


def test_the_restricted_redraw_has_the_law_of_the_repeated_draw():
    """One client, chances 0.5, 0.3, 0.2, one sample each: P(a, b, c) = p_a p_b / (1 - p_a), as redrawing gives."""
    rng, chances = np.random.default_rng(1), np.array([[0.5, 0.3, 0.2]])
    draws = [_fill(chances, np.array([3]), np.arange(3), False, False, rng)[0] for _ in range(8000)]
    seen = Counter(map(tuple, draws))
    for first, second, third in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        chance = chances[0, first] * chances[0, second] / (1 - chances[0, first])
        assert abs(seen[first, second, third] / 8000 - chance) < 4 * np.sqrt(chance * (1 - chance) / 8000)


def test_a_client_without_mass_left_does_not_stall():
    """Both clients want class 0 only: the released loop would redraw for ever."""
    chances, labels = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 0, 1, 1, 1, 1])
    parts = _fill(chances, np.array([3, 3]), labels, False, False, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == [0, 1, 2, 3, 4, 5]
    kept = _fill(chances, np.array([3, 3]), labels, False, True, np.random.default_rng(0))
    assert set(np.concatenate(kept)) == {0, 1}


def test_inverse_cdf_never_returns_a_class_without_mass():
    table = _inverse_cdf(np.array([0.0, 0.3, 0.0, 0.6999999999999999, 0.0]))
    assert table == [0.0, 0.3, 0.3, np.inf, np.inf]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(lambda w: sum(w) > 1e-9), st.integers(0, 10**6))
def test_apportion_sums_exactly_and_stays_within_one(weights, total):
    shares, exact = apportion(np.array(weights), total), np.array(weights) / sum(weights) * total
    assert shares.sum() == total and np.abs(shares - exact).max() <= 1 + 1e-6


def test_lognormal_sizes_spread_with_sigma():
    def spread(sigma):
        return np.log(partition("iid", CIFAR_LABELS, 200, 0, sizes=f"lognormal:{sigma}").sizes).std()

    assert abs(spread(0.3) - 0.3) < 0.06 and abs(spread(1.0) - 1.0) < 0.2


def test_leave_one_domain_out():
    domains, names = np.repeat(np.arange(4), [30, 40, 50, 60]), ("Art", "Clipart", "Product", "Real World")
    labels = np.arange(180) % 5
    made = partition("domain:Clipart", labels, 6, 0, domains=domains, domain_names=names)
    assert made.held_out.tolist() == np.flatnonzero(domains == 1).tolist()
    assert [set(domains[part]) for part in made.indices] == [{0}, {0}, {2}, {2}, {3}, {3}]
    assert made.sizes.tolist() == [15, 15, 25, 25, 30, 30]
    everything = np.concatenate([*made.indices, made.held_out])
    assert sorted(everything) == list(range(180))
    one_each = partition("domain:Clipart", labels, 3, 0, domains=domains, domain_names=names)
    assert one_each.sizes.tolist() == [30, 50, 60]
    skewed = partition("domain:Art", labels, 30, 0, sizes="lognormal:1", domains=domains, domain_names=names)
    assert skewed.sizes.sum() == 150 and skewed.sizes.min() >= 1 and len(set(skewed.sizes)) > 3


BAD = [
    ("unknown", 10, {}, "split"),
    ("dirichlet", 10, {}, "split"),
    ("dirichlet:0", 10, {}, "split"),
    ("dirichlet:-1", 10, {}, "split"),
    ("dirichlet:nan", 10, {}, "split"),
    ("dirichlet:inf", 10, {}, "split"),
    ("dirichlet:x", 10, {}, "split"),
    ("dirichlet:1e308", 10, {}, "split"),
    ("dirichlet:0.1:swap", 10, {}, "split"),
    ("dirichlet:0.1:replace:replace", 10, {}, "split"),
    ("pathological:0", 10, {}, "split"),
    ("pathological:2.5", 10, {}, "split"),
    ("pathological:11", 10, {}, "split"),
    ("iid:3", 10, {}, "split"),
    ("domain:Art", 10, {}, "split"),
    ("domain:", 10, {}, "split"),
    ("iid", 0, {}, "clients"),
    ("iid", -3, {}, "clients"),
    ("iid", 501, {}, "clients"),
    ("iid", 10, {"sizes": "big"}, "sizes"),
    ("iid", 10, {"sizes": "lognormal:-1"}, "sizes"),
    ("iid", 10, {"sizes": "lognormal"}, "sizes"),
    ("iid", 10, {"sizes": "lognormal:10.5"}, "sizes"),
    ("iid:stratified", 10, {"sizes": "lognormal:1"}, "sizes"),
    ("domain:Sea", 2, {"domains": np.arange(500) % 3, "domain_names": ("Art", "Land", "Sky")}, "split"),
    ("domain:Art", 3, {"domains": np.arange(500) % 3, "domain_names": ("Art", "Land", "Sky")}, "clients"),
    ("domain:Art", 400, {"domains": np.arange(500) % 3, "domain_names": ("Art", "Land", "Sky")}, "clients"),
]


@pytest.mark.parametrize("spec, clients, options, field", BAD)
def test_impossible_requests_name_the_field(spec, clients, options, field):
    with pytest.raises(UserError) as caught:
        partition(spec, np.arange(500) % 10, clients, 0, **options)
    assert caught.value.field == field and "\n" not in str(caught.value)


def test_split_specs_of_the_contract_parse():
    assert parse_split("dirichlet:0.1:replace") == ("dirichlet", 0.1, True)
    assert parse_split("pathological:3") == ("pathological", 3.0, False)
    assert parse_split("domain:Real World") == ("domain", "Real World", False)
    assert parse_split("iid") == ("iid", "", False)


@pytest.mark.parametrize("suffix, magic", [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_heat_map_is_written_in_the_format_of_its_suffix(tmp_path, suffix, magic):
    labels = np.arange(300) % 10
    made = partition("dirichlet:0.1", labels, 12, 0)
    path = partition_heatmap(made, labels, [f"class {i}" for i in range(10)], tmp_path / "new" / f"map{suffix}")
    assert path.read_bytes()[:4] == magic and [p.name for p in path.parent.iterdir()] == [path.name]


def test_heat_map_refuses_other_formats_and_unwritable_places(tmp_path):
    made = partition("iid", np.arange(20) % 2, 4, 0)
    with pytest.raises(UserError, match="png"):
        partition_heatmap(made, np.arange(20) % 2, ["a", "b"], tmp_path / "map.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="written"):
        partition_heatmap(made, np.arange(20) % 2, ["a", "b"], tmp_path / "file" / "map.png")
    (tmp_path / "map.png").mkdir()
    with pytest.raises(UserError, match="written"):
        partition_heatmap(made, np.arange(20) % 2, ["a", "b"], tmp_path / "map.png")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "map.png"]


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(["shards:1", "by-class:1"]))
def test_shards_and_class_shares_divide_all_samples(problem, spec):
    labels, clients, seed = problem
    clients = min(clients, 4)
    try:
        made = partition(spec, labels, clients, seed)
    except UserError as error:
        assert spec.startswith("by-class") and "ALPHA" in str(error)
        return
    assert sorted(np.concatenate(made.indices).tolist()) == list(range(len(labels)))
    assert made.sizes.min() >= 1


def test_quantity_skew_and_the_least_size():
    made = partition("iid", np.zeros(1000, int), 20, 0, sizes="dirichlet:0.3", least=8)
    assert made.sizes.sum() == 1000 and made.sizes.min() >= 8 and made.sizes.max() > 150
    assert partition("by-class:0.3", np.arange(1000) % 10, 20, 0, least=5).sizes.min() >= 5
    with pytest.raises(UserError, match="least"):
        partition("iid", np.zeros(10, int), 4, 0, least=3)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (np.eye(3)[[0, 1, 2, 0]], "argmax"),
        (np.array([[1, 1, 0], [0, 0, 1]]), "split iid"),
        (np.zeros((4, 2, 2), int), "split iid"),
        (np.array([0.0, np.nan, 1.0]), "nan"),
        (np.array([0.5, 1.5, 1.0]), "digitize"),
    ],
)
def test_labels_that_are_no_classes_are_refused_with_the_remedy(labels, told):
    with pytest.raises(UserError, match=told):
        partition("dirichlet:0.3", labels, 2, 0)
    assert sorted(np.concatenate(partition("iid", labels, 2, 0).indices).tolist()) == list(range(len(labels)))
