"""Markdown that the hooks of the reference pages share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(heading: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table with the columns of *heading*, which are separated by bars."""
    yield from (f"| {heading} |", "|".join(["", *("---" for _ in heading.split("|")), ""]))
    for row in rows:
        yield f"| {' | '.join(' '.join(cell.split()) for cell in row)} |"
    yield ""


def escape(text: str) -> str:
    """Escape what Markdown would take for a tag or the end of a cell."""
    return text.replace("<", "&lt;").replace("|", "\\|")
