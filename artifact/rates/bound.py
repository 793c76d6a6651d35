"""A method's bound for given numbers: term by term, at a given step or at the best admissible one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.errors import UserError
from artifact.papers.declared import read_csv
from artifact.rates import shown
from artifact.rates.theorems import Theorem, theorem

#: what two methods may have in common when their bounds stand side by side
BUDGETS = ("rounds", "gradients", "traffic")
#: least step times L that is looked at; halvings of the interval that holds the largest admissible step
_LEAST, _HALVINGS, _SECTIONS = 1e-15, 60, 50
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Setting:
    """The numbers of a problem and a run; the README of the proofs says what the theorems assume besides.

    L: Lipschitz constant of every client's gradient.  T: rounds.  K: local steps of a client in a round.
    N, S: clients, and those that are drawn in a round.  rho: radius of the perturbation (Global FedSAM: its factor).
    sigma_g: root mean square over clients of |grad F_i - grad F|.  sigma_l: of a minibatch gradient's noise.
    delta: F(w^0) - F^*.  eta_l, eta_g: local and server step; eta_l None is the best admissible one.
    beta: MoFedSAM's weight of the fresh gradient, in (0, 1].
    steps: local steps of every client, where they differ; K is then their mean.  weights: of every client in the
    server's mean, by default all alike.  With ``steps`` or ``weights`` the bound speaks of the loss sum_i q_i F_i, with
    q_i proportional to weight times steps; then give sigma_g and delta of that weighted loss.
    """

    L: float
    T: int
    K: int = 1
    N: int = 1
    S: int | None = None
    rho: float = 0.0
    sigma_g: float = 0.0
    sigma_l: float = 0.0
    delta: float = 1.0
    eta_l: float | None = None
    eta_g: float = 1.0
    beta: float = 0.1
    steps: tuple[int, ...] | None = None
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("T", "K", "N", "S"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or int(value) != value or value < 1):
                raise UserError(name, value, "a whole number of at least 1")
        if self.S is not None and self.S > self.N:
            raise UserError("S", self.S, f"at most N = {self.N} clients in a round")
        for name in ("L", "delta", "eta_l", "eta_g", "beta", "rho", "sigma_g", "sigma_l"):
            value, zero = getattr(self, name), name in ("delta", "rho", "sigma_g", "sigma_l")
            if value is not None and not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
                raise UserError(name, value, f"a finite number {'of at least' if zero else 'above'} 0")
        if self.beta > 1:
            raise UserError("beta", self.beta, "a number in (0, 1]")
        self._check_clients()

    def _check_clients(self) -> None:
        """Steps and weights fit N."""
        for name in ("steps", "weights"):
            value = getattr(self, name)
            if value is None:
                continue
            if len(value) != self.N:
                raise UserError(name, len(value), f"a number for each of the N = {self.N} clients")
            if not all(math.isfinite(one) and one > 0 for one in value):
                raise UserError(name, value, "numbers above 0")
        if self.steps is not None and any(int(count) != count for count in self.steps):
            raise UserError("steps", self.steps, "whole numbers of at least 1")

    @property
    def unequal(self) -> bool:
        """Whether clients differ in their numbers of steps or their weights."""
        return any(len(set(value)) > 1 for value in (self.steps, self.weights) if value is not None)

    @property
    def counts(self) -> tuple[int, ...]:
        """Local steps of every client."""
        return self.steps or (self.K,) * self.N

    @property
    def mean_steps(self) -> float:
        """K, or the weighted mean of the clients' steps."""
        if self.steps is None:
            return self.K
        return sum(p * count for p, count in zip(self._weights(), self.steps, strict=True))

    def _weights(self) -> list[float]:
        given = self.weights or (1.0,) * self.N
        return [one / sum(given) for one in given]

    def _largest_share(self) -> float:
        """max q_i, q_i proportional to weight times steps; 1/N where all are alike."""
        if not self.unequal:
            return 1 / self.N
        return max(p * count for p, count in zip(self._weights(), self.counts, strict=True)) / self.mean_steps

    @property
    def active(self) -> int:
        """S, which is N where it was not given."""
        return self.N if self.S is None else self.S

    @property
    def kappa(self) -> float:
        """(N - S)/(S(N - 1)): what a drawn cohort's mean keeps of the clients' spread; 0 for all of them."""
        return (self.N - self.active) / (self.active * max(self.N - 1, 1))

    def values(self, step: float) -> dict[str, float]:
        """The letters of the theorems on averaged local steps, at the local step ``step``."""
        x = (max(self.counts) - 1) * self.L * step
        share = self._largest_share()
        return {
            "L": self.L,
            "T": self.T,
            "K": self.mean_steps,
            "N": 1 / share if self.unequal else self.N,
            "excess": self.N * share - 1 if self.unequal else 0.0,
            "kappa": self.kappa,
            "rho": self.rho,
            "sigma_g": self.sigma_g,
            "sigma_l": self.sigma_l,
            "Delta": self.delta,
            "eta": step,
            "A": self.mean_steps * self.eta_g * step,
            "X": x,
            "Y": x,
            "beta": self.beta,
            "nu": 0.0,
        }


def _without_radius(s: Setting, step: float) -> dict[str, float]:
    return s.values(step) | {"rho": 0.0}


def _of_fedsmoo(s: Setting, step: float) -> dict[str, float]:
    """beta is the penalty step; |grad f_i(w^0)|^2 has the mean sigma_g^2 + |grad f(w^0)|^2 <= sigma_g^2 + 2 L Delta."""
    names = {"L": s.L, "T": s.T, "kappa": s.kappa, "Delta": s.delta, "beta": step, "theta": s.active / s.N}
    return names | {"eps": s.L * s.rho, "D_0": s.sigma_g**2 + 2 * s.L * s.delta}


@dataclass(frozen=True)
class Method:
    """A method of which theorems are proved.

    theorems: names of the proofs that speak of it, the sharpest first.  unequal: those for clients with steps or
    weights of their own.  values: their letters.  note: for a user.
    """

    theorems: tuple[str, ...]
    unequal: tuple[str, ...] = ()
    values: Callable[[Setting, float], dict[str, float]] = Setting.values
    note: str = ""
    step: str = "eta_l"


_AVERAGED = ("inexact-gradients-exact", "inexact-gradients-all-clients", "inexact-gradients-cohorts")
_UNEQUAL = ("inexact-gradients-unequal-steps",)
#: every method that a proved theorem speaks of
METHODS: dict[str, Method] = {
    "fedavg": Method(_AVERAGED, _UNEQUAL, _without_radius, "No perturbation: rho is taken as 0."),
    "fedsam": Method(_AVERAGED, _UNEQUAL),
    "fedlesam": Method(_AVERAGED, _UNEQUAL),
    "mofedsam": Method(("mofedsam",)),
    "fedsmoo": Method(
        ("fedsmoo-zero-duals",),
        (),
        _of_fedsmoo,
        "Of exact local solves, whatever K, eta_l and sigma_l are; the step is the penalty step beta, and the gradient "
        "is that of the mean model. The clients' squared gradients at the start are taken as sigma_g^2 + 2 L delta.",
        "beta",
    ),
    "globalfedsam": Method(
        ("inexact-gradients-vanishing-radius",),
        note="As Algorithm 3 prints it: rho is a factor of the gradient's length, not a radius, and its price is the "
        "divisor 1 - 109 rho^2 L^2/53 of every term. With unequal weights p put N = 1/max p.",
    ),
}


@dataclass(frozen=True)
class Rate:
    """What a theorem promises: (1/T) sum over the rounds of E|grad F(w^t)|^2 <= ``bound``.

    method: its name.  setting: the numbers.  theorem: whose bound it is.  step: the local step (FedSMOO's beta).
    best: the best admissible step, None where no step is.  terms: {what a term is for: its part of the bound}, in the
    order of the theorem.  outside: conditions that fail, in words; the bound is infinite where there is one.
    """

    method: str
    setting: Setting
    theorem: Theorem
    step: float
    best: float | None
    terms: Mapping[str, float]
    outside: tuple[str, ...]

    @property
    def bound(self) -> float:
        """The sum of the terms; infinite outside the hypotheses."""
        return math.inf if self.outside else sum(self.terms.values())

    @property
    def dominant(self) -> str | None:
        """Name of the largest term; None outside the hypotheses."""
        return None if self.outside else max(self.terms, key=lambda name: self.terms[name])

    @property
    def note(self) -> str:
        """What a reader of this method's bound should know."""
        return METHODS[self.method].note

    def beside(self, equal: str = "rounds") -> list[Rate]:
        """Every method's bound at its best step, the least first, with equal rounds, gradients or traffic.

        equal: one of ``BUDGETS``; T rounds of this method set the budget.  Raises UserError for another one.
        """
        if equal not in BUDGETS:
            raise UserError("equal", equal, ", ".join(BUDGETS))
        own = cost(self.method, self.setting.mean_steps, equal)
        found = []
        for name in METHODS:
            rounds = math.floor(self.setting.T * own / cost(name, self.setting.mean_steps, equal) * (1 + 1e-12))
            found.append(_rate(name, replace(self.setting, T=max(rounds, 1), eta_l=None)))
        return sorted(found, key=lambda one: one.bound)

    def plain(self) -> dict[str, Any]:
        """For JSON; an infinite bound is None."""
        return {
            "method": self.method,
            "setting": vars(self.setting),
            "theorem": self.theorem.name,
            "step": self.step,
            "best_step": self.best,
            "bound": None if self.outside else self.bound,
            "terms": dict(self.terms),
            "dominant": self.dominant,
            "outside": list(self.outside),
            "assumes": list(self.theorem.assumed),
            "note": self.note,
        }

    def at(self, step: float) -> Rate:
        """The same theorem's bound at another step."""
        return at_step(self.method, self.setting, self.theorem, step, self.best)

    @property
    def step_name(self) -> str:
        """What the step is called: eta_l, or FedSMOO's beta."""
        return METHODS[self.method].step

    def figure(self) -> Any:
        """The terms over the step, and all methods side by side, as a matplotlib figure."""
        return shown.figure(self)

    def __str__(self) -> str:
        return shown.text(self)


def cost(method: str, K: float, equal: str) -> float:
    """What one client's part in a round costs: 1 (rounds), minibatch gradients, or models sent both ways.

    A pass over all of a client's data counts as K minibatch gradients.
    """
    row = _costs()[method]
    gradients = K * (row["gradients_per_step"] + row["full_passes"])
    return {"rounds": 1.0, "gradients": gradients, "traffic": row["up"] + row["down"]}[equal]


@cache
def _costs() -> dict[str, dict[str, float]]:
    names = ("gradients_per_step", "full_passes", "up", "down")
    rows = read_csv(paths.CLAIMS / "costs.csv", ("algorithm", *names))
    return {row["algorithm"]: {name: float(row[name]) for name in names} for row in rows}


def rate(method: str, **numbers: Any) -> Rate:
    """The bound that the project's own proved theorem gives a method, for given numbers.

    method: fedavg, fedsam, fedlesam, mofedsam, fedsmoo or globalfedsam.  numbers: fields of ``Setting``; L and T have
    to be given.  Without ``eta_l`` it is the bound at the best admissible step.  Raises UserError for numbers or
    methods that are not possible.  With ``steps`` or ``weights`` and no ``N``, N is how many there are.

    >>> found = rate("fedsam", L=10, rho=0.05, sigma_g=1, sigma_l=1, K=50, N=100, S=10, T=800)
    >>> found.dominant, found.theorem.name
    ('perturbation', 'inexact-gradients-cohorts')
    >>> rate("fedsam", L=10, T=800, K=50, eta_l=0.001).outside
    ('x = 0.49 > 0.1',)
    >>> rate("fedsam", L=10, T=800, steps=[10, 20, 60], weights=[2, 1, 1]).theorem.name
    'inexact-gradients-unequal-steps'
    """
    if method not in METHODS:
        raise UserError("method", method, f"a method with a proved theorem: {', '.join(METHODS)}")
    unknown = sorted(numbers.keys() - Setting.__dataclass_fields__.keys())
    if unknown:
        raise UserError(unknown[0], numbers[unknown[0]], f"one of {', '.join(Setting.__dataclass_fields__)}")
    for name in ("L", "T"):
        if numbers.get(name) is None:
            raise UserError(name, None, "a number; the theorems need it")
    lists = {name: tuple(numbers[name]) for name in ("steps", "weights") if numbers.get(name) is not None}
    counted = {"N": len(next(iter(lists.values())))} if lists else {}
    return _rate(method, Setting(**counted | numbers | lists))


def _rate(method: str, setting: Setting) -> Rate:
    """The least bound that a theorem on the method gives; where none applies, what is outside of the last one."""
    found, known = [], METHODS[method]
    for name in (setting.unequal and known.unequal) or known.theorems:
        one, best = theorem(name), best_step(method, setting, theorem(name))
        step = setting.eta_l or best or _LEAST
        found.append(at_step(method, setting, one, step, best))
    return next((one for one in sorted(found, key=lambda one: one.bound) if not one.outside), found[-1])


def at_step(method: str, setting: Setting, one: Theorem, step: float, best: float | None = None) -> Rate:
    """The bound of one theorem at a step."""
    values = METHODS[method].values(setting, step)
    factor, outside = one.factor(values), _not_covered(setting, one) + one.outside(values)
    if factor <= 0 and not outside:
        outside = [f"{_left(one)} = {factor:.3g} <= 0, so nothing is left to bound"]
    scale = 1 / factor if factor > 0 else 1.0
    terms: dict[str, float] = {}
    for words, formula in one.terms:
        terms[words] = terms.get(words, 0.0) + scale * formula.at(values)
    return Rate(method, setting, one, step, best, terms, tuple(outside))


def _left(one: Theorem) -> str:
    """The factor of the squared gradient, as text."""
    return str(one.left).removeprefix("Gamma ")


def _not_covered(setting: Setting, one: Theorem) -> list[str]:
    """Hypotheses on who takes part and on noise that the setting breaks."""
    found = []
    if setting.unequal and "weighted cohorts" not in one.hypotheses:
        found.append("clients differ in steps or weights, and the theorem is for equal ones")
    if (
        setting.kappa > 0
        and not {"cohorts", "weighted cohorts"} & {*one.hypotheses}
        and "zero duals" not in one.hypotheses
    ):
        found.append(f"S = {setting.active} < N = {setting.N}, and the theorem is for all clients")
    if setting.sigma_l > 0 and "exact gradients" in one.hypotheses:
        found.append(f"sigma_l = {setting.sigma_l:g} > 0, and the theorem is for exact gradients")
    return found


def best_step(method: str, setting: Setting, one: Theorem) -> float | None:
    """The step with the least bound among those that the conditions admit; None where they admit none.

    Terms and conditions are sums of positive powers and products, so in the logarithm of the step the logarithm of the
    bound is convex, the admitted steps are an interval that begins at 0, and a golden section finds the least value.
    """

    def admits(step: float) -> bool:
        return not at_step(method, setting, one, step).outside

    def height(logarithm: float) -> float:
        return at_step(method, setting, one, math.exp(logarithm)).bound

    low, high = math.log(_LEAST / setting.L), math.log(1e6 / setting.L)
    if not admits(math.exp(low)):
        return None
    bottom, top = low, high
    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2
        bottom, top = (middle, top) if admits(math.exp(middle)) else (bottom, middle)
    low, high = low, bottom
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    heights = [height(x) for x in inner]
    for _ in range(_SECTIONS):
        if heights[0] <= heights[1]:
            high, inner[1], heights[1] = inner[1], inner[0], heights[0]
            inner[0] = high - _GOLDEN * (high - low)
            heights[0] = height(inner[0])
        else:
            low, inner[0], heights[0] = inner[0], inner[1], heights[1]
            inner[1] = low + _GOLDEN * (high - low)
            heights[1] = height(inner[1])
    return math.exp(min((bottom, *inner), key=height))
