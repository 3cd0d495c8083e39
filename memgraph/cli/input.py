"""Input: files and export folders, prompts, piped lines, and the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memgraph.cli.format import shown_line
from memgraph.errors import EditError, MemgraphError
from memgraph.importers import ExportDocument

STDIN = "-"


def read_file_or_stdin(file: str, error_type: type[MemgraphError] = EditError) -> bytes:
    """Return the bytes of *file*; `-` is stdin.

    Raises:
        MemgraphError: Of type *error_type*, if the file cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise error_type(f"cannot read {file}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL byte in the name
        raise error_type(f"cannot read {file!r}: {error}") from error


def read_documents(file: str) -> list[ExportDocument]:
    """Return the documents of an export: *file*, or the memories below it if it is a folder.

    Raises:
        EditError: If a file cannot be read or the folder contains no memories.
    """
    root = Path(file)
    if file == STDIN or not root.is_dir():
        return [ExportDocument(display_name(file), read_file_or_stdin(file))]
    found = [*root.rglob("memory.json"), *(path for path in root.rglob("*.md") if "facts" in path.parts)]
    if not found:
        raise EditError(f"{file} contains neither memory.json files nor Markdown files in a folder named facts")
    return [ExportDocument(path.as_posix(), read_file_or_stdin(str(path))) for path in sorted(found)]


def display_name(file: str) -> str:
    """Return the name of *file* for messages."""
    return "stdin" if file == STDIN else file


def default_thread(file: str) -> str:
    """Return the default thread of a conversation: its file name without the suffix."""
    return "stdin" if file == STDIN else Path(file).stem


def editor_command() -> list[str]:
    """Return the command in $VISUAL or $EDITOR; empty if neither is set."""
    return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")


def open_editor(text: str, name: str) -> str:
    """Open *text* in the user's editor, in a private temporary file, and return the edited text.

    Raises:
        EditError: If the editor cannot be started, or fails.
    """
    with tempfile.TemporaryDirectory(prefix="memgraph-") as folder:
        file = Path(folder, f"{name}.json")
        file.write_text(text, encoding="utf-8")
        command = [*editor_command(), str(file)]
        try:
            subprocess.run(command, check=True)  # noqa: S603 - chosen by the user
            return file.read_text(encoding="utf-8")
        except (OSError, subprocess.CalledProcessError, UnicodeDecodeError) as error:
            raise EditError(f"editing with {command[0]} failed: {error}") from error


def prompt_edit(label: str, current: str) -> str:
    """Prompt for a new value; empty if the current one is kept."""
    default = shown_line(current)
    with _prefilled(default) as is_prefilled:
        prompt = f"  {label}: " if is_prefilled or not default else f"  {label} [{default}]: "
        line = (prompt_line(prompt) or "").strip()
    return "" if line == default else line


@contextmanager
def _prefilled(text: str) -> Generator[bool]:
    """Prefill the next input line with *text*, if readline is available."""
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
    """Read a line; None at the end of input."""
    try:
        return input(prompt)
    except EOFError:
        sys.stdout.write("\n")
        return None
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        raise


def read_lines(prompt: str) -> Iterator[str]:
    """Yield stripped lines from stdin; pass an empty *prompt* if it is a pipe."""
    if prompt:
        with suppress(ImportError):  # line editing and history, if the platform has readline
            import readline as _  # noqa: F401
    with suppress(EOFError):
        while True:
            yield input(prompt).strip()
