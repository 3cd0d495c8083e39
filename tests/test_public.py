"""What the package promises to have."""

from __future__ import annotations

import subprocess
import sys

import memgraph


def test_all_names_are_there_and_sorted() -> None:
    """A name that is promised can be imported, and is found by a reader."""
    assert memgraph.__all__ == sorted(memgraph.__all__)
    assert all(getattr(memgraph, name).__name__ == name for name in memgraph.__all__)


def test_no_name_is_there_that_is_not_promised() -> None:
    """What is public is listed; modules and helpers are not."""
    code = "import memgraph; print(sorted(n for n in vars(memgraph) if not n.startswith('_')))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert found.strip() == "['Any', 'TYPE_CHECKING', 'annotations', 'importlib']"


def test_importing_the_package_imports_no_framework() -> None:
    """`import memgraph` is cheap."""
    code = "import sys, memgraph; print([m for m in ('langgraph', 'langchain_core', 'pydantic') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
