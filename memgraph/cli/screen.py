"""Where a command writes: its result to stdout, notices and errors to stderr."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING

from memgraph.cli.safe import harmless, harmless_json, one_line

if TYPE_CHECKING:
    from rich.console import Console


class Screen:
    """What a person reads, or with *as_json* one JSON document and nothing else on stdout.

    Text is never read as markup, and cannot steer the terminal.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._open_line = False

    def line(self, text: str = "", style: str = "", *, indent: int = 0) -> None:
        """Write a line for people."""
        if self.as_json:
            return
        from rich.padding import Padding
        from rich.text import Text

        shown = Text(harmless(text), style=style)
        if self._out.is_terminal:
            self._out.print(Padding(shown, (0, 0, 0, indent), expand=False))
        else:
            self._out.print(Text(" " * indent) + shown, soft_wrap=True)

    def begin_line(self, text: str) -> None:
        """Write the beginning of a line, so that it can be seen what is going on."""
        if not self.as_json:
            self._out.print(harmless(text), end="", soft_wrap=True)
            self._out.file.flush()
            self._open_line = True

    def end_line(self, text: str = "") -> None:
        """Write the rest of a line that was begun, if one was."""
        if self._open_line:
            self._open_line = False
            self._out.print(harmless(text), soft_wrap=True)

    def result(self, document: object) -> None:
        """Write what machines read."""
        if self.as_json:
            sys.stdout.write(f"{harmless_json(document)}\n")

    def notice(self, text: str) -> None:
        """Say something besides."""
        sys.stderr.write(f"{one_line(text)}\n")
        sys.stderr.flush()

    def error(self, kind: str, message: str) -> None:
        """Say what went wrong, in one line, and to machines as a document."""
        self.end_line()
        self.result({"error": {"type": kind, "message": message}})
        self.notice(f"Error: {message}")

    @cached_property
    def _out(self) -> Console:
        from rich.console import Console

        return Console(markup=False, highlight=False, emoji=False)
