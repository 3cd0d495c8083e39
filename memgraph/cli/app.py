"""The typer application: all commands, and the error for an invalid command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Protocol

import typer
from typer.core import TyperGroup

from memgraph.cli import (
    audit,
    bench,
    chat,
    config,
    draw,
    episodes,
    erase,
    fact,
    forget,
    history,
    index,
    jobs,
    mcp,
    new,
    rebuild,
    recall,
    revert,
    review,
    serve,
    setup,
    show,
    step,
    transfer,
    update,
    upkeep,
    users,
    worker,
)
from memgraph.cli.errors import BAD_INPUT, UsageError
from memgraph.cli.output import Output

HELP = "Long-term memory for agents: learn from conversations, inspect and correct what is remembered."


class CommandModule(Protocol):
    """A module of this package that has commands."""

    def register(self, app: typer.Typer) -> None:
        """Add the commands to *app*."""
        ...


class GroupedCommands(TyperGroup):
    """Lists the commands under headings, as only the help texts that rich renders do by themselves."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer does not export the classes
        """Write a section for each heading; the columns of all sections are aligned."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, command) for name, command in commands if command and not command.hidden]
        width = max(len(name) for name, _ in shown)
        for title in COMMANDS:
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width - width - 6))
                for name, command in shown
                if getattr(command, "rich_help_panel", None) == title
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


# Plain help texts: rendering them with rich takes three times as long.
app = typer.Typer(
    name="memgraph",
    help=HELP,
    cls=GroupedCommands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

COMMANDS: Mapping[str, tuple[CommandModule, ...]] = MappingProxyType(
    {
        "Learn and recall": (chat, update, step, recall),
        "Inspect and correct": (
            *(show, episodes, users, fact, history, revert, rebuild),
            *(forget, erase, audit, upkeep, transfer),
        ),
        "Background updates": (jobs, review, worker),
        "Set up and run": (new, setup, config, index, serve, mcp, draw, bench),
    }
)
"""Modules with commands, by the heading under which the help lists them."""

for heading, modules in COMMANDS.items():
    for module in modules:
        known = len(app.registered_commands), len(app.registered_groups)
        module.register(app)
        for added in (*app.registered_commands[known[0] :], *app.registered_groups[known[1] :]):
            added.rich_help_panel = heading


def _print_version(value: bool) -> None:  # noqa: FBT001 - the signature of a typer callback
    if value:
        from memgraph import __version__

        typer.echo(f"memgraph {__version__}")
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
