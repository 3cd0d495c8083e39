"""What a failure looks like: one line, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import typer

from memgraph.cli.output import Output
from memgraph.errors import (
    ConfigError,
    ConversationError,
    EditError,
    IdentityError,
    MemgraphError,
    ModelSetupError,
)

FAILURE = 1
BAD_INPUT = 2
INTERRUPTED = 130

INPUT_ERRORS = (ConfigError, ConversationError, EditError, IdentityError, ModelSetupError)
"""What whoever typed the command can put right."""

UsageError = cast("type[Exception]", typer.BadParameter.__base__)
"""Typer brings its own click or uses the installed one, by version; either way this is its UsageError."""


@contextmanager
def handle_errors(output: Output, *, debug: bool) -> Generator[None]:
    """Turn what a user can cause into one line and an exit code; with *debug* errors pass as they are."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout.fileno())
        raise typer.Exit(FAILURE) from None
    except (KeyboardInterrupt, typer.Abort):
        output.end_line()
        raise typer.Exit(INTERRUPTED) from None
    except (MemgraphError, OSError) as error:
        if debug:
            raise
        output.error(type(error).__name__, str(error))
        raise typer.Exit(BAD_INPUT if isinstance(error, INPUT_ERRORS) else FAILURE) from None


def _silence(descriptor: int) -> None:
    """Let what is still buffered go nowhere: nobody reads it, and the interpreter would complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
