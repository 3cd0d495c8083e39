"""The context of a command: the settings, storage and operations that it selects, and its output."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import cached_property

import typer

from memgraph._concurrency import Closing
from memgraph.cli.output import Output
from memgraph.config import LoadedSettings, make_storage, read_settings
from memgraph.editing.users import list_users
from memgraph.errors import EditError, MemgraphError, StorageError
from memgraph.models import MemoryDocument, Scope
from memgraph.opened import OpenMemory
from memgraph.operations import Operations
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage
from memgraph.storage.document import is_tombstone
from memgraph.storage.memory import InMemoryStorage

MAX_NAMED = 10
"""Maximum number of users that an error names."""


class UnknownUserError(MemgraphError):
    """A command asks for the memory of a user who has none, perhaps by a misspelt id."""

    def __init__(self, scope: Scope, users: list[str]) -> None:
        known = ", ".join(users[:MAX_NAMED])
        more = f" and {len(users) - MAX_NAMED:,} more (see `memgraph users`)" if len(users) > MAX_NAMED else ""
        super().__init__(f"No memory for user {scope}.{f' Known users: {known}{more}.' if users else ''}")


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

    @property
    def can_ask(self) -> bool:
        """Whether stdin is a terminal and the output is not JSON."""
        return sys.stdin.isatty() and not self.output.as_json

    @property
    def is_interactive(self) -> bool:
        """Whether a user types lines and reads the answers, and neither is a file or a pipe."""
        return self.can_ask and sys.stdout.isatty()

    def confirm(self, question: str, without_terminal: str, otherwise: str) -> None:
        """Ask for confirmation; without it, print *otherwise* and end the command.

        Raises:
            EditError: If there is no terminal, with a hint what to pass instead.
        """
        if not self.can_ask:
            raise EditError(without_terminal)
        if not typer.confirm(question):
            self.output.line(otherwise)
            raise typer.Exit

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
        return list(list_users(storage))
    except StorageError:
        return []
