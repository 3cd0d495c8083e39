"""memgraph users and agents: list whose memories a storage has; and the error for a user without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memgraph.cli.command import CommandContext, UserOption
from memgraph.errors import MemgraphError, StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph.editing import MemorySummary
    from memgraph.models import MemoryDocument, Scope
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


def users(ctx: CommandContext) -> None:
    """List the users with a memory, the agents that have a separate memory of them, its size and last change.

    memgraph users
    memgraph users --storage sqlite:memory.db --json
    """
    from memgraph.cli.output import one_line

    rows: list[dict[str, Any]] = []
    for user, memories in ctx.operations(None).memories().items():
        names = [memory.scope.agent_name for memory in memories if memory.scope.agent_name]
        others = f" (agents: {', '.join(names)})" if names else ""
        ctx.output.line(f"{one_line(user)}{others}: {_describe(memories)}")
        rows.append({"user_id": user, "agents": names, "memories": list(map(_dump, memories))})
    if not rows:
        ctx.output.line(f"No memories in {ctx.storage.name}.")
    ctx.output.result({"storage": ctx.storage.name, "users": rows})


def agents(ctx: CommandContext, *, user: UserOption) -> None:
    """List the memories of a user: the one that all agents share, and those of agents.

    memgraph agents --user ada
    """
    operations = ctx.operations(user)
    known = operations.users()
    if user not in known:
        raise UnknownUserError(operations.scope, known)
    memories = operations.memories(limit=1, offset=known.index(user))[user]
    for memory in memories:
        ctx.output.line(f"{memory.scope.agent_name or 'shared by all agents'}: {_describe([memory])}")
    ctx.output.result({"user_id": user, "memories": list(map(_dump, memories))})


def _describe(memories: Sequence[MemorySummary]) -> str:
    """Format sizes: `12 facts, 1 episode, last changed 2026-05-03T09:00:00Z`."""
    from memgraph.cli.format import pluralize

    if any(memory.is_damaged for memory in memories):
        return "a document cannot be read"
    facts = pluralize(sum(memory.facts for memory in memories), "fact")
    episodes = pluralize(max(memory.episodes for memory in memories), "episode")
    changed = max(memory.last_updated for memory in memories)
    return ", ".join(filter(None, [facts, episodes, changed and f"last changed {changed}"]))


def _dump(memory: MemorySummary) -> dict[str, Any]:
    """Return a summary as JSON, with the agent instead of the scope."""
    from memgraph.operations.results import MemoryInfo

    return MemoryInfo.of(memory).model_dump()


def load_existing(storage: MemoryStorage, scope: Scope) -> MemoryDocument:
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
