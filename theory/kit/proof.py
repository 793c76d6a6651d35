"""A proof as an object: named facts about vectors of an inner-product space, combined with explicit multipliers.

The space is L^2 of everything that is random, so that <u, v> is an expected inner product and |u|^2 a mean square; a
family u_i over clients is one vector, its square the mean over i. A proof so holds for every dimension, every number of
clients and every law of the data. A step states ``slack >= 0`` (or ``> 0``, or ``== 0``) and is one of

* a named fact, whose slack follows from the fact's own formula and the vectors' declarations (``FACTS``);
* a hypothesis of the theorem;
* a combination: slack = sum of multipliers times products of earlier slacks, an identity that sympy decides;
* a definition of a new scalar, or an instance of an earlier step (another value for a free scalar);
* a loop: invariants that hold at the start and are kept by one turn, which gives sums over an index, induction and
  telescoping.

``Proof.verify`` replays every step; ``Proof.export`` gives plain data that ``docs/proofs/verify.py`` checks without
this package.

Example, for any Hilbert space: <u, v> <= (|u|^2 + |v|^2)/2.

>>> proof = Proof("Young")
>>> u, v = proof.vector("u"), proof.vector("v")
>>> square = proof.square("square", u - v)
>>> _ = proof.combine("young", dot(u, u) / 2 + dot(v, v) / 2 - dot(u, v), [(sp.Rational(1, 2), square)])
>>> proof.verify()
['square', 'young']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from theory.kit.hypotheses import ASSUMING
from theory.kit.verdict import decided

SIGNS = {"real": {"real": True}, "nonnegative": {"nonnegative": True}, "positive": {"positive": True}}
RELATIONS = (">=", ">", "==")


class Rejected(ValueError):
    """A step of a proof that does not follow from what it names."""


class Vector(dict):
    """Linear combination of declared vectors: name -> scalar coefficient."""

    def __add__(self, other: Vector) -> Vector:
        found = {name: self.get(name, 0) + other.get(name, 0) for name in {**self, **other}}
        return Vector({name: factor for name, factor in found.items() if sp.sympify(factor) != 0})

    def __rmul__(self, scalar: Any) -> Vector:
        return Vector({name: scalar * factor for name, factor in self.items()})

    def __neg__(self) -> Vector:
        return -1 * self

    def __sub__(self, other: Vector) -> Vector:
        return self + -other


def atom(left: str, right: str) -> sp.Symbol:
    """The inner product of two declared vectors as a symbol."""
    return sp.Symbol("dot_" + "_".join(sorted((left, right))), real=True)


def dot(u: Vector, v: Vector) -> sp.Expr:
    """<u, v>, expanded to inner products of declared vectors."""
    return sp.Add(*(a * b * atom(left, right) for left, a in u.items() for right, b in v.items()))


def square_of(u: Vector) -> sp.Expr:
    """|u|^2."""
    return dot(u, u)


@dataclass(frozen=True)
class Step:
    """One line of a proof.

    rule: name of a fact, "hypothesis", "combination" or "loop". slack: the statement is slack >= 0, > 0 or == 0.
    arguments: what the rule was applied to. why: where a hypothesis comes from, in words.
    """

    name: str
    rule: str
    slack: sp.Expr
    relation: str = ">="
    arguments: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Kind:
    """Declaration of a vector.

    time: 0 for what is known when the round (or the local step) starts, 1 for what its randomness decides. noise: its
    conditional mean given everything of time 0 is zero. mean: name of its mean over the clients; "" where the mean is
    zero, None for a vector that is the same for every client. change_along: it is grad f_i(w + x) - grad f_i(w) for
    this vector x. drawn: it is the mean over a cohort drawn without replacement, independently of everything else.
    """

    time: int = 0
    noise: bool = False
    mean: str | None = None
    change_along: str = ""
    drawn: bool = False


class Proof:
    """Declared scalars and vectors, and the steps in order. Build it with the methods named after the facts."""

    def __init__(self, title: str):
        self.title = title
        self.scalars: dict[str, str] = {}
        self.vectors: dict[str, Kind] = {}
        self.norms: dict[sp.Symbol, Vector] = {}
        self.steps: dict[str, Step] = {}
        self.relied: set[str] = set()  # strict steps that gave a multiplier its sign in a replay

    # ------------------------------------------------------------ declarations

    def scalar(self, name: str, sign: str = "nonnegative") -> sp.Symbol:
        """A number; sign is "real", "nonnegative" or "positive"."""
        self.scalars[name] = sign
        return sp.Symbol(name, **SIGNS[sign])

    def vector(self, name: str, **kind: Any) -> Vector:
        """A vector; keywords as in ``Kind``."""
        self.vectors[name] = Kind(**kind)
        return Vector({name: sp.Integer(1)})

    def mean(self, u: Vector) -> Vector:
        """Mean of a vector over the clients, by linearity from the declarations."""
        total = Vector()
        for name, factor in u.items():
            mean = self.vectors[name].mean
            if mean != "":
                total = total + Vector({name if mean is None else mean: factor})
        return total

    def _add(self, step: Step) -> Step:
        if step.name in self.steps:
            raise Rejected(f"two steps named {step.name}")
        if step.relation not in RELATIONS:
            raise Rejected(f"{step.name}: relation {step.relation!r}; allowed: {', '.join(RELATIONS)}")
        self.steps[step.name] = step
        return step

    def _fact(self, name: str, rule: str, **arguments: Any) -> Step:
        slack, relation = FACTS[rule](self, **arguments)
        return self._add(Step(name, rule, slack, relation, arguments))

    def hypothesis(self, name: str, slack: Any, why: str, relation: str = ">=") -> Step:
        """An assumption of the theorem on its scalars or inner products."""
        return self._add(Step(name, "hypothesis", sp.sympify(slack), relation, {}, why))

    def definition(self, name: str, symbol: sp.Symbol, value: Any) -> Step:
        """symbol == value for a scalar that no earlier step speaks of."""
        return self._add(Step(name, "definition", symbol - value, "==", {"symbol": symbol, "value": sp.sympify(value)}))

    def instance(self, name: str, step: Step, values: Mapping[sp.Symbol, Any]) -> Step:
        """An earlier step at other values of scalars that no hypothesis behind it speaks of."""
        values = {symbol: sp.sympify(value) for symbol, value in values.items()}
        slack = step.slack.subs(values, simultaneous=True)
        return self._add(Step(name, "instance", slack, step.relation, {"step": step.name, "values": values}))

    # ------------------------------------------------------------ facts

    def square(self, name: str, u: Vector) -> Step:
        """|u|^2 >= 0."""
        return self._fact(name, "square", u=u)

    def scalar_square(self, name: str, x: Any) -> Step:
        """x^2 >= 0."""
        return self._fact(name, "scalar square", x=sp.sympify(x))

    def norm(self, name: str, size: sp.Symbol, u: Vector) -> Step:
        """size^2 == |u|^2 for the non-negative scalar that names the norm of u from here on."""
        self.norms[size] = u
        return self._fact(name, "norm", size=size, u=u)

    def triangle(self, name: str, size: sp.Symbol, parts: Sequence[tuple[Any, sp.Symbol]]) -> Step:
        """Minkowski: for v = sum of c_j u_j, |v| <= sum of |c_j| |u_j|. parts: (c_j, the scalar that names |u_j|)."""
        return self._fact(name, "triangle", size=size, parts=tuple(parts))

    def smooth_value(self, name: str, after: Any, before: Any, slope: Vector, move: Vector, L: Any) -> Step:
        """F(x + move) <= F(x) + <grad F(x), move> + (L/2)|move|^2."""
        return self._fact(name, "smooth value", after=after, before=before, slope=slope, move=move, L=L)

    def smooth_gradient(self, name: str, change: sp.Symbol, distance: sp.Symbol, L: Any) -> Step:
        """|grad f(y) - grad f(x)| <= L |y - x|."""
        return self._fact(name, "smooth gradient", change=change, distance=distance, L=L)

    def unbiased(self, name: str, noise: Vector, known: Vector) -> Step:
        """<noise, known> == 0."""
        return self._fact(name, "unbiased", noise=noise, known=known)

    def averaged(self, name: str, same: Vector, u: Vector) -> Step:
        """<c, u> == <c, mean u> for a vector c that is the same for every client."""
        return self._fact(name, "mean over clients", same=same, u=u)

    def sampled_direction(self, name: str, same: Vector, drawn: Vector, u: Vector) -> Step:
        """<c, mean over a drawn cohort> == <c, mean u> for c known before the draw."""
        return self._fact(name, "sampled mean", same=same, drawn=drawn, u=u)

    def sampled_square(self, name: str, drawn: Vector, u: Vector, share: Any) -> Step:
        """|mean over a cohort|^2 == |mean u|^2 + share |u - mean u|^2, share = (N-S)/(S(N-1)) (0 for S = N)."""
        return self._fact(name, "sampling without replacement", drawn=drawn, u=u, share=share)

    def mixed(self, name: str, mix: Vector, inside: Vector, outside: Vector, share: Any) -> Step:
        """|mix|^2 == share |inside|^2 + (1 - share)|outside|^2: client i has inside_i if drawn (chance share)."""
        return self._fact(name, "drawn or not", drawn=mix, inside=inside, outside=outside, share=share)

    def independent(self, name: str, u: Vector, clients: Any) -> Step:
        """|mean u|^2 <= |u|^2/N for noise that is independent between clients; N = 1/(largest weight), their number."""
        return self._fact(name, "independence", u=u, clients=clients)

    # ------------------------------------------------------------ rules

    def combine(self, name: str, slack: Any, terms: Iterable[tuple], relation: str = ">=") -> Step:
        """slack == sum over terms of multiplier * product of slacks. A term: (multiplier, step, step, ...).

        A multiplier must be non-negative unless all steps of its term are equalities.
        """
        named = tuple((sp.sympify(term[0]), *(step.name for step in term[1:])) for term in terms)
        return self._add(Step(name, "combination", sp.sympify(slack), relation, {"terms": named}))

    def loop(
        self,
        name: str,
        state: Mapping[sp.Symbol, tuple[Any, Any]],
        invariants: Mapping[str, tuple[Any, Sequence[tuple]]],
    ) -> dict[str, Step]:
        """Invariants of a loop, proved together. state: symbol -> (value at the start, value after one turn).

        invariants: name -> (slack, terms): the slack after one turn is the sum of the terms, each as in ``combine``; a
        string in a term names an invariant of this loop before the turn. At the start the slack must reduce to an
        expression that is non-negative by the signs of its symbols.
        """
        named = {
            key: (
                sp.sympify(slack),
                tuple((sp.sympify(t[0]), *(s if isinstance(s, str) else s.name for s in t[1:])) for t in terms),
            )
            for key, (slack, terms) in invariants.items()
        }
        turns = {symbol: (sp.sympify(start), sp.sympify(after)) for symbol, (start, after) in state.items()}
        found = {}
        for key, (slack, _) in named.items():
            arguments = {"loop": name, "state": turns, "invariants": named}
            found[key] = self._add(Step(key, "loop", slack, ">=", arguments))
        return found

    # ------------------------------------------------------------ replay

    def verify(self) -> list[str]:
        """Names of the steps, after all of them have been replayed. Raises Rejected at the first that fails."""
        before: dict[str, Step] = {}
        for step in self.steps.values():
            self.replay(step, before)
            before[step.name] = step
        return list(before)

    def replay(self, step: Step, before: Mapping[str, Step]) -> None:
        """Replay one step. before: the steps that it may use. Raises Rejected where it does not follow."""
        if step.rule == "combination":
            self._replay_sum(step.name, step.slack, step.arguments["terms"], before, step.relation)
        elif step.rule in FACTS:
            slack, relation = FACTS[step.rule](self, **step.arguments)
            if sp.expand(slack - step.slack) != 0 or relation != step.relation:
                raise Rejected(f"{step.name}: not what the fact {step.rule!r} says")
        elif step.rule != "hypothesis":
            replays = {"loop": self._replay_loop, "definition": self._replay_definition}
            replays.get(step.rule, self._replay_instance)(step, before)

    def _replay_sum(self, name: str, slack: sp.Expr, terms: Sequence[tuple], before: Mapping[str, Step], relation: str):
        total = sp.Integer(0)
        for factor, *names in terms:
            unknown = [entry for entry in names if entry not in before]
            if unknown:
                raise Rejected(f"{name}: {unknown} is not proved before it")
            steps = [before[entry] for entry in names]
            equal = any(step.relation == "==" for step in steps)
            if not equal and not self._nonnegative(factor, before):
                raise Rejected(f"{name}: the multiplier {factor} of {names} is not known to be non-negative")
            if relation == "==" and not equal:
                raise Rejected(f"{name}: an equality needs equalities")
            total += factor * sp.Mul(*(step.slack for step in steps))
        if relation == ">":
            raise Rejected(f"{name}: a combination proves >= or ==")
        left_over = reduced(slack - total)
        if left_over != 0:
            raise Rejected(f"{name}: the sum of the terms leaves {left_over}")

    def _nonnegative(self, factor: sp.Expr, before: Mapping[str, Step]) -> bool:
        """Non-negative by its symbols' signs and by the slacks that are known to be positive; sums term by term."""
        if factor.is_nonnegative:
            return True
        if factor.is_Add:
            return all(self._nonnegative(part, before) for part in factor.args)
        sign = 1
        for base, power in sp.factor(factor).as_powers_dict().items():
            if (base.is_nonnegative and power.is_real) or power.is_even:
                continue
            known = {"": sp.Integer(1), **{s.name: s.slack for s in before.values() if s.relation == ">"}}
            signs = {name: sp.sign(sp.cancel(base / slack)) for name, slack in known.items()}
            signs = {name: found for name, found in signs.items() if found in (1, -1)}
            if not power.is_integer or not signs:
                return False
            self.relied |= signs.keys() - {""}
            sign *= next(iter(signs.values())) ** int(power)
        return sign > 0

    def _replay_definition(self, step: Step, before: Mapping[str, Step]) -> None:
        symbol, value = step.arguments["symbol"], step.arguments["value"]
        if symbol in value.free_symbols or any(symbol in earlier.slack.free_symbols for earlier in before.values()):
            raise Rejected(f"{step.name}: {symbol} is not new")
        if step.slack != symbol - value or not _fits(symbol, value):
            raise Rejected(f"{step.name}: {symbol} is declared with another sign than {value} has")

    def _replay_instance(self, step: Step, before: Mapping[str, Step]) -> None:
        origin, values = before[step.arguments["step"]], step.arguments["values"]
        if used := self._speaks([origin.name], values, [origin.slack], before):
            raise Rejected(f"{step.name}: {used} speaks of a scalar that is to be replaced")
        wrong = [symbol for symbol, value in values.items() if not _fits(symbol, value)]
        if wrong or step.relation != origin.relation:
            raise Rejected(f"{step.name}: {wrong} are replaced by values of another sign")
        if reduced(origin.slack.subs(values, simultaneous=True) - step.slack) != 0:
            raise Rejected(f"{step.name}: not an instance of {origin.name}")

    def _replay_loop(self, step: Step, before: Mapping[str, Step]) -> None:
        state, invariants = step.arguments["state"], step.arguments["invariants"]
        behind = [name for _, terms in invariants.values() for term in terms for name in term[1:]]
        kept = [*(start for start, _ in state.values()), *(slack for slack, _ in invariants.values())]
        if used := self._speaks(behind, state, kept, before):
            raise Rejected(f"{step.name}: {used} speaks of the end of the loop, a turn may not use it")
        slack, terms = invariants[step.name]
        first = reduced(slack.subs({symbol: start for symbol, (start, _) in state.items()}, simultaneous=True))
        if not first.is_nonnegative:
            raise Rejected(f"{step.name}: {first} at the start is not known to be non-negative")
        after = slack.subs({symbol: value for symbol, (_, value) in state.items()}, simultaneous=True)
        inside = {**before, **{key: Step(key, "loop", s) for key, (s, _) in invariants.items()}}
        self._replay_sum(step.name, after, terms, inside, ">=")

    def used(self, step: Step) -> set[str]:
        """Names of the steps that a step names."""
        if step.rule == "combination":
            return {name for term in step.arguments["terms"] for name in term[1:]}
        if step.rule == "instance":
            return {step.arguments["step"]}
        if step.rule == "loop":
            own = step.arguments["invariants"]
            return {name for _, terms in own.values() for term in terms for name in term[1:] if name not in own}
        return set()

    def rests_on(self) -> set[str]:
        """Names of the steps behind the last one, with those that give a multiplier its sign. After ``verify``."""
        found: set[str] = set()
        waiting = [list(self.steps)[-1], *self.relied]
        while waiting:
            step = self.steps[waiting.pop()]
            if step.name not in found:
                found.add(step.name)
                waiting += self.used(step)
                waiting += step.arguments["invariants"] if step.rule == "loop" else ()
        return found

    def assumes(self) -> set[str]:
        """What the conclusion needs: assumed steps by their names, and the facts that assume something by theirs."""
        self.verify()
        steps = [self.steps[name] for name in self.rests_on()]
        facts = {step.rule for step in steps if step.rule in ASSUMING}
        return facts | {step.name for step in steps if step.rule == "hypothesis"}

    def _hypotheses(self, names: Iterable[str], before: Mapping[str, Step]) -> list[Step]:
        """Hypotheses and definitions that some steps rest on."""
        found, open_names = {}, [name for name in names if name in before]
        while open_names:
            step = before[open_names.pop()]
            if step.rule in ("hypothesis", "definition"):
                found[step.name] = step
            open_names += self.used(step)
        return list(found.values())

    def _speaks(
        self, names: Iterable[str], of: Iterable[sp.Symbol], kept: Sequence[Any], before: Mapping[str, Step]
    ) -> str:
        """Name of a hypothesis behind some steps that speaks of scalars ``of`` or of what is defined by them; else "".

        A definition speaks of its own scalar, and of those in its value only where ``kept`` holds that scalar:
        otherwise it is gone, and there is one for any value of the others.
        """
        defined = {s.arguments["symbol"]: s.slack.free_symbols for s in before.values() if s.rule == "definition"}
        held = set().union(*(sp.sympify(expression).free_symbols for expression in kept))
        for step in self._hypotheses(names, before):
            own = step.arguments.get("symbol")
            spoken = step.slack.free_symbols if own is None or own in held else {own}
            while (
                own not in spoken - held and not (more := set().union(*(defined.get(x, ()) for x in spoken))) <= spoken
            ):
                spoken = spoken | more
            if spoken & set(of):
                return step.name
        return ""

    # ------------------------------------------------------------ as data

    def export(self) -> dict[str, Any]:
        """The proof as plain data: expressions are text in ordinary arithmetic, steps stand in order."""
        return {
            "title": self.title,
            "scalars": dict(self.scalars),
            "vectors": {name: vars(k) for name, k in self.vectors.items()},
            "steps": [
                {
                    "name": step.name,
                    "rule": step.rule,
                    "slack": str(step.slack),
                    "relation": step.relation,
                    "arguments": _plain(step.arguments),
                    **({"why": step.why} if step.why else {}),
                }
                for step in self.steps.values()
            ],
        }

    def certificate(self) -> str:
        """What the proof shows and from what, after a replay: the text of a verdict's evidence. Raises Rejected."""
        self.verify()
        last = list(self.steps.values())[-1]
        facts = sorted({step.rule for step in self.steps.values()} - {"hypothesis", "combination"})
        given = "; ".join(f"{s.slack} {s.relation} 0 ({s.why})" for s in self.steps.values() if s.rule == "hypothesis")
        text = (
            f"machine: {self.title}: {last.slack} {last.relation} 0, {len(self.steps)} steps replayed exactly from "
            f"named facts ({', '.join(facts)}) and from: {given or 'nothing else'}"
        )
        return decided(text, "proof object")

    def outline(self) -> list[str]:
        """One line per step for a reader."""
        return [
            f"{s.name} [{s.rule}]: {s.slack} {s.relation} 0{f' ({s.why})' if s.why else ''}"
            for s in self.steps.values()
        ]


def reduced(expression: sp.Expr) -> sp.Expr:
    """Numerator over denominator with common factors taken out; 0 exactly when the expression is."""
    numerator, denominator = sp.fraction(sp.together(expression))
    if numerator.free_symbols:
        with suppress(ValueError):  # raised for what is no polynomial in the symbols, such as a root
            if sp.ring(sorted(numerator.free_symbols, key=str), sp.QQ)[0].from_expr(numerator) == 0:
                return sp.Integer(0)
    numerator = sp.expand(numerator)
    return numerator if numerator == 0 else sp.cancel(numerator / denominator)


def _fits(symbol: sp.Symbol, value: sp.Expr) -> bool:
    """Whether an expression has the sign that a symbol was declared with."""
    if symbol.is_positive:
        return bool(value.is_positive)
    return bool(value.is_nonnegative if symbol.is_nonnegative else value.is_real)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return str(value)


# ------------------------------------------------------------ what the named facts say


def _square(proof, u):
    return square_of(u), ">="


def _scalar_square(proof, x):
    if not x.is_real:
        raise Rejected(f"{x} is not known to be real")
    return x**2, ">="


def _norm(proof, size, u):
    if not size.is_nonnegative:
        raise Rejected(f"the norm {size} is not declared non-negative")
    return size**2 - square_of(u), "=="


def _triangle(proof, size, parts):
    whole = Vector()
    for factor, part in parts:
        whole = whole + factor * proof.norms[part]
    difference = whole - proof.norms[size]
    if any(reduced(sp.sympify(factor)) != 0 for factor in difference.values()):
        raise Rejected(f"{size} does not name the norm of the sum: {dict(difference)} is left over")
    return sp.Add(*(sp.Abs(factor) * part for factor, part in parts)) - size, ">="


def _smooth_value(proof, after, before, slope, move, L):
    return before + dot(slope, move) + L / 2 * square_of(move) - after, ">="


def _smooth_gradient(proof, change, distance, L):
    (name,) = proof.norms[change]
    if proof.norms[distance] != Vector({proof.vectors[name].change_along: sp.Integer(1)}):
        raise Rejected(f"{name} is not declared as the change of a gradient along {distance}")
    return L * distance - change, ">="


def _unbiased(proof, noise, known):
    if not all(proof.vectors[name].noise for name in noise):
        raise Rejected(f"{dict(noise)} is not declared as noise")
    if any(proof.vectors[name].time > 0 for name in known):
        raise Rejected(f"{dict(known)} is not known before the noise")
    return dot(noise, known), "=="


def _same(proof, u):
    if any(proof.vectors[name].mean is not None for name in u):
        raise Rejected(f"{dict(u)} differs between clients")


def _mean(proof, same, u):
    _same(proof, same)
    return dot(same, u) - dot(same, proof.mean(u)), "=="


def _drawn(proof, drawn):
    if not all(proof.vectors[name].drawn for name in drawn):
        raise Rejected(f"{dict(drawn)} is not declared as the mean over a drawn cohort")


def _sampled_mean(proof, same, drawn, u):
    _same(proof, same)
    _drawn(proof, drawn)
    return dot(same, drawn) - dot(same, proof.mean(u)), "=="


def _sampling(proof, drawn, u, share):
    _drawn(proof, drawn)
    spread = square_of(u) - square_of(proof.mean(u))  # = |u - mean u|^2
    return square_of(drawn) - square_of(proof.mean(u)) - share * spread, "=="


def _independence(proof, u, clients):
    if not all(proof.vectors[name].noise for name in u):
        raise Rejected(f"{dict(u)} is not declared as noise")
    return square_of(u) / clients - square_of(proof.mean(u)), ">="


def _mixed(proof, drawn, inside, outside, share):
    _drawn(proof, drawn)
    return square_of(drawn) - share * square_of(inside) - (1 - share) * square_of(outside), "=="


FACTS = {
    "drawn or not": _mixed,
    "independence": _independence,
    "square": _square,
    "scalar square": _scalar_square,
    "norm": _norm,
    "triangle": _triangle,
    "smooth value": _smooth_value,
    "smooth gradient": _smooth_gradient,
    "unbiased": _unbiased,
    "mean over clients": _mean,
    "sampled mean": _sampled_mean,
    "sampling without replacement": _sampling,
}
