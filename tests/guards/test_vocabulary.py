"""The project speaks the language of its field, and every name means one thing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "memgraph"

HOMELY = re.compile(
    r"""
    \b(?:
        somebody | someone | anybody | nobody | no\ one | whoever | whichever | anew | besides | beside
        | tell | tells | telling | told | says? | saying | settled? | meddl\w+ | mend(?:s|ed|ing)? | tidy | tidies
        | heed\w* | hasten\w* | likeness | crew | lane | desk | seat | shelf | talker | teller | goes?\ round
        | let(?:s|ting)?\ (?:go|be|pass) | hand(?:s|ed|ing)?\ (?:over|out|around|it|them|in) | in\ hand | at\ hand
        | put(?:s|ting)?\ back | pass(?:es|ed)?\ by | set(?:s|ting)?\ aside | kept\ aside | take(?:s|n)?\ in
        | give(?:s|n)?\ away | look(?:s|ed)?\ on | whole\ of | of\ one's\ own | thereby | hereby | hence | thus
        | where\ (?:there | nothing | none | nobody | not | no | it | they | one | all | that | this | both)
        | where\ (?:neither | he | she | we) | wherein | whereof
    )\b
    | (?<!there\ )(?<!there)\b(?:is|are|was|were)\ no\ (?!longer|more\b|less\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Everyday words that stand where the field has a term: return, report, submit, evict, retry, if, "is not a"."""

MOST_HOMELY = 20


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                yield statement.value


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, and other strings of several words; patterns that read a user's language are not ours."""
    tree = _parse(path)
    docstrings = {id(node): node for node in _docstrings(tree)}
    patterns = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in patterns:
            continue
        if id(node) in docstrings or (" " in node.value.strip() and "offline" not in path.parts):
            yield node.lineno, node.value


def _homely() -> list[str]:
    found: list[str] = []
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "graphs").glob("*.py")]):
        for line, text in _texts(path):
            found += [f"{path.relative_to(ROOT)}:{line}: {match.group(0)}" for match in HOMELY.finditer(text)]
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            found += [f"{page.name}:{number}: {match.group(0)}" for match in HOMELY.finditer(line)]
    return found


def test_docstrings_and_messages_use_the_terms_of_the_field() -> None:
    """A reader searches for "retry", "evict" or "submit", and reads a plain sentence once."""
    found = _homely()

    assert len(found) <= MOST_HOMELY, "\n".join([f"{len(found)} homely words:", *found])


def test_no_public_class_name_means_two_things() -> None:
    """A stack trace or a search for a class leads to one file."""
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in _parse(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, count in names.items() if count > 1] == []
