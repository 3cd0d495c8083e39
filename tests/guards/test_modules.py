"""A file is a concept that a reader would look for: no module is a clause of another."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "memgraph"

MIN_LINES = 40
SPLIT_BY_TABLE = ("rules", "importers")
"""Folders whose files have one shape and one table that lists them."""
EXCEPTIONS: dict[str, str] = {}
"""Small modules with one importer, each with the reason why it stays."""


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, modules: set[str]) -> set[str]:
    """The modules of the package that *path* imports, at the top or where they are used."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found & modules


def test_no_small_module_serves_a_single_other() -> None:
    """It belongs into the module that imports it."""
    paths = {_module(path): path for path in PACKAGE.rglob("*.py") if path.name not in {"__init__.py", "__main__.py"}}
    importers: dict[str, set[str]] = {name: set() for name in paths}
    for path in PACKAGE.rglob("*.py"):
        for name in _imports(path, set(paths)) - {_module(path)}:
            importers[name].add(_module(path))

    small = {
        name
        for name, path in paths.items()
        if len(path.read_text(encoding="utf-8").splitlines()) < MIN_LINES
        and len(importers[name]) == 1
        and not str(path.relative_to(PACKAGE)).startswith(SPLIT_BY_TABLE)
    }

    assert small == set(EXCEPTIONS)
