"""Terminal output, with hidden characters of stored text visible, and errors as one line and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, cast

import typer
from pydantic_core import to_jsonable_python

from memgraph.analysis.hidden import escape_hidden, show_hidden
from memgraph.analysis.normalize import single_line
from memgraph.errors import ConfigError, ConversationError, EditError, IdentityError, MemgraphError, ModelSetupError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


FAILURE = 1
BAD_INPUT = 2
INTERRUPTED = 130

INPUT_ERRORS = (ConfigError, ConversationError, EditError, IdentityError, ModelSetupError)
"""Errors that a different command line, input file or configuration avoids."""

UsageError = cast("type[Exception]", typer.BadParameter.__base__)
"""click's UsageError. Depending on its version, typer vendors click or uses the installed one."""


def format_json(document: object) -> str:
    """Return *document* as JSON, also the models in it, with the keys of the stored document.

    Only hidden characters, which could control a terminal, are escaped.
    """
    return escape_hidden(json.dumps(document, default=to_jsonable_python, ensure_ascii=False, indent=2))


class Output:
    """Writes human-readable lines, or with *as_json* exactly one JSON document to stdout.

    Hidden characters of a text are shown, as in `<U+001B>`, and it is never interpreted as markup.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._open_line = False
        self._waiting: Progress | None = None
        """The line that shows the seconds, with the task that takes long."""

    def line(self, text: str = "", style: str = "", *, indent: int = 0) -> None:
        """Write a human-readable line."""
        if self.as_json:
            return
        self.end_line()
        from rich.padding import Padding
        from rich.text import Text

        styled = Text(show_hidden(text), style=style)
        if self._out.is_terminal:
            self._out.print(Padding(styled, (0, 0, 0, indent), expand=False))
        else:
            self._out.print(Text(" " * indent) + styled, soft_wrap=True)

    def verbatim(self, text: str) -> None:
        """Write *text* as it is, so that it can be redirected to a file; a no-op with --json."""
        if not self.as_json:
            sys.stdout.write(text)

    def begin_line(self, text: str) -> None:
        """Write the beginning of a line at once, for progress and streamed text."""
        if not self.as_json:
            self._stop_waiting()
            self._out.print(show_hidden(text), end="", soft_wrap=True)
            self._out.file.flush()
            self._open_line = True

    def begin_step(self, text: str = "") -> None:
        """Write the beginning of a line that may take long to finish, or another one instead of that.

        At a terminal, the seconds that pass are shown next to it. A step without *text* is shown only there.
        """
        if self.as_json:
            return
        if self._out.is_terminal and self._waiting:
            self._waiting.update(self._waiting.task_ids[0], description=show_hidden(text))
        elif self._out.is_terminal:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}", markup=False), SpinnerColumn(), TimeElapsedColumn())
            self._waiting = Progress(*columns, console=self._out, transient=True)
            self._waiting.add_task(show_hidden(text), total=None)
            self._waiting.start()
        elif text:
            self.end_line()
            self.begin_line(text)

    def end_line(self, text: str = "") -> None:
        """Finish the line that `begin_line` or `begin_step` started, if any."""
        text = f"{self._stop_waiting()}{text}"
        if self._open_line or (text and not self.as_json):
            self._open_line = False
            self._out.print(show_hidden(text), soft_wrap=True)

    def _stop_waiting(self) -> str:
        """Remove the line that shows the seconds, if any, and return its text."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return ""
        waiting.stop()
        return waiting.tasks[0].description

    def result(self, document: object) -> None:
        """Write the JSON document; a no-op without --json."""
        if self.as_json:
            sys.stdout.write(f"{format_json(document)}\n")

    def notice(self, text: str) -> None:
        """Write one line to stderr."""
        sys.stderr.write(f"{show_hidden(single_line(text))}\n")
        sys.stderr.flush()

    def error(self, kind: str, message: str) -> None:
        """Report an error as one line on stderr, and with --json as a document too."""
        self.end_line()
        self.result({"error": {"type": kind, "message": message}})
        self.notice(f"Error: {message}")

    @cached_property
    def _out(self) -> Console:
        from rich.console import Console

        return Console(markup=False, highlight=False, emoji=False)


def _explain(error: Exception) -> str:
    """Return the message of *error*; of the system's errors the file and the reason, without a number."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)


@contextmanager
def handle_errors(output: Output, *, debug: bool) -> Generator[None]:
    """Turn expected errors into one line and an exit code; with *debug*, let them propagate."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # the null device does not raise again when the interpreter flushes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILURE) from None
    except (KeyboardInterrupt, typer.Abort):
        output.end_line()
        raise typer.Exit(INTERRUPTED) from None
    except (MemgraphError, OSError) as error:
        if debug:
            raise
        output.error(error.code if isinstance(error, MemgraphError) else type(error).__name__, _explain(error))
        raise typer.Exit(BAD_INPUT if isinstance(error, INPUT_ERRORS) else FAILURE) from None
    finally:
        output.end_line()  # a spinner hides the cursor
