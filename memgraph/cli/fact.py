"""memgraph fact add, edit, remove: what a person knows better."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command

if TYPE_CHECKING:
    from memgraph.models import Fact, Memory

FactId = Annotated[str, typer.Argument(metavar="ID", help="The fact's id; `memgraph show` lists them.")]
CATEGORY_HELP = "preference, knowledge, context, behavior, goal or correction."
CONFIDENCE_HELP = "How sure it is, from 0 to 1."
AVOID_HELP = "What went wrong; on corrections."


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    group = typer.Typer(
        help="Add, edit or remove a fact. What a person wrote, no update removes.", no_args_is_help=False
    )
    for command in (add, edit, remove):
        add_command(group, command)
    app.add_typer(group, name="fact")


def add(
    ctx: CommandContext,
    content: Annotated[str, typer.Argument(metavar="CONTENT", help="What is so, in 1 to 2,000 characters.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    category: Annotated[str, typer.Option(metavar="CATEGORY", help=CATEGORY_HELP)] = "context",
    confidence: Annotated[float, typer.Option(metavar="NUMBER", help=CONFIDENCE_HELP)] = 1.0,
    avoid: Annotated[str | None, typer.Option(metavar="TEXT", help=AVOID_HELP)] = None,
) -> None:
    """Add a fact about USER."""
    from memgraph.editing import add_fact

    added: list[Fact] = []

    def change(memory: Memory) -> Memory:
        changed = add_fact(memory, content, category=category, confidence=confidence, source_error=avoid)
        added[:] = changed.facts[-1:]
        return changed

    memory = _edit(ctx, user, agent, change)
    _tell(ctx, "Added", added[0], memory)


def edit(
    ctx: CommandContext,
    fact_id: FactId,
    *,
    user: UserOption,
    agent: AgentOption = None,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="The new wording.")] = None,
    category: Annotated[str | None, typer.Option(metavar="CATEGORY", help=CATEGORY_HELP)] = None,
    confidence: Annotated[float | None, typer.Option(metavar="NUMBER", help=CONFIDENCE_HELP)] = None,
    avoid: Annotated[str | None, typer.Option(metavar="TEXT", help=AVOID_HELP)] = None,
) -> None:
    """Change a fact about USER; it counts as written by a person from then on."""
    from memgraph.editing import edit_fact, find_fact

    def change(memory: Memory) -> Memory:
        return edit_fact(memory, fact_id, content=content, category=category, confidence=confidence, source_error=avoid)

    memory = _edit(ctx, user, agent, change)
    _tell(ctx, "Now", find_fact(memory, fact_id), memory)


def remove(ctx: CommandContext, fact_id: FactId, *, user: UserOption, agent: AgentOption = None) -> None:
    """Remove a fact about USER."""
    from memgraph.editing import find_fact, remove_fact

    gone: list[Fact] = []

    def change(memory: Memory) -> Memory:
        gone[:] = [find_fact(memory, fact_id)]
        return remove_fact(memory, fact_id)

    memory = _edit(ctx, user, agent, change)
    _tell(ctx, "Removed", gone[0], memory)


def _edit(ctx: CommandContext, user: str, agent: str | None, change: Callable[[Memory], Memory]) -> Memory:
    from memgraph.editing import update_memory as edit_memory
    from memgraph.models import Scope

    return edit_memory(ctx.storage, Scope(user, agent), change)


def _tell(ctx: CommandContext, what: str, fact: Fact, memory: Memory) -> None:
    from memgraph.cli.format import fact_document, fact_line

    ctx.output.line(f"{what}: {fact.id}  {fact_line(fact)}")
    ctx.output.result({"fact": fact_document(fact), "revision": memory.revision})
