"""The editor of whoever sits at the terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memgraph.cli.output import one_line
from memgraph.errors import EditError


def editor() -> list[str]:
    """The command of $VISUAL or $EDITOR; empty where neither is set."""
    return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")


def edited(text: str, name: str) -> str:
    """Have *text* edited, in a file that nobody else may read, and return what it is then.

    Raises:
        EditError: If the editor cannot be started, or failed.
    """
    with tempfile.TemporaryDirectory(prefix="memgraph-") as folder:
        file = Path(folder, f"{name}.json")
        file.write_text(text, encoding="utf-8")
        command = [*editor(), str(file)]
        try:
            subprocess.run(command, check=True)  # noqa: S603 - the user's own choice
            return file.read_text(encoding="utf-8")
        except (OSError, subprocess.CalledProcessError, UnicodeDecodeError) as error:
            raise EditError(f"editing with {command[0]} failed: {error}") from error


def prompt_edit(what: str, current: str) -> str:
    """Ask for another value of *what*; empty where it stays."""
    shown = one_line(current)
    with _typed_already(shown) as is_shown:
        line = (prompt_line(f"  {what}: " if is_shown or not shown else f"  {what} [{shown}]: ") or "").strip()
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


def prompt_line(prompt: str) -> str | None:
    """A line; None where the input ends."""
    try:
        return input(prompt)
    except EOFError:
        sys.stdout.write("\n")
        return None
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        raise


def read_lines(prompt: str) -> Iterator[str]:
    """What is typed, or piped in where *prompt* is empty, line by line, stripped."""
    if prompt:
        with suppress(ImportError):  # arrow keys and earlier lines, where the platform has them
            import readline as _  # noqa: F401
    with suppress(EOFError):
        while True:
            yield input(prompt).strip()
