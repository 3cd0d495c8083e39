"""The typer application: all commands, and the error for an invalid command line."""

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
    episodes,
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
    worker,
)
from memgraph.cli.errors import BAD_INPUT, UsageError
from memgraph.cli.output import Output

HELP = "Long-term memory for agents: learn from conversations, inspect and correct what is remembered."

# Plain help texts: rendering them with rich takes three times as long.
app = typer.Typer(
    name="memgraph",
    help=HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

COMMANDS = (
    chat,
    update,
    step,
    show,
    episodes,
    recall,
    fact,
    forget,
    transfer,
    audit,
    draw,
    jobs,
    worker,
    review,
    index,
    serve,
    config,
    bench,
)
for command in COMMANDS:
    command.register(app)


def _print_version(value: bool) -> None:  # noqa: FBT001 - the signature of a typer callback
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"memgraph {version('langgraph-memgraph')}")
        except PackageNotFoundError:
            typer.echo("memgraph (not installed)")
        raise typer.Exit


@app.callback(invoke_without_command=True, help=HELP)
def print_help(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    del version  # its callback has printed it
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def start(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        result: Any = app(list(arguments), standalone_mode=False, prog_name="memgraph")
    except UsageError as error:
        return _report_usage_error(error, as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _report_usage_error(error: Any, *, as_json: bool) -> int:  # noqa: ANN401 - typer does not export the class
    path = error.ctx.command_path if error.ctx else "memgraph"
    Output(as_json=as_json).error("UsageError", f"{error.format_message()} (see {path} --help)")
    return BAD_INPUT
