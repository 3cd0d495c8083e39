"""Update the tables of README.md: every row is replaced by the row of RESULTS.md with the same name.

python benchmarks/readme.py
"""

from __future__ import annotations

from common import HERE

README = HERE.parent / "README.md"
RESULTS = HERE / "RESULTS.md"


def row_name(line: str) -> str:
    """Return the first cell of a table row; empty for any other line."""
    return line.split("|")[1].strip() if line.startswith("| ") else ""


def update_rows(page: str, results: str) -> str:
    """Return *page* with the rows of *results*; rows whose name is not unique in *results* stay unchanged."""
    rows = [line for line in results.splitlines() if row_name(line)]
    names = [row_name(line) for line in rows]
    measured = {name: line for name, line in zip(names, rows, strict=True) if names.count(name) == 1}
    return "\n".join(measured.get(row_name(line), line) for line in page.split("\n"))


if __name__ == "__main__":
    README.write_text(update_rows(README.read_text("utf-8"), RESULTS.read_text("utf-8")), "utf-8")
