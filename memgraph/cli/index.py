"""memgraph index: make the index of a file memory ahead of its first use."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import CommandContext, add_command

if TYPE_CHECKING:
    from collections.abc import Generator

    from memgraph.attachments.file import FileMemory
    from memgraph.attachments.files.indexer import IndexReport, Progress
    from memgraph.cli.output import Output

SHOWN = 20
"""Skipped files that are listed; --json tells of all."""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, index)


def index(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A memory of type file, as memgraph.yaml names it.")],
) -> None:
    """Read and embed the documents of the memory NAME that are new or changed."""
    memory = _file_memory(ctx, name)
    with _bar(ctx.output) as progress:
        report = memory.index(progress)
    memory.close()
    _show(ctx.output, name, report)
    ctx.output.result(report.model_dump(mode="json"))


def _file_memory(ctx: CommandContext, name: str) -> FileMemory:
    from memgraph.attachments.file import FileMemory
    from memgraph.attachments.manager import MemoryManager
    from memgraph.errors import ConfigError

    manager = MemoryManager.from_settings(ctx.settings)
    if not manager.names:
        raise ConfigError("no memories are configured: name them under `memories:` in memgraph.yaml")
    store = manager.store(name)
    if not isinstance(store, FileMemory):
        files = [each for each in manager.names if isinstance(manager.store(each), FileMemory)]
        raise ConfigError(f"the memory {name!r} has no index; of type file are: {', '.join(files) or 'none'}")
    return store


@contextmanager
def _bar(output: Output) -> Generator[Progress | None]:
    """A bar on the terminal, and nothing where there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if output.as_json or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("Reading"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(output: Output, name: str, report: IndexReport) -> None:
    from memgraph.cli.format import pluralize

    output.line(f"The index of {name} has {pluralize(report.passages, 'passage')}.", "bold")
    done = (
        f"{pluralize(len(report.indexed), 'file')} read, {report.unchanged:,} unchanged, {len(report.removed):,} gone"
    )
    output.line(f"{done}; {pluralize(report.embedded, 'text')} embedded.", indent=2)
    for left in report.missing:
        output.line(f"{left.path}: {left.why}; what was known of it is kept.", "yellow", indent=2)
    if report.skipped:
        output.line(f"{pluralize(len(report.skipped), 'file')} skipped:", "yellow", indent=2)
    for left in report.skipped[:SHOWN]:
        output.line(f"{left.path}: {left.why}", indent=4)
    if len(report.skipped) > SHOWN:
        output.line(f"and {len(report.skipped) - SHOWN:,} more; --json tells of all", indent=4)
