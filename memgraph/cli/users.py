"""memgraph users and agents: list whose memories a storage has; and the error for a user without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memgraph.cli.command import CommandContext, UnknownUserError, UserOption
from memgraph.cli.format import pluralize
from memgraph.cli.output import one_line
from memgraph.editing import MemorySummary
from memgraph.operations.results import MemoryInfo


def users(ctx: CommandContext) -> object:
    """List the users with a memory, the agents that have a separate memory of them, its size and last change.

    memgraph users
    memgraph users --storage sqlite:memory.db --json
    """
    rows: list[dict[str, Any]] = []
    for user, memories in ctx.operations(None).memories().items():
        names = [memory.scope.agent_name for memory in memories if memory.scope.agent_name]
        others = f" (agents: {', '.join(names)})" if names else ""
        ctx.output.line(f"{one_line(user)}{others}: {_describe(memories)}")
        rows.append({"user_id": user, "agents": names, "memories": list(map(_dump, memories))})
    if not rows:
        ctx.output.line(f"No memories in {ctx.storage.name}.")
    return {"storage": ctx.storage.name, "users": rows}


def agents(ctx: CommandContext, *, user: UserOption) -> object:
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
    return {"user_id": user, "memories": list(map(_dump, memories))}


def _describe(memories: Sequence[MemorySummary]) -> str:
    """Format sizes: `12 facts, 1 episode, last changed 2026-05-03T09:00:00Z`."""
    if any(memory.is_damaged for memory in memories):
        return "a document cannot be read"
    facts = pluralize(sum(memory.facts for memory in memories), "fact")
    episodes = pluralize(max(memory.episodes for memory in memories), "episode")
    changed = max(memory.last_updated for memory in memories)
    return ", ".join(filter(None, [facts, episodes, changed and f"last changed {changed}"]))


def _dump(memory: MemorySummary) -> dict[str, Any]:
    """Return a summary as JSON, with the agent instead of the scope."""
    return MemoryInfo.of(memory).model_dump()
