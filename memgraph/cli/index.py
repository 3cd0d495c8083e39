"""memgraph index: build the index of a file memory before its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memgraph.cli.command import CommandContext
from memgraph.cli.format import pluralize
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from memgraph.attachments.file import FileMemory

MAX_LISTED = 20
"""Maximum number of skipped files listed; --json lists all."""


def index(ctx: CommandContext, name: str) -> object:
    """Index new and changed documents of the file memory NAME.

    memgraph index handbook

    Args:
        name: Name of a memory of type file in memgraph.yaml.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    memory = _open_file_memory(ctx, name)
    columns = (TextColumn("Reading"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeRemainingColumn())
    console = Console(stderr=True)
    is_hidden = ctx.output.as_json or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_hidden) as bar:
        task = bar.add_task("", total=None)
        report = memory.index(lambda done, total: bar.update(task, completed=done, total=total))
    memory.close()
    line = ctx.output.line
    line(f"Index of {name}: {pluralize(report.passages, 'passage')}", "bold")
    indexed, embedded = pluralize(len(report.indexed), "file"), pluralize(report.embedded, "text")
    others = f"{report.unchanged:,} unchanged, {len(report.removed):,} removed"
    line(f"{indexed} indexed, {others}; {embedded} embedded.", indent=2)
    for skipped in report.missing:
        line(f"{skipped.path}: {skipped.why}; its indexed passages are kept.", "yellow", indent=2)
    if report.skipped:
        line(f"{pluralize(len(report.skipped), 'file')} skipped:", "yellow", indent=2)
    for skipped in report.skipped[:MAX_LISTED]:
        line(f"{skipped.path}: {skipped.why}", indent=4)
    if len(report.skipped) > MAX_LISTED:
        line(f"and {len(report.skipped) - MAX_LISTED:,} more (--json lists all)", indent=4)
    return report


def _open_file_memory(ctx: CommandContext, name: str) -> FileMemory:
    from memgraph.attachments.file import FileMemory
    from memgraph.attachments.manager import MemoryManager

    manager = MemoryManager.from_settings(ctx.settings)
    if not manager.names:
        raise ConfigError("no memories are configured: add them under `memories:` in memgraph.yaml")
    store = manager.store(name)
    if not isinstance(store, FileMemory):
        names = [other for other in manager.names if isinstance(manager.store(other), FileMemory)]
        raise ConfigError(f"memory {name!r} is not of type file; memories of that type: {', '.join(names) or 'none'}")
    return store
