"""TeX inside plain text to MathML: no scripts, no network; a long formula can scroll inside its own box.

What cannot be converted is shown as the TeX text in a ``<code>`` element, and counted.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field

import latex2mathml.converter
from markupsafe import Markup, escape

from artifact.report.prose import paragraphs

MATH = "{http://www.w3.org/1998/Math/MathML}"
DOLLAR = re.compile(r"(\$\$.*?\$\$|(?<!\\)\$.*?(?<!\\)\$)", re.S)
#: formulas of more characters may scroll inside their own box
WIDE = 24
#: what the converter takes apart or leaves as text, and the same in words that it knows
MENDED = (
    (re.compile(r"\{\\rm\s+([A-Za-z]+)\}"), r"\\operatorname{\1}"),
    (re.compile(r"\\(?:mathrm|text|textrm)\{(unit|sign|Var|tr|diag|clip|softmax)\}"), r"\\operatorname{\1}"),
    (re.compile(r"(?<!\\)_(\{[^{}]*\}|\w)''"), r"_\1^{\\prime\\prime}"),
    (re.compile(r"\\arg\s*\\(min|max)"), r"\\operatorname{arg\1}"),
    (re.compile(r"\\arg(?![a-zA-Z])"), r"\\operatorname{arg}"),
)
#: children of an element that has to have so many; the converter leaves one out where TeX lacks an argument
PARTS = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2, "mover": 2, "mroot": 2, "msubsup": 3, "munderover": 3}
#: sized delimiters come out of the converter as commands
DELIMITERS = {"\\|": "‖", "\\Vert": "‖", "\\{": "{", "\\}": "}", "\\langle": "⟨", "\\rangle": "⟩", "⧹": "∖"}
#: browsers ignore these variants; Unicode has the letters (first capital, first small), with gaps filled from below
ALPHABETS = {
    "double-struck": (0x1D538, 0x1D552),
    "script": (0x1D49C, 0x1D4B6),
    "bold": (0x1D400, 0x1D41A),
    "fraktur": (0x1D504, 0x1D51E),
}
GAPS = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)), dict(zip("BEFHILMR", "ℬℰℱℋℐℒℳℛ", strict=True))

#: elements of a formula, and what each may carry beside its content: nothing that leads, loads or runs
ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover "
        "munderover mmultiscripts mprescripts none mtable mtr mtd mpadded mphantom menclose mstyle",
    )
)
ATTRIBUTES = frozenset(
    re.findall(
        r"\w+",
        "display displaystyle scriptlevel form fence separator stretchy symmetric largeop "
        "movablelimits accent accentunder lspace rspace width height depth voffset minsize maxsize "
        "linethickness columnalign rowalign columnspacing rowspacing columnlines rowlines frame "
        "mathvariant notation bevelled",
    )
)
#: words of letters, or lengths and numbers of at most three digits before the point; no colour, no address
VALUES = re.compile(r"[a-z-]*(?: [a-z-]+)*|[+-]?\d{0,3}(?:\.\d+)?(?:em|ex|mu|px|pt|%)?")
#: characters of the longest formula that is converted
LONGEST = 4000


#: names of letters in plain text
GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eps": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "xi": "ξ",
}
LETTER = re.compile(rf"(?<![A-Za-z\\])({'|'.join(GREEK)})(?![A-Za-z])")
SCRIPT = re.compile(
    r"(?<=[A-Za-zα-ω)|])([\^_])(\{[^{}]{1,8}\}|[A-Za-z0-9*+](?![A-Za-z0-9]))|(?<=\b[A-Za-zα-ω])(_)([a-z]{2,4}\b)"
)


def typeset(text: str) -> Markup:
    """Plain text with the names of Greek letters as letters, and single indices and exponents set low and high."""

    def script(found: re.Match[str]) -> str:
        sign, text = found[1] or found[3], found[2] or found[4]
        tag = "sup" if sign == "^" else "sub"
        return f"<{tag}>{text.strip('{}')}</{tag}>"

    return Markup(SCRIPT.sub(script, LETTER.sub(lambda found: GREEK[found[1]], str(escape(text)))))


@dataclass
class Converter:
    """Converts texts and remembers which formulas it could not convert, as (text, TeX, reason)."""

    failures: list[tuple[str, str, str]] = field(default_factory=list)
    converted: int = 0

    def html(self, text: str, source: str = "") -> Markup:
        """Text with ``$...$`` formulas as HTML paragraphs, broken so that each fits. source: named in ``failures``."""
        lines = (part for part in re.split(r"\n\s*\n|\n", mended(text).strip()) if part.strip())
        shown = Markup("")
        for paragraph, points in (found for line in lines for found in paragraphs(line)):
            if paragraph:
                shown += Markup("<p>{}</p>\n").format(self.inline(paragraph, source))
            if points:
                listed = (Markup("<li>{}</li>").format(self.inline(point, source)) for point in points)
                shown += Markup('<ul class="points">{}</ul>\n').format(Markup("").join(listed))
        return shown

    def inline(self, text: str, source: str = "") -> Markup:
        """HTML of a text without paragraphs; text in backticks becomes code."""
        parts = DOLLAR.split(mended(text))
        pieces = [self._formula(p, source) if DOLLAR.fullmatch(p) else _plain(p) for p in parts]
        return Markup("").join(pieces)

    def _formula(self, text: str, source: str) -> Markup:
        display = text.startswith("$$")
        tex = text.strip("$").strip()
        if not tex:
            return Markup("")
        try:
            formula = mathml(tex, display)
        except Exception as error:  # the converter raises many kinds; the reader then sees the TeX
            self.failures.append((source, tex, f"{type(error).__name__}: {error}"))
            return Markup('<code class="tex">{}</code>').format(tex)
        self.converted += 1
        return formula


def mended(text: str) -> str:
    """Delimiters in one form: ``\\( \\)`` and ``\\[ \\]`` become dollars, an odd last dollar is taken as text."""
    text = re.sub(r"\\\((.+?)\\\)", r"$\1$", text, flags=re.S)
    text = re.sub(r"\\\[(.+?)\\\]", r"$$\1$$", text, flags=re.S)
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        head, _, tail = text.rpartition("$")
        text = f"{head}\\${tail}"
    return text


def mathml(tex: str, display: bool = False) -> Markup:
    """MathML of one formula. Raises what the converter raises for TeX that it does not know.

    Raises ValueError where the formula has an element or an attribute that is none of a formula, such as a link.
    """
    if len(tex) > LONGEST:
        raise ValueError(f"at most {LONGEST} characters, not {len(tex)}")
    require_balanced(tex)
    for pattern, replacement in MENDED:
        tex = pattern.sub(replacement, tex)
    root = ET.fromstring(latex2mathml.converter.convert(tex))
    for element in root.iter():
        name = element.tag.removeprefix(MATH)
        if len(element) != PARTS.get(name, len(element)):
            raise ValueError(f"{name} has {len(element)} of its {PARTS[name]} parts")
    for leaf in root.iter():
        leaf.text = DELIMITERS.get(leaf.text or "", leaf.text)
        variant = leaf.get("mathvariant", "normal")
        if variant in ALPHABETS:
            del leaf.attrib["mathvariant"]
            leaf.text = "".join(_letter(character, variant) for character in leaf.text or "")
    if any("\\" in (leaf.text or "") for leaf in root.iter()):
        raise ValueError("a command was left unconverted")
    long = display or sum(len((leaf.text or "").strip()) for leaf in root.iter()) > WIDE
    root.attrib.pop("xmlns", None)
    for element in root.iter():
        element.tag = element.tag.removeprefix(MATH)
        _require_formula(element)
    root.set("display", "block" if display else "inline")
    html = Markup(ET.tostring(root, encoding="unicode", short_empty_elements=False))
    return Markup('<span class="wide">{}</span>').format(html) if long else html


def _require_formula(element: ET.Element) -> None:
    """Raises ValueError for an element, an attribute or a value that a formula has no use for."""
    if element.tag not in ELEMENTS:
        raise ValueError(f"no element <{element.tag}>")
    for name, value in element.attrib.items():
        if name not in ATTRIBUTES:
            raise ValueError(f"no attribute {name} of <{element.tag}>")
        if not VALUES.fullmatch(value):
            raise ValueError(f"no value {value!r} of {name}")


def require_balanced(tex: str) -> None:
    """Raises ValueError for a brace without its other half, which the converter would show as some other formula."""
    depth = 0
    for sign in re.findall(r"\\.|[{}]", tex, re.S):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            raise ValueError("a closing brace without an opening one")
    if depth:
        raise ValueError(f"{depth} opening brace{'s' * (depth > 1)} without a closing one")


def faults(text: str) -> Iterator[tuple[str, str]]:
    """(TeX, what is wrong) of every formula of a text that the report could not show, and of a dollar without its pair.

    >>> list(faults(r"For $\frac{a$ and $b$"))
    [('\\frac{a', '1 opening brace without a closing one')]
    """
    dollars = [found.start() for found in re.finditer(r"(?<!\\)\$", text)]
    converter = Converter()
    if len(dollars) % 2:
        start = dollars[-1]
        yield text[start : start + 40].split("\n")[0], "a dollar sign without its pair; text has it as \\$"
        return
    converter.inline(text)
    for _, tex, reason in converter.failures:
        yield tex, reason


def _letter(character: str, variant: str) -> str:
    """The letter of a mathematical alphabet; other characters stay."""
    gaps = GAPS[variant != "double-struck"] if variant in ("double-struck", "script") else {}
    if character in gaps:
        return gaps[character]
    capital, small = ALPHABETS[variant]
    if "A" <= character <= "Z":
        return chr(capital + ord(character) - ord("A"))
    return chr(small + ord(character) - ord("a")) if "a" <= character <= "z" else character


def with_code(text: str) -> Markup:
    """Escaped text without formulas; backticks mark code.

    Example:
        >>> str(with_code("read `--rho` where a < b"))
        'read <code>--rho</code> where a &lt; b'
    """
    pieces = [Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(text.split("`"))]
    return Markup("").join(pieces)


def _plain(text: str) -> Markup:
    """Escaped text, letters and indices typeset; backticks mark code."""
    pieces = text.replace("\\$", "$").replace("\\%", "%").split("`")
    if len(pieces) % 2 == 0:
        return typeset("`".join(pieces))
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else typeset(p) for i, p in enumerate(pieces))
