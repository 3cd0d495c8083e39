"""memgraph episodes: list what a user said, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.format import pluralize
from memgraph.cli.output import one_line
from memgraph.models import Episode
from memgraph.text.dates import local_date


def episodes(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="Only this conversation.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only since this date: 2026, 2026-05, 2026-05-03.")
    ] = None,
) -> None:
    """List what USER said, word for word, by day.

    These are the episodes that the memory keeps; memgraph config shows which and for how long.

        memgraph episodes --user ada
        memgraph episodes --user ada --since 2026-05
    """
    operations = ctx.operations(user, agent)
    stored, selected = operations.episodes(), operations.episodes(thread_id=thread, since=since)
    if selected:
        _show(ctx, selected)
    else:
        scope = operations.scope
        ctx.output.line(f"No episodes of user {scope}{' match' if stored else ''} in {ctx.storage.location(scope)}.")
    ctx.output.result({"total": len(stored), "episodes": [each.model_dump(by_alias=True) for each in selected]})


def _show(ctx: CommandContext, selected: Sequence[Episode]) -> None:

    ctx.output.line(pluralize(len(selected), "episode"), "bold")
    for day, said in groupby(selected, lambda episode: local_date(episode.at, ctx.settings.timezone)):
        ctx.output.line(day or "unknown day", "cyan")
        for episode in said:
            author = "assistant: " if episode.author == "assistant" else ""
            ctx.output.line(f"{one_line(episode.thread_id)}  {author}{one_line(episode.text)}", indent=2)
