"""Who holds which training samples: the split protocols of the five papers, as index arrays with a fingerprint.

Split specs

* `iid`: a random permutation cut into slices.
* `iid:stratified`: every class is dealt out evenly (the released code does this for CIFAR-100).
* `dirichlet:ALPHA`: one class distribution per client from Dir(ALPHA, ..., ALPHA), filled without replacement.
* `dirichlet:ALPHA:replace`: the same with recycled pools (released code of FedSMOO and FedLESAM; their "with
  replacement").
* `pathological:C`, `pathological:C:replace`: C classes per client, chosen uniformly, probability 1/C each.
* `shards:C`: samples sorted by class and cut into C shards per client, which are dealt at random (McMahan et al. 2017);
  a true partition.
* `by-class:ALPHA`: every class is divided among the clients by shares from Dir(ALPHA, ..., ALPHA), so that sizes differ
  too (Yurochkin et al. 2019; Li et al. 2022); a true partition.
* `domain:NAME`: leave one domain out. The other domains are dealt to clients / (number of other domains) clients each.

The filling loop (FedDyn lineage) draws a client uniformly among those with room, draws a class from the client's
distribution and takes the next sample of that class, walking each class pool from its end. Where a class pool is empty:

* with `:replace` the pool is refilled and walked from its end again;
* without, the class is drawn again. The released code repeats the draw until it succeeds and never returns once the
  client's classes with remaining samples have no probability. Here the draw is made once from the distribution
  restricted to the classes that still have samples, which is the law of the repeated draw, so it cannot loop. When
  that restriction has no mass, a Dirichlet client draws a class in proportion to the samples that remain (the result
  stays a true partition), and a pathological client reuses samples of its own classes (it keeps its C classes;
  `Partition.reused` counts the repeats).

Sizes add up to the number of samples exactly. `equal` gives every client floor(N/m) and one more to the first N mod m
clients (the released programs drop the remainder or give it to client 0; the three agree when m divides N).
`lognormal:SIGMA` gives sizes proportional to exp(SIGMA z), z standard normal, and `dirichlet:ALPHA` sizes proportional
to one draw from Dir(ALPHA, ..., ALPHA). Every client has at least one sample, or as many as `least` asks for.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from artifact.base.errors import UserError
from artifact.base.lazy import torch
from artifact.base.random import numpy_stream
from artifact.data.dataset import apportion

SPLITS = (
    "iid, iid:stratified, dirichlet:ALPHA[:replace], pathological:CLASSES[:replace], shards:NUMBER, by-class:ALPHA, "
    "domain:NAME"
)
#: draws of `by-class` until every client has its least number of samples
REDRAWS = 1000


@dataclass(frozen=True, eq=False)
class Partition:
    """Index arrays of all clients.

    indices: one int64 array of training-sample numbers per client.
    held_out: int64 array of samples that belong to no client and form the test set (`domain:NAME`), else empty.
    fingerprint: sha256 of the indices and of held_out.
    """

    spec: str
    indices: tuple[np.ndarray, ...]
    held_out: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256()
        for part in (*self.indices, self.held_out):
            digest.update(f"{len(part)};".encode())
            digest.update(np.ascontiguousarray(part, dtype="<i8").data)
        object.__setattr__(self, "fingerprint", digest.hexdigest())

    @property
    def sizes(self) -> np.ndarray:
        """int64 [clients]: samples per client."""
        return np.array([len(part) for part in self.indices], dtype=np.int64)

    @property
    def reused(self) -> int:
        """Number of slots that repeat a sample already given out; 0 for a true partition."""
        return int(self.sizes.sum() - len(np.unique(np.concatenate(self.indices))))

    def counts(self, labels: np.ndarray | torch.Tensor) -> np.ndarray:
        """int64 [clients, classes]: how many samples of each class every client holds."""
        labels = _numpy(labels)
        classes = int(labels.max()) + 1
        return np.stack([np.bincount(labels[part], minlength=classes) for part in self.indices])

    def atypicality(self, labels: np.ndarray | torch.Tensor) -> np.ndarray:
        """How unlike all data each client is, [clients] in [0, 1): total-variation distance of the class shares."""
        counts = self.counts(labels)
        shares, all_shares = counts / counts.sum(1, keepdims=True), counts.sum(0) / counts.sum()
        return 0.5 * np.abs(shares - all_shares).sum(1)


def partition(
    spec: str,
    labels: np.ndarray | torch.Tensor,
    clients: int,
    seed: int,
    *,
    sizes: str = "equal",
    domains: np.ndarray | torch.Tensor | None = None,
    domain_names: Sequence[str] = (),
    least: int = 1,
) -> Partition:
    """Distribute the samples behind `labels` [N] over `clients` clients; see the module text for the protocols.

    A pure function of its arguments: all draws come from the stream (seed, "partition"), so every method sees the
    same partition. domains: int64 [N], index into domain_names, needed by `domain:NAME` only.
    least: samples that every client has at least.
    Raises UserError for an unknown spec or size rule, an impossible number, more clients than samples, and labels that
    are no classes where the split goes by class.
    """
    kind, value, recycle = parse_split(spec)
    sigma = parse_sizes(sizes)
    labels = _numpy(labels)
    if kind != "domain" and spec != "iid":
        labels = _classes(labels)
    if not isinstance(clients, (int, np.integer)) or not 1 <= clients <= len(labels):
        raise UserError("clients", clients, f"a whole number from 1 to {len(labels)}, the number of samples")
    if not 1 <= least <= len(labels) // clients:
        raise UserError("least", least, f"1 to {len(labels) // clients}, samples over clients")
    if kind in ("shards", "by-class") and sizes != "equal":
        raise UserError("sizes", sizes, f"equal, with {kind}, whose sizes follow from the split")
    if least > 1 and (kind in ("domain", "shards") or value == "stratified"):
        raise UserError("least", least, f"1, with {spec}, whose sizes are given")
    rng = numpy_stream(seed, "partition")
    if kind == "domain":
        return _leave_one_out(spec, str(value), clients, sigma, domains, domain_names, rng)
    if kind == "iid" and value == "stratified":
        if sizes != "equal":
            raise UserError("sizes", sizes, "equal, with iid:stratified")
        return Partition(spec, _deal(labels, clients, rng))
    if kind == "shards":
        return Partition(spec, _shards(labels, clients, int(value), rng))
    if kind == "by-class":
        return Partition(spec, _by_class(labels, clients, float(value), least, rng))
    slots = _client_sizes(len(labels), clients, sigma, rng, least)
    if kind == "iid":
        return Partition(spec, _slices(np.arange(len(labels)), slots, rng))
    classes = len(np.unique(labels))
    if kind == "dirichlet":
        chances = rng.dirichlet(np.full(classes, value), size=clients)
    else:
        chances = _pathological(int(value), clients, classes, rng)
    if not (np.isfinite(chances).all() and chances.any(axis=1).all()):  # 0 / 0, or a draw over an infinite sum
        raise UserError("split", spec, "an ALPHA for which Dirichlet draws are finite numbers, such as 0.01 to 1000")
    return Partition(spec, _fill(chances, slots, labels, recycle, kind == "pathological", rng))


def parse_split(spec: str) -> tuple[str, float | str, bool]:
    """(kind, value, recycled pools?) of a split spec; UserError with the allowed forms otherwise."""
    head, *rest = str(spec).split(":")
    recycle = rest[1:] == ["replace"]
    if head == "iid" and rest in ([], ["stratified"]):
        return "iid", "".join(rest), False
    if head == "domain" and len(rest) == 1 and rest[0]:
        return "domain", rest[0], False
    if (
        head in ("dirichlet", "pathological", "shards", "by-class")
        and rest
        and (len(rest) == 1 or (recycle and head in ("dirichlet", "pathological")))
    ):
        try:
            value = float(rest[0])
        except ValueError:
            value = math.nan
        if head in ("dirichlet", "by-class") and 0 < value < math.inf:
            return head, value, recycle
        if head in ("pathological", "shards") and value >= 1 and value.is_integer():
            return head, value, recycle
        allowed = "dirichlet or by-class with a finite ALPHA > 0, pathological or shards with a whole number >= 1"
        raise UserError("split", spec, allowed)
    raise UserError("split", spec, SPLITS)


def parse_sizes(sizes: str) -> tuple[str, float]:
    """(rule, its number) of a size rule; 0 for equal sizes. UserError with the allowed forms otherwise."""
    head, _, number = str(sizes).partition(":")
    if sizes == "equal":
        return "equal", 0.0
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if (head == "lognormal" and 0 < value <= 10) or (head == "dirichlet" and 0 < value < math.inf):
        return head, value
    allowed = "equal, lognormal:SIGMA with 0 < SIGMA <= 10, or dirichlet:ALPHA with a finite ALPHA > 0"
    raise UserError("sizes", sizes, allowed)


def _client_sizes(
    total: int, clients: int, sizes: tuple[str, float], rng: np.random.Generator, least: int = 1
) -> np.ndarray:
    rule, value = sizes
    weights = np.ones(clients)
    if rule == "lognormal":
        weights = np.exp(value * rng.standard_normal(clients))
    elif rule == "dirichlet":
        weights = rng.dirichlet(np.full(clients, value))
    if not (np.isfinite(weights).all() and weights.sum() > 0):
        raise UserError(
            "sizes", f"dirichlet:{value:g}", "an ALPHA whose draws are finite numbers, such as 0.01 to 1000"
        )
    return least + apportion(weights, total - least * clients)


def _classes(labels: np.ndarray) -> np.ndarray:
    """Labels [N] that are classes, of labels [N] or [N, 1]. Raises UserError, with the remedy, for others."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    shape = f"{labels.dtype} {list(labels.shape)}"
    if (
        labels.ndim == 2
        and labels.dtype.kind in "biuf"
        and (np.isin(labels, (0, 1)).all() and (labels.sum(1) == 1).all())
    ):
        raise UserError("labels", shape, "one class per sample, [N]; of one-hot labels labels.argmax(1)")
    if labels.ndim != 1:
        allowed = "one class per sample, [N]; for several labels or a map per sample, give the class to divide by, or "
        raise UserError("labels", shape, f"{allowed}the split iid")
    if labels.dtype.kind == "f" and not (np.isfinite(labels).all() and (labels == np.floor(labels)).all()):
        found = "nan or infinity" if not np.isfinite(labels).all() else "fractions"
        allowed = (
            "classes: whole numbers or names; of a regression's targets np.digitize(labels, bins), or the split iid"
        )
        raise UserError("labels", found, allowed)
    return labels


def _shards(labels: np.ndarray, clients: int, each: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    if clients * each > len(labels):
        raise UserError(
            "split", f"shards:{each}", f"1 to {len(labels) // clients} shards per client, samples over clients"
        )
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")].astype(np.int64)
    dealt = np.array_split(by_class, clients * each)
    order = rng.permutation(clients * each).reshape(clients, each)
    return tuple(np.concatenate([dealt[i] for i in row]) for row in order)


def _by_class(
    labels: np.ndarray, clients: int, alpha: float, least: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Drawn again as a whole until every client has ``least`` samples; UserError where that does not come about."""
    pools = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    for _ in range(REDRAWS):
        shares = rng.dirichlet(np.full(clients, alpha), size=len(pools))
        if not np.isfinite(shares).all():
            break
        sizes = np.stack([apportion(share, len(pool)) for share, pool in zip(shares, pools, strict=True)])
        if sizes.sum(0).min() < least:
            continue
        cut = [np.split(rng.permutation(p), np.cumsum(n)[:-1]) for p, n in zip(pools, sizes, strict=True)]
        return tuple(np.concatenate(parts).astype(np.int64) for parts in zip(*cut, strict=True))
    allowed = f"a larger ALPHA, fewer clients or a smaller least: no draw gave {clients} clients {least} samples each"
    raise UserError("split", f"by-class:{alpha:g}", allowed)


def _slices(pool: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return tuple(np.split(rng.permutation(pool).astype(np.int64), np.cumsum(sizes)[:-1]))


def _deal(labels: np.ndarray, clients: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")].astype(np.int64)
    return tuple(by_class[client::clients] for client in range(clients))


def _pathological(active: int, clients: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    if active > classes:
        raise UserError("split", f"pathological:{active}", f"1 to {classes} classes per client, the classes present")
    chosen = rng.permuted(np.tile(np.arange(classes), (clients, 1)), axis=1)[:, :active]
    chances = np.zeros((clients, classes))
    np.put_along_axis(chances, chosen, 1.0 / active, axis=1)
    return chances


def _filling_order(sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Client of every slot: a client drawn uniformly among those with room, one slot at a time.

    Drawn as the merged arrivals of independent unit-rate Poisson processes, each stopped when its client is full;
    by memorylessness the next arrival is uniform over the clients with room.
    """
    client = np.repeat(np.arange(len(sizes)), sizes)
    arrival = np.cumsum(rng.standard_exponential(len(client)))
    start = np.cumsum(sizes) - sizes
    before = np.concatenate([[0.0], arrival])[start]
    return client[np.argsort(arrival - before[client], kind="stable")]


def _inverse_cdf(chances: np.ndarray) -> list[float]:
    """Cumulative sums for bisect_right. From the last class with mass on they are infinite.

    Sums of probabilities may round below 1, and the released search then returns class 0; here a uniform draw above
    the last sum gets the last class that has mass.
    """
    sums = np.cumsum(chances)
    sums[np.flatnonzero(chances)[-1] :] = np.inf
    return sums.tolist()


def _fill(
    chances: np.ndarray,
    sizes: np.ndarray,
    labels: np.ndarray,
    recycle: bool,
    keep_classes: bool,
    rng: np.random.Generator,
) -> tuple[np.ndarray, ...]:
    """The filling loop. chances: [clients, classes]; keep_classes: a client never leaves the classes it has mass on."""
    pools = [np.flatnonzero(labels == c)[::-1].tolist() for c in np.unique(labels)]
    room = [len(pool) for pool in pools]
    taken = [0] * len(pools)
    tables = [_inverse_cdf(row) for row in chances]
    parts: list[list[int]] = [[] for _ in sizes]
    opened: dict[int, list[float]] = {}  # client -> its chances over the pools that are left
    order = _filling_order(sizes, rng).tolist()
    for client, uniform in zip(order, rng.random(len(order)).tolist(), strict=True):
        drawn = bisect_right(tables[client], uniform)
        if taken[drawn] >= room[drawn] and not recycle:
            if client not in opened:
                open_chances = np.where(np.greater(room, taken), chances[client], 0.0)
                if open_chances.any():  # they change when a pool runs out, and only then
                    opened[client] = _inverse_cdf(open_chances / open_chances.sum())
            if client in opened:
                drawn = bisect_right(opened[client], rng.random())
            elif not keep_classes:
                left = np.subtract(room, taken)
                drawn = bisect_right(_inverse_cdf(left / left.sum()), rng.random())
        parts[client].append(pools[drawn][taken[drawn] % room[drawn]])
        taken[drawn] += 1
        if taken[drawn] == room[drawn]:
            opened.clear()
    return tuple(np.array(part, dtype=np.int64) for part in parts)


def _leave_one_out(
    spec: str,
    held: str,
    clients: int,
    sigma: tuple[str, float],
    domains: np.ndarray | torch.Tensor | None,
    names: Sequence[str],
    rng: np.random.Generator,
) -> Partition:
    if domains is None or held not in names:
        known = ", ".join(f"domain:{name}" for name in names) or "another split, this dataset has no domains"
        raise UserError("split", spec, known)
    domains = _numpy(domains)
    pools = [np.flatnonzero(domains == i) for i, name in enumerate(names) if name != held]
    each, odd = divmod(clients, max(len(pools), 1))
    if odd or not 1 <= each <= min((len(pool) for pool in pools), default=0):
        smallest = min((len(pool) for pool in pools), default=0)
        raise UserError("clients", clients, f"{len(pools)} times a number from 1 to {smallest} (clients per domain)")
    parts = [part for pool in pools for part in _slices(pool, _client_sizes(len(pool), each, sigma, rng), rng)]
    return Partition(spec, tuple(parts), np.flatnonzero(domains == list(names).index(held)).astype(np.int64))


def _numpy(values: np.ndarray | torch.Tensor) -> np.ndarray:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
