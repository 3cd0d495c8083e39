"""memgraph export, import: a memory as a file."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import AgentOption, Run, UserOption, add_command
from memgraph.cli.inputs import name_of, read_input

if TYPE_CHECKING:
    from memgraph.models import Memory, Scope


def add_to(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    add_command(app, export)
    add_command(app, import_, name="import")


def export(
    run: Run,
    *,
    user: UserOption,
    agent: AgentOption = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; default: stdout.")
    ] = None,
) -> None:
    """Write a memory as JSON, as it is stored."""
    from memgraph.cli.safe import harmless_json
    from memgraph.cli.wording import as_document
    from memgraph.models import Scope

    memory = run.storage.load(Scope(user, agent))
    if output is None:
        typer.echo(harmless_json(as_document(memory)))
        return
    _write(Path(output), memory)
    run.screen.line(f"Wrote {output}.")
    run.screen.result({"file": output, "revision": memory.revision, "facts": len(memory.facts)})


def import_(
    run: Run,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A memory document; - is stdin.")],
    *,
    user: UserOption,
    agent: AgentOption = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Put it in the place of what is remembered, of which a backup is written to the working folder first.",
        ),
    ] = False,
) -> None:
    """Add what FILE knows to a memory.

    Facts that are not known yet come in, and summaries where there is none.
    """
    from memgraph.editing import edit, merge_memory, read_document, replace_memory
    from memgraph.errors import EditError
    from memgraph.models import Scope
    from memgraph.report import compare

    scope = Scope(user, agent)
    imported = read_document(read_input(file, EditError), name_of(file))
    found: list[Memory] = []
    backup = _backup_place(scope) if replace else None

    def change(memory: Memory) -> Memory:
        found[:] = [memory]
        if backup is None:
            return merge_memory(memory, imported)
        if not memory.is_empty:
            _write(backup, memory)
        return replace_memory(memory, imported)

    saved = edit(run.storage, scope, change)
    counts = compare(found[0], saved).counts
    kept = str(backup) if backup and not found[0].is_empty else None
    _tell(run, scope, counts, kept)
    run.screen.result({"counts": counts, "backup": kept, "revision": saved.revision})
    _warn_of_room(run, saved)


def _tell(run: Run, scope: Scope, counts: dict[str, int], backup: str | None) -> None:
    from memgraph.cli.wording import counted

    facts = f"{counted(counts['added'], 'fact')} added, {counts['removed']} removed"
    run.screen.line(f"{facts}, {counted(counts['rewritten'], 'summary')} changed, in {run.storage.where(scope)}.")
    if backup:
        run.screen.line(f"What was there before is in {backup}.")


def _warn_of_room(run: Run, memory: Memory) -> None:
    learned = sum(not fact.is_manual for fact in memory.facts)
    limit = run.settings.max_facts
    if learned > limit:
        run.screen.notice(
            f"{learned:,} learned facts are more than max_facts ({limit:,}): the next update lets some go."
        )


def _backup_place(scope: Scope) -> Path:
    """A name that says whose and when, for any user id."""
    from memgraph.storage.paths import folder_name

    whose = folder_name(scope.user_id) + (f"-{scope.agent_name}" if scope.agent_name else "")
    return Path(f"memgraph-backup-{whose}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.json").absolute()


def _write(path: Path, memory: Memory) -> None:
    """Write *memory* to a file that nobody else may read."""
    from memgraph.storage.documents import storable

    _, data = storable(memory)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
