"""Error handling: every expected failure becomes one line on stderr and an exit code."""

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
"""Errors that a different command line, input file or configuration avoids."""

UsageError = cast("type[Exception]", typer.BadParameter.__base__)
"""click's UsageError. Depending on its version, typer vendors click or uses the installed one."""


@contextmanager
def handle_errors(output: Output, *, debug: bool) -> Generator[None]:
    """Turn expected errors into one line and an exit code; with *debug*, let them propagate."""
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
        output.error(error.code if isinstance(error, MemgraphError) else type(error).__name__, str(error))
        raise typer.Exit(BAD_INPUT if isinstance(error, INPUT_ERRORS) else FAILURE) from None
    finally:
        output.end_line()  # a spinner hides the cursor


def _silence(descriptor: int) -> None:
    """Redirect *descriptor* to the null device, so that flushing it at exit does not raise again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
