"""Text that somebody else wrote, made harmless for a terminal."""

from __future__ import annotations

import json
import re
import sys
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


# Controls, lone surrogates, line separators, and what turns the direction of the text around.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def sanitize(text: str) -> str:
    r"""*text* with every character that could steer a terminal written out, as in `\x1b`."""
    return _HARMFUL.sub(lambda match: _written_out(match[0]), text)


def one_line(text: str) -> str:
    """*text* harmless, and on one line."""
    return sanitize(" ".join(text.split()))


def harmless_json(document: object) -> str:
    """*document* as JSON, non-ASCII as it is but for what could steer a terminal; it reads as the same."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return _HARMFUL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two hex digits hold it


class Output:
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

        shown = Text(sanitize(text), style=style)
        if self._out.is_terminal:
            self._out.print(Padding(shown, (0, 0, 0, indent), expand=False))
        else:
            self._out.print(Text(" " * indent) + shown, soft_wrap=True)

    def begin_line(self, text: str) -> None:
        """Write the beginning of a line, so that it can be seen what is going on."""
        if not self.as_json:
            self._out.print(sanitize(text), end="", soft_wrap=True)
            self._out.file.flush()
            self._open_line = True

    def end_line(self, text: str = "") -> None:
        """Write the rest of a line that was begun, if one was."""
        if self._open_line:
            self._open_line = False
            self._out.print(sanitize(text), soft_wrap=True)

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
