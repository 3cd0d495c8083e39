"""memgraph fact add, edit, remove: correct a memory by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, CommandGroup, UserOption
from memgraph.cli.format import format_fact
from memgraph.cli.output import one_line
from memgraph.models import Fact
from memgraph.operations import Operations

FactId = Annotated[str, typer.Argument(metavar="ID", help="Id of the fact, as listed by `memgraph show`.")]
CATEGORY_HELP = "preference, knowledge, context, behavior, goal or correction, unless the settings list others."
CONFIDENCE_HELP = "Confidence from 0 to 1."
AVOID_HELP = "The mistake to avoid; only with category correction."


def add(
    ctx: CommandContext,
    content: Annotated[str, typer.Argument(metavar="CONTENT", help="Text of the fact, 1 to 2,000 characters.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    category: Annotated[str, typer.Option(metavar="CATEGORY", help=CATEGORY_HELP)] = "context",
    confidence: Annotated[float, typer.Option(metavar="NUMBER", help=CONFIDENCE_HELP)] = 1.0,
    avoid: Annotated[str | None, typer.Option(metavar="TEXT", help=AVOID_HELP)] = None,
) -> None:
    """Add a fact about USER.

    memgraph fact add "Prefers tea." --user ada --category preference
    """
    operations = ctx.operations(user, agent)
    fact = operations.remember(content, category=category, confidence=confidence, source_error=avoid)
    _show(ctx, "Added", fact, operations)


def edit(
    ctx: CommandContext,
    fact_id: FactId,
    *,
    user: UserOption,
    agent: AgentOption = None,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="New text.")] = None,
    category: Annotated[str | None, typer.Option(metavar="CATEGORY", help=CATEGORY_HELP)] = None,
    confidence: Annotated[float | None, typer.Option(metavar="NUMBER", help=CONFIDENCE_HELP)] = None,
    avoid: Annotated[str | None, typer.Option(metavar="TEXT", help=AVOID_HELP)] = None,
) -> None:
    """Edit a fact about USER; it becomes a manual fact.

    memgraph fact edit fact_a1b2c3d4 --content "Prefers green tea." --user ada
    """
    operations = ctx.operations(user, agent)
    fact = operations.update(fact_id, content, category=category, confidence=confidence, source_error=avoid)
    _show(ctx, "Updated", fact, operations)


def remove(
    ctx: CommandContext,
    fact_id: FactId,
    *,
    user: UserOption,
    agent: AgentOption = None,
    keep_words: Annotated[
        bool, typer.Option("--keep-words", help="Keep what the user said, from which it is.")
    ] = False,
) -> None:
    """Remove a fact about USER, and the user's words that only this fact rests on.

    memgraph fact remove fact_a1b2c3d4 --user ada
    """
    operations = ctx.operations(user, agent)
    removed = operations.delete(fact_id, keep_words=keep_words)
    _show(ctx, "Removed", removed.fact, operations)
    for episode in removed.words.removed:
        ctx.output.line(f'"{one_line(episode.text)}" (what the user said: removed, too)', indent=2)


def _show(ctx: CommandContext, action: str, fact: Fact, operations: Operations) -> None:

    ctx.output.line(f"{action}: {fact.id}  {format_fact(fact)}")
    ctx.output.result({"fact": fact.model_dump(by_alias=True), "revision": operations.get().revision})


fact = CommandGroup("Add, edit or remove a fact. Manual facts are never removed by updates.", (add, edit, remove))
