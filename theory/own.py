r"""The theorem for a perturbation of one's own, proved from a bound on the perturbation's length.

A bound is a sum of constants and of multiples of ``G`` = |grad F(w^t)|, the mean gradient's norm at the round's model,
or ``Gi`` = |grad F_i(w^t)|, a client's own: ``rho`` for FedSAM, ``rho*G`` for Global FedSAM, ``rho + c*Gi`` for a
radius that grows with the client's gradient. The program proves the theorem for that bound, or says which fact is
missing.

>>> found = theorem_for("rho + c*G")
>>> found.statement.label
'machine'
>>> print(theorem_for("c*M").lacks[:31])
M is no constant of the method:

    python -m theory.own "rho + c*Gi" --cohorts
    python -m theory.own "rho" --method fedlesam --value rho=0.1
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click
import numpy as np
import sympy as sp

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from theory.inexact import runs, theorem
from theory.inexact.proof import Case, one_round
from theory.inexact.statements import ALL_ACTIVE
from theory.inexact.theorem import F_NEXT, QUANTITIES, SQUARE, F, Gamma, n
from theory.kit.hypotheses import Hypothesis
from theory.kit.proof import Proof, Rejected
from theory.kit.statement import Condition, Quantity, Run, Statement

G, Gi = sp.symbols("G Gi", nonnegative=True)
#: E|perturbation|^2 of one round
h = sp.Symbol("h", nonnegative=True)
#: letters of other sizes along a run, which no hypothesis of the proof bounds
UNKNOWN = {
    "M": "the length of the last server move",
    "x": "the distance of a local model from the round's",
    "W": "the length of the model",
    "Z": "the noise of a minibatch",
}
#: names that the theorem uses itself
TAKEN = {str(symbol) for symbol in QUANTITIES} - {"rho"}
LARGEST = 20  # random problems on which a class is held against its bound


@dataclass(frozen=True)
class Found:
    """What became of a bound: a proved statement, or the fact that the proof lacks.

    bound: as it was given. squared: (part without a gradient, factor of G^2, factor of sigma_g^2) of what bounds the
    mean square of the perturbation. statement: None where something is missing, which ``lacks`` says.
    """

    bound: str
    squared: tuple[sp.Expr, sp.Expr, sp.Expr] | None = None
    statement: Statement | None = None
    lacks: str = ""

    @property
    def floor(self) -> sp.Expr:
        """What is left of the right side after any number of rounds with small steps: 0 where nothing is."""
        assert self.statement is not None
        small = {n.X: 0, n.A: 0, n.eta: 0, n.kappa: 0}
        terms = [term for term in self.statement.right if not term.has(theorem.Delta)]
        return sp.simplify(sp.Add(*terms).subs(small))

    def __str__(self) -> str:
        if self.statement is None:
            return f"No theorem for |perturbation| <= {self.bound}: {self.lacks}"
        s = self.statement
        return "\n".join(
            (
                f"Theorem for |perturbation| <= {self.bound}",
                s.text,
                f"Proved: {len(s.proof.steps)} steps from named facts, replayed; fingerprint {s.fingerprint}.",
                f"What remains after many rounds of small steps: {sp.sstr(self.floor)}.",
            )
        )

    def plain(self) -> dict[str, Any]:
        """As plain data; ``proof`` is a file for ``docs/proofs/verify.py``."""
        if self.statement is None:
            return {"bound": self.bound, "lacks": self.lacks}
        return {
            "bound": self.bound,
            "text": self.statement.text,
            "latex": self.statement.latex,
            "floor": str(self.floor),
            "fingerprint": self.statement.fingerprint,
            "proof": self.statement.export(),
        }


def read(bound: str) -> sp.Expr:
    """The bound as an expression. Raises UserError for what is no arithmetic in names and numbers."""
    try:
        names = {word: sp.Symbol(word, nonnegative=True) for word in _words(bound)}
        found = sp.sympify(bound.replace("^", "**"), locals=names)
    except (sp.SympifyError, TypeError, SyntaxError, AttributeError) as error:
        raise UserError("bound", bound, "a formula such as rho + c*G") from error
    if not isinstance(found, sp.Expr) or found.is_extended_real is False:
        raise UserError("bound", bound, "a formula of non-negative numbers, such as rho + c*G")
    return sp.expand(found)


def _words(text: str) -> set[str]:
    if not re.fullmatch(r"[\w\s.+*/()^-]*", text) or "__" in text or re.search(r"\w\s*\(", text):
        raise UserError("bound", text, "sums, products and quotients of letters and numbers")
    return set(re.findall(r"[A-Za-z]\w*", text))


def squared(bound: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr] | str:
    """(a, b, c) with E|perturbation|^2 <= a + b E|grad F|^2 + c sigma_g^2, or the fact that is missing.

    The square of a sum of m parts is at most m times the sum of their squares; |grad F_i|^2 is |grad F|^2 + sigma_g^2
    in the mean over the clients.
    """
    parts = {"": sp.Integer(0), "G": sp.Integer(0), "Gi": sp.Integer(0)}
    for term in sp.Add.make_args(bound):
        if (lack := _lack(term)) is not None:
            return lack
        if term.could_extract_minus_sign():
            continue  # without it the bound is larger, so it holds as well
        key = "Gi" if term.has(Gi) else "G" if term.has(G) else ""
        parts[key] += term.subs({G: 1, Gi: 1})
    number = max(1, sum(1 for size in parts.values() if size != 0))
    return (
        number * parts[""] ** 2,
        number * (parts["G"] ** 2 + parts["Gi"] ** 2),
        number * parts["Gi"] ** 2,
    )


def units(bound: sp.Expr) -> dict[sp.Symbol, tuple[int, int]] | str:
    """Unit of every constant, as ``Quantity`` has it, so that the bound is a length; or the letter that has two.

    Of a product of constants the first one carries the unit.
    """
    found: dict[sp.Symbol, tuple[int, int]] = {}
    for term in sp.Add.make_args(bound):
        whole = (-1, 2) if term.has(G, Gi) else (0, 1)
        for place, symbol in enumerate(sorted(term.free_symbols - {G, Gi}, key=str)):
            unit = whole if place == 0 else (0, 0)
            if found.setdefault(symbol, unit) != unit:
                return f"{symbol} stands for two things of different units; each constant needs its own letter."
    return found


def _lack(term: sp.Expr) -> str | None:
    """Why no theorem follows for a bound with this term; None where one does."""
    for symbol in sorted(term.free_symbols, key=str):
        name = str(symbol)
        if name in UNKNOWN:
            return (
                f"{name} is no constant of the method: the proof knows G and Gi of the round's model alone, and would "
                f"need a bound on {UNKNOWN[name]}."
            )
        if name in TAKEN:
            return f"{name} has a meaning in the theorem already; another letter is needed for a constant."
    powers = term.as_powers_dict()
    total = sum(powers[s] for s in (G, Gi) if s in powers)
    inside = term.free_symbols & {G, Gi}
    if inside and (total not in (1,) or any(base.has(G, Gi) and base not in (G, Gi) for base in powers)):
        return (
            f"{term} is not linear in a gradient's norm: its square holds another power of the norm than the second, "
            "and the proof knows E|grad F|^2 alone. A larger bound that is linear does, such as rho for rho*G/(c + G)."
        )
    if term.has(sp.zoo, sp.nan):
        return f"{term} is no number."
    return None


def theorem_for(bound: str, cohorts: bool = False) -> Found:
    """The theorem for a method whose perturbation, in every local step, is at most ``bound`` long.

    bound: see the module. cohorts: some clients are drawn in every round, else all take part.
    Raises UserError for a bound that is no formula.
    """
    formula = read(bound)
    parts, sizes = squared(formula), units(formula)
    for missing in (parts, sizes):
        if isinstance(missing, str):
            return Found(bound, lacks=missing)
    assert not isinstance(parts, str) and not isinstance(sizes, str)
    statement = _statement(parts, sizes, cohorts)
    try:
        _ = statement.label
    except Rejected as error:
        return Found(bound, parts, lacks=str(error))
    return Found(bound, parts, statement)


def _case(cohorts: bool) -> Case:
    return theorem.numbers(sampled=cohorts, rho=h)


def _cost(cohorts: bool) -> sp.Expr:
    """What E|perturbation|^2 costs in one round."""
    _, rest = theorem.factors(*theorem.general(_case(cohorts)))
    return sp.expand(rest).coeff(h**2)


def sides(parts: tuple[sp.Expr, sp.Expr, sp.Expr], cohorts: bool) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides: the share b of the squared gradient goes to the left, the rest of the perturbation stays."""
    a, b, c = parts
    left, right = theorem.general(_case(cohorts))
    cost = sp.factor(_cost(cohorts))
    others = tuple(term for term in right if not term.has(h))
    own = tuple(cost * part for part in (a, c * n.sigma_g**2) if part != 0)
    return left - cost * b * Gamma, (others[0], *own, *others[1:])


def _prove(parts: tuple[sp.Expr, sp.Expr, sp.Expr], cohorts: bool, left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """One round with the error L h, what h^2 is at most, and the mean over the rounds."""
    a, b, c = parts
    case = _case(cohorts)
    proof, small_a, small_x = theorem.begin("FedAvg with a perturbation of one's own", case)
    for symbol in sorted(sp.Add(a, b, c).free_symbols, key=str):
        proof.scalar(symbol.name)
    factor, rest = theorem.factors(*theorem.general(case))
    one = one_round(proof, F - F_NEXT - n.A / 2 * (factor * SQUARE - rest), case, small_a, small_x)
    size = proof.hypothesis(
        "own bound", a + b * SQUARE + c * n.sigma_g**2 - h**2, "what the perturbation's mean square is at most"
    )
    own, whole = theorem.factors(left, right)
    shared = proof.combine(
        "one round, with the bound",
        F - F_NEXT - n.A / 2 * (own * SQUARE - whole),
        [(1, one), (n.A / 2 * _cost(cohorts), size)],
    )
    theorem.over_rounds(proof, case, shared, left, right)
    return proof


def _statement(
    parts: tuple[sp.Expr, sp.Expr, sp.Expr], sizes: Mapping[sp.Symbol, tuple[int, int]], cohorts: bool
) -> Statement:
    left, right = sides(parts, cohorts)
    a, b, c = parts
    letters = {symbol: Quantity(sp.latex(symbol), unit) for symbol, unit in sizes.items()}
    square = sp.Symbol("square")
    shown = {square: r"\|\nabla F(w^t)\|^2", n.sigma_g: r"\sigma_g"}
    formula = sp.latex(sp.expand(a + b * square + c * n.sigma_g**2), symbol_names=shown)
    own = Hypothesis(
        "own bound",
        rf"perturbations of the method's own have $\mathbb E\|\cdot\|^2\le {formula}$ in the mean over all clients, in "
        r"every local step of round $t$, and every sample's loss is $L$-smooth, so that their errors $e$ have "
        r"$\mathbb E\|e\|^2\le L^2$ times as much",
        ("error", "own bound"),
        formula,
    )
    given = theorem.given(cohorts)
    conditions = (*(() if cohorts else (ALL_ACTIVE,)), *_small())
    return Statement(
        name="own-perturbation",
        left=left,
        right=right,
        quantities=QUANTITIES | letters,
        conditions=conditions,
        prove=partial(_prove, parts, cohorts),
        runs=tuple[Run, ...],
        method="the user's own",
        hypotheses=tuple(own if one.name == "inexact" else one for one in given),
    )


def _small() -> tuple[Condition, ...]:
    return (
        Condition("", theorem.SMALL_X),
        Condition("", theorem.SMALL_A, gives=("L A < 1",)),
        theorem.NAMED_X,
    )


# ------------------------------------------------------------ a class against its bound


@dataclass(frozen=True)
class Held:
    """A method's class along random problems: perturbations that were compared, and the largest share of the bound."""

    method: str
    compared: int
    share: float

    def __str__(self) -> str:
        word = "within" if self.share <= 1 + 1e-9 else "BEYOND"
        return (
            f"{self.method} on {LARGEST} random problems: {self.compared:,} perturbations, the longest has "
            f"{self.share:.3g} of the bound, {word} it."
        )


def held(method: str, bound: str, values: Mapping[str, float], seed: int = 0) -> Held:
    """Whether a registered method keeps a bound, with its options among ``values`` (such as rho).

    Gradients are exact; quadratics and cosines, one to five clients, up to twelve rounds. Raises UserError for a letter
    of the bound without a value.
    """
    formula = read(bound)
    letters = formula.free_symbols - {G, Gi}
    if missing := sorted(str(s) for s in letters if str(s) not in values):
        raise UserError("value", ", ".join(missing), f"a number for each letter of {bound}, such as rho=0.1")
    at: Callable[..., Any] = sp.lambdify([G, Gi], formula.subs({s: values[str(s)] for s in letters}), "numpy")
    rng, worst, count = np.random.default_rng(seed), 0.0, 0
    for _ in range(LARGEST):
        setting = runs.any_setting(rng, noise=False)
        setting = replace(setting, rho=float(values.get("rho", 0.0)))
        problem = runs.Problem.draw(rng, setting.clients, 2)
        calls: list[runs.Call] = []
        models = runs.path(method, problem, setting, rng, calls=calls)
        for call, here in runs.local_steps(calls, models, setting.local):
            own = problem.gradients(models[call.round])
            mean = float(np.linalg.norm(own.mean(axis=0)))
            for client, length in zip(call.clients, np.linalg.norm(call.points - here, axis=1), strict=True):
                allowed = float(at(mean, float(np.linalg.norm(own[client]))))
                count += 1
                worst = max(worst, length / allowed if allowed > 0 else float("inf") if length > 1e-12 else 0.0)
    return Held(method, count, worst)


# ------------------------------------------------------------ the command


@click.command(cls=OneLine)
@click.argument("bound")
@click.option("--cohorts", is_flag=True, help="Some clients are drawn in every round.")
@click.option("--method", help="A registered method that is held against the bound on random problems.")
@click.option("--plug-in", help="Module that registers a method of one's own when it is imported.")
@click.option(
    "--value", "values", multiple=True, metavar="NAME=NUMBER", help="A constant of the bound; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print the theorem and its proof as data.")
def main(
    bound: str, cohorts: bool, method: str | None, plug_in: str | None, values: Sequence[str], as_json: bool
) -> None:
    """Prove the theorem for a perturbation that is at most BOUND long, such as "rho + c*G".

    G is |grad F(w^t)| at the round's model, Gi a client's own |grad F_i(w^t)|; every other letter is a constant. Exit
    code 1 where a fact is missing, or where the method leaves its bound.
    """
    found = theorem_for(bound, cohorts)
    ran = None
    if method is not None:
        if plug_in is not None:
            importlib.import_module(plug_in)
        ran = held(method, bound, dict(_value(one) for one in values))
    if as_json:
        click.echo(json.dumps(found.plain() | ({"held": vars(ran)} if ran else {}), indent=1))
    else:
        click.echo("\n".join([str(found), *([str(ran)] if ran else [])]))
    if found.statement is None or (ran is not None and ran.share > 1 + 1e-9):
        raise click.exceptions.Exit(1)


def _value(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError as error:
        raise UserError("value", text, "NAME=NUMBER, such as rho=0.1") from error


if __name__ == "__main__":
    main(prog_name="python -m theory.own")
