"""What all commands share: common options, the settings and storage they select, and error handling."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

import typer

from memgraph._concurrency import Closing
from memgraph.cli.errors import handle_errors
from memgraph.cli.output import Output
from memgraph.config import LoadedSettings, make_storage, read_settings
from memgraph.errors import EditError, MemgraphError, StorageError
from memgraph.models import MemoryDocument, Scope
from memgraph.opened import OpenMemory
from memgraph.operations import Operations
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage
from memgraph.storage.document import is_tombstone
from memgraph.storage.memory import InMemoryStorage

UserOption = Annotated[str, typer.Option("--user", "-u", help="User whose memory is used.")]
AgentOption = Annotated[str | None, typer.Option(help="Use the memory of this agent; default: the shared one.")]

MAX_NAMED = 10
"""Maximum number of users that an error names."""


class UnknownUserError(MemgraphError):
    """A command asks for the memory of a user who has none, perhaps by a misspelt id."""

    def __init__(self, scope: Scope, users: list[str]) -> None:
        known = ", ".join(users[:MAX_NAMED])
        more = f" and {len(users) - MAX_NAMED:,} more (see `memgraph users`)" if len(users) > MAX_NAMED else ""
        super().__init__(f"No memory for user {scope}.{f' Known users: {known}{more}.' if users else ''}")
        self.scope = scope
        self.users = users


class CommandContext(Closing):
    """One invocation of a command: its output, settings and storage, opened on first use."""

    def __init__(self, *, config: str | None, storage: str | None, as_json: bool) -> None:
        self._config = config
        self._overrides = {"storage_path": storage, "storage_class": None} if storage else {}
        self.output = Output(as_json=as_json)
        self._opened = ExitStack()

    @cached_property
    def loaded(self) -> LoadedSettings:
        """The effective settings and the source of each."""
        return read_settings(self._config, **self._overrides)

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self.loaded.settings

    @cached_property
    def storage(self) -> MemoryStorage:
        """The storage that the settings name."""
        storage = make_storage(self.settings)
        if isinstance(storage, InMemoryStorage):
            self.output.notice("The storage memory: is in RAM: nothing is kept when this command ends.")
        return storage

    def operations(self, user: str | None, agent: str | None = None, *, outbox: str | None = None) -> Operations:
        """Return the operations on the memory of a user, as the person at the terminal uses them.

        Raises:
            IdentityError: If an id is invalid.
        """
        if user is not None:
            Scope(user, agent)
        opened = OpenMemory(self.storage, settings=self.settings, outbox=outbox, learns=False)
        memory = self._opened.enter_context(opened)
        return Operations(memory, user_id=user, agent_name=agent, by_person=True)

    def existing(self, user: str, agent: str | None = None) -> Operations:
        """Return the operations on a memory that exists.

        Raises:
            UnknownUserError: If nothing is stored for it, not even episodes.
        """
        operations = self.operations(user, agent)
        load_existing(self.storage, operations.scope)
        return operations

    def confirm(self, question: str, without_terminal: str) -> bool:
        """Ask for confirmation.

        Raises:
            EditError: If there is no terminal, with a hint what to pass instead.
        """
        if self.output.as_json or not sys.stdin.isatty():
            raise EditError(without_terminal)
        return typer.confirm(question)

    def close(self) -> None:
        """Close what a command has opened."""
        self._opened.close()


def load_existing(storage: MemoryStorage, scope: Scope) -> MemoryDocument:
    """Return the memory of *scope*.

    Raises:
        UnknownUserError: If nothing is stored for it, not even episodes.
    """
    memory = storage.load(scope)
    is_missing = memory.revision == 0 or is_tombstone(memory)
    if memory.is_empty and is_missing and not storage.episodes(scope):
        raise UnknownUserError(scope, _known_users(storage))
    return memory


def _known_users(storage: MemoryStorage) -> list[str]:
    """Return the ids of all users; none if the storage cannot list them."""
    try:
        return sorted({scope.user_id for scope in storage.scopes()})
    except StorageError:
        return []


def _common(
    *,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="Memory storage: a folder, file:DIR, sqlite:FILE.")
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings file; default: $MEMGRAPH_CONFIG, else memgraph.yaml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Declares the options that every command has; never called."""


Command = Callable[..., object]
"""A function whose first parameter is the context; typer sees the others. It returns the document for --json."""


class CommandGroup(NamedTuple):
    """Commands with a common first word."""

    help: str
    commands: tuple[Command, ...]


def make_command(function: Command | CommandGroup) -> Any:  # noqa: ANN401 - typer does not export the class
    """Return the typer command that calls *function*, or that has the commands of a group."""
    is_group = isinstance(function, CommandGroup)
    app = typer.Typer(help=function.help if is_group else None, add_completion=False, rich_markup_mode=None)
    for command in function.commands if is_group else (function,):
        _add_command(app, command)
    return typer.main.get_command(app)


def _add_command(app: typer.Typer, function: Command) -> None:
    """Register *function* as a command of *app*, adding the common options.

    Its docstring is the help text; the command lines in it are printed as examples.
    """

    @functools.wraps(function)
    def call(
        *,
        storage: str | None,
        config: str | None,
        as_json: bool,
        debug: bool,
        **arguments: Any,  # noqa: ANN401
    ) -> None:
        ctx = CommandContext(config=config, storage=storage, as_json=as_json)
        with handle_errors(ctx.output, debug=debug), ctx:
            document = function(ctx, **arguments)
            if document is not None:
                ctx.output.result(document)

    # Typer reads the signature; annotations are resolved here, in the module that declares them.
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    common = list(inspect.signature(_common, eval_str=True).parameters.values())
    call.__signature__ = inspect.Signature([*own, *common])  # pyright: ignore[reportAttributeAccessIssue]
    for parameter in (*own, *common):
        kind, described = get_args(parameter.annotation)
        if {*(get_args(kind) or (kind,))} <= {str, int, float, Path, NoneType}:
            described.metavar = described.metavar or parameter.name.upper()
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *common)}
    text = _format_help(inspect.getdoc(function) or "")
    app.command(function.__name__.rstrip("_"), help=text)(call)


def _format_help(text: str) -> str:
    """Return a docstring as help text, with examples that are not wrapped.

    Examples are the paragraphs of command lines. Their indentation is not a sign of them: Python removes it if
    nothing else follows the first line.
    """
    return "\n\n".join(
        "\n".join(("\b", "Examples:", *(f"  {line.strip()}" for line in paragraph.splitlines())))
        if all(map(_EXAMPLE.match, paragraph.splitlines()))
        else paragraph
        for paragraph in text.split("\n\n")
    )


_EXAMPLE = re.compile(r"\s*(?:echo .* \| )?memgraph \S")
