"""The package and its tests stay within a ceiling, so that what comes makes room for itself.

Code lines are lines with code: no comments, docstrings and blank lines.

    python tests/guards/test_size.py      # print them by folder
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


class Size(NamedTuple):
    """The size of a part of the project."""

    lines: int
    files: int


CEILINGS = {"memgraph": Size(lines=38_149, files=306), "tests": Size(lines=45_412, files=359)}
"""The largest size of each part. An issue that adds a feature raises it by what the feature needs."""


def code_lines(source: str) -> int:
    """Return how many lines of *source* have code."""
    docstrings = {line for node in ast.walk(ast.parse(source)) for line in _docstring_lines(node)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - docstrings)


def _docstring_lines(node: ast.AST) -> set[int]:
    """Return the lines of the docstring of a module, class or function."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    if ast.get_docstring(node, clean=False) is None:
        return set()
    text = node.body[0]
    return set(range(text.lineno, (text.end_lineno or text.lineno) + 1))


def sizes(part: str) -> dict[str, Size]:
    """Return the size of each folder of a part of the project."""
    lines, files = Counter[str](), Counter[str]()
    for path in sorted((ROOT / part).rglob("*.py")):
        folder = path.relative_to(ROOT / part).parts[0] if path.parent != ROOT / part else "."
        lines[folder] += code_lines(path.read_text(encoding="utf-8"))
        files[folder] += 1
    return {folder: Size(lines[folder], files[folder]) for folder in files}


def total(folders: dict[str, Size]) -> Size:
    """Return the size of all folders together."""
    return Size(*map(sum, zip(*folders.values(), strict=True)))


@pytest.mark.parametrize("part", CEILINGS)
def test_a_part_is_within_its_ceiling(part: str) -> None:
    folders = sizes(part)

    found = total(folders)

    assert found.lines <= CEILINGS[part].lines, folders
    assert found.files <= CEILINGS[part].files, folders


def test_only_lines_with_code_count() -> None:
    """A text over several lines is code, a docstring is not."""
    assert code_lines('"""Doc\n\nstring."""\n\n# comment\nx = """a\n\nb"""  # why\n') == 3


if __name__ == "__main__":
    for part in CEILINGS:
        folders = sorted(sizes(part).items(), key=lambda item: -item[1].lines)
        for folder, size in [*folders, ("in all", total(dict(folders)))]:
            sys.stdout.write(f"{part}/{folder:14} {size.lines:7,} lines {size.files:4} files\n")
