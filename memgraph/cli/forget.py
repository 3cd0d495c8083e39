"""memgraph forget: delete a memory for good."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.jobs import OutboxOption, open_outbox

if TYPE_CHECKING:
    from memgraph.models import Scope


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, forget)


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
    from memgraph.background.drain import forget_submissions
    from memgraph.background.planning import last_deletion
    from memgraph.cli.format import format_scope, pluralize
    from memgraph.editing import discard_copies
    from memgraph.models import Scope

    scope = Scope(user, agent)
    storage = ctx.storage
    if not yes and not _confirm(ctx, scope):
        ctx.output.line("Nothing was deleted.")
        return
    backups = discard_copies(storage, scope, ctx.backups)
    deletion = storage.delete(scope)
    with open_outbox(ctx, outbox) as opened:
        forget_submissions(opened.for_storage(storage.name), scope, last_deletion(deletion), now=time.time())
    copies = f", and {pluralize(backups, 'backup')} in {ctx.backups.folder}" if backups else ""
    ctx.output.line(f"Deleted the memory of {format_scope(scope)} in {storage.location(scope)}{copies}.")
    agents = _remaining_agents(ctx, scope)
    if agents:
        ctx.output.line(f"Memories of these agents remain: {', '.join(agents)}. Delete each with --agent.")
    ctx.output.result({"forgotten": True, "revision": deletion.revision, "backups": backups, "agents_left": agents})


def _confirm(ctx: CommandContext, scope: Scope) -> bool:
    from memgraph.cli.format import format_scope, pluralize
    from memgraph.cli.output import one_line
    from memgraph.errors import EditError

    if ctx.output.as_json or not sys.stdin.isatty():
        raise EditError("forget asks for confirmation at a terminal; add --yes to delete without asking")
    facts = pluralize(len(ctx.storage.load(scope).facts), "fact")
    return typer.confirm(
        f"Delete the memory of {one_line(format_scope(scope))} ({facts}) in {one_line(ctx.storage.name)}?"
    )


def _remaining_agents(ctx: CommandContext, scope: Scope) -> list[str]:
    """Return the agents with a separate memory of the same user; none if the storage cannot list scopes."""
    from memgraph.errors import StorageError

    try:
        scopes = list(ctx.storage.scopes())
    except StorageError:
        return []
    return [other.agent_name for other in scopes if other.user_id == scope.user_id and other.agent_name]
