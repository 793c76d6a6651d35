"""Verifies exported proofs with the standard library alone: python docs/proofs/verify.py docs/proofs/*.json

A step says slack >= 0 (or > 0, or == 0). Facts are computed anew; identities are tested at random rational points in
exact arithmetic (a false one passes with a chance below 1e-30); multipliers must be non-negative by declared signs.

Then the steps are held against the file's statement: the last one is its inequality, its hypotheses and conditions give
what is assumed, all of that is used, none is the conclusion. README.md prints the fingerprint of what is trusted.
"""

import ast
import hashlib
import json
import math
import random
import sys
from fractions import Fraction
from pathlib import Path

SIGNED = ("nonnegative", "positive")
PAIRS = {"unbiased": ("noise", "known"), "mean over clients": ("same", "u"), "sampled mean": ("same", "drawn")}
EQUALITIES = (*PAIRS, "norm", "sampling without replacement", "drawn or not")
GIVEN = {*EQUALITIES, "independence", "smooth value", "smooth gradient"} - {"norm", "mean over clients"}


def value(node, env):  # an expression at a point
    node = ast.parse(node, mode="eval").body if isinstance(node, str) else node
    if isinstance(node, ast.Constant | ast.Name):
        return Fraction(node.value) if isinstance(node, ast.Constant) else env[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value(node.operand, env)
    if isinstance(node, ast.Call):  # a root; points are squares, so that roots of products are exact
        return Fraction(*map(math.isqrt, value(node.args[0], env).as_integer_ratio()))
    a, b = value(node.left, env), value(node.right, env)
    plain = {ast.Add: a.__add__, ast.Sub: a.__sub__, ast.Mult: a.__mul__, ast.Div: a.__truediv__}
    return plain[type(node.op)](b) if type(node.op) in plain else a ** int(b)


def names(text):
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} - {"sqrt"}


def moved(env, values):
    return {**env, **{name: value(text, env) for name, text in values.items()}}


class Verifier:
    """Replays the steps. rests: step -> (defined symbol or None, symbols spoken of) of each assumption behind it."""

    def __init__(self, proof):
        self.signs, self.vectors, self.before, self.norms, self.rests = proof["scalars"], proof["vectors"], {}, {}, {}
        self.means, self.relied, self.behind, self.proof = {}, set(), {}, proof
        every = {*self.signs, *(f"dot_{min(a, b)}_{max(a, b)}" for a in self.vectors for b in self.vectors)}
        number = random.Random(1).randint
        self.points = [{x: Fraction(number(1, 10**9), number(1, 10**9)) ** 2 for x in sorted(every)} for _ in range(4)]
        for step in proof["steps"]:
            assert step["name"] not in self.before, "two steps of one name"
            used = self.check(step["rule"], step["slack"], step["relation"], step["arguments"], step["name"])
            self.behind[step["name"]] = {step["name"]}.union(*(self.behind.get(name, ()) for name in used))
            symbol = step["arguments"]["symbol"] if step["rule"] == "definition" else None
            self.means[symbol] = spoken = frozenset().union(*(self.means.get(x, {x}) for x in names(step["slack"])))
            own = {(symbol, spoken)} if step["rule"] in ("hypothesis", "definition") else set()
            self.rests[step["name"]] = own.union(*(self.rests.get(name, ()) for name in used))
            self.before[step["name"]] = step

    def free(self, symbols, used, kept):  # where kept does not hold a defined symbol, its value may change with others
        for own, spoken in set().union(*(self.rests.get(name, ()) for name in used)):
            assert not set(symbols) & (spoken if own is None or own in kept else {own}), f"not free: {own or spoken}"

    def same(self, left, right):
        assert all(left(env) == right(env) for env in self.points), "the two sides differ"

    def nonnegative(self, node):
        node = ast.parse(node, mode="eval").body if isinstance(node, str) else node
        if not isinstance(node, ast.BinOp):
            return isinstance(node, ast.Constant) or self.signs.get(getattr(node, "id", "")) in SIGNED
        if isinstance(node.op, ast.Pow):
            return self.nonnegative(node.left) or value(node.right, {}) % 2 == 0
        if not isinstance(node.op, ast.Sub) and self.nonnegative(node.left) and self.nonnegative(node.right):
            return True
        for step in self.before.values():  # a positive number times a positive slack
            if step["relation"] == ">" and self.share(node, step["slack"]) > 0:
                self.relied.add(step["name"])
                return True
        return False

    def share(self, node, slack):  # one expression over another where that is a number, else 0
        found = {value(node, env) / value(slack, env) for env in self.points}
        return found.pop() if len(found) == 1 else 0

    def total(self, terms, target, relation, own):  # own: slacks of a loop's invariants before the turn
        slacks, found = {**{name: step["slack"] for name, step in self.before.items()}, **own}, [0] * len(self.points)
        for factor, *used in terms:
            if not any(name not in own and self.before[name]["relation"] == "==" for name in used):
                assert self.nonnegative(factor) and relation == ">=", f"multiplier {factor}"
            for i, env in enumerate(self.points):
                found[i] += value(factor, env) * math.prod(value(slacks[name], env) for name in used)
        assert relation != ">" and found == [target(env) for env in self.points], "the sum differs"

    def check(self, rule, slack, relation, given, name):  # raises, or returns the steps that this one rests on
        here, before, used = (lambda env: value(slack, env)), self.before, []
        if rule == "combination":
            self.total(given["terms"], here, relation, {})
            used = [step for term in given["terms"] for step in term[1:]]
        elif rule == "definition":
            assert not any(given["symbol"] in names(step["slack"]) for step in before.values()), "not new"
            assert self.nonnegative(given["value"]) and relation == "=="
            self.same(here, lambda env: env[given["symbol"]] - value(given["value"], env))
        elif rule == "instance":
            origin, free, used = before[given["step"]], given["values"], [given["step"]]
            self.free(free, used, names(origin["slack"]))
            assert relation == origin["relation"], "another relation"
            assert all(self.signs[symbol] == "real" or self.nonnegative(text) for symbol, text in free.items())
            self.same(here, lambda env: value(origin["slack"], moved(env, free)))
        elif rule == "loop":
            start, after = ({symbol: pair[i] for symbol, pair in given["state"].items()} for i in (0, 1))
            own = {key: text for key, (text, _) in given["invariants"].items()}
            used = [step for _, terms in given["invariants"].values() for term in terms for step in term[1:]]
            self.free(start, used, set().union(*map(names, (*start.values(), *own.values()))))
            assert own[name] == slack and relation == ">="
            self.same(lambda env: value(slack, moved(env, start)), lambda env: 0)
            self.total(given["invariants"][name][1], lambda env: value(slack, moved(env, after)), relation, own)
        elif rule != "hypothesis":
            assert relation == ("==" if rule in EQUALITIES else ">=")
            self.same(here, lambda env: self.fact(rule, given, given.get("u", {}), env))
        return used

    def fact(self, rule, g, u, e):
        kinds, at, norms = self.vectors, (lambda key: value(g[key], e)), self.norms
        assert all(kinds[x]["noise"] for x in (g.get("noise", u) if rule in ("unbiased", "independence") else ()))
        for key, wanted in (("known", ("time", 0)), ("drawn", ("drawn", True)), ("same", ("mean", None))):
            assert all(kinds[x][wanted[0]] == wanted[1] for x in g.get(key, {})), f"{key} is declared otherwise"
        vectors = {key: list(entry.items()) for key, entry in g.items() if isinstance(entry, dict)}
        vectors["mean"] = [(m, c) for x, c in u.items() if (m := x if kinds[x]["mean"] is None else kinds[x]["mean"])]

        def dot(a, b="", v=vectors):
            pairs = [(f"dot_{min(x, y)}_{max(x, y)}", p, q) for x, p in v[a] for y, q in v[b or a]]
            return sum(value(p, e) * value(q, e) * e[atom] for atom, p, q in pairs)

        if rule == "norm":
            assert self.signs[g["size"]] in SIGNED and norms.update({g["size"]: u}) is None
            return at("size") ** 2 - dot("u")
        if rule == "triangle":
            for x in kinds:
                parts = sum(value(c, e) * value(norms[size].get(x, "0"), e) for c, size in g["parts"])
                assert parts == value(norms[g["size"]].get(x, "0"), e), "not the sum of the parts"
            return sum(abs(value(c, e)) * e[size] for c, size in g["parts"]) - at("size")
        if rule == "smooth gradient":
            (change,) = norms[g["change"]]
            assert norms[g["distance"]] == {kinds[change]["change_along"]: "1"}
            return at("L") * at("distance") - at("change")
        if rule in PAIRS:
            return dot(*PAIRS[rule]) - (0 if rule == "unbiased" else dot("same", "mean"))
        return {
            "square": lambda: dot("u"),
            "scalar square": lambda: at("x") ** 2,
            "independence": lambda: dot("u") / at("clients") - dot("mean"),
            "smooth value": lambda: at("before") + dot("slope", "move") + at("L") / 2 * dot("move") - at("after"),
            "sampling without replacement": lambda: dot("drawn") - dot("mean") - at("share") * (dot("u") - dot("mean")),
            "drawn or not": lambda: dot("drawn") - dot("outside") - at("share") * (dot("inside") - dot("outside")),
        }[rule]()

    def bound(self):  # the steps against the statement; returns what a reader takes on trust, and what is shown
        claim, steps, last = self.proof["statement"], self.before, self.proof["steps"][-1]
        left, right = claim["left"], " + ".join(claim["right"])
        there = [{**moved(env, claim["where"]), **env} for env in self.points]
        rooms = [value(right, env) - value(left, env) - value(last["slack"], env) for env in there]
        assert not any(rooms), "the last step is not the statement's inequality"
        reached = set().union(*(self.behind[name] for name in (last["name"], *self.relied)))
        assumed = [step for step in steps.values() if step["rule"] == "hypothesis"]
        for step in assumed:
            assert step["name"] in reached, f"unused hypothesis {step['name']!r}"
            assert not self.share(step["slack"], last["slack"]), f"the hypothesis {step['name']!r} is the conclusion"
        needed = {step["name"] for step in assumed} | {steps[x]["rule"] for x in reached} & GIVEN
        given = [(one["name"], one["words"], one["supplies"]) for one in claim["hypotheses"]]
        given += [("condition", one["said"], one["gives"]) for one in claim["conditions"]]
        for name, words, supplies in given:
            assert not supplies or needed & set(supplies), f"unused hypothesis {name!r}: {words}"
        assert needed <= {x for _, _, supplies in given for x in supplies}, "something is assumed by no hypothesis"
        said = names(left) | names(right)  # letters of the statement that a loop or a definition makes
        loops = [x for s in steps.values() for x in s["arguments"].get("state", {}).items() if x[0] in said]
        made = [(x, s["slack"]) for s in steps.values() for x in (s["arguments"].get("symbol"),) if x in said]
        trusted = {key: self.proof[key] for key in ("title", "statement", "scalars", "vectors")}
        trusted |= {"assumed": assumed, "made": [*loops, *made]}
        shown = [f"rules: {', '.join(sorted({step['rule'] for step in steps.values()}))}"]
        shown += [f"{name}: {words or 'names'}" for name, words, _ in given]
        shown += [f"  {s['name']}: {s['slack']} {s['relation']} 0 ({s['why']})" for s in assumed]
        shown += [f"{x} stands for {meant}" for x, meant in [*claim["where"].items(), *trusted["made"]]]
        return trusted, [*shown, f"${claim['latex']}$", f"{left} <= {right}"]


if __name__ == "__main__":
    for path in sys.argv[1:] if __debug__ else sys.exit("python -O checks nothing"):
        try:
            trusted, shown = Verifier(proof := json.loads(Path(path).read_text(encoding="utf-8"))).bound()
            mark = hashlib.sha256(json.dumps(trusted, sort_keys=True).encode()).hexdigest()[:16]
            page, row = Path(__file__).with_name("README.md"), f"| {proof['statement']['name']} | `{mark}` |"
            assert row in page.read_text(encoding="utf-8"), f"{page.name} does not print {row}"
        except (ArithmeticError, AssertionError, KeyError, TypeError, ValueError, OSError) as error:
            sys.exit(f"refused {path}: {error if isinstance(error, AssertionError) else repr(error)}")
        print(f"verified {path}: {len(proof['steps'])} steps; {proof['title']}", *shown, f"page: {row}", sep="\n  ")
