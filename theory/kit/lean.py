"""A proof object as a Lean 4 file over Mathlib, beside its JSON: one theorem for every step that a rule gives.

A theorem takes the steps that its rule names as hypotheses, in the very words in which they are proved above it, and
concludes the step. Letters are real numbers with the signs that the proof declares, and an inner product is the
letter ``dot_u_v``; only the facts on vectors alone speak of an inner-product space. What a proof assumes is a ``def``
of a proposition, so that no file holds an axiom.

No Lean toolchain checks the files here. A test parses them by their grammar and evaluates what it reads.

>>> print(expression("sqrt(T) - 50*X**2/27"))
Real.sqrt T - 50 * X ^ 2 / 27
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Exported = Mapping[str, Any]
RELATIONS = {">=": "0 ≤ {}", ">": "0 < {}", "==": "{} = 0"}
SIGNS = {"positive": "0 < {}", "nonnegative": "0 ≤ {}"}
#: facts that follow from the axioms of an inner-product space; every other fact is assumed
OF_THE_SPACE = ("square", "scalar square", "norm", "triangle")
#: words of Lean that a letter of a proof may not be
RESERVED = {"at", "by", "do", "end", "fun", "from", "have", "if", "in", "let", "open", "show", "then", "with"}
_SIGNS = {ast.Add: ("+", 1), ast.Sub: ("-", 1), ast.Mult: ("*", 2), ast.Div: ("/", 2), ast.Pow: ("^", 4)}
PREAMBLE = """import Mathlib

/-!
# {title}

{latex}

Written from `docs/proofs/{name}.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace {space}
"""


def letter(name: str) -> str:
    """A letter of the proof as an identifier of Lean."""
    return f"«{name}»" if name in RESERVED else name


def expression(text: str, at: Mapping[str, str] | None = None) -> str:
    """A formula of an exported proof as a term of Lean. at: letter -> the term that stands for it."""
    return _term(ast.parse(text, mode="eval").body, at or {})[0]


def _term(node: ast.expr, at: Mapping[str, str]) -> tuple[str, int]:
    """(term, how strongly it binds: 1 a sum, 2 a product, 3 a sign, 4 a power, 5 what needs no parentheses)."""
    if isinstance(node, ast.Constant):
        return str(node.value), 5
    if isinstance(node, ast.Name):
        term = at.get(node.id, letter(node.id))
        plain = term.replace("_", "").isalnum() or term.startswith("«")
        return (term if plain else f"({term})"), 5
    if isinstance(node, ast.Call):
        return f"Real.sqrt {_inside(node.args[0], at, 5)}", 4
    if isinstance(node, ast.UnaryOp):
        return f"-{_inside(node.operand, at, 2)}", 1
    assert isinstance(node, ast.BinOp)
    sign, strength = _SIGNS[type(node.op)]
    if sign == "^":
        power = ast.literal_eval(node.right)
        base = f"{_inside(node.left, at, 5)} ^ {abs(power)}"
        return (base, 4) if power >= 0 else (f"({base})⁻¹", 5)
    right = strength + (sign in "-/*")
    return f"{_inside(node.left, at, strength)} {sign} {_inside(node.right, at, right)}", strength


def _inside(node: ast.expr, at: Mapping[str, str], least: int) -> str:
    term, strength = _term(node, at)
    return term if strength >= least else f"({term})"


def letters(*texts: str) -> list[str]:
    """Letters of formulas, sorted."""
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    return sorted({node.id for node in nodes if isinstance(node, ast.Name)} - {"sqrt"})


def real(text: str, at: Mapping[str, str] | None = None) -> str:
    """A formula as a real number."""
    return f"({expression(text, at)} : ℝ)"


def says(step: Exported, at: Mapping[str, str] | None = None) -> str:
    """The statement of a step."""
    return RELATIONS[step["relation"]].format(real(step["slack"], at))


class File:
    """The theorems of one exported proof; identifiers are the steps' numbers."""

    def __init__(self, proof: Exported):
        self.proof = proof
        self.steps = {step["name"]: step for step in proof["steps"]}
        self.names = {name: f"step_{place + 1}" for place, name in enumerate(self.steps)}
        self.norms = {s["arguments"]["size"]: s["arguments"]["u"] for s in proof["steps"] if s["rule"] == "norm"}
        self.loops: set[str] = set()

    def text(self) -> str:
        """The whole file."""
        claim = self.proof["statement"]
        space = "".join(part.capitalize() for part in claim["name"].split("-"))
        head = PREAMBLE.format(title=self.proof["title"], latex=f"${claim['latex']}$", name=claim["name"], space=space)
        parts = [self.one(step) for step in self.proof["steps"]]
        return "\n".join([head, *(f"{part}\n" for part in parts if part), self.conclusion(), f"end {space}\n"])

    def one(self, step: Exported) -> str:
        """A step as a theorem, or, where it is assumed, as a proposition."""
        rule = step["rule"]
        if rule == "combination":
            return self.combination(step)
        if rule == "loop":
            return self.loop(step)
        if rule == "instance":
            return self.instance(step)
        if rule == "definition":
            value = step["arguments"]["value"]
            named = f"(named : {letter(step['arguments']['symbol'])} = {real(value)})"
            return self.theorem(step, [named], ["  rw [named]", "  ring"])
        return self.of_the_space(step) if rule in OF_THE_SPACE else self.assumed(step)

    # ------------------------------------------------------------ parts of a theorem

    def binders(self, names: Iterable[str], varying: Iterable[str] = ()) -> list[str]:
        """Declarations of letters, with their signs; varying: those with a value in every turn of a loop."""
        plain, turning = [n for n in names if n not in varying], [n for n in names if n in varying]
        found = [f"{{{' '.join(map(letter, plain))} : ℝ}}"] if plain else []
        found += [f"{{{' '.join(map(letter, turning))} : ℕ → ℝ}}"] if turning else []
        for name in names:
            sign = SIGNS.get(self.proof["scalars"].get(name, ""))
            if sign and name in turning:
                found.append(f"(sign_{name} : ∀ j, {sign.format(f'{letter(name)} j')})")
            elif sign:
                found.append(f"(sign_{name} : {sign.format(letter(name))})")
        return found

    def head(self, step: Exported, kind: str = "theorem") -> str:
        name, why = self.names[step["name"]], f"; {step['why']}" if step.get("why") else ""
        used = sorted(self.names[x] for x in self.used(step))
        given = f" of {', '.join(used)}" if used else ""
        return f"/-- `{step['name']}`, rule: {step['rule']}{given}{why} -/\n{kind} {name}"

    def theorem(self, step: Exported, given: Sequence[str], proof: Sequence[str], more: Sequence[str] = ()) -> str:
        """A theorem on plain letters. more: formulas beside the step's own whose letters it needs."""
        declared = self.binders(letters(step["slack"], *more))
        return "\n".join([self._stated(self.head(step), [*declared, *given], says(step)), *proof])

    def _stated(self, head: str, given: Sequence[str], conclusion: str) -> str:
        lines = "".join(f"\n    {one}" for one in given)
        return f"{head}{lines} :\n    {conclusion} := by"

    def used(self, step: Exported) -> list[str]:
        """Names of the steps that a step rests on, in their order."""
        arguments = step["arguments"]
        if step["rule"] == "combination":
            named = {x for term in arguments["terms"] for x in term[1:]}
        elif step["rule"] == "loop":
            own = arguments["invariants"]
            named = {x for _, terms in own.values() for term in terms for x in term[1:]} - own.keys()
        else:
            named = {arguments["step"]} if step["rule"] == "instance" else set()
        return [name for name in self.steps if name in named]

    def strict(self, step: Exported, factors: Sequence[str]) -> list[str]:
        """Earlier strict steps whose letters stand in the multipliers: they give them their sign."""
        found = []
        for name, earlier in self.steps.items():
            if name == step["name"]:
                break
            if earlier["relation"] == ">" and set(letters(earlier["slack"])) <= set(letters(*factors)):
                found.append(name)
        return found

    def sum_of(self, terms: Sequence[Sequence[str]], slacks: Mapping[str, str]) -> str:
        """The sum of multipliers times slacks, both as terms of Lean, in the order of the proof."""
        return " + ".join(" * ".join([f"({factor})", *(slacks[name] for name in used)]) for factor, *used in terms)

    def is_nonnegative(self, term: Sequence[str], equal: Mapping[str, bool], known: Mapping[str, str]) -> str:
        """A proof that a term of a sum is at least 0."""
        for name in term[1:]:
            if equal[name]:
                return f"(le_of_eq (by rw [{known[name]}]; ring))"
        product = "(by positivity)"
        for name in term[1:]:
            product = f"(mul_nonneg {product} {known[name]})"
        return product

    # ------------------------------------------------------------ rules

    def combination(self, step: Exported) -> str:
        """slack = the sum of the terms, and every term is at least 0."""
        terms = step["arguments"]["terms"]
        factors = [term[0] for term in terms]
        names = list(dict.fromkeys([*self.used(step), *self.strict(step, factors)]))
        given = [f"({self.names[name]} : {says(self.steps[name])})" for name in names]
        written = [[expression(factor), *used] for factor, *used in terms]
        total = self.sum_of(written, {name: real(self.steps[name]["slack"]) for name in names})
        same = [f"  have same : {real(step['slack'])} = {total} := by", "    field_simp", "    ring", "  rw [same]"]
        equal = {name: self.steps[name]["relation"] == "==" for name in names}
        if step["relation"] == "==":
            rewritten = ", ".join(self.names[name] for name in names if equal[name])
            proof = [f"  rw [{rewritten}]", "  ring"]
        else:
            parts = [self.is_nonnegative(term, equal, self.names) for term in terms]
            proof = [f"  exact {_added(parts)}"]
        more = [*factors, *(self.steps[name]["slack"] for name in names)]
        return self.theorem(step, given, [*same, *proof], more)

    def instance(self, step: Exported) -> str:
        """An earlier step where a letter has the value that replaces it."""
        origin, values = self.steps[step["arguments"]["step"]], step["arguments"]["values"]
        given = [f"({self.names[origin['name']]} : {says(origin)})"]
        given += [f"(at_{name} : {letter(name)} = {real(value)})" for name, value in values.items()]
        same = f"  have same : {real(step['slack'])} = {real(origin['slack'])} := by"
        rewritten = ", ".join(f"at_{name}" for name in values)
        proof = [same, f"    rw [{rewritten}]", "    field_simp", "    ring", "  rw [same]"]
        proof.append(f"  exact {self.names[origin['name']]}")
        return self.theorem(step, given, proof, [origin["slack"], *values, *values.values()])

    def loop(self, step: Exported) -> str:
        """The invariants of a loop, all at once with its first one: they hold after every number of turns.

        Letters of the state, and what a turn decides, have a value in every turn; what the invariants speak of besides
        has one.
        """
        arguments = step["arguments"]
        if arguments["loop"] in self.loops:
            return f"-- `{step['name']}` is an invariant of the loop `{arguments['loop']}` above"
        self.loops.add(arguments["loop"])
        state, invariants, names = arguments["state"], arguments["invariants"], self.used(step)
        starts, slacks = [pair[0] for pair in state.values()], [slack for slack, _ in invariants.values()]
        factors = [term[0] for _, terms in invariants.values() for term in terms]
        after = [pair[1] for pair in state.values()]
        every = letters(*state, *starts, *slacks, *factors, *after, *(self.steps[name]["slack"] for name in names))
        varying = [name for name in every if name in state or name not in letters(*starts, *slacks)]
        now, later = ({name: f"{letter(name)} {turn}" for name in varying} for turn in ("j", "(j + 1)"))
        given = self.binders(every, varying)
        for name, (start, turned) in state.items():
            given.append(f"(start_{name} : {letter(name)} 0 = {real(start)})")
            given.append(f"(turn_{name} : ∀ j, {letter(name)} (j + 1) = {real(turned, now)})")
        given += [f"({self.names[name]} : ∀ j, {says(self.steps[name], now)})" for name in names]
        statements = [f"0 ≤ {real(slack, now)}" for slack in slacks]
        lines = [self._stated(self.head(step), given, f"∀ j, {' ∧ '.join(statements)}")]
        begun = ", ".join(f"start_{name}" for name in state)
        shape = ", ".join("?_" for _ in slacks)
        lines += ["  intro j", "  induction j with"]
        lines += [f"  | zero => exact ⟨{', '.join([f'by rw [{begun}]; ring_nf; positivity'] * len(slacks))}⟩"]
        lines += ["  | succ j previous =>"]
        own = {name: f"kept_{place + 1}" for place, name in enumerate(invariants)}
        lines += [f"    obtain ⟨{', '.join(own.values())}⟩ := previous", f"    refine ⟨{shape}⟩"]
        equal = {name: self.steps[name]["relation"] == "==" for name in names} | dict.fromkeys(invariants, False)
        known = {name: f"({self.names[name]} j)" for name in names} | own
        texts = {name: real(self.steps[name]["slack"], now) for name in names}
        texts |= {name: real(slack, now) for name, (slack, _) in invariants.items()}
        turned_by = ", ".join(f"turn_{name}" for name in state)
        for slack, terms in invariants.values():
            written = [[expression(factor, now), *used] for factor, *used in terms]
            total = self.sum_of(written, texts)
            lines += [f"    · have same : {real(slack, later)} = {total} := by", f"        rw [{turned_by}]"]
            lines += ["        field_simp", "        ring", "      rw [same]"]
            lines += [f"      exact {_added([self.is_nonnegative(term, equal, known) for term in terms])}"]
        return "\n".join(lines)

    def of_the_space(self, step: Exported) -> str:
        """A fact that every inner-product space has."""
        rule, arguments = step["rule"], step["arguments"]
        if rule == "scalar square":
            x = arguments["x"]
            same = f"  have same : {real(step['slack'])} = {real(x)} ^ 2 := by"
            return self.theorem(
                step, [], [same, "    field_simp", "    ring", "  rw [same]", "  exact sq_nonneg _"], [x]
            )
        if rule == "triangle":
            return self.triangle(step)
        return self.norm(step) if rule == "norm" else self.square(step)

    def square(self, step: Exported) -> str:
        """|u|^2 >= 0, multiplied out."""
        u = step["arguments"]["u"]
        return self._of_vectors(step, u, [], f"⟪{combined(u)}, {combined(u)}⟫_ℝ", ["  exact real_inner_self_nonneg"])

    def norm(self, step: Exported) -> str:
        """size^2 = |u|^2 for the letter that names the norm of u."""
        u, size = step["arguments"]["u"], letter(step["arguments"]["size"])
        named = f"(named : {size} = ‖{combined(u)}‖)"
        whole = f"{size} ^ 2 - ⟪{combined(u)}, {combined(u)}⟫_ℝ"
        return self._of_vectors(step, u, [named], whole, ["  rw [named, real_inner_self_eq_norm_sq]", "  ring"])

    def triangle(self, step: Exported) -> str:
        """|sum of c_j u_j| <= sum of |c_j| |u_j| for letters that name norms."""
        size, parts = step["arguments"]["size"], step["arguments"]["parts"]
        sizes = [size, *(part for _, part in parts)]
        vectors = sorted({name for one in sizes for name in self.norms[one]})
        factors = [factor for factor, _ in parts]
        inner = [text for one in sizes for text in self.norms[one].values()]
        given = [*self.binders(letters(*sizes, *factors, *inner)), *_space(vectors)]
        given += [f"(size_{one} : {letter(one)} = ‖{combined(self.norms[one])}‖)" for one in dict.fromkeys(sizes)]
        terms = [f"({expression(factor)} : ℝ) • ({combined(self.norms[part])})" for factor, part in parts]
        lines = [self._stated(self.head(step), given, says(step))]
        lines += [f"  have sum : {combined(self.norms[size])} = {' + '.join(terms)} := by", "    module"]
        for place in range(1, len(terms)):
            lines.append(f"  have rule_{place} := norm_add_le ({' + '.join(terms[:place])}) ({terms[place]})")
        lines += [f"  have length_{place} := norm_smul {_pair(term)}" for place, term in enumerate(terms)]
        for place, (factor, _) in enumerate(parts):
            signed = "abs_of_nonpos" if factor.startswith("-") else "abs_of_nonneg"
            side = f"{expression(factor)} ≤ 0" if factor.startswith("-") else f"0 ≤ {expression(factor)}"
            prove = "by rw [← neg_nonneg]; ring_nf; positivity" if factor.startswith("-") else "by positivity"
            lines.append(f"  have sign_of_{place} := {signed} (show ({side}) from {prove})")
        renamed = ", ".join(f"size_{one}" for one in dict.fromkeys(sizes))
        lines += ["  rw [← sum] at *", "  simp only [Real.norm_eq_abs] at *", f"  rw [{renamed}]", "  nlinarith"]
        return "\n".join(lines)

    def _of_vectors(self, step: Exported, u: Mapping[str, str], given: list[str], whole: str, proof: list[str]) -> str:
        """A theorem on a combination u of vectors: ``whole`` multiplied out is the slack, then ``proof``."""
        products = {f"dot_{a}_{b}": f"⟪{a}, {b}⟫_ℝ" for a in sorted(u) for b in sorted(u) if a <= b}
        names = [name for name in letters(step["slack"], *u.values()) if name not in products]
        lines = [
            self._stated(self.head(step), [*self.binders(names), *_space(sorted(u)), *given], says(step, products))
        ]
        rules = ["inner_add_left", "inner_add_right", "real_inner_smul_left", "real_inner_smul_right"]
        rules += [f"real_inner_comm {a} {b}" for a in sorted(u) for b in sorted(u) if a < b]
        lines += [
            f"  have same : {real(step['slack'], products)} = {whole} := by",
            f"    simp only [{', '.join(rules)}]",
        ]
        return "\n".join([*lines, "    ring", "  rw [same]", *proof])

    def assumed(self, step: Exported) -> str:
        """A hypothesis of the theorem, or a fact that assumes something, as a proposition that others name."""
        named = letters(step["slack"])
        binder = f" ({' '.join(map(letter, named))} : ℝ)" if named else ""
        return f"{self.head(step, 'def')}{binder} : Prop :=\n    {says(step)}"

    def conclusion(self) -> str:
        """The statement from the last step."""
        claim, last = self.proof["statement"], self.proof["steps"][-1]
        right, where = " + ".join(claim["right"]), claim["where"]
        name = self.names[last["name"]]
        own = letters(claim["left"], right, last["slack"], *where.values())
        given = self.binders(own) + [f"(where_{key} : {letter(key)} = {real(text)})" for key, text in where.items()]
        given.append(f"({name} : {says(last)})")
        head = f"/-- The statement of `{claim['name']}`, of {name} -/\ntheorem conclusion"
        lines = [self._stated(head, given, f"{real(claim['left'])} ≤ {real(right)}")]
        lines += [f"  have same : {real(right)} - {real(claim['left'])} = {real(last['slack'])} := by"]
        lines += [f"    rw [{', '.join(f'where_{key}' for key in where)}]"] if where else []
        return "\n".join([*lines, "    field_simp", "    ring", "  linarith"]) + "\n"


def _added(parts: Sequence[str]) -> str:
    """A proof that a sum is at least 0 from proofs for its terms."""
    whole = parts[0]
    for part in parts[1:]:
        whole = f"(add_nonneg {whole} {part})"
    return whole


def _pair(term: str) -> str:
    """The factor and the vector of c • u, as two arguments."""
    factor, vector = term.split(" • ", 1)
    return f"{factor} {vector}"


def _space(vectors: Sequence[str]) -> list[str]:
    """Declarations of an inner-product space and vectors of it."""
    space = "{E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]"
    return [space, f"{{{' '.join(vectors)} : E}}"]


def combined(u: Mapping[str, str]) -> str:
    """A linear combination of vectors."""
    return " + ".join(f"({expression(factor)} : ℝ) • {name}" for name, factor in u.items())


def exported(proof: Exported) -> str:
    """The Lean file of an exported proof."""
    return File(proof).text()
