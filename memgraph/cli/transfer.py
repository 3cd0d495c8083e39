"""memgraph export, import: a memory as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext, UserOption, add_command
from memgraph.cli.io import backup_place, name_of, read_documents, read_input, write_memory

if TYPE_CHECKING:
    from memgraph.cli.output import Output
    from memgraph.importers import ImportReport
    from memgraph.models import Memory, Scope


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
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; default: stdout.")
    ] = None,
) -> None:
    """Write a memory as JSON, as it is stored."""
    from memgraph.cli.format import as_document
    from memgraph.cli.output import harmless_json
    from memgraph.models import Scope

    memory = ctx.storage.load(Scope(user, agent))
    if file is None:
        typer.echo(harmless_json(as_document(memory)))
        return
    write_memory(Path(file), memory)
    ctx.output.line(f"Wrote {file}.")
    ctx.output.result({"file": file, "revision": memory.revision, "facts": len(memory.facts)})


def import_(
    ctx: CommandContext,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A memory document, or with --from an export; - is stdin.")
    ],
    *,
    user: UserOption,
    agent: AgentOption = None,
    system: Annotated[
        str | None,
        typer.Option("--from", metavar="SYSTEM", help="Whose export FILE is: deerflow (also a folder), langmem, mem0."),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--of", metavar="ID", help="Whose memories are wanted, where an export holds several users'."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Put it in the place of what is remembered, of which a backup is written to the working folder first.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would come of it.")] = False,
) -> None:
    """Add what FILE knows to a memory.

    Facts that are not known yet come in, and summaries where there is none.
    """
    from memgraph.editing import update_memory
    from memgraph.models import Scope

    scope = Scope(user, agent)
    imported, report = read_memory(file, system, of)
    if report:
        show_report(ctx.output, report)
    incoming = Incoming(imported, backup_place(scope) if replace else None)
    if dry_run:
        saved = incoming.preview(ctx.storage.load(scope))
        ctx.output.line("Nothing was changed (--dry-run).", "bold")
    else:
        saved = update_memory(ctx.storage, scope, incoming.put)
        _tell(ctx, scope, incoming.counts(saved), incoming.kept)
        _warn_of_room(ctx, saved)
    ctx.output.result(
        {
            "counts": incoming.counts(saved),
            "backup": None if dry_run else incoming.kept,
            "revision": saved.revision,
            "dry_run": dry_run,
            "report": report.model_dump(mode="json") if report else None,
        }
    )


def read_memory(file: str, system: str | None, of: str | None) -> tuple[Memory, ImportReport | None]:
    """Read a memory document, or another system's export, with what became of it on the way.

    Raises:
        EditError: If it cannot be read, or is none.
    """
    from memgraph.editing import read_document
    from memgraph.errors import EditError
    from memgraph.importers import READERS

    if system is None:
        if of is not None:
            raise EditError("--of chooses among the users of another system's export; say whose it is, by --from")
        return read_document(read_input(file, EditError), name_of(file)), None
    if system not in READERS:
        raise EditError(f"--from is one of {', '.join(READERS)}, not {system[:40]!r}")
    moved = READERS[system](read_documents(file, EditError), of)
    return moved.memory, moved.report


class Incoming:
    """A memory that comes in, beside what is there or in its place.

    Args:
        imported: What comes in.
        backup: Where what it takes the place of is written first; None is where it comes beside it.
    """

    def __init__(self, imported: Memory, backup: Path | None) -> None:
        self._imported = imported
        self._backup = backup
        self._before = imported

    def preview(self, memory: Memory) -> Memory:
        """What *memory* would be."""
        from memgraph.editing import merge_memory, replace_memory

        self._before = memory
        return (merge_memory if self._backup is None else replace_memory)(memory, self._imported)

    def put(self, memory: Memory) -> Memory:
        """What *memory* becomes; a backup of it is written where it goes."""
        changed = self.preview(memory)
        if self._backup and not memory.is_empty:
            write_memory(self._backup, memory)
        return changed

    @property
    def kept(self) -> str | None:
        """Where the backup is, if there is one."""
        return str(self._backup) if self._backup and not self._before.is_empty else None

    def counts(self, after: Memory) -> dict[str, int]:
        """What changed."""
        from memgraph.report import diff

        return diff(self._before, after).counts


def show_report(output: Output, report: ImportReport) -> None:
    """Say what became of another system's memories."""
    from memgraph.cli.format import pluralize
    from memgraph.cli.output import one_line

    taken = f"{pluralize(report.facts, 'fact')} and {pluralize(report.summaries, 'summary')}"
    output.line(f"Read {taken}; {len(report.changed):,} changed, {len(report.left):,} left.", "bold")
    for title, notes in (("Changed:", report.changed), ("Left:", report.left)):
        if notes:
            output.line(title, "cyan", indent=2)
        for note in notes:
            output.line(f"{one_line(note.what)}: {one_line(note.why)}", indent=4)


def _tell(ctx: CommandContext, scope: Scope, counts: dict[str, int], backup: str | None) -> None:
    from memgraph.cli.format import pluralize

    facts = f"{pluralize(counts['added'], 'fact')} added, {counts['removed']} removed"
    ctx.output.line(f"{facts}, {pluralize(counts['rewritten'], 'summary')} changed, in {ctx.storage.location(scope)}.")
    if backup:
        ctx.output.line(f"What was there before is in {backup}.")


def _warn_of_room(ctx: CommandContext, memory: Memory) -> None:
    learned = sum(not fact.is_manual for fact in memory.facts)
    limit = ctx.settings.max_facts
    if learned > limit:
        ctx.output.notice(
            f"{learned:,} learned facts are more than max_facts ({limit:,}): the next update lets some go."
        )
