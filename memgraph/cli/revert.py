"""memgraph revert: take back what was learned in a thread, or since a date."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.history import describe, show_changes
from memgraph.cli.output import Output, one_line
from memgraph.history.revert import Revert
from memgraph.operations.results import RevertResponse


def revert(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="What this conversation taught.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="What was learned since: 2026, 2026-05, 2026-05-03.")
    ] = None,
) -> None:
    """Take back all that rests only on one conversation, or on the time since a date. Give one of the two.

    A fact with other evidence stays, with less of it; so does what a person wrote, and what was said word for word. It
    is one change, so `memgraph undo` brings everything back.

        memgraph revert --user ada --thread t1
        memgraph revert --user ada --since 2026-05-03
    """
    done = ctx.existing(user, agent).revert(thread_id=thread, since=since)
    show_revert(ctx.output, done)
    ctx.output.result(RevertResponse.of(done).model_dump(mode="json", by_alias=True))


def show_revert(output: Output, done: Revert) -> None:
    """Show what a revert changed, one change a line, and what stays as it is."""
    if not done.changes.has_content:
        output.line("Nothing rests on that alone. Nothing was changed.")
    else:
        show_changes(output, done.changes)
        output.line(f"Reverted: {describe(done.changes)}. The memory is at revision {done.memory.revision}.")
    if done.conflicts:
        output.line("This may still rest on it, and stays as it is:", "bold")
    for conflict in done.conflicts:
        output.line(f"{conflict.kind} {one_line(conflict.key)}: {one_line(conflict.reason)}", indent=2)
