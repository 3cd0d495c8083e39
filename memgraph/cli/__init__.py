"""Command line: `memgraph update`, `show`, `recall` and the rest, one file per command or small group."""

from __future__ import annotations

import gc
import sys
from io import TextIOWrapper

YOUNG_OBJECTS = 300_000
"""New objects after which garbage is collected: by default every 700, an eighth of the CPU of a start, for nothing."""


def main() -> None:
    """Run `memgraph`. Exit code 0 on success, 1 on failure, 2 for invalid input, 130 when interrupted."""
    gc.set_threshold(YOUNG_OBJECTS)
    from memgraph.cli.app import start

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape characters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    code = start(sys.argv[1:])
    gc.freeze()  # at its exit the interpreter collects garbage once more, a sixth of the CPU of an update
    sys.exit(code)
