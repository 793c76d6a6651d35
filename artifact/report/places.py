"""Where a verdict is decided: file and line of a claim's predicate, of the function that checks it, of public code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact.base.cache import cache
from artifact.papers import folders
from artifact.verdicts.ledger import Claim


def predicate(claim: Claim, experiment: Mapping[str, Any] | None, root: Path) -> str:
    """``claims/protocol.toml, line 105``: of the predicate that the stored runs were judged by; empty without one."""
    if claim.predicate is None or experiment is None:
        return ""
    later = claim.judged is not None and experiment["says"] == claim.judged.says
    path = root / "claims" / "protocol.toml" if later else folders.claims_file(claim.paper, root / "claims")
    named, head = (
        (f'claim = "{claim.id}"', "[judged.predicate]") if later else (f'id = "{claim.id}"', "[claim.predicate]")
    )
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index(named)
    return f"{_shown(path, root)}, line {lines.index(head, start) + 1}"


def check(claim: Claim, root: Path) -> str:
    """``theory/PAPER/lemmas.py, line 12, one_step``: of the function that decides a claim on paper."""
    if claim.decided_by != "checks":
        return ""
    audit = folders.AUDITS.get(claim.paper)
    found = _functions(audit.folder if audit else root / "theory" / claim.paper, root)
    return found.get(claim.id) or next((place for id, place in found.items() if claim.id.startswith(id)), "")


@cache
def _functions(folder: Path, root: Path) -> dict[str, str]:
    """Claim id -> place, of every function or call that ``check`` registers below a folder."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for id in (id for decorator in node.decorator_list for id in _ids(decorator)):
                    found[id] = f"{_shown(path, root)}, line {node.lineno}, {node.name}"
            for prefix in _ids(node):  # registered by a call, under names that are put together
                found.setdefault(prefix, f"{_shown(path, root)}, line {getattr(node, 'lineno', 0)}")
    return found


def _ids(node: ast.AST) -> Iterator[str]:
    """The ids that a call of ``check`` names; of one that is put together, its beginning."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check":
        for one in node.args:
            first = one.values[0] if isinstance(one, ast.JoinedStr) else one
            if isinstance(first, ast.Constant):
                yield str(first.value)


def address(row: Mapping[str, str]) -> str:
    """The address of lines in a public repository. row: repository, commit, file and lines as ``22-51``."""
    first, last = row["lines"].split("-")
    return f"https://github.com/{row['repository']}/blob/{row['commit']}/{row['file']}#L{first}-L{last}"


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
