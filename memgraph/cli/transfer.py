"""memgraph export and import: write a memory to a file, and read one in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.io import display_name, read_documents, read_input, write_private
from memgraph.cli.update import ModelOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph.cli.output import Output
    from memgraph.importers import ImportReport, Note
    from memgraph.models import Episode, MemoryDocument, Refusal, Scope
    from memgraph.storage.backups import Backups


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    add_command(app, export)
    add_command(app, import_, name="import")


def export(
    ctx: CommandContext,
    *,
    user: UserOption,
    agent: AgentOption = None,
    file: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Output file; default: stdout.")
    ] = None,
    file_format: Annotated[
        Literal["json", "markdown"],
        typer.Option("--format", help="json has everything, markdown the summaries and the current facts."),
    ] = "json",
) -> None:
    """Export a memory as JSON, with its episodes, or what it knows now as Markdown.

    memgraph export --user ada --output ada.json
    memgraph export --user ada --format markdown --output AGENTS.md
    """
    from memgraph.cli.format import dump_memory
    from memgraph.cli.output import format_json
    from memgraph.cli.users import load_existing
    from memgraph.editing import with_episodes
    from memgraph.models import Scope
    from memgraph.storage.document import serialize

    scope = Scope(user, agent)
    if file_format == "markdown":
        _export_markdown(ctx, load_existing(ctx.storage, scope), file)
        return
    episodes = ctx.storage.episodes(scope)
    memory = with_episodes(load_existing(ctx.storage, scope), episodes)
    if file is None:
        typer.echo(format_json(dump_memory(memory)))
        return
    write_private(Path(file), serialize(memory)[1])
    ctx.output.line(f"Wrote {file}.")
    ctx.output.result(
        {"file": file, "revision": memory.revision, "facts": len(memory.facts), "episodes": len(episodes)}
    )


def _export_markdown(ctx: CommandContext, memory: MemoryDocument, file: str | None) -> None:
    from memgraph.importers import render_markdown
    from memgraph.text.hidden import show_hidden

    text = render_markdown(memory, ctx.settings.policy)
    if file is None:
        if not ctx.output.as_json:
            typer.echo(show_hidden(text), nl=False)
        ctx.output.result({"markdown": text})
        return
    write_private(Path(file), text.encode())
    ctx.output.line(f"Wrote {file}.")
    ctx.output.result({"file": file, "revision": memory.revision, "facts": len(memory.facts)})


def import_(
    ctx: CommandContext,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A memory document, or an export with --from; - is stdin.")
    ],
    *,
    user: UserOption,
    agent: AgentOption = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SYSTEM",
            help="FILE is an export of this system: memories of chatdev, deerflow (also a folder), langmem, langgraph, "
            "mem0 or markdown; conversations of chatgpt or claude (conversations.json, or the zip file), which are "
            "learned from with their dates.",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--of", metavar="ID", help="Select one user of an export with several."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace the memory instead of merging; a backup is kept for 90 days, until forget or erase.",
        ),
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trusted",
            help="Take FILE as it is, for your own exports and backups: nothing in it is held back, and it defines "
            "which facts a person wrote, and which threads were learned from.",
        ),
    ] = False,
    model: ModelOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result without saving it.")] = False,
) -> None:
    """Import FILE into a memory.

    Adds facts and episodes that are not known yet, and fills empty summaries. No episode is ever replaced. What steers
    a model is held back and reported, secrets are masked.

        memgraph import ada.json --user ada
        memgraph import export.json --user ada --from mem0 --dry-run
        memgraph import export.zip --user ada --from chatgpt --model gpt-4.1-mini
    """
    from memgraph.editing import missing_episodes, take_episodes, update_memory
    from memgraph.editing.update import check_limits
    from memgraph.errors import EditError
    from memgraph.importers import CHAT_SYSTEMS
    from memgraph.models import ChangeOrigin, Scope

    scope = Scope(user, agent)
    if system in CHAT_SYSTEMS:
        if replace or trusted or of is not None:
            raise EditError(f"--replace, --trusted and --of do not apply to the conversations of {system}")
        from memgraph.cli.import_chats import import_chats

        import_chats(ctx, file, scope, system, model=model, dry_run=dry_run)
        return
    if model is not None:
        raise EditError(f"--model applies to conversations: --from {' or '.join(CHAT_SYSTEMS)}")
    imported, report = read_memory(file, system, of)
    if report:
        show_report(ctx.output, report)
    imported, episodes = take_episodes(imported)
    stored = ctx.storage.episodes(scope)
    new, words_held = missing_episodes(stored, episodes, ctx.settings.policy, trusted=trusted)
    pending = PendingImport(imported, scope, ctx.backups if replace else None, trusted=trusted, episodes=stored)
    if dry_run:
        known = ctx.storage.load(scope)
        saved = pending.preview(known)
        check_limits(known, saved, ctx.settings.policy)
        _show_notes(ctx.output, "Held back:", (*pending.held, *words_held))
        ctx.output.line("Nothing was changed (--dry-run).", "bold")
    else:
        saved = update_memory(
            ctx.storage, scope, pending.apply, origin=ChangeOrigin(by="import"), policy=ctx.settings.policy
        )
        ctx.storage.append_episodes(scope, new, ctx.settings.policy)
        _show_notes(ctx.output, "Held back:", (*pending.held, *words_held))
        _print_counts(ctx, scope, pending.counts(saved) | {"episodes": len(new)}, pending.saved_backup)
    ctx.output.result(
        {
            "counts": {**pending.counts(saved), "episodes": len(new)},
            "backup": pending.saved_backup,
            "revision": saved.revision,
            "dry_run": dry_run,
            "report": report.model_dump(mode="json") if report else None,
            "held": [note.model_dump(mode="json") for note in (*pending.held, *words_held)],
        }
    )


def read_memory(file: str, system: str | None, of: str | None) -> tuple[MemoryDocument, ImportReport | None]:
    """Read a memory document, or an export of another system together with its import report.

    Raises:
        EditError: If the file cannot be read, or has another format.
    """
    from memgraph.editing import read_document
    from memgraph.errors import EditError
    from memgraph.importers import CHAT_SYSTEMS, READERS

    if system is None:
        if of is not None:
            raise EditError("--of selects a user of another system's export: name the system with --from")
        return read_document(read_input(file, EditError), display_name(file)), None
    if system not in READERS:
        raise EditError(
            f"unknown system {system[:40]!r}: --from is one of {', '.join(sorted((*READERS, *CHAT_SYSTEMS)))}"
        )
    result = READERS[system](read_documents(file, EditError), of)
    return result.memory, result.report


class PendingImport:
    """A memory to import, merged into the stored one or replacing it.

    Args:
        imported: The imported memory.
        scope: Whose memory.
        backups: Where the memory to replace is backed up; None merges instead.
        trusted: See `merge_memory`.
        episodes: The stored episodes, for the backup.

    Attributes:
        held: What was held back or changed at the last attempt, with the reasons.
    """

    def __init__(
        self,
        imported: MemoryDocument,
        scope: Scope,
        backups: Backups | None,
        *,
        trusted: bool,
        episodes: Sequence[Episode] = (),
    ) -> None:
        from memgraph.storage.backups import new_name

        self.saved_backup: str | None = None
        """Path of the backup, if one was written."""
        self._imported = imported
        self._scope = scope
        self._backups = backups
        self._name = new_name()
        self._trusted = trusted
        self._episodes = episodes
        self._before = imported
        self.held: tuple[Refusal, ...] = ()

    def preview(self, memory: MemoryDocument) -> MemoryDocument:
        """Return the result for the stored *memory*."""
        from memgraph.editing import admit_document, merge_memory, replace_memory

        self._before, imported = memory, self._imported
        if not self._trusted:
            imported, self.held = admit_document(imported, memory)
        change = merge_memory if self._backups is None else replace_memory
        return change(memory, imported, trusted=True)

    def apply(self, memory: MemoryDocument) -> MemoryDocument:
        """Return the result, and write a backup of *memory* if it is replaced."""
        from memgraph.editing import with_episodes

        result = self.preview(memory)
        if self._backups and not memory.is_empty:
            backup = self._backups.save(self._scope, with_episodes(memory, self._episodes), self._name)
            self.saved_backup = str(backup)
        return result

    def counts(self, after: MemoryDocument) -> dict[str, int]:
        """Count the changes."""
        from memgraph.report import diff

        return diff(self._before, after).counts


def show_report(output: Output, report: ImportReport) -> None:
    """Show what was imported from another system."""
    from memgraph.cli.format import pluralize

    imported = f"{pluralize(report.facts, 'fact')} and {pluralize(report.summaries, 'summary')}"
    output.line(f"Read {imported}; {len(report.changed):,} changed, {len(report.left):,} skipped.", "bold")
    _show_notes(output, "Changed:", report.changed)
    _show_notes(output, "Skipped:", report.left)


def _show_notes(output: Output, title: str, notes: Sequence[Note | Refusal]) -> None:
    from memgraph.cli.output import one_line
    from memgraph.models import Refusal

    if notes:
        output.line(title, "cyan", indent=2)
    for note in notes:
        what, why = (note.item, note.reason) if isinstance(note, Refusal) else (note.what, note.why)
        output.line(f"{one_line(what)}: {one_line(why)}", indent=4)


def _print_counts(ctx: CommandContext, scope: Scope, counts: dict[str, int], backup: str | None) -> None:
    from memgraph.cli.format import pluralize

    facts = f"{pluralize(counts['added'], 'fact')} added, {counts['removed']} removed"
    episodes = f", {pluralize(counts['episodes'], 'episode')} added" if counts["episodes"] else ""
    summaries = f"{pluralize(counts['rewritten'], 'summary')} changed"
    ctx.output.line(f"{facts}, {summaries}{episodes}, in {ctx.storage.location(scope)}.")
    if backup:
        ctx.output.line(f"Backup of the previous memory: {backup}")
        ctx.output.line("To restore it, import it with --replace --trusted.")
