"""memgraph users: list whose memories a storage has; and the error for a user without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from memgraph.cli.command import CommandContext, add_command
from memgraph.errors import MemgraphError, StorageError

if TYPE_CHECKING:
    from memgraph.models import Memory, Scope
    from memgraph.storage import MemoryStorage

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


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, users)


def users(ctx: CommandContext) -> None:
    """List the users with a memory, and the agents that have a separate memory of them.

    memgraph users
    memgraph users --storage sqlite:memory.db --json
    """
    from memgraph.cli.output import one_line

    found: dict[str, list[str]] = {}
    for scope in sorted(ctx.storage.scopes(), key=lambda scope: (scope.user_id, scope.agent_name or "")):
        found.setdefault(scope.user_id, []).extend([scope.agent_name] if scope.agent_name else [])
    for user, agents in found.items():
        others = f" (agents: {', '.join(agents)})" if agents else ""
        ctx.output.line(f"{one_line(user)}{others}")
    if not found:
        ctx.output.line(f"No memories in {ctx.storage.name}.")
    ctx.output.result(
        {
            "storage": ctx.storage.name,
            "users": [{"user_id": user, "agents": agents} for user, agents in found.items()],
        }
    )


def load_existing(storage: MemoryStorage, scope: Scope) -> Memory:
    """Return the memory of *scope*.

    Raises:
        UnknownUserError: If nothing is stored for it, not even episodes.
    """
    from memgraph.storage.document import is_tombstone

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
