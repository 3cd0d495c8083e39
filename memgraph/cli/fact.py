"""memgraph fact add, edit, remove: correct a memory by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.output import one_line

if TYPE_CHECKING:
    from memgraph.models import Fact, MemoryDocument

FactId = Annotated[str, typer.Argument(metavar="ID", help="Id of the fact, as listed by `memgraph show`.")]
CATEGORY_HELP = "preference, knowledge, context, behavior, goal or correction, unless the settings list others."
CONFIDENCE_HELP = "Confidence from 0 to 1."
AVOID_HELP = "The mistake to avoid; only with category correction."


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    group = typer.Typer(
        help="Add, edit or remove a fact. Manual facts are never removed by updates.", no_args_is_help=False
    )
    for command in (add, edit, remove):
        add_command(group, command)
    app.add_typer(group, name="fact")


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
    from memgraph.editing import add_fact

    added: list[Fact] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        changed = add_fact(
            memory,
            content,
            category=category,
            confidence=confidence,
            source_error=avoid,
            categories=ctx.settings.policy.category_names,
            by_person=True,
        )
        added[:] = changed.facts[-1:]
        return changed

    memory = _edit(ctx, user, agent, change)
    _show(ctx, "Added", added[0], memory)


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
    from memgraph.editing import edit_fact, find_fact

    def change(memory: MemoryDocument) -> MemoryDocument:
        return edit_fact(
            memory,
            fact_id,
            content=content,
            category=category,
            confidence=confidence,
            source_error=avoid,
            categories=ctx.settings.policy.category_names,
            by_person=True,
        )

    memory = _edit(ctx, user, agent, change)
    _show(ctx, "Updated", find_fact(memory, fact_id), memory)


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
    from memgraph.editing import find_any_fact, remove_fact, remove_words
    from memgraph.models import Scope

    removed: list[Fact] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        removed[:] = [find_any_fact(memory, fact_id)]
        return remove_fact(memory, fact_id)

    memory = _edit(ctx, user, agent, change)
    _show(ctx, "Removed", removed[0], memory)
    words = None if keep_words else remove_words(ctx.storage, Scope(user, agent), memory, removed[0])
    for episode in words.removed if words else ():
        ctx.output.line(f'"{one_line(episode.text)}" (what the user said: removed, too)', indent=2)


def _edit(
    ctx: CommandContext, user: str, agent: str | None, change: Callable[[MemoryDocument], MemoryDocument]
) -> MemoryDocument:
    from memgraph.editing import update_memory
    from memgraph.models import Scope

    return update_memory(ctx.storage, Scope(user, agent), change, policy=ctx.settings.policy)


def _show(ctx: CommandContext, action: str, fact: Fact, memory: MemoryDocument) -> None:
    from memgraph.cli.format import dump_fact, format_fact

    ctx.output.line(f"{action}: {fact.id}  {format_fact(fact)}")
    ctx.output.result({"fact": dump_fact(fact), "revision": memory.revision})
