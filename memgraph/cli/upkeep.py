"""memgraph upkeep: merge what is known twice, and end what no longer holds."""

from __future__ import annotations

from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption
from memgraph.cli.format import format_scope
from memgraph.cli.review import decide_new
from memgraph.cli.update import ModelOption, resolve_model, run_graph, stop_if_disabled
from memgraph.cli.update_view import UPKEEP_OUTCOMES, Progress, dump_result, show_result
from memgraph.config import make_context
from memgraph.models import Scope

DRY_RUN = "Dry run: nothing was saved."


def upkeep(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    model: ModelOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes, and save nothing.")] = False,
) -> None:
    """Merge facts that state the same, and end old ones that no longer hold.

    Without such facts, no model is called and nothing is saved. What is ended stays in the past of the memory.

    memgraph upkeep --user ada
    memgraph upkeep --user ada --dry-run
    """
    from memgraph.upkeep_graph import build_upkeep_graph, make_upkeep_context

    scope = Scope(user, agent)
    settings = ctx.settings.model_copy(update={"model_name": model} if model else {})
    stop_if_disabled(ctx)
    settings = resolve_model(ctx, settings)
    ctx.output.line(f"Upkeep of the memory of {format_scope(scope)}", "bold")
    context = make_upkeep_context(scope, ctx.storage, make_context(settings, storage=ctx.storage), dry_run=dry_run)
    progress = Progress(ctx.output)
    known = ctx.storage.load(scope)
    final = run_graph(build_upkeep_graph(), {}, context, progress)
    if dry_run:
        final = {**final, "saved": None}
    location = ctx.storage.location(scope)
    show_result(ctx.output, final, location, UPKEEP_OUTCOMES)
    if dry_run:
        ctx.output.line(DRY_RUN)
    else:
        decide_new(ctx, scope, known)
    ctx.output.result({**dump_result(final, context, location, progress.nodes), "dry_run": dry_run})
