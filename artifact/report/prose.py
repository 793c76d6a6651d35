"""Paragraphs that can be read once: at most so many words and numbers; what is longer is broken where it pauses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

#: words and numbers of a paragraph at most
WORDS, NUMBERS = 90, 6
#: characters, formulas with them, of a sentence whose assumptions become points
LENGTH = 400
#: a number as a reader meets it: 5,000 is one, and so are -0.3, 1e-3 and 1/10; an index or exponent is none
NUMBER = re.compile(r"(?<![\w^])[-+]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+|/\d+)?(?!\w)")
#: formulas and code, which are looked at rather than read
APART = re.compile(r"\$\$.*?\$\$|(?<!\\)\$.*?(?<!\\)\$|`[^`]*`", re.S)
#: a sentence ends here, and not after an abbreviation
ABBREVIATED = "".join(rf"(?<!{name}\.)" for name in (r"e\.g", r"i\.e", "Sec", "Secs", "App", "Fig", "eq", "Thm", "vs"))
END = re.compile(rf"(?<=[.!?]){ABBREVIATED} +(?=[A-Z(\"“`$])")


def counts(text: str) -> tuple[int, int]:
    """(words, numbers) of a text without its formulas and code."""
    plain = APART.sub(" ", text)
    return len(plain.split()), len(NUMBER.findall(plain))


def fits(text: str) -> bool:
    words, numbers = counts(text)
    return words <= WORDS and numbers <= NUMBERS


def paragraphs(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(paragraph, points below it) of a text, whose words stay: each paragraph and each point fits.

    Sentences that fit together stay together. A sentence that does not fit becomes points at its semicolons, or at its
    commas outside brackets; one without either stays whole.
    """
    together: list[str] = []
    for sentence in _cut(text, END.finditer):
        if fits(sentence):
            together.append(sentence)
            continue
        yield from ((paragraph, ()) for paragraph in _grouped(together))
        together = []
        yield _points(sentence)
    yield from ((paragraph, ()) for paragraph in _grouped(together))


def assumptions(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(paragraph, points below it) of a statement that is short in words and long in formulas.

    A long sentence becomes points at its semicolons, below its words before a first colon. One that begins with "If"
    has its conditions as the paragraph and what follows from them as the point. Short sentences stay together.

    Example:
        >>> list(assumptions("It holds. If a; b: c; d."))
        [('It holds. If a; b: c; d.', ())]
    """
    together: list[str] = []
    for sentence in _cut(text, END.finditer):
        listed = _listed(sentence)
        if listed is None:
            together.append(sentence)
            continue
        if together:
            yield " ".join(together), ()
        together = []
        yield listed
    if together:
        yield " ".join(together), ()


def _listed(sentence: str) -> tuple[str, tuple[str, ...]] | None:
    """A long sentence with semicolons as (words above, points); None for any other."""
    parts = _cut(sentence, _pauses("; "))
    if len(sentence) <= LENGTH or len(parts) == 1:
        return None
    head, *rest = _cut(sentence, _pauses(": "))
    if sentence.startswith("If ") and rest:
        return head, (" ".join(rest),)
    if rest and ";" not in head:
        return head, tuple(_cut(" ".join(rest), _pauses("; ")))
    return "", tuple(parts)


def _grouped(parts: Sequence[str]) -> list[str]:
    """Parts that follow each other, as many together as fit, formulas counted with the words."""
    found: list[str] = []
    for part in parts:
        joined = f"{found[-1]} {part}" if found else ""
        if joined and fits(joined) and len(joined.split()) <= WORDS:
            found[-1] = joined
        else:
            found.append(part)
    return found


def _points(sentence: str) -> tuple[str, tuple[str, ...]]:
    """A sentence as a lead and points; the sentence and no points where no pause makes them fit."""
    head = _cut(sentence, _pauses(": "))
    for lead, rest in ([tuple(head)] if len(head) == 2 and fits(head[0]) else []) + [("", sentence)]:
        by_semicolon = _cut(rest, _pauses("; "))
        by_comma = [_cut(part, _pauses(", ")) for part in by_semicolon]
        for parts in (by_semicolon, [p for part in by_comma for p in _grouped(part)], [p for q in by_comma for p in q]):
            if len(parts) > 1 and all(map(fits, parts)):
                return lead, tuple(parts)
    return sentence, ()


def _pauses(pause: str) -> Callable[[str], Iterator[re.Match[str]]]:
    """Finds a pause outside brackets."""

    def find(masked: str) -> Iterator[re.Match[str]]:
        for found in re.finditer(rf"(?<={pause[0]}) +", masked):
            before = masked[: found.start()]
            if all(before.count(a) <= before.count(b) for a, b in ("()", "[]", "{}")):
                yield found

    return find


def _cut(text: str, find: Callable[[str], Iterator[re.Match[str]]]) -> Sequence[str]:
    """The parts of a text between the places that are found outside formulas and code."""
    masked = APART.sub(lambda formula: "$" * len(formula[0]), text)
    ends = [(found.start(), found.end()) for found in find(masked)]
    starts = [0, *(end for _, end in ends)]
    return [text[a:b].strip() for a, b in zip(starts, [*(start for start, _ in ends), len(text)], strict=True)]
