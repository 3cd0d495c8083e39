"""The typer application: all commands, and the error for an invalid command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from keyword import iskeyword
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from memgraph.cli.output import BAD_INPUT, Output, UsageError

HELP = "Long-term memory for agents: learn from conversations, inspect and correct what is remembered."

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "Learn and recall": {
            "chat": ("chat", "Chat with memory of earlier chats."),
            "update": ("update", "Learn from the conversation in FILE."),
            "step": ("step", "Run an update node by node."),
            "recall": ("memory", "Print the memory that is injected for QUESTION."),
        },
        "Inspect and correct": {
            "show": ("memory", "Show the memory of USER."),
            "episodes": ("memory", "List what USER said, word for word, by day."),
            "users": ("memory", "List the users with a memory."),
            "agents": ("memory", "List the memories of a user."),
            "fact": ("memory", "Add, edit or remove a fact."),
            "history": ("history", "List the changes of a memory."),
            "diff": ("history", "Show what differs between two revisions."),
            "undo": ("history", "Undo one change, also if later ones exist."),
            "why": ("history", "Show why a fact is known."),
            "revert": ("history", "Take back all that rests only on one conversation."),
            "rebuild": ("update", "Learn a memory again from its episodes."),
            "forget": ("memory", "Delete a memory permanently, with its backups."),
            "erase": ("memory", "Erase everything that is kept of a user."),
            "audit": ("audit", "Find problems in a memory."),
            "upkeep": ("update", "Merge facts that state the same, and end old ones."),
            "export": ("transfer", "Export a memory as JSON."),
            "import": ("transfer", "Import FILE into a memory."),
        },
        "Background updates": {
            "pending": ("worker", "List conversations that are pending or failed."),
            "retry": ("worker", "Requeue failed conversations."),
            "review": ("review", "List pending changes, or decide them with --user."),
            "worker": ("worker", "Learn from the conversations in an outbox until stopped."),
        },
        "Set up and run": {
            "new": ("new", "Write a project with an agent that remembers."),
            "setup": ("config", "Choose the chat model that learns."),
            "status": ("config", "Show what learns, what finds, in which storage."),
            "config": ("config", "Show the effective settings and their sources."),
            "index": ("index", "Index new and changed documents of the file memory NAME."),
            "serve": ("serve", "Serve the HTTP API until stopped."),
            "mcp": ("serve", "Serve a memory to assistants over the Model Context Protocol."),
            "draw": ("step", "Print the graph of a memory update."),
            "bench": ("bench", "Run the benchmarks (source checkout only)."),
        },
    }
)
"""The module and the summary of each command, under the headings of the help. Its function has the name of it."""


class LazyCommands(Mapping[str, Any]):
    """The commands by name. A module is imported when one of its commands is called or described."""

    _modules: ClassVar = {name: module for commands in COMMANDS.values() for name, (module, _) in commands.items()}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - typer does not export the class
        from memgraph.cli.declare import make_command

        module = import_module(f"memgraph.cli.{self._modules[name]}")
        return make_command(getattr(module, f"{name}_" if iskeyword(name) else name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class GroupedCommands(TyperGroup):
    """Lists the commands under headings, as only the help texts that rich renders do by themselves."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - of typer
        super().__init__(**attributes)
        self.commands: Any = LazyCommands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer does not export the class
        """Return the names, without an import of the commands."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer does not export the classes
        """Write a section for each heading; the columns of all sections are aligned."""
        del ctx
        width = max(map(len, self.commands))
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, (_, summary) in commands.items()])


# Plain help texts: rendering them with rich takes three times as long.
app = typer.Typer(
    name="memgraph", help=HELP, cls=GroupedCommands, pretty_exceptions_enable=False, rich_markup_mode=None
)


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
        found: Any = error  # typer does not export the class
        path = found.ctx.command_path if found.ctx else "memgraph"
        output = Output(as_json="--json" in arguments)
        output.error("UsageError", f"{found.format_message()} (see {path} --help)")
        return BAD_INPUT
    return result if isinstance(result, int) else 0
