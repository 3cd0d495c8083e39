"""The typer application: all commands, and the error for an invalid command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

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
    status,
    step,
    transfer,
    update,
    upkeep,
    users,
    worker,
)
from memgraph.cli.command import Command, CommandGroup, add_command
from memgraph.cli.errors import BAD_INPUT, UsageError
from memgraph.cli.output import Output

HELP = "Long-term memory for agents: learn from conversations, inspect and correct what is remembered."


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

COMMANDS: Mapping[str, tuple[Command | CommandGroup, ...]] = MappingProxyType(
    {
        "Learn and recall": (chat.chat, update.update, step.step, recall.recall),
        "Inspect and correct": (
            *(show.show, episodes.episodes, users.users, users.agents, fact.GROUP),
            *(history.history, history.diff, history.undo, history.why, revert.revert, rebuild.rebuild),
            *(forget.forget, erase.erase, audit.audit, upkeep.upkeep, transfer.export, transfer.import_),
        ),
        "Background updates": (jobs.pending, jobs.retry, review.review, worker.worker),
        "Set up and run": (
            *(new.new, setup.setup, status.status, config.config, index.index),
            *(serve.serve, mcp.mcp, draw.draw, bench.bench),
        ),
    }
)
"""The commands by the heading under which the help lists them. Each is the function of its name."""

for heading, commands in COMMANDS.items():
    for command in commands:
        if isinstance(command, CommandGroup):
            command.add_to(app, heading)
        else:
            add_command(app, command, heading)


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
