"""The command line: `memgraph update`, `show`, `recall` and the rest. One file a command or small group."""

from __future__ import annotations

import sys
from typing import TextIO, cast


def main() -> None:
    """Run `memgraph`. Exit code 0; 2 for bad input; 1 for failure; 130 when interrupted."""
    from memgraph.cli.app import start

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a character gets its number
            cast("_Reconfigurable", stream).reconfigure(errors="backslashreplace")
    sys.exit(start(sys.argv[1:]))


class _Reconfigurable(TextIO):
    def reconfigure(self, *, errors: str) -> None: ...
