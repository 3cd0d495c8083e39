"""memgraph forget: delete a memory for good."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.format import format_scope, pluralize
from memgraph.cli.jobs import OutboxOption
from memgraph.cli.output import one_line
from memgraph.operations import Operations


def forget(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    outbox: OutboxOption = None,
) -> None:
    """Delete a memory permanently, with its backups.

    Its pending conversations are discarded by the processes that submitted them.

    Without --agent, deletes the memory that all agents of USER share.

        memgraph forget --user ada
        memgraph forget --user ada --agent coder --yes
    """
    operations = ctx.operations(user, agent, outbox=outbox)
    scope = operations.scope
    if not yes and not _confirm(ctx, operations):
        ctx.output.line("Nothing was deleted.")
        return
    backups = len(operations.backups())
    deleted = operations.forget()
    copies = f", and {pluralize(backups, 'backup')}" if backups else ""
    ctx.output.line(f"Deleted the memory of {format_scope(scope)} in {ctx.storage.location(scope)}{copies}.")
    if deleted.agents:
        ctx.output.line(f"Memories of these agents remain: {', '.join(deleted.agents)}. Delete each with --agent.")
    revision, agents = deleted.memory.revision, list(deleted.agents)
    ctx.output.result({"forgotten": True, "revision": revision, "backups": backups, "agents_left": agents})


def _confirm(ctx: CommandContext, operations: Operations) -> bool:

    facts = pluralize(len(operations.facts()), "fact")
    return ctx.confirm(
        f"Delete the memory of {one_line(format_scope(operations.scope))} ({facts}) in {one_line(ctx.storage.name)}?",
        "forget asks for confirmation at a terminal; add --yes to delete without asking",
    )
