"""Bring the tables of the README up to date: each line that RESULTS.md has under the same name becomes the line there.

python benchmarks/readme.py
"""

from __future__ import annotations

from common import HERE

README = HERE.parent / "README.md"
RESULTS = HERE / "RESULTS.md"


def name_of(line: str) -> str:
    """The first cell of a line of a table; empty for any other line."""
    return line.split("|")[1].strip() if line.startswith("| ") else ""


def renewed(page: str, results: str) -> str:
    """Return *page* with the lines of *results*; a name that *results* has more than once is left as it is."""
    every = [line for line in results.splitlines() if name_of(line)]
    names = [name_of(line) for line in every]
    measured = {name: line for name, line in zip(names, every, strict=True) if names.count(name) == 1}
    return "\n".join(measured.get(name_of(line), line) for line in page.split("\n"))


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8"), RESULTS.read_text("utf-8")), "utf-8")
