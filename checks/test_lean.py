"""Lean files of the proofs: by their grammar, and by what their formulas are worth at random points.

No toolchain checks them here. What a test can say: every block is a theorem or a proposition with declared letters,
every formula has the value of the proof object's, and a step that is used is used in the words in which it is proved.
"""

from __future__ import annotations

import ast
import doctest
import json
import math
import random
import re
from fractions import Fraction

import pytest

from checks.proofs import FOLDER
from theory.kit import lean

PROOFS = sorted(FOLDER.glob("*.json"))
BLOCK = re.compile(r"/-- (?P<comment>.*?) -/\n(?P<kind>theorem|def) (?P<name>\w+)(?P<rest>.*?)(?=\n\n|\Z)", re.DOTALL)
TACTIC = re.compile(
    r"(have \w+ (: .*)?:= .*|field_simp|ring|rw \[.*\]( at \*)?|exact .*|intro j|induction j with|module|linarith|"
    r"nlinarith|simp only \[.*\]( at \*)?|\| zero => exact ⟨.*⟩|\| succ j previous =>|obtain ⟨.*⟩ := previous|"
    r"refine ⟨.*⟩)"
)
PAIRS = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "⟫": "⟪", "»": "«"}


def value(text, env):
    """What a real term of Lean is worth; letters of a turn are read as they are in one."""
    text = re.sub(r"⟪(\w+), (\w+)⟫_ℝ", r"dot_\1_\2", text)
    text = re.sub(r"«(\w+)»", r"\1", re.sub(r"\b(\w+) j\b", r"\1", text))
    text = text.replace(": ℝ", "").replace("⁻¹", "**(-1)").replace("^", "**")
    text = re.sub(r"Real\.sqrt (\w+|\([^()]*\))", r"root(\1)", text)

    def worth(node):
        if isinstance(node, ast.Constant):
            return Fraction(node.value)
        if isinstance(node, ast.Name):
            return env[node.id]
        if isinstance(node, ast.UnaryOp):
            return -worth(node.operand)
        if isinstance(node, ast.Call):
            return Fraction(*map(math.isqrt, worth(node.args[0]).as_integer_ratio()))
        left, right = worth(node.left), worth(node.right)
        if isinstance(node.op, ast.Pow):
            return left ** int(right)
        plain = {ast.Add: left.__add__, ast.Sub: left.__sub__, ast.Mult: left.__mul__}
        return left / right if isinstance(node.op, ast.Div) else plain[type(node.op)](right)

    return worth(ast.parse(text.strip(), mode="eval").body)


def letters_of(proof, seed=0):
    """A square of a random number for every letter, so that roots are exact."""
    draw = random.Random(seed)
    every = {*proof["scalars"], *(f"dot_{a}_{b}" for a in proof["vectors"] for b in proof["vectors"])}
    return {name: Fraction(draw.randint(1, 10**6), draw.randint(1, 10**6)) ** 2 for name in sorted(every)}


def blocks(text):
    return {found["name"]: found for found in BLOCK.finditer(text)}


def stated(rest):
    """(what is declared and given, by name; the conclusion; lines of the proof) of a block."""
    head, _, proof = rest.partition(":= by\n") if ":= by\n" in rest else rest.replace(":=\n", ":\n", 1).partition("\0")
    *given, conclusion = re.split(r"\n    (?=[^ ])", head)
    return given, conclusion.strip(), [line.strip() for line in proof.splitlines()]


def slack_of(statement):
    """The real term of ``0 ≤ x``, ``0 < x`` or ``x = 0``."""
    found = re.fullmatch(r"0 [≤<] (\(.* : ℝ\))|(\(.* : ℝ\)) = 0", statement)
    return found[1] or found[2]


@pytest.fixture(scope="module", params=PROOFS, ids=lambda path: path.stem)
def file(request):
    proof = json.loads(request.param.read_text(encoding="utf-8"))
    stored = FOLDER / "lean" / f"{request.param.stem}.lean"
    return proof, stored.read_text(encoding="utf-8")


def test_the_stored_file_is_that_of_the_proof(file):
    proof, text = file
    assert text == lean.exported(proof), "python -m checks --mutations"


def test_brackets_close_and_every_line_of_a_proof_is_a_tactic(file):
    _, text = file
    code = re.sub(r"--.*", "", re.sub(r"/-[-!].*?-/", "", text, flags=re.DOTALL))
    open_ones = []
    for sign in code:
        if sign in PAIRS.values():
            open_ones.append(sign)
        elif sign in PAIRS:
            assert open_ones.pop() == PAIRS[sign]
    assert open_ones == [] and not re.search("sorry|axiom", code)
    for found in blocks(text).values():
        if found["kind"] == "theorem":
            *_, lines = stated(found["rest"])
            wrong = [line for line in lines if not TACTIC.fullmatch(line.removeprefix("· "))]
            assert lines and wrong == []


def test_every_step_says_what_the_proof_object_says(file):
    """The value of every conclusion, at a random point, and what a step rests on word for word."""
    proof, text = file
    env, found, steps = letters_of(proof), blocks(text), proof["steps"]
    assert len(proof["vectors"]) == 0 or any(rule["rule"] in lean.OF_THE_SPACE for rule in steps)
    concluded = {}
    for place, step in enumerate(steps):
        name = f"step_{place + 1}"
        if name not in found:
            assert step["rule"] == "loop" and f"-- `{step['name']}` is an invariant of the loop" in text
            continue
        given, conclusion, _ = stated(found[name]["rest"])
        if step["rule"] == "loop":
            assert conclusion.startswith("∀ j, ")
            told = [slack_of(part) for part in conclusion.removeprefix("∀ j, ").split(" ∧ ")]
            wanted = [slack for slack, _ in step["arguments"]["invariants"].values()]
            assert [value(part, env) for part in told] == [value(lean.real(slack), env) for slack in wanted]
        else:
            assert value(slack_of(conclusion), env) == python_value(step["slack"], env)
            concluded[name] = conclusion
        for one in given:
            used = re.fullmatch(r"\((step_\d+) : (.*)\)", one)
            if used and used[1] in concluded and not used[2].startswith("∀ j"):
                assert used[2] == lean.says(steps[int(used[1][5:]) - 1])
    assert "theorem conclusion" in text


def python_value(text, env):
    """The value of a formula of the JSON, by Python's own arithmetic."""
    root = {"sqrt": lambda x: Fraction(*map(math.isqrt, x.as_integer_ratio())), **env}
    fractions = re.sub(r"(?<![\w*])(\d+)(?!\w)", r"number(\1)", text)
    return eval(fractions, {"number": Fraction, "__builtins__": {}}, root)


def test_every_letter_of_a_theorem_is_declared(file):
    _, text = file
    words = r"[A-Za-z_]\w*"
    known = {"Real", "sqrt", "j", "E", "Type", "NormedAddCommGroup", "InnerProductSpace", "Prop"}
    for found in blocks(text).values():
        given, conclusion, _ = stated(found["rest"])
        head = " ".join(given)
        declared = {w for part in re.findall(r"[({]([^:(){}]*) :", head) for w in re.findall(words, part)}
        said = {word for word in re.findall(words, conclusion.replace("⟫_ℝ", "⟫")) if word != "ℝ"}
        assert said <= declared | known, (found["name"], said - declared)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("a - (b - c)", "a - (b - c)"),
        ("a/(b*c)", "a / (b * c)"),
        ("-a**2", "-a ^ 2"),
        ("(a + 1)**(-2)", "((a + 1) ^ 2)⁻¹"),
        ("a*(b + c)/2", "a * (b + c) / 2"),
        ("sqrt(a + b)", "Real.sqrt (a + b)"),
        ("at*end", "«at» * «end»"),
    ],
)
def test_terms_by_hand(text, term):
    assert lean.expression(text) == term


def test_the_example_of_the_module_holds():
    assert doctest.testmod(lean).failed == 0


def test_a_changed_step_changes_its_theorem():
    proof = json.loads((FOLDER / "inexact-gradients-exact.json").read_text(encoding="utf-8"))
    before = lean.exported(proof)
    step = next(step for step in proof["steps"] if step["rule"] == "combination")
    step["arguments"]["terms"][0][0] = f"2*({step['arguments']['terms'][0][0]})"
    assert lean.exported(proof) != before
