"""The editor of whoever sits at the terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

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
