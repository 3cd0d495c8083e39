"""memgraph show: print a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, AsOfOption, CommandContext, UserOption
from memgraph.cli.format import format_dates, format_fact, format_scope, pluralize, title_of
from memgraph.cli.output import one_line
from memgraph.models import MemoryDocument, Scope
from memgraph.profile import render_value
from memgraph.text.dates import shown_date


def show(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    as_of: AsOfOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list claims kept as said, with the words of the user.")
    ] = False,
    past: Annotated[bool, typer.Option("--past", help="Also list past facts, with when and why they ended.")] = False,
    revision: Annotated[int | None, typer.Option(min=0, help="Show an earlier revision from the history.")] = None,
) -> None:
    """Show the memory of USER.

    memgraph show --user ada
    memgraph show --user ada --json
    memgraph show --user ada --as-of 2026-03
    memgraph show --user ada --past
    memgraph show --user ada --all
    memgraph show --user ada --revision 12
    """
    operations = ctx.existing(user, agent)
    memory = operations.get(as_of=as_of, revision=revision)
    _show(ctx, operations.scope, memory, as_of)
    if everything and memory.as_said:
        _show_as_said(ctx, memory)
    if past:
        _show_past(ctx, memory)
    ctx.output.result(memory.model_dump(by_alias=True))


def _show(ctx: CommandContext, scope: Scope, memory: MemoryDocument, as_of: str | None) -> None:

    line = ctx.output.line
    if memory.is_empty and not memory.pending and not memory.past:
        line(f"Nothing is known about {format_scope(scope)} in {ctx.storage.location(scope)}.")
        return
    line(
        f"Memory of {format_scope(scope)}, revision {memory.revision}, last changed {memory.last_updated or 'unknown'}",
        "bold",
    )
    line(f"in {ctx.storage.location(scope)}", "dim")
    if as_of is not None:
        line(f"as it held on {as_of}", "dim")
    if memory.pending:
        count = pluralize(len(memory.pending), "change")
        line(f"{count} pending; decide with: memgraph review --user {scope.user_id}", "dim")
    if memory.as_said:
        line(f"{pluralize(len(memory.as_said), 'claim')} kept as said; list with: --all", "dim")
    if memory.past:
        line(f"{pluralize(len(memory.past), 'past fact')}; list with: --past", "dim")
    _show_summaries(ctx, memory)
    if memory.facts:
        line()
        line(pluralize(len(memory.facts), "fact"), "cyan")
        for fact in memory.facts:
            notes = [format_dates(fact, ctx.settings.timezone), "(manual)" if fact.is_manual else ""]
            line(" ".join(filter(None, [f"{fact.id}  {format_fact(fact)}", *notes])), indent=2)


def _show_summaries(ctx: CommandContext, memory: MemoryDocument) -> None:
    """Show the profile and the summaries."""
    line = ctx.output.line
    if memory.profile.values:
        line()
        line("Profile", "cyan")
        for field, value in memory.profile.values.items():
            line(one_line(f"{field}: {render_value(value)}"), indent=2)
    for name, section in memory.sections():
        if section.summary:
            line()
            line(title_of(name), "cyan")
            line(section.summary, indent=2)


def _show_as_said(ctx: CommandContext, memory: MemoryDocument) -> None:

    ctx.output.line()
    ctx.output.line(f"{pluralize(len(memory.as_said), 'claim')} kept as said", "cyan")
    for claim in memory.as_said:
        said = shown_date(claim.said_last, ctx.settings.timezone)
        ctx.output.line(f"{claim.id}  {format_fact(claim)} (said {said}; {one_line(claim.reason)})", indent=2)


def _show_past(ctx: CommandContext, memory: MemoryDocument) -> None:

    ctx.output.line()
    ctx.output.line(pluralize(len(memory.past), "past fact"), "cyan")
    for fact in memory.past:
        ended = shown_date(fact.ended_at, ctx.settings.timezone)
        followed = f", followed by {one_line(fact.ended_by)}" if fact.ended_by else ""
        why = f": {one_line(fact.why)}" if fact.why else ""
        end = f"({one_line(fact.reason)} {ended}{followed}{why})"
        dates = format_dates(fact, ctx.settings.timezone)
        ctx.output.line(" ".join(filter(None, [f"{fact.id}  {format_fact(fact)}", dates, end])), indent=2)
