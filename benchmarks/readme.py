"""Write the measured figures of RESULTS.md into the pages that show some of them.

python benchmarks/readme.py

A table row with the name of a row in RESULTS.md is replaced by it; a row of a comparison gets the figures of the
projects that were measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from common import HERE

ROOT = HERE.parent
RESULTS = HERE / "RESULTS.md"
PAGES = (ROOT / "README.md", ROOT / "docs/explanation/benchmarks.md", ROOT / "docs/explanation/comparison.md")

_KILLED = "killed 2 s after 40 were submitted, learned in the end"
_CALLS = "model calls, the same conversation submitted ten times"
_TOKENS = "30 exchanges, submitted after each, all prompts"
_LOST = "lost, of 40 learned by 8 threads at once"

COMPARED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "killed 2 s after 40 conversations were submitted: learned in the end": {
            "memgraph": f"{_KILLED}: memgraph",
            "LangMem": f"{_KILLED}: LangMem",
        },
        "model calls, the same conversation submitted ten times": {
            "memgraph": f"{_CALLS}: memgraph",
            "LangMem": f"{_CALLS}: LangMem",
        },
        "prompt tokens, 30 exchanges, each submitted with all before": {
            "memgraph": f"{_TOKENS}: memgraph",
            "LangMem": f"{_TOKENS}: LangMem",
        },
        "lost, one profile updated 40 times by 8 threads": {
            "memgraph": f"{_LOST}: memgraph",
            "LangMem": f"{_LOST}: LangMem, profile",
        },
        "an update, 1,000 memories": {
            "memgraph": "update, 1,000 memories: memgraph",
            "LangMem": "update, 1,000 memories: LangMem",
        },
        "submit, in RAM": {"memgraph": "submit: memgraph, in RAM", "LangMem": "submit: LangMem, in RAM"},
    }
)
"""The rows of comparisons: the row of RESULTS.md of each project that was measured."""


def read_cells(line: str) -> list[str]:
    """Return the cells of a table row; none for any other line."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("| ") else []


def row_name(line: str) -> str:
    """Return the first cell of a table row; empty for any other line."""
    return next(iter(read_cells(line)), "")


def update_rows(page: str, results: str) -> str:
    """Return *page* with the rows of *results*; rows whose name is not unique in *results* stay unchanged."""
    rows = [line for line in results.splitlines() if row_name(line)]
    names = [row_name(line) for line in rows]
    measured = {name: line for name, line in zip(names, rows, strict=True) if names.count(name) == 1}
    return "\n".join(measured.get(row_name(line), line) for line in page.split("\n"))


def update_comparisons(page: str, results: str) -> str:
    """Return *page* with the figures of its comparisons; the cells of a project that was not measured are empty.

    Raises:
        KeyError: If a figure is not in *results*.
    """
    figures = {row_name(line): read_cells(line)[1] for line in results.splitlines() if row_name(line)}
    lines, columns = page.split("\n"), list[str]()
    for number, line in enumerate(lines):
        if line.startswith("| | "):
            columns = [name.split(" (")[0] for name in line.strip().strip("|").split("|")[1:]]
        elif compared := COMPARED.get(row_name(line)):
            cells = [figures[compared[name.strip()]] if name.strip() in compared else "" for name in columns]
            lines[number] = f"| {' | '.join([row_name(line), *cells])} |"
    return "\n".join(lines)


if __name__ == "__main__":
    results = RESULTS.read_text("utf-8")
    for page in PAGES:
        page.write_text(update_comparisons(update_rows(page.read_text("utf-8"), results), results), "utf-8")
