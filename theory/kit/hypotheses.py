r"""Hypotheses of theorems as objects: what is printed, what a proof takes from it, and whether a run fulfils it.

A ``Statement`` lists its hypotheses. Its setting is their words, joined; its proof may use a fact or an assumed step
only where one of them supplies it, and one that the proof does not use is an error (``theory.kit.statement``).

A ``Law`` holds what happened along runs of one problem, or along every possible outcome of its chances, and
``Hypothesis.holds_on`` asks it. Example: one draw of the noise kept for two rounds is unbiased, and not given the past.

>>> kept = Law(noise=[[[[1.0]], [[1.0]]], [[[-1.0]], [[-1.0]]]], complete=True)
>>> fresh = Law(noise=[[[[a]], [[b]]] for a in (1.0, -1.0) for b in (1.0, -1.0)], complete=True)
>>> NOISE_GIVEN_THE_PAST.holds_on(kept), NOISE_GIVEN_THE_PAST.holds_on(fresh)
(False, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
ROUNDING = 1e-9
#: standard errors that a mean over sampled runs may be away from what is assumed of the law
SIGNIFICANT = 5.0
#: facts of a proof that assume something; the others hold in every inner-product space
ASSUMING = (
    "drawn or not",
    "independence",
    "sampled mean",
    "sampling without replacement",
    "smooth gradient",
    "smooth value",
    "unbiased",
)


@dataclass(frozen=True)
class Law:
    """What happened along m outcomes of one problem. What is None was not recorded, and nothing is said of it.

    values: numbers of the theorem by the names of its symbols. complete: the outcomes are all that there are, with
    the chances [m] (equal where none are given); otherwise they are a sample.
    noise, errors [m, s, N, d]: of every client in every local step, in the order of time; nan where it made none.
    spreads [m, T]: mean over the clients of |grad F_i - grad F|^2 at every server model. moved, turned [n]: distances
    of pairs of points and of their gradients, for one client each. cohorts: per outcome and round, the clients drawn.
    lowest: least loss that was met. radii [any]: of the perturbations. duals [N, d]: at the start.
    directions [m, N, d]: the clients' mean gradients of a round. meetings: most often that one entry of an input meets
    one position of a kernel.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    complete: bool = False
    chances: ArrayLike | None = None
    noise: ArrayLike | None = None
    errors: ArrayLike | None = None
    spreads: ArrayLike | None = None
    moved: ArrayLike | None = None
    turned: ArrayLike | None = None
    cohorts: Sequence[Sequence[Sequence[int]]] | None = None
    lowest: float | None = None
    radii: ArrayLike | None = None
    duals: ArrayLike | None = None
    directions: ArrayLike | None = None
    meetings: int | None = None

    def chance(self, outcomes: int) -> Array:
        """Chance of every outcome [m]."""
        return np.full(outcomes, 1 / outcomes) if self.chances is None else np.asarray(self.chances, dtype=float)

    def mean(self, values: Array) -> Array:
        """Expected value over the outcomes, the first axis."""
        return np.tensordot(self.chance(len(values)), values, axes=1)


#: whether a law fulfils a hypothesis, None where it does not show it
Test = Callable[[Law], bool | None]


def _unseen(_: Law) -> None:
    """Nothing that a run records decides it."""


@dataclass(frozen=True)
class Hypothesis:
    r"""One hypothesis of a theorem.

    name: of this kind of hypothesis; two of one name replace one another. words: as printed in a setting, mathematics
    between dollar signs; empty for a name that the inequality itself explains. supplies: the facts (``ASSUMING``) and
    the assumed steps of a proof that it allows. formula: the same in LaTeX, without words, where it has one.
    """

    name: str
    words: str
    supplies: tuple[str, ...]
    formula: str = ""
    test: Test = _unseen

    def holds_on(self, law: Law) -> bool | None:
        """Whether the law fulfils it; None where what was recorded does not show it."""
        return self.test(law)


def setting(hypotheses: Sequence[Hypothesis], remark: str = "") -> str:
    """The words of hypotheses as one sentence, and a remark behind it."""
    said = "; ".join(h.words for h in hypotheses if h.words)
    sentence = f"{said[:1].upper()}{said[1:]}. " if said else ""
    return f"{sentence}{remark} " if remark else sentence


# ------------------------------------------------------------ tests on a law


def _array(values: ArrayLike | None) -> Array | None:
    return None if values is None else np.asarray(values, dtype=float)


def _is_smooth(law: Law) -> bool | None:
    moved, turned = _array(law.moved), _array(law.turned)
    if moved is None or turned is None:
        return None
    return bool(np.all(turned <= law.values["L"] * moved * (1 + ROUNDING) + ROUNDING))


def _is_similar(law: Law) -> bool | None:
    spreads = _array(law.spreads)
    if spreads is None:
        return None
    return bool(np.all(law.mean(spreads) <= law.values["sigma_g"] ** 2 * (1 + ROUNDING) + ROUNDING))


def _errors_are_small(law: Law) -> bool | None:
    errors = _array(law.errors)
    if errors is None:
        return None
    sizes = np.linalg.norm(errors, axis=-1)
    known = sizes[~np.isnan(sizes)]
    if np.any(known > law.values["L"] * law.values["rho"] * (1 + ROUNDING) + ROUNDING):
        return False
    return True if known.size == sizes.size else None  # a client that rests may have taken any step


def _duals_are_gradients(law: Law) -> bool | None:
    """In the mean over all clients; ``errors`` are those of the new duals."""
    errors = _array(law.errors)
    if errors is None or np.isnan(errors).any():
        return None
    squares = law.mean((errors**2).sum(axis=-1).mean(axis=-1))
    return bool(np.all(squares <= law.values["eps"] ** 2 * (1 + ROUNDING) + ROUNDING))


def _histories(law: Law, noise: Array, at: int) -> Iterator[tuple[Array, Array]]:
    """Outcomes with one common past before step ``at``: (their chances, scaled to 1, their noise [m, N, d] there)."""
    chance = law.chance(len(noise))
    groups: dict[bytes, list[int]] = {}
    for outcome, past in enumerate(noise[:, :at]):
        groups.setdefault(np.nan_to_num(np.round(past, 9)).tobytes() + _drawn(law, outcome), []).append(outcome)
    for members in groups.values():
        share = chance[members]
        if share.sum() > 0:
            yield share / share.sum(), noise[members, at]


def _drawn(law: Law, outcome: int) -> bytes:
    return repr(law.cohorts[outcome]).encode() if law.cohorts is not None else b""


def _is_unbiased(law: Law) -> bool | None:
    """Of a complete law: every conditional mean is 0. Of a sample: products with earlier noise average to about 0."""
    noise = _array(law.noise)
    if noise is None or not np.any(np.nan_to_num(noise)):
        return None
    if law.complete:
        return all(
            np.allclose(np.tensordot(share, np.nan_to_num(here), axes=1), 0, atol=ROUNDING)
            for at in range(noise.shape[1])
            for share, here in _histories(law, noise, at)
        )
    return _centred(noise) and _uncorrelated(noise[:, 1:], noise[:, :-1])


def _centred(noise: Array) -> bool:
    return _near_zero(np.nan_to_num(noise).reshape(-1, noise.shape[-1]))


def _uncorrelated(one: Array, other: Array) -> bool:
    products = (one * other).sum(axis=-1)
    products = products[~np.isnan(products)]
    return products.size < 30 or _near_zero(products.reshape(-1, 1))


def _near_zero(values: Array) -> bool:
    """Whether the means of columns [n, d] are within ``SIGNIFICANT`` standard errors of 0."""
    error = np.sqrt((values**2).mean(axis=0) / len(values))
    return bool(np.all(np.abs(values.mean(axis=0)) <= SIGNIFICANT * error + ROUNDING))


def _noise_is_small(law: Law) -> bool | None:
    noise = _array(law.noise)
    if noise is None:
        return None
    squares = np.nanmean((noise**2).sum(axis=-1), axis=-1)
    return bool(np.all(law.mean(squares) <= law.values["sigma_l"] ** 2 * (1 + ROUNDING) + ROUNDING))


def _is_absent(law: Law) -> bool | None:
    noise = _array(law.noise)
    return None if noise is None else not np.any(np.nan_to_num(noise))


def _epochs_are_complete(law: Law) -> bool | None:
    """A client's noise adds up to zero over the K steps of every round."""
    noise, steps = _array(law.noise), law.values.get("K")
    if noise is None or steps is None:
        return None
    rounds = np.nan_to_num(noise).reshape(len(noise), -1, int(steps), *noise.shape[2:])
    return bool(np.allclose(rounds.sum(axis=2), 0, atol=ROUNDING))


def _clients_are_independent(law: Law) -> bool | None:
    """No two clients' noise of one step goes together, given what came before."""
    noise = _array(law.noise)
    if noise is None or not np.any(np.nan_to_num(noise)):
        return None
    if noise.shape[2] == 1:
        return True
    pairs = list(combinations(range(noise.shape[2]), 2))
    if not law.complete:
        return all(_uncorrelated(noise[:, :, i], noise[:, :, j]) for i, j in pairs)
    return all(
        abs(float(np.nan_to_num(share @ (here[:, i] * here[:, j]).sum(axis=-1)))) <= ROUNDING
        for at in range(noise.shape[1])
        for share, here in _histories(law, noise, at)
        for i, j in pairs
    )


def _cohorts_are_uniform(law: Law) -> bool | None:
    """Every round draws S different clients, and every cohort is as likely as another, by its members' shares."""
    if law.cohorts is None:
        return None
    clients, active = int(law.values["N"]), int(law.values["S"])
    every = [cohort for rounds in law.cohorts for cohort in rounds]
    if any(len(set(cohort)) != active or len(cohort) != active for cohort in every):
        return False
    chance = np.repeat(law.chance(len(law.cohorts)), [len(rounds) for rounds in law.cohorts])
    chance = chance / chance.sum()
    if law.complete:
        found: dict[tuple[int, ...], float] = {}
        for cohort, share in zip(every, chance, strict=True):
            found[tuple(sorted(cohort))] = found.get(tuple(sorted(cohort)), 0.0) + share
        wanted = 1 / comb(clients, active)
        return len(found) == comb(clients, active) and all(abs(s - wanted) <= ROUNDING for s in found.values())
    share = active / clients
    error = np.sqrt(share * (1 - share) / len(every))
    met = np.bincount([i for cohort in every for i in cohort], minlength=clients) / len(every)
    return bool(np.all(np.abs(met - share) <= SIGNIFICANT * error + ROUNDING))


def _everyone_takes_part(law: Law) -> bool | None:
    if law.cohorts is None:
        return None
    clients = list(range(int(law.values["N"])))
    return all(sorted(cohort) == clients for rounds in law.cohorts for cohort in rounds)


def _is_above(law: Law) -> bool | None:
    return None if law.lowest is None else law.lowest >= law.values["F_star"] - ROUNDING


def _radii_are_small(law: Law) -> bool | None:
    """In absolute value: a radius of Global FedSAM can be negative."""
    radii = _array(law.radii)
    return None if radii is None else bool(np.all(np.abs(radii) <= law.values["rho"] * (1 + ROUNDING) + ROUNDING))


def _duals_are_zero(law: Law) -> bool | None:
    duals = _array(law.duals)
    return None if duals is None else not np.any(duals)


def _are_fixed(law: Law) -> bool | None:
    directions = _array(law.directions)
    return None if directions is None else bool(np.allclose(directions, directions[:1], atol=ROUNDING))


def _meets_once(law: Law) -> bool | None:
    return None if law.meetings is None else law.meetings <= 1


# ------------------------------------------------------------ the hypotheses


def smooth(who: str = "F_i", where: str = "") -> Hypothesis:
    """Every client's loss has an L-Lipschitz gradient; where: on what besides, in words."""
    words = rf"every ${who}$ is $L$-smooth{where}"
    return Hypothesis("smooth", words, ("smooth value", "smooth gradient"), test=_is_smooth)


def bounded_below(loss: str = "F", least: str = "F^*") -> Hypothesis:
    """The loss is bounded below."""
    formula = rf"{loss}\ge {least}"
    return Hypothesis("bounded below", f"${formula}$", (f"{loss} is bounded below",), formula, _is_above)


def dissimilar(
    mean: str = r"\frac1N\sum_i", at: str = "at the iterates", one: str = "F_i", whole: str = "F", point: str = "(w^t)"
) -> Hypothesis:
    """Clients' gradients differ in the mean square by at most sigma_g."""
    formula = rf"{mean}\|\nabla {one}{point}-\nabla {whole}{point}\|^2\le\sigma_g^2"
    return Hypothesis("dissimilar", f"{at} ${formula}$", ("heterogeneity",), formula, _is_similar)


def steps_along(count: str = "K", gradient: str = r"\nabla F_i(w)") -> Hypothesis:
    """What a local step moves along: names e and zeta, and the sums of both over the steps."""
    words = rf"a client makes ${count}$ local steps, each along ${gradient}+e+\zeta$ at its own model"
    return Hypothesis("local steps", words, ("local model", "r is a mean", "z is a mean"))


def steps_of_minibatches(count: str = "K") -> Hypothesis:
    """The same where a step is along the gradient of its own minibatch."""
    words = rf"a client makes ${count}$ local steps, the $k$-th along $\nabla f_{{i,k}}(w)+e$ at its own model"
    return Hypothesis("local steps", words, ("local model", "r is a mean"))


def one_local_step(along: str = r"\nabla F_i(w^t)+e+\zeta") -> Hypothesis:
    """A round has one local step: names e and zeta, which need no sums."""
    return Hypothesis("local steps", rf"a client makes one local step a round, along ${along}$", ())


def inexact(radius: str = r"\rho", drawn: bool = False) -> Hypothesis:
    """The error of a local gradient is bounded in every step; drawn: cohorts are drawn, so it must hold for all."""
    formula = rf"\|e\|\le L{radius}"
    who = "of every client, drawn or not" if drawn else "of every client"
    words = rf"${formula}$ in every step {who}, and $e$ may depend on the minibatch"
    return Hypothesis("inexact", words, ("error",), formula, _errors_are_small)


PAST = r"\mathbb E[\zeta\mid\text{past}]=0"
NOISE_GIVEN_THE_PAST = Hypothesis(
    "noise given the past",
    rf"$\zeta$ is unbiased given all earlier rounds and steps, ${PAST}$",
    ("unbiased",),
    PAST,
    _is_unbiased,
)


RESHUFFLED = Hypothesis(
    "reshuffled epochs",
    r"in every round a client passes once through its samples, in an order drawn at random and independently of $w^t$, "
    r"in $K$ minibatches of equal size with losses $f_{i,k}$ whose mean is $F_i$, and at $w^t$ "
    r"$\frac1K\sum_k\mathbb E\|\nabla f_{i,k}-\nabla F_i\|^2\le\sigma_l^2$ in the mean over the clients",
    ("without replacement", "epoch", "noise", "unbiased", "independence"),
    r"\sum_{k<K}(\nabla f_{i,k}(w^t)-\nabla F_i(w^t))=0",
    _epochs_are_complete,
)


def noise_power(formula: str = r"\mathbb E\|\zeta\|^2\le\sigma_l^2") -> Hypothesis:
    """Mean square of the noise of one local step."""
    return Hypothesis("noise power", f"${formula}$", ("noise",), formula, _noise_is_small)


INDEPENDENT_CLIENTS = Hypothesis(
    "independent clients",
    r"given the past $\zeta$ is independent between clients",
    ("independence",),
    r"\mathbb E[\langle\zeta_i,\zeta_j\rangle\mid\text{past}]=0,\ i\ne j",
    _clients_are_independent,
)
EXACT_GRADIENTS = Hypothesis(
    "exact gradients",
    r"gradients are exact, $\zeta=0$",
    ("noise", "sigma_l", "no noise", "unbiased", "independence"),
    r"\zeta=0",
    _is_absent,
)


def cohorts(sample: str = "S", clients: str = "N", more: tuple[str, ...] = ()) -> Hypothesis:
    """Cohorts drawn uniformly without replacement, independently of everything else. more: further steps supplied."""
    formula = rf"\kappa=\frac{{{clients}-{sample}}}{{{sample}({clients}-1)}}"
    words = (
        rf"${sample}$ of ${clients}$ clients are drawn uniformly without replacement in every round, independently of "
        rf"all else, ${formula}$ ($\kappa=0$ for ${sample}={clients}$)"
    )
    supplies = ("sampled mean", "sampling without replacement", *more)
    return Hypothesis("cohorts", words, supplies, formula, _cohorts_are_uniform)


EVERYONE = Hypothesis(
    "everyone",
    "every client is active in every round",
    ("sampled mean", "sampling without replacement", "kappa <= 1"),
    r"\kappa=0",
    _everyone_takes_part,
)


def small_radii(size: str = r"|\rho_k|\le\rho") -> Hypothesis:
    """Perturbations of length at most rho: their errors are at most L rho where every sample's loss is L-smooth."""
    words = rf"perturbations have radii ${size}$, of either sign, so that their errors have $\|e\|\le L\rho$"
    return Hypothesis("small radii", words, ("error",), size, _radii_are_small)


def named(words: str, *steps: str) -> Hypothesis:
    """Abbreviations: nothing is assumed. steps: those of the proof that introduce them."""
    return Hypothesis("names", words, steps)


#: what the inequality itself spells out
MEANS = Hypothesis("means", "", ("Gamma", "Delta"))

FIXED_DIRECTIONS = Hypothesis(
    "fixed directions",
    "for directions $x_i$ that are not random (so not the later gradients of a noisy local run)",
    (),
    test=_are_fixed,
)
OTHER_MINIBATCH = Hypothesis(
    "perturbation of another minibatch",
    "perturbations that do not depend on the minibatch of their own step (FedLESAM's, not FedSAM's)",
    ("unbiased",),
    r"\mathbb E[\zeta\mid\text{past}]=0",
    _is_unbiased,
)
ZERO_PADDING = Hypothesis(
    "zero padding",
    "the layer has any stride, and zero padding or none",
    ("count",),
    test=_meets_once,
)


ZERO_DUALS = Hypothesis(
    "zero duals",
    r"Algorithm 1 from its zero duals, $\bar w^t=w^t+\beta\lambda^t$",
    ("local model", "mean model", "D_0"),
    r"\lambda_i^0=0",
    _duals_are_zero,
)
NEAR_GRADIENTS = Hypothesis(
    "near gradients",
    r"the new dual is a gradient up to $\epsilon$ in the mean over all $m$ clients, those that are not drawn with the "
    r"solve that they would make, $\frac1m\sum_i\mathbb E\|\lambda_i^+-\nabla f_i(w_i)\|^2\le\epsilon^2$; solves "
    r"may be inexact and noisy (exact ones with $\|\hat s_i\|\le r$: $\epsilon=Lr$)",
    ("eps", "new dual"),
    r"\frac1m\sum_i\mathbb E\|\lambda_i^+-\nabla f_i(w_i)\|^2\le\epsilon^2",
    _duals_are_gradients,
)


def asked(hypotheses: Sequence[Hypothesis], law: Law) -> dict[str, bool | None]:
    """Name -> what ``holds_on`` says, of each."""
    return {h.name: h.holds_on(law) for h in hypotheses}
