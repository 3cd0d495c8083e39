"""memgraph export and import: write a memory to a file, read one in, and learn from the conversations of an export."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from memgraph.analysis.hidden import show_hidden
from memgraph.cli.command import CommandContext
from memgraph.cli.declare import from_operation
from memgraph.cli.format import pluralize, show_changes, shown_line
from memgraph.cli.input import STDIN, display_name, read_documents, read_file_or_stdin
from memgraph.cli.output import Output, format_json
from memgraph.cli.update import learning_settings, stop_if_disabled
from memgraph.config import make_context
from memgraph.editing import read_document
from memgraph.errors import EditError
from memgraph.importers import CHAT_SYSTEMS, READERS, ImportReport, Note, render_markdown
from memgraph.importers.chats import ChatExport, read_chats
from memgraph.models import MemoryDocument, Refusal, Scope
from memgraph.operations import Operations
from memgraph.report import Report
from memgraph.settings import Settings
from memgraph.storage.document import serialize

MAX_STEPS = 20
"""Maximum number of progress lines, after the first one."""


@from_operation("export")
def export(
    ctx: CommandContext,
    operations: Operations,
    memory: MemoryDocument,
    *,
    target: str | None = None,
    file_format: Literal["json", "markdown"] = "json",
) -> object:
    """Export a memory as JSON, with its episodes, or what it knows now as Markdown.

    memgraph export --user ada --output ada.json
    memgraph export --user ada --format markdown --output AGENTS.md

    Args:
        target: Output file; default: stdout.
        file_format: json has everything, markdown the summaries and the current facts.
    """
    is_json = file_format == "json"
    text = "" if is_json else render_markdown(operations.get(), ctx.settings.policy)
    if target is not None:
        with open(target, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as output:
            output.write(serialize(memory)[1] if is_json else text.encode())
        ctx.output.line(f"Wrote {target}.")
        episodes = len(operations.episodes()) if is_json else 0
        return {"file": target, "revision": memory.revision, "facts": len(memory.facts), "episodes": episodes}
    document = memory if is_json else {"markdown": text}
    ctx.output.verbatim(f"{format_json(document)}\n" if is_json else show_hidden(text))
    return document


def import_(
    ctx: CommandContext,
    file: str,
    *,
    user: str,
    agent: str | None = None,
    system: str | None = None,
    of: str | None = None,
    replace: bool = False,
    trusted: bool = False,
    model: str | None = None,
    dry_run: bool = False,
) -> object:
    """Import FILE into a memory.

    Adds facts and episodes that are not known yet, and fills empty summaries. No episode is ever replaced. What steers
    a model is held back and reported, secrets are masked.

        memgraph import ada.json --user ada
        memgraph import export.json --user ada --from mem0 --dry-run
        memgraph import export.zip --user ada --from chatgpt --model gpt-4.1-mini

    Args:
        file: A memory document, or an export with --from; - is stdin.
        system: FILE is an export of this system: memories of chatdev, deerflow (also a folder), langmem, langgraph,
            mem0 or markdown; conversations of chatgpt or claude (conversations.json, or the zip file), which are
            learned from with their dates.
        of: Select one user of an export with several.
        replace: Replace the memory instead of merging; a backup is kept for 90 days, until forget or erase.
        trusted: Take FILE as it is, for your own exports and backups: nothing in it is held back, and it defines which
            facts a person wrote, and which threads were learned from.
        dry_run: Show the result without saving it.
    """
    operations = ctx.operations(user, agent)
    if system in CHAT_SYSTEMS:
        if replace or trusted or of is not None:
            raise EditError(f"--replace, --trusted and --of do not apply to the conversations of {system}")
        return _import_chats(ctx, file, operations.scope, system, model=model, dry_run=dry_run)
    if model is not None:
        raise EditError(f"--model applies to conversations: --from {' or '.join(CHAT_SYSTEMS)}")
    imported, report = read_memory(file, system, of)
    if report:
        show_report(ctx.output, report)
    mode = "replace" if replace else "merge"
    done = operations.import_document(imported, mode=mode, trusted=trusted, dry_run=dry_run)
    _show_notes(ctx.output, "Held back:", done.held)
    counts = done.counts
    if dry_run:
        ctx.output.line("Nothing was changed (--dry-run). An import would report:", "bold")
    facts = f"{pluralize(counts['added'], 'fact')} added, {counts['removed']} removed"
    summaries = f"{pluralize(counts['rewritten'], 'summary')} changed"
    episodes = f", {pluralize(counts['episodes'], 'episode')} added" if counts["episodes"] else ""
    ctx.output.line(f"{facts}, {summaries}{episodes}, in {ctx.storage.location(operations.scope)}.")
    if done.backup:
        ctx.output.line(f"Backup of the previous memory: {done.backup}")
        ctx.output.line("To restore it, import it with --replace --trusted.")
    return {
        "counts": counts,
        "backup": str(done.backup) if done.backup else None,
        "revision": done.changed.after.revision,
        "dry_run": dry_run,
        "report": report,
        "held": done.held,
    }


def read_memory(file: str, system: str | None, of: str | None) -> tuple[MemoryDocument, ImportReport | None]:
    """Read a memory document, or an export of another system together with its import report.

    Raises:
        EditError: If the file cannot be read, or has another format.
    """
    if system is None:
        if of is not None:
            raise EditError("--of selects a user of another system's export: name the system with --from")
        return read_document(read_file_or_stdin(file), display_name(file)), None
    if system not in READERS:
        raise EditError(
            f"unknown system {system[:40]!r}: --from is one of {', '.join(sorted((*READERS, *CHAT_SYSTEMS)))}"
        )
    result = READERS[system](read_documents(file), of)
    return result.memory, result.report


def show_report(output: Output, report: ImportReport) -> None:
    """Show what was imported from another system."""
    imported = f"{pluralize(report.facts, 'fact')} and {pluralize(report.summaries, 'summary')}"
    output.line(f"Read {imported}; {len(report.changed):,} changed, {len(report.left):,} skipped.", "bold")
    _show_notes(output, "Changed:", report.changed)
    _show_notes(output, "Skipped:", report.left)


def _show_notes(output: Output, title: str, notes: Sequence[Note | Refusal]) -> None:
    if notes:
        output.line(title, "cyan", indent=2)
    for note in notes:
        what, why = (note.item, note.reason) if isinstance(note, Refusal) else (note.what, note.why)
        output.line(f"{shown_line(what)}: {shown_line(why)}", indent=4)


# -- conversations --------------------------------------------------------------------------------


def _import_chats(
    ctx: CommandContext, file: str, scope: Scope, system: str, *, model: str | None, dry_run: bool
) -> object:
    """Learn from the conversations of an export, the oldest first; those that were learned before cost no model call.

    Raises:
        EditError: If the export cannot be read, or changes need a review.
    """
    if file == STDIN:
        raise EditError(f"an export of {system} is read from a file, not from stdin")
    export = read_chats(Path(file), system)
    found = _show_export(ctx, export)
    if dry_run:
        ctx.output.line("Nothing was learned (--dry-run).", "bold")
        return {**found, "dry_run": True}
    stop_if_disabled(ctx)
    if ctx.settings.review != "never":
        raise EditError(
            f"changes need a review (review: {ctx.settings.review}), which an import cannot ask for: add the "
            "conversations by MemoryClient.add(..., background=True), and decide with `memgraph review`"
        )
    settings = learning_settings(ctx, model, max_calls=None)
    calls = _count_calls(ctx, export, scope, settings)
    ctx.output.line(f"Learning takes at least {pluralize(calls, 'call')} of the model.")
    return {**found, **_learn(ctx, export, scope, settings), "dry_run": False}


def _count_calls(ctx: CommandContext, export: ChatExport, scope: Scope, settings: Settings) -> int:
    from memgraph.analysis.turns import turns_of
    from memgraph.rules.watermark import unlearned_turns
    from memgraph.update.build_prompt import count_passes

    threads = ctx.storage.load(scope).threads
    turns = (unlearned_turns(turns_of(chat.messages), threads.get(chat.thread_id)) for chat in export.chats)
    return sum(count_passes(new, settings.policy) for new in turns)


def _learn(ctx: CommandContext, export: ChatExport, scope: Scope, settings: Settings) -> dict[str, object]:
    """Learn from each conversation and save what follows from it before the next one is read."""
    from memgraph.update.graph import build_graph

    graph, report, learned = build_graph(), Report(), 0
    identity = {"user_id": scope.user_id, "agent_name": scope.agent_name}
    context = make_context(settings, storage=ctx.storage).model_copy(update=identity)
    total = len(export.chats)
    for number, chat in enumerate(export.chats, 1):
        run = context.model_copy(update={"thread_id": chat.thread_id})
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


def _show_export(ctx: CommandContext, export: ChatExport) -> dict[str, object]:
    """Show what an export contains, and return it as JSON."""
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
    return {"conversations": len(export.chats), "messages": messages, "skipped": export.skipped}
