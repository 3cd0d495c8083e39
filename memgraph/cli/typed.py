"""Lines that a person types, or puts right."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

from memgraph.cli.safe import one_line


def retyped(what: str, current: str) -> str:
    """Ask for another value of *what*; empty where it stays."""
    shown = one_line(current)
    with _typed_already(shown) as is_shown:
        line = (typed(f"  {what}: " if is_shown or not shown else f"  {what} [{shown}]: ") or "").strip()
    return "" if line == shown else line


@contextmanager
def _typed_already(text: str) -> Generator[bool]:
    """Put *text* on the line that is typed next, to be edited, where the platform can."""
    try:
        import readline
    except ImportError:
        yield False
        return
    if sys.stdin is not sys.__stdin__ or not sys.stdout.isatty():
        yield False
        return
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        yield True
    finally:
        readline.set_startup_hook(None)


def typed(prompt: str) -> str | None:
    """A line; None where the input ends."""
    try:
        return input(prompt)
    except EOFError:
        sys.stdout.write("\n")
        return None
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        raise


def typed_lines(prompt: str) -> Iterator[str]:
    """What is typed, or piped in where *prompt* is empty, line by line, stripped."""
    if prompt:
        with suppress(ImportError):  # arrow keys and earlier lines, where the platform has them
            import readline as _  # noqa: F401
    with suppress(EOFError):
        while True:
            yield input(prompt).strip()
