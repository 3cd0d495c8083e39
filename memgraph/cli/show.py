"""memgraph show: print a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command

if TYPE_CHECKING:
    from memgraph.models import Memory, Scope


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, show)


def show(ctx: CommandContext, *, user: UserOption, agent: AgentOption = None) -> None:
    """Show the memory of USER.

    memgraph show --user ada
    memgraph show --user ada --json
    """
    from memgraph.cli.format import dump_memory
    from memgraph.cli.users import load_existing
    from memgraph.models import Scope

    scope = Scope(user, agent)
    memory = load_existing(ctx.storage, scope)
    _show(ctx, scope, memory)
    ctx.output.result(dump_memory(memory))


def _show(ctx: CommandContext, scope: Scope, memory: Memory) -> None:
    from memgraph.cli.format import TITLES, format_dates, format_fact, format_scope, pluralize

    line = ctx.output.line
    if memory.is_empty and not memory.quarantine:
        line(f"Nothing is known about {format_scope(scope)} in {ctx.storage.location(scope)}.")
        return
    line(
        f"Memory of {format_scope(scope)}, revision {memory.revision}, last changed {memory.last_updated or 'unknown'}",
        "bold",
    )
    line(f"in {ctx.storage.location(scope)}", "dim")
    if memory.quarantine:
        count = pluralize(len(memory.quarantine), "change")
        line(f"{count} in quarantine; decide with: memgraph review --user {scope.user_id}", "dim")
    for name, section in memory.sections():
        if section.summary:
            line()
            line(TITLES[name], "cyan")
            line(section.summary, indent=2)
    if memory.facts:
        line()
        line(pluralize(len(memory.facts), "fact"), "cyan")
        for fact in memory.facts:
            notes = [format_dates(fact, ctx.settings.timezone), "(manual)" if fact.is_manual else ""]
            line(" ".join(filter(None, [f"{fact.id}  {format_fact(fact)}", *notes])), indent=2)
