"""The proved theorems as programs: sides and conditions are read from the exported proofs, so nothing is typed twice.

``docs/proofs/NAME.json`` holds the inequality that the proof concludes (``Gamma`` times a factor on the left, a list of
terms on the right) and, for every condition, the assumed steps of the proof that say it, each as ``slack >= 0``.
A condition of another proof, which this one takes up, has its slack beside it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.errors import UserError

#: what a letter of an exported proof is called on the terminal
LETTERS = {"X": "x", "Y": "x", "eta": "eta_l", "excess": "(N max q - 1)"}
#: relative excess over a limit that rounding explains
ROUNDING = 1e-12
_ARITHMETIC = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub),
)


@dataclass(frozen=True)
class Formula:
    """An arithmetic expression of a proof, as text and as a program."""

    text: str
    code: CodeType

    @classmethod
    def of(cls, text: str) -> Formula:
        """Raises UserError for anything but arithmetic."""
        tree = ast.parse(text.strip(), mode="eval")
        if not all(isinstance(node, _ARITHMETIC) for node in ast.walk(tree)):
            raise UserError("proof", text, "sums, products, quotients and powers of letters and numbers")
        return cls(text, compile(tree, "<formula of a proof>", "eval"))

    def at(self, values: Mapping[str, float]) -> float:
        """The value; values: by the letters of the proof."""
        return float(eval(self.code, {"__builtins__": {}}, dict(values)))

    @property
    def letters(self) -> set[str]:
        """The names in it."""
        return set(self.code.co_names)

    def __str__(self) -> str:
        shown = re.sub(r"[A-Za-z_]\w*", lambda found: LETTERS.get(found[0], found[0]), self.text)
        return shown.replace("**", "^").replace("*", " ")


@dataclass(frozen=True)
class Condition:
    """small <= large, or small < large where it is strict; both have positive terms only."""

    small: Formula
    large: Formula
    strict: bool

    @classmethod
    def of(cls, slack: str, strict: bool) -> Condition:
        """The condition ``slack >= 0`` as an inequality: the slack's negative terms become its small side."""
        terms = _terms(slack)
        sides = [" + ".join(text for own, text in terms if own == sign) or "0" for sign in ("-", "+")]
        return cls(Formula.of(sides[0]), Formula.of(sides[1]), strict)

    def fails(self, values: Mapping[str, float]) -> str | None:
        """How the values break the condition, as ``x = 0.49 > 0.1``; None where they meet it."""
        small, large = self.small.at(values), self.large.at(values)
        room = ROUNDING * max(abs(small), abs(large))
        if small < large - room if self.strict else small <= large + room:
            return None
        limit = f"{large:.3g}" if not self.large.letters else f"{self.large} = {large:.3g}"
        return f"{self.small} = {small:.3g} {'>=' if self.strict else '>'} {limit}"


def _terms(text: str) -> list[tuple[str, str]]:
    """Sign and text of every term of a sum, as sympy prints it."""
    found, depth, start, sign = [], 0, 0, "+"
    if text.startswith("-"):
        start, sign = 1, "-"
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text[place : place + 3] in (" + ", " - "):
            found.append((sign, text[start:place]))
            start, sign = place + 3, text[place + 1]
    return [*found, (sign, text[start:])]


@dataclass(frozen=True)
class Theorem:
    """left * Gamma <= the sum of terms, under conditions.

    name: of the exported proof.  terms: (what a term is for, its formula).  hypotheses: names of what it assumes
    besides.  setting: the hypotheses in words, with LaTeX.
    """

    name: str
    left: Formula
    terms: tuple[tuple[str, Formula], ...]
    conditions: tuple[Condition, ...]
    hypotheses: tuple[str, ...]
    setting: str
    latex: str

    @property
    def file(self) -> str:
        """Where the proof stands, from the root of the project."""
        return f"docs/proofs/{self.name}.json"

    @property
    def assumed(self) -> tuple[str, ...]:
        """The hypotheses that assume something; the others say what letters stand for."""
        return tuple(name for name in self.hypotheses if name not in ("names", "means"))

    def outside(self, values: Mapping[str, float]) -> list[str]:
        """Every condition that fails, the strictest limit of each quantity alone."""
        found: dict[str, tuple[float, str]] = {}
        for condition in self.conditions:
            said = condition.fails(values)
            limit = condition.large.at(values)
            if said and (condition.small.text not in found or limit < found[condition.small.text][0]):
                found[condition.small.text] = (limit, said)
        return [said for _, said in found.values()]

    def factor(self, values: Mapping[str, float]) -> float:
        """The factor before the mean squared gradient on the left side."""
        return self.left.at({**values, "Gamma": 1.0})


#: what a term is for, by the letters that it holds; the first that fits
_MEANINGS: tuple[tuple[str, set[str]], ...] = (
    ("start above the optimum", {"Delta"}),
    ("duals that start at zero", {"D_0"}),
    ("perturbation", {"rho"}),
    ("perturbation", {"eps"}),
    ("drawn cohorts", {"sigma_g", "sigma_l"}),
    ("drift of unlike clients", {"sigma_g"}),
    ("minibatch noise", {"sigma_l", "N"}),
    ("drift by minibatch noise", {"sigma_l"}),
)


def meaning(term: Formula) -> str:
    """What a term of a bound is for."""
    return next(words for words, letters in _MEANINGS if letters <= term.letters)


@cache
def theorem(name: str) -> Theorem:
    """A theorem by the name of its exported proof. Raises UserError where the file is not there."""
    path = paths.PROOFS / f"{name}.json"
    if not path.is_file():
        raise UserError("proof", str(path), "an exported proof of the project")
    proof = json.loads(path.read_text(encoding="utf-8"))
    stated, steps = proof["statement"], {step["name"]: step for step in proof["steps"]}
    alone = [condition for condition in stated["conditions"] if "slack" in condition]  # of a proof that it takes up
    others = [condition for condition in stated["conditions"] if "slack" not in condition]
    given = [steps[name] for condition in others for name in condition["gives"] if name in steps]
    made = [Condition.of(condition["slack"], strict=False) for condition in alone]
    made += [Condition.of(step["slack"], step["relation"] == ">") for step in given]
    terms = [Formula.of(text[1:-1]) for text in stated["right"]]
    return Theorem(
        name=name,
        left=Formula.of(stated["left"]),
        terms=tuple((meaning(term), term) for term in terms),
        conditions=tuple({(one.small.text, one.large.text): one for one in made}.values()),
        hypotheses=tuple(hypothesis["name"] for hypothesis in stated["hypotheses"]),
        setting=stated["setting"],
        latex=stated["latex"],
    )
