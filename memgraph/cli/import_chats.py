"""memgraph import --from chatgpt or claude: learn from each conversation of an export, with the dates it has."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path

from memgraph.cli.command import CommandContext
from memgraph.cli.format import pluralize, show_changes
from memgraph.cli.input import STDIN
from memgraph.cli.update import learning_settings, stop_if_disabled
from memgraph.config import make_context
from memgraph.errors import EditError
from memgraph.importers.chats import ChatExport, read_chats
from memgraph.models import Scope
from memgraph.report import Report
from memgraph.settings import Settings

MAX_STEPS = 20
"""Maximum number of progress lines, after the first one."""


def import_chats(
    ctx: CommandContext, file: str, scope: Scope, system: str, *, model: str | None, dry_run: bool
) -> object:
    """Learn from the conversations of an export, the oldest first; those that were learned before cost no model call.

    Raises:
        EditError: If the export cannot be read, or changes need a review.
    """
    if file == STDIN:
        raise EditError(f"an export of {system} is read from a file, not from stdin")
    export = read_chats(Path(file), system)
    _show_export(ctx, export)
    if dry_run:
        ctx.output.line("Nothing was learned (--dry-run).", "bold")
        return {**_dump_export(export), "dry_run": True}
    stop_if_disabled(ctx)
    if ctx.settings.review != "never":
        raise EditError(
            f"changes need a review (review: {ctx.settings.review}), which an import cannot ask for: add the "
            "conversations by MemoryClient.add(..., background=True), and decide with `memgraph review`"
        )
    settings = learning_settings(ctx, model, max_calls=None)
    calls = _count_calls(ctx, export, scope, settings)
    ctx.output.line(f"Learning takes at least {pluralize(calls, 'call')} of the model.")
    return {**_dump_export(export), **_learn(ctx, export, scope, settings), "dry_run": False}


def _count_calls(ctx: CommandContext, export: ChatExport, scope: Scope, settings: Settings) -> int:
    from memgraph.nodes.build_prompt import count_passes
    from memgraph.rules.watermark import unlearned_turns
    from memgraph.text.turns import turns_of

    threads = ctx.storage.load(scope).threads
    turns = (unlearned_turns(turns_of(chat.messages), threads.get(chat.thread_id)) for chat in export.chats)
    return sum(count_passes(new, settings.policy) for new in turns)


def _learn(ctx: CommandContext, export: ChatExport, scope: Scope, settings: Settings) -> dict[str, object]:
    """Learn from each conversation and save what follows from it before the next one is read."""
    from memgraph.graph import build_graph

    graph, context, report, learned = build_graph(), make_context(settings), Report(), 0
    identity = {"storage": ctx.storage, "user_id": scope.user_id, "agent_name": scope.agent_name}
    total = len(export.chats)
    for number, chat in enumerate(export.chats, 1):
        run = context.model_copy(update={**identity, "thread_id": chat.thread_id})
        final = graph.invoke({"messages": chat.messages}, context=run)
        report += final.get("report") or Report()
        learned += final["outcome"] == "learned"
        if number == total or number % -(-total // MAX_STEPS) == 0:
            added = pluralize(len(report.added), "fact")
            ctx.output.begin_step(f"  {number:,} of {pluralize(total, 'conversation')}: {added} added")
    ctx.output.end_line()
    show_changes(ctx.output, report)
    ctx.output.line(f"Learned from {pluralize(learned, 'conversation')}, in {ctx.storage.location(scope)}.")
    return {"counts": {**report.counts, "conversations": learned}, "usage": report.usage}


def _show_export(ctx: CommandContext, export: ChatExport) -> None:
    messages = sum(len(chat.parts) for chat in export.chats)
    days = [chat.at.date().isoformat() for chat in export.chats if chat.at]
    period = " - ".join(dict.fromkeys([days[0], days[-1]])) if days else ""
    found = f"{pluralize(len(export.chats), 'conversation')} with {pluralize(messages, 'message')}"
    ctx.output.line(f"Read {found}{f' ({period})' if period else ''}; {len(export.skipped):,} skipped.", "bold")
    if len(export.chats) > ctx.settings.max_threads:
        ctx.output.notice(
            f"The export has {len(export.chats):,} conversations, and the progress of {ctx.settings.max_threads:,} is "
            "kept (max_threads): importing it again would learn from the others again."
        )


def _dump_export(export: ChatExport) -> dict[str, object]:
    return {
        "conversations": len(export.chats),
        "messages": sum(len(chat.parts) for chat in export.chats),
        "skipped": export.skipped,
    }
