"""memgraph export and import: write a memory to a file, and read one in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from memgraph.cli.command import CommandContext
from memgraph.cli.declare import from_operation
from memgraph.cli.format import pluralize, shown_line
from memgraph.cli.input import display_name, read_documents, read_file_or_stdin
from memgraph.cli.output import Output, format_json
from memgraph.editing import read_document
from memgraph.errors import EditError
from memgraph.importers import CHAT_SYSTEMS, READERS, ImportReport, Note, render_markdown
from memgraph.models import MemoryDocument, Refusal
from memgraph.operations import Operations
from memgraph.storage.document import serialize
from memgraph.text.hidden import show_hidden


@from_operation("export", existing=True)
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
        from memgraph.cli.import_chats import import_chats

        return import_chats(ctx, file, operations.scope, system, model=model, dry_run=dry_run)
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
        return read_document(read_file_or_stdin(file, EditError), display_name(file)), None
    if system not in READERS:
        raise EditError(
            f"unknown system {system[:40]!r}: --from is one of {', '.join(sorted((*READERS, *CHAT_SYSTEMS)))}"
        )
    result = READERS[system](read_documents(file, EditError), of)
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
