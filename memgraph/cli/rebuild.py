"""memgraph rebuild: learn a memory again from what the user said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.format import format_scope, pluralize
from memgraph.cli.history import describe, show_changes
from memgraph.cli.output import Output
from memgraph.cli.update import ModelOption, resolve_model, stop_if_disabled
from memgraph.errors import EditError
from memgraph.operations.results import RebuildResponse

if TYPE_CHECKING:
    from memgraph.background.rebuild import Rebuild


def rebuild(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    model: ModelOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the difference, and replace nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Learn a memory again from its episodes, show the difference, and replace it, as one change.

    What a person wrote, edited or removed stays so, and so does what no episode can teach again. A rebuild that was
    stopped continues after the last session, and one that has ended replaces the memory without asking the model again.

        memgraph rebuild --user ada --model openai:gpt-4.1 --dry-run
        memgraph rebuild --user ada --model openai:gpt-4.1
    """
    from memgraph.background.rebuild import Rebuilder

    stop_if_disabled(ctx)
    if not (dry_run or yes) and (ctx.output.as_json or not sys.stdin.isatty()):
        raise EditError("rebuild asks for confirmation at a terminal; add --dry-run, or --yes")
    scope = ctx.existing(user, agent).scope
    settings = resolve_model(ctx, ctx.settings.model_copy(update={"model_name": model} if model else {}))
    ctx.output.line(f"Rebuild of the memory of {format_scope(scope)}", "bold")
    rebuilder = Rebuilder(ctx.storage, scope, settings)
    ctx.output.line(f"Learning takes at least {pluralize(rebuilder.count_calls(), 'call')} of the model.", "dim")
    learned = rebuilder.learn(lambda done, total: ctx.output.line(f"{done:,} of {total:,} episodes learned.", "dim"))
    show_rebuild(ctx.output, learned)
    is_replaced = not dry_run and learned.changes.has_content and (yes or typer.confirm("Replace the memory?"))
    if is_replaced:
        learned = rebuilder.replace()
        ctx.output.line(f"Replaced. The memory is at revision {learned.memory.revision}.")
    elif learned.changes.has_content:
        ctx.output.line("Nothing was replaced. What was learned is kept for the next rebuild.")
    else:
        rebuilder.discard()
    answer = RebuildResponse.of(learned, is_replaced=is_replaced)
    ctx.output.result(answer.model_dump(mode="json", by_alias=True))


def show_rebuild(output: Output, learned: Rebuild) -> None:
    """Show what a rebuild changes, one change a line."""
    source = pluralize(learned.episodes, "episode")
    if not learned.changes.has_content:
        output.line(f"The same was learned from {source}. Nothing to change.")
        return
    show_changes(output, learned.changes)
    output.line(f"Learned from {source}: {describe(learned.changes)}.", "bold")
