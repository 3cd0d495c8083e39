"""The public interface: `memgraph.__all__`."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import memgraph

ROOT = Path(__file__).parents[1]
GRAPHS = sorted([*(ROOT / "graphs").glob("*.py"), *(ROOT / "memgraph" / "graphs").glob("memory_*.py")])


def test_all_is_sorted_and_importable() -> None:
    """Every public name can be imported under the name it has."""
    assert memgraph.__all__ == sorted(memgraph.__all__)
    assert all(getattr(memgraph, name).__name__ == name for name in memgraph.__all__)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert memgraph.__version__ == version("langgraph-memgraph")


def test_nothing_else_is_public() -> None:
    """The package's namespace has the listed names and no modules or helpers."""
    code = "import memgraph; print(sorted(n for n in vars(memgraph) if not n.startswith('_')))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert found.strip() == "['Any', 'TYPE_CHECKING', 'annotations', 'importlib']"


def test_importing_the_package_imports_no_framework() -> None:
    """`import memgraph` is cheap: public names are imported on first use."""
    code = "import sys, memgraph; print([m for m in ('langgraph', 'langchain_core', 'pydantic') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("name", memgraph.__all__)
def test_public_names_have_a_docstring_of_their_own(name: str) -> None:
    """`help(memgraph.name)` says what it is and how to use it."""
    assert getattr(memgraph, name).__doc__


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_graphs_import_only_public_names(path: Path) -> None:
    """They are templates: a copy of one must not depend on modules that may change."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]

    modules = {name.name for node in imports if isinstance(node, ast.Import) for name in node.names}
    sources = {node.module or "." * node.level: node.names for node in imports if isinstance(node, ast.ImportFrom)}
    used = {name.name for name in sources.get("memgraph", [])}

    inside = {module for module in {*modules, *sources} if module.startswith(("memgraph.", "."))}
    assert inside <= {f"memgraph.graphs.{path.stem}"}
    assert used or inside
    assert used <= set(memgraph.__all__)
