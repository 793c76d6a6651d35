"""A theorem as one object: what is printed is what is proved, run and mutated.

``Statement`` holds left <= right as sympy expressions. Its LaTeX, the target of its proof, the ratio of a run, the
figure's bound and its mutations all come from these expressions, so a number stands in one place.

A mutation tightens one constant, drops one term or moves one exponent by one. It is *rejected* (the proof fails and a
known run or instance violates it), *unproved* (the proof fails, nothing known violates it) or it *survives* (the
proof's facts give it as well, so the statement is not what the proof shows).
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from theory.kit.hypotheses import Hypothesis, Law, setting
from theory.kit.proof import Proof, Rejected
from theory.kit.prover import Prover
from theory.kit.verdict import decided

Run = Mapping[str, float]
_INEQUALITY = (sp.Le, sp.Ge, sp.Lt, sp.Gt)
#: a squared gradient, a gap or an activation below which a run rests
RESTS = 1e-8
#: most random problems of a statement; ``checks.edits`` lowers it, since few runs show an edited number, too
MOST_RUNS = 100_000


def drawn(measure: Callable[[np.random.Generator], Run], what: str, count: int, seed: int) -> tuple[Run, ...]:
    """Runs of random problems; one that rests where it began, with nearly nothing of ``what``, tests nothing."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < min(count, MOST_RUNS):
        run = measure(rng)
        found += [run] if run[what] > RESTS else []
    return tuple(found)


def slack(relation: Any) -> sp.Expr:
    """What an inequality leaves: its larger side minus its smaller one."""
    return relation.gts - relation.lts


@dataclass(frozen=True)
class Quantity:
    """How a symbol is printed and what it is.

    latex: as printed. unit: exponents of the unit of the loss and of the unit of length, which a rescaled run changes.
    measured: its value comes from a run or a law, and so multipliers of a proof may not depend on it.
    """

    latex: str
    unit: tuple[int, int] = (0, 0)
    measured: bool = False


@dataclass(frozen=True)
class Condition:
    """An assumption. relation: on the statement's symbols, tested on every run; an inequality is a hypothesis of the
    proof, too. It is printed behind the words; words with a formula of their own stand for an equality, and for what
    runs fulfil by construction (relation None). hidden: said in the setting already. gives: steps of the proof that
    follow from it beside the one that says the same, such as a strict inequality from a stricter one."""

    words: str = ""
    relation: Any = None
    hidden: bool = False
    gives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mutation:
    """A changed statement: what was changed, and both sides after the change."""

    what: str
    left: sp.Expr
    right: tuple[sp.Expr, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation: "rejected", "unproved" or "survives"; the largest ratio of a known run under it."""

    what: str
    result: str
    worst: float


@dataclass(frozen=True)
class Statement:
    """left <= sum of right, under conditions.

    name: of the statement; claims of the ledger refer to it.
    quantities: symbol -> how it is printed.
    prove: builds the proof of the sides that it is given.
    runs: measured values of every symbol, one mapping per run of a method's own class, which satisfy the conditions.
    keeps: what the statement covers (noise, partial participation, ...).
    scope: "full", "special case: ..." or "vacuous".
    method: name of the class that ran.
    hypotheses: what the theorem assumes beside its conditions; the setting is their words.
    remark: what a reader should know beside the setting; assumes nothing.
    named: symbols of the proof alone -> what they stand for.
    laws: what happened along some runs, for the tests of the hypotheses.
    """

    name: str
    left: sp.Expr
    right: tuple[sp.Expr, ...]
    quantities: Mapping[sp.Symbol, Quantity]
    conditions: tuple[Condition, ...]
    prove: Callable[[sp.Expr, Sequence[sp.Expr]], Proof]
    runs: Callable[[], Sequence[Run]]
    keeps: tuple[str, ...] = ()
    scope: str = "full"
    method: str = ""
    hypotheses: tuple[Hypothesis, ...] = ()
    remark: str = ""
    named: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    laws: Callable[[], Sequence[Law]] = tuple

    # ------------------------------------------------------------ print

    @property
    def latex(self) -> str:
        """The inequality as LaTeX without delimiters."""
        names = {symbol: quantity.latex for symbol, quantity in self.quantities.items()}
        return rf"{printed(self.left, names)}\le{'+'.join(printed(term, names) for term in self.right)}"

    @property
    def intro(self) -> str:
        """The setting, written by the hypotheses."""
        return setting(self.hypotheses, self.remark)

    @property
    def text(self) -> str:
        """Introduction, conditions and inequality, with the mathematics between dollar signs."""
        return self.intro + self.inequality

    def text_after(self, first: Statement) -> str:
        """The text below another statement's: only hypotheses that the other one lacks are said again."""
        own = [h for h in self.hypotheses if h not in first.hypotheses]
        replaced = {h.name for h in first.hypotheses if h not in self.hypotheses} <= {h.name for h in self.hypotheses}
        if not replaced or 2 * len(own) > len(self.hypotheses):
            return self.text
        rest = "; ".join(h.words for h in own if h.words)
        return f"In the same setting{', but ' * bool(rest)}{rest}: {self.inequality[0].lower()}{self.inequality[1:]}"

    @property
    def inequality(self) -> str:
        """Conditions and inequality, without the setting."""
        where = "; ".join(self.where)
        return f"If {where}: ${self.latex}$." if where else f"${self.latex}$."

    @property
    def where(self) -> list[str]:
        """The conditions that the setting does not say already."""
        return [self.said(condition) for condition in self.conditions if not condition.hidden]

    def said(self, condition: Condition) -> str:
        """A condition in words and LaTeX."""
        words, relation = condition.words, condition.relation
        if "$" in words and not isinstance(relation, _INEQUALITY):
            return words
        names = {symbol: quantity.latex for symbol, quantity in self.quantities.items()}
        sign = {"==": "=", "<=": r"\le", ">=": r"\ge"}.get(relation.rel_op, relation.rel_op)
        formula = f"${printed(relation.lhs, names)}{sign} {printed(relation.rhs, names)}$"
        return f"{words}, {formula}" if words else formula

    # ------------------------------------------------------------ proof

    @cached_property
    def proof(self) -> Proof:
        """The proof of the statement as it stands."""
        return self.prove(self.left, self.right)

    @property
    def label(self) -> str:
        """ "machine" where the proof object verifies. Raises Rejected where it does not, for a condition or hypothesis
        that the proof does not use, for one that it uses and nothing supplies, and where units differ."""
        needed = self.proof.assumes()
        relations = [(c.relation.lhs, c.relation.rhs) for c in self.conditions if isinstance(c.relation, sp.Rel)]
        for side, *others in ((self.left, *self.right), *relations):
            wrong = [x for x in others if x != 0 and not np.allclose(self._scale(x), self._scale(side))]
            if wrong:
                raise Rejected(f"{self.name}: the units of {wrong[0]} are not those of {side}")
        supplied = {name for hypothesis in self.hypotheses for name in hypothesis.supplies}
        for condition in self.conditions:
            found = {*condition.gives, *self._says(condition)} & needed
            if isinstance(condition.relation, _INEQUALITY) and not found:
                raise Rejected(f"{self.name}: the proof does not assume {condition.relation}")
            supplied |= found
        if missing := sorted(needed - supplied):
            raise Rejected(f"{self.name}: no hypothesis gives what the proof uses: {', '.join(missing)}")
        for hypothesis in self.hypotheses:
            if hypothesis.supplies and not needed.intersection(hypothesis.supplies):
                raise Rejected(f"{self.name}: the proof does not use the hypothesis {hypothesis.name!r}")
        if idle := sorted(s.name for s in self.proof.steps.values() if s.rule == "hypothesis" and s.name not in needed):
            raise Rejected(f"{self.name}: the proof assumes what it does not use: {', '.join(idle)}")
        return "machine"

    def _says(self, condition: Condition) -> list[str]:
        """Assumed steps of the proof that say what an inequality among the conditions says."""
        if not isinstance(condition.relation, _INEQUALITY):
            return []
        assumed = [s for s in self.proof.steps.values() if s.rule == "hypothesis"]
        return [s.name for s in assumed if _same(slack(condition.relation), s.slack.subs(self.named))]

    def _scale(self, expression: sp.Expr) -> NDArray[np.float64]:
        """By how much an expression grows at random points [2] in a smaller unit of loss and one of length."""
        draw = np.random.default_rng(0)
        plain = {str(symbol): draw.uniform(1, 2, 2) for symbol in self.quantities}
        units = {str(symbol): quantity.unit for symbol, quantity in self.quantities.items()}
        scaled = {name: value * 2.0 ** units[name][0] * 3.0 ** units[name][1] for name, value in plain.items()}
        return evaluated(expression, scaled) / evaluated(expression, plain)

    def export(self) -> dict[str, Any]:
        """The proof as plain data with the statement that it proves, for ``docs/proofs/verify.py``.

        statement: its name, LaTeX and both sides; hypotheses with the facts and steps that they give; conditions with
        the steps that they give; where: letters of the sides that the proof knows by another one.
        """
        needed = self.proof.assumes()
        conditions = [
            {"said": self.said(c), "gives": sorted({*c.gives, *self._says(c)} & needed), **self._alone(c)}
            for c in self.conditions
        ]
        given = [
            {
                "name": h.name,
                "words": h.words,
                "formula": h.formula,
                "supplies": sorted(needed.intersection(h.supplies)),
            }
            for h in self.hypotheses
        ]
        statement = {
            "name": self.name,
            "setting": self.intro,
            "latex": self.latex,
            "left": str(self.left),
            "right": [f"({term})" for term in self.right],
            "where": self._where(),
            "hypotheses": given,
            "conditions": conditions,
        }
        return {"statement": statement, **self.proof.export()}

    def _alone(self, condition: Condition) -> dict[str, str]:
        """The slack of an inequality that no step of the proof says: another proof, which this one uses, needs it."""
        if not isinstance(condition.relation, _INEQUALITY) or self._says(condition):
            return {}
        return {"slack": str(slack(condition.relation))}

    def _where(self) -> dict[str, str]:
        """Letters of the sides that the proof does not declare -> what they are in its own, by ``named``."""
        found: dict[str, str] = {}
        free = {symbol for side in (self.left, *self.right) for symbol in side.free_symbols}
        for own, meant in self.named.items():
            for letter in (s for s in meant.free_symbols & free if str(s) not in self.proof.scalars):
                found[str(letter)] = str(sp.solve(meant**2 - own**2, letter)[-1])
        return found

    @property
    def fingerprint(self) -> str:
        """Of all that a reader of the proof takes on trust; the page of proofs prints it."""
        return fingerprint(self.export())

    # ------------------------------------------------------------ runs

    @cached_property
    def symbols(self) -> list[sp.Symbol]:
        used = set(self.left.free_symbols).union(*(term.free_symbols for term in self.right))
        used |= {s for c in self.conditions if c.relation is not None for s in c.relation.free_symbols}
        return sorted(used, key=str)

    @cached_property
    def bank(self) -> dict[str, NDArray[np.float64]]:
        """Values of every symbol over the runs [n]. Raises ValueError where a run breaks a condition."""
        runs = list(self.runs())
        bank = {str(symbol): np.array([float(run[str(symbol)]) for run in runs]) for symbol in self.symbols}
        for condition in self.conditions:
            if condition.relation is not None and not np.all(_true(condition.relation, bank)):
                raise ValueError(f"{self.name}: a run breaks the condition {condition.relation}")
        return bank

    def ratios(self, left: sp.Expr | None = None, right: Sequence[sp.Expr] | None = None) -> NDArray[np.float64]:
        """left/right over the runs; inf where the right side is not positive and the left side is."""
        low = evaluated(self.left if left is None else left, self.bank)
        high = evaluated(sp.Add(*(self.right if right is None else right)), self.bank)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(high > 0, low / high, np.where(low > high + 1e-12, np.inf, 0.0))

    @cached_property
    def rescaled(self) -> Statement:
        """The statement with every run also in other units of loss and length, which changes no truth."""
        factors = [(a, b) for a in (1.0, 1e-4, 1e4) for b in (1.0, 1e-3, 1e3)]

        def runs() -> list[Run]:
            units = {str(symbol): quantity.unit for symbol, quantity in self.quantities.items()}
            return [
                {name: run[name] * a ** units[name][0] * b ** units[name][1] for name in map(str, self.symbols)}
                for run in self.runs()
                for a, b in factors
            ]

        return replace(self, runs=runs)

    # ------------------------------------------------------------ mutations

    def mutations(self) -> Iterator[Mutation]:
        """Every constant halved or doubled (whichever tightens), every term dropped, every exponent moved by one."""
        for place, term in enumerate(self.right):
            others = self.right[:place], self.right[place + 1 :]
            yield Mutation(f"without {term}", self.left, others[0] + others[1])
            for what, changed in _variants(term, term.free_symbols):
                yield Mutation(what, self.left, (*others[0], changed, *others[1]))
        for what, changed in _variants(self.left, ()):
            yield Mutation(f"left side: {what}", changed, self.right)

    def tightens(self, mutation: Mutation) -> bool:
        """Whether some run has less room under the mutation, by more than rounding."""
        before, after = self.rescaled.ratios(), self.rescaled.ratios(mutation.left, mutation.right)
        return bool(np.any(after > before * (1 + 1e-9)))

    def outcomes(self) -> list[Outcome]:
        """Classification of every mutation that tightens the statement."""
        found, prover = [], Prover(self.proof, self._points())
        for mutation in self.mutations():
            if not self.tightens(mutation):
                continue
            worst = float(self.rescaled.ratios(mutation.left, mutation.right).max())
            if prover.follows(self.prove(mutation.left, mutation.right)):
                result = "survives"
            else:
                result = "rejected" if worst > 1 + 1e-9 else "unproved"
            found.append(Outcome(mutation.what, result, worst))
        return found

    def _points(self) -> list[dict[str, float]]:
        """Parameters (not measured values) at which a proof is asked for other multipliers, in several units.

        The run in which most terms are at work, the one at the edge of most conditions, and the extremes of every
        parameter, once among the runs at the most edges and once among those with the most terms.
        """
        units = {str(symbol): quantity.unit for symbol, quantity in self.quantities.items()}
        measured = {str(symbol) for symbol, quantity in self.quantities.items() if quantity.measured}
        free = [str(symbol) for symbol in self.symbols if str(symbol) not in measured]
        edges = self._tight()
        busiest = sorted(zip(self.runs(), edges, strict=True), key=lambda pair: -sum(v != 0 for v in pair[0].values()))
        busy = [run for run, _ in busiest if run.get("X", 1) > 0]
        edge = [run for run, _ in sorted(busiest, key=lambda pair: -pair[1]) if run.get("X", 1) > 0]
        extremes = [
            pick(group, key=lambda run, name=name: run[name])
            for group in (edge, busy)
            for name in free
            for pick in (min, max)
        ]
        chosen = [busiest[0][0], edge[0], *extremes]
        return [
            {
                name: float(value) * factor ** units.get(name, (0, 0))[0]
                for name, value in run.items()
                if name not in measured
            }
            for run in {id(run): run for run in chosen}.values()
            for factor in (1.0, 1024.0, 1 / 1024)
        ]

    def _tight(self) -> list[int]:
        """How many inequalities among the conditions are equalities, for every run."""
        count = np.zeros(len(next(iter(self.bank.values()))), dtype=int)
        for relation in (c.relation for c in self.conditions if isinstance(c.relation, sp.Rel)):
            if not isinstance(relation, sp.Eq):
                count += np.isclose(evaluated(relation.lhs, self.bank), evaluated(relation.rhs, self.bank))
        return count.tolist()

    def sharpness(self) -> list[dict[str, float | str]]:
        """Per term: its proved factor 1 and the smallest factor that no known run violates (other terms unchanged)."""
        whole = evaluated(sp.Add(*self.right), self.bank)
        room = whole - evaluated(self.left, self.bank)
        found = []
        for term in self.right:
            size = evaluated(term, self.bank)
            with np.errstate(divide="ignore", invalid="ignore"):
                needed = np.where(size > 0, 1 - room / size, -np.inf)
            constant = float(term.as_coeff_Mul()[0])
            smallest = max(0.0, float(needed.max()))
            found.append({"term": str(term), "proved": constant, "needed": constant * smallest})
        return found

    # ------------------------------------------------------------ evidence

    def evidence(self) -> dict[str, Any]:
        """What a page or an evidence file says of the statement. Raises where the proof or a run fails."""
        ratios = self.ratios()
        if ratios.max() > 1 + 1e-9:
            raise Rejected(f"{self.name}: a run violates the proved statement, ratio {ratios.max()}")
        return {
            "name": self.name,
            "latex": self.latex,
            "label": self.label,
            "scope": self.scope,
            "keeps": list(self.keeps),
            "conditions": [self.said(c) for c in self.conditions],
            "fingerprint": self.fingerprint,
            "steps": len(self.proof.steps),
            "facts": sorted({s.rule for s in self.proof.steps.values()}),
            "hypotheses": [f"{s.name}: {s.why}" for s in self.proof.steps.values() if s.rule == "hypothesis"],
            "runs": {
                "method": self.method,
                "evaluations": len(ratios),
                "worst_ratio": float(ratios.max()),
                "median_ratio": float(np.median(ratios)),
            },
            "constants": self.sharpness(),
        }


def fingerprint(exported: Mapping[str, Any]) -> str:
    """Of statement, assumptions and declarations of an exported proof, with what makes the statement's letters."""
    steps, claim = exported["steps"], exported["statement"]
    sides = (ast.walk(ast.parse(side)) for side in (claim["left"], *claim["right"]))
    letters = {node.id for side in sides for node in side if isinstance(node, ast.Name)}
    states = [entry for step in steps for entry in step["arguments"].get("state", {}).items()]
    defined = [(s["arguments"]["symbol"], s["slack"]) for s in steps if s["rule"] == "definition"]
    trusted = {key: exported[key] for key in ("title", "statement", "scalars", "vectors")}
    trusted["assumed"] = [step for step in steps if step["rule"] == "hypothesis"]
    trusted["made"] = [entry for entry in (*states, *defined) if entry[0] in letters]
    return hashlib.sha256(json.dumps(trusted, sort_keys=True).encode()).hexdigest()[:16]


def corrected(*statements: Statement) -> str:
    """The corrected statements of a verdict ``repaired``, in words and LaTeX."""
    first, *others = statements
    return " ".join([first.text, *(other.text_after(first) for other in others)])


def backing(*statements: Statement) -> dict[str, Any]:
    """``evidence["repair"]`` of a verdict: what proves the corrected statements, their runs, how sharp they are."""
    found = [statement.evidence() for statement in statements]
    return {"certificate": "; ".join(_certificate(entry) for entry in found), "statements": found}


def _certificate(entry: Mapping[str, Any]) -> str:
    runs, file = entry["runs"], f"docs/proofs/{entry['name']}.json"
    constants = ", ".join(_sharpness(constant) for constant in entry["constants"])
    text = "; ".join(
        (
            f"{entry['label']} ({entry['scope']}; keeps {', '.join(entry['keeps'])})",
            f"{entry['steps']} steps from named facts ({', '.join(entry['facts'])}), replayed exactly",
            f"exported to {file}, which docs/proofs/verify.py checks without this package",
            f"hypotheses: {', '.join(entry['hypotheses'])}",
            f"{runs['method']} itself on {runs['evaluations']:,} random problems: largest left/right "
            f"{runs['worst_ratio']:.3g}, median {runs['median_ratio']:.2g}",
            f"share of each term, in their order, below which nothing is known to hold: {constants}",
        )
    )
    return decided(text, "proof object")


def _sharpness(constant: Mapping[str, Any]) -> str:
    """The smallest multiple of a proved term that no known run violates; a sharp term has 1."""
    return f"{constant['needed'] / constant['proved']:.2g}" if constant["needed"] else "0 (no run needs it)"


def printed(expression: sp.Expr, names: Mapping[sp.Symbol, str]) -> str:
    """LaTeX in the order in which the expression was written where sympy can keep it."""
    return sp.latex(expression, symbol_names=dict(names), order="none")


def evaluated(expression: sp.Expr, bank: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """An expression over the runs [n]."""
    symbols = sorted(expression.free_symbols, key=str)
    size = len(next(iter(bank.values())))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = sp.lambdify(symbols, expression, "numpy")(*(bank[str(symbol)] for symbol in symbols))
    return np.broadcast_to(np.asarray(values, dtype=float), (size,))


def _bounds(difference: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """(low, high) of low <= high, difference >= 0 with its negative terms on the other side."""
    terms = sp.Add.make_args(sp.expand(difference))
    low = sp.Add(*(-term for term in terms if term.could_extract_minus_sign()))
    return low, sp.expand(difference + low)


def _same(one: sp.Expr, other: sp.Expr) -> bool:
    """Whether two slacks with sides of positive terms say the same, up to a positive factor or the squares of sides."""
    (low, high), (small, large) = _bounds(one), _bounds(other)
    return any(sp.expand(low * large**power - high * small**power) == 0 for power in (1, 2)) and high != 0 != large


def _true(relation: Any, bank: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """A relation over the runs, with the rounding of machine numbers."""
    low, high = evaluated(relation.lhs, bank), evaluated(relation.rhs, bank)
    rounding = 1e-9 * np.maximum(1, np.maximum(abs(low), abs(high)))
    if isinstance(relation, sp.Eq):
        return abs(low - high) <= rounding
    if isinstance(relation, sp.Ge | sp.Gt):
        low, high = high, low
    return low <= high + rounding


def _variants(expression: sp.Expr, exponents: Any) -> Iterator[tuple[str, sp.Expr]]:
    """Halved and doubled constants (a factor that is not written is the constant 1), moved exponents."""
    yield f"half of {expression}", expression / 2
    for number in sorted(_inner_numbers(expression), key=str):
        for factor in (sp.Rational(1, 2), sp.Integer(2)):
            changed = _with_number(expression, number, factor * number)
            if changed != expression:
                yield f"{number} -> {factor * number} in {expression}", changed
    for symbol in sorted(exponents, key=str):
        yield f"one power of {symbol} more in {expression}", expression * symbol
        yield f"one power of {symbol} less in {expression}", expression / symbol


def _inner_numbers(expression: sp.Expr) -> set[sp.Expr]:
    """Numbers inside sums of an expression, without exponents, 1 and the overall coefficient."""
    found: set[sp.Expr] = set()

    def walk(node: sp.Expr, inside: bool) -> None:
        if node.is_Number:
            if inside and node not in (1, -1):
                found.add(node)
        elif node.is_Pow:
            walk(node.base, inside)
        else:
            for part in node.args:
                walk(part, inside or node.is_Add)

    walk(expression, False)
    return found


def _with_number(expression: sp.Expr, old: sp.Expr, new: sp.Expr) -> sp.Expr:
    """The expression with a number inside sums replaced."""
    if expression.is_Pow:
        return _with_number(expression.base, old, new) ** expression.exp
    if not expression.args:
        return new if expression == old else expression
    return expression.func(*(_with_number(part, old, new) for part in expression.args))
