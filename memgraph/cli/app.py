"""All commands, and what happens to a command line that is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memgraph.cli import (
    audit,
    bench,
    chat,
    config,
    draw,
    fact,
    forget,
    index,
    jobs,
    recall,
    review,
    serve,
    show,
    step,
    transfer,
    update,
)
from memgraph.cli.errors import BAD_INPUT, UsageError
from memgraph.cli.output import Output

# Plain help: rich's takes three times as long to draw.
app = typer.Typer(
    name="memgraph",
    help="Long-term memory for agents: learn from conversations, look at what is remembered, correct it.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

COMMANDS = (
    chat,
    update,
    step,
    show,
    recall,
    fact,
    forget,
    transfer,
    audit,
    draw,
    jobs,
    review,
    index,
    serve,
    config,
    bench,
)
for part in COMMANDS:
    part.register(app)


def _print_version(value: bool) -> None:  # noqa: FBT001 - typer's shape of a callback
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"memgraph {version('langgraph-memgraph')}")
        except PackageNotFoundError:
            typer.echo("memgraph (not installed)")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def begin(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Long-term memory for agents: learn from conversations, look at what is remembered, correct it."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def start(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        result: Any = app(list(arguments), standalone_mode=False, prog_name="memgraph")
    except UsageError as error:
        return _misused(error, as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _misused(error: Any, *, as_json: bool) -> int:  # noqa: ANN401 - typer does not name its class
    path = error.ctx.command_path if error.ctx else "memgraph"
    Output(as_json=as_json).error("UsageError", f"{error.format_message()} ({path} --help tells more)")
    return BAD_INPUT
