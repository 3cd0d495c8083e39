"""memgraph forget: delete a memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command

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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a memory; it cannot be undone.

    Without --agent it is the memory that all agents of USER share.
    """
    from memgraph.cli.format import format_scope
    from memgraph.models import Scope

    scope = Scope(user, agent)
    storage = ctx.storage
    if not yes and not _agreed(ctx, scope):
        ctx.output.line("Nothing was deleted.")
        return
    buried = storage.delete(scope)
    ctx.output.line(f"Forgot {format_scope(scope)} in {storage.location(scope)}.")
    left = _agents_left(ctx, scope)
    if left:
        ctx.output.line(f"These agents still remember something: {', '.join(left)}. Forget each with --agent.")
    ctx.output.result({"forgotten": True, "revision": buried.revision, "agents_left": left})


def _agreed(ctx: CommandContext, scope: Scope) -> bool:
    from memgraph.cli.format import format_scope, pluralize
    from memgraph.cli.output import one_line
    from memgraph.errors import EditError

    if ctx.output.as_json or not sys.stdin.isatty():
        raise EditError("forget asks before it deletes, and there is nobody to ask: say --yes")
    facts = pluralize(len(ctx.storage.load(scope).facts), "fact")
    return typer.confirm(
        f"Delete the memory of {one_line(format_scope(scope))} ({facts}) in {one_line(ctx.storage.name)}?"
    )


def _agents_left(ctx: CommandContext, scope: Scope) -> list[str]:
    """The agents that keep a memory of their own of the same user, as far as the storage can tell."""
    from memgraph.errors import StorageError

    try:
        every = list(ctx.storage.scopes())
    except StorageError:
        return []
    return [known.agent_name for known in every if known.user_id == scope.user_id and known.agent_name]
