"""TeX inside plain text to MathML: no scripts, no network, one formula as several pieces so that lines can break.

What cannot be converted is shown as the TeX text in a ``<code>`` element, and counted.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

import latex2mathml.converter
from markupsafe import Markup, escape

MATH = "{http://www.w3.org/1998/Math/MathML}"
DOLLAR = re.compile(r"(\$\$.*?\$\$|(?<!\\)\$.*?(?<!\\)\$)", re.S)
#: a line may break before a relation and after a comma or semicolon
RELATIONS = set("=≤≥<>≈∼≔≡→←↦∈≠≪≫≲≳∝⊂⊆⪰⪯⟶⟵⇒⇔∀:")
SEPARATORS = set(",;")
#: and, in a wide piece, before a sign
SIGNS = set("+-−")
OPENING, CLOSING = set("([{⟨⌈⌊"), set(")]}⟩⌉⌋")
#: pieces wider than this many characters may scroll inside their own box
WIDE = 26
SIGNED = 14
#: what the converter takes apart or leaves as text, and the same in words that it knows
MENDED = (
    (re.compile(r"\{\\rm\s+([A-Za-z]+)\}"), r"\\operatorname{\1}"),
    (re.compile(r"\\(?:mathrm|text|textrm)\{(unit|sign|Var|tr|diag|clip|softmax)\}"), r"\\operatorname{\1}"),
    (re.compile(r"(?<!\\)_(\{[^{}]*\}|\w)''"), r"_\1^{\\prime\\prime}"),
    (re.compile(r"\\arg\s*\\(min|max)"), r"\\operatorname{arg\1}"),
    (re.compile(r"\\arg(?![a-zA-Z])"), r"\\operatorname{arg}"),
)
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
        """Text with ``$...$`` formulas and line breaks as HTML paragraphs. source: named in ``failures``."""
        paragraphs = [self.inline(part, source) for part in re.split(r"\n\s*\n|\n", text.strip()) if part.strip()]
        return Markup("").join(Markup("<p>{}</p>\n").format(part) for part in paragraphs)

    def inline(self, text: str, source: str = "") -> Markup:
        """The same without paragraphs; text in backticks becomes code."""
        parts = DOLLAR.split(mended(text))
        pieces = [self._formula(p, source) if DOLLAR.fullmatch(p) else _plain(p) for p in parts]
        return Markup("").join(pieces)

    def _formula(self, text: str, source: str) -> Markup:
        display = text.startswith("$$")
        tex = text.strip("$").strip()
        if not tex:
            return Markup("")
        try:
            pieces = mathml(tex, display)
        except Exception as error:  # the converter raises many kinds; the reader then sees the TeX
            self.failures.append((source, tex, f"{type(error).__name__}: {error}"))
            return Markup('<code class="tex">{}</code>').format(tex)
        self.converted += 1
        return pieces


def mended(text: str) -> str:
    """Delimiters in one form: ``\\( \\)`` and ``\\[ \\]`` become dollars, an odd last dollar is taken as text."""
    text = re.sub(r"\\\((.+?)\\\)", r"$\1$", text, flags=re.S)
    text = re.sub(r"\\\[(.+?)\\\]", r"$$\1$$", text, flags=re.S)
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        head, _, tail = text.rpartition("$")
        text = f"{head}\\${tail}"
    return text


def mathml(tex: str, display: bool = False) -> Markup:
    """MathML of one formula. Raises what the converter raises for TeX that it does not know."""
    for pattern, replacement in MENDED:
        tex = pattern.sub(replacement, tex)
    root = ET.fromstring(latex2mathml.converter.convert(tex))
    for leaf in root.iter():
        leaf.text = DELIMITERS.get(leaf.text or "", leaf.text)
        variant = leaf.get("mathvariant", "normal")
        if variant in ALPHABETS:
            del leaf.attrib["mathvariant"]
            leaf.text = "".join(_letter(character, variant) for character in leaf.text or "")
    if any("\\" in (leaf.text or "") for leaf in root.iter()):
        raise ValueError("a command was left unconverted")
    row = root[0] if len(root) == 1 and root[0].tag == f"{MATH}mrow" else root
    groups = [list(row)] if display else _pieces(list(row))
    return Markup("<wbr>").join(_piece(group, display) for group in groups)


def _letter(character: str, variant: str) -> str:
    """The letter of a mathematical alphabet; other characters stay."""
    gaps = GAPS[variant != "double-struck"] if variant in ("double-struck", "script") else {}
    if character in gaps:
        return gaps[character]
    capital, small = ALPHABETS[variant]
    if "A" <= character <= "Z":
        return chr(capital + ord(character) - ord("A"))
    return chr(small + ord(character) - ord("a")) if "a" <= character <= "z" else character


def _pieces(children: list[ET.Element]) -> list[list[ET.Element]]:
    """Children of the outermost row, cut where a line may break; never inside brackets."""
    groups, current, depth = [], [], 0
    for child in children:
        text = (child.text or "").strip() if child.tag == f"{MATH}mo" else ""
        wide = 4 if text in RELATIONS else SIGNED if text in SIGNS else math.inf
        if depth <= 0 and _width(current) > wide:
            groups.append(current)
            current = []
        current.append(child)
        depth += (text in OPENING) - (text in CLOSING)
        if text in SEPARATORS and depth <= 0:
            groups.append(current)
            current = []
    return [group for group in [*groups, current] if group]


def _piece(children: list[ET.Element], display: bool) -> Markup:
    root = ET.Element("math", {"display": "block"} if display else {})
    root.extend(children)
    for element in root.iter():
        element.tag = element.tag.removeprefix(MATH)
    html = Markup(ET.tostring(root, encoding="unicode", short_empty_elements=False))
    wide = display or _width(children) > WIDE
    return Markup('<span class="wide">{}</span>').format(html) if wide else html


def _width(children: list[ET.Element]) -> float:
    """Rough width in characters: the wider of numerator and denominator, scripts at seven tenths."""
    return sum(_one_width(child) for child in children)


def _one_width(element: ET.Element) -> float:
    tag, parts = element.tag.removeprefix(MATH), [_one_width(child) for child in element]
    if tag in ("mi", "mn", "mo", "mtext"):
        return len((element.text or "").strip()) * (1.6 if tag == "mo" else 1.0)
    if tag in ("mfrac", "mover", "munder", "munderover"):
        return max(parts, default=0.0)
    if tag in ("msub", "msup", "msubsup"):
        return parts[0] + 0.7 * max(parts[1:])
    return sum(parts)


def _plain(text: str) -> Markup:
    """Escaped text, letters and indices typeset; backticks mark code."""
    pieces = text.replace("\\$", "$").replace("\\%", "%").split("`")
    if len(pieces) % 2 == 0:
        return typeset("`".join(pieces))
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else typeset(p) for i, p in enumerate(pieces))
