"""memgraph config: show the effective settings and the source of each."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memgraph._validation import redact
from memgraph.cli.command import CommandContext
from memgraph.cli.status import checked_by
from memgraph.config import choose_model, describe_finding


def config(
    ctx: CommandContext,
    *,
    template: Annotated[
        bool, typer.Option("--template", help="Print a memgraph.yaml with every key, explained.")
    ] = False,
) -> None:
    """Show the effective settings and their sources.

    Passwords and keys are redacted.

        memgraph config
        memgraph config --template > memgraph.yaml
    """
    if template:
        _show_template(ctx)
        return

    loaded = ctx.loaded
    _check_memories(ctx)
    choice = choose_model(loaded.settings)
    document = {
        "file": str(loaded.file) if loaded.file else None,
        "model": choice.name,
        "model_reason": choice.reason,
        "checking": checked_by(ctx),
        "finding": describe_finding(loaded.settings),
        "storage": ctx.storage.name,
        "kept_words": loaded.settings.policy.kept_words,
        "settings": {name: _describe_setting(ctx, name) for name in type(loaded.settings).model_fields},
    }
    _show(ctx, document)
    ctx.output.result(document)


def _show_template(ctx: CommandContext) -> None:
    """Print the template verbatim, so that it can be redirected to a file."""
    from memgraph.cli.config_template import render_template

    if not ctx.output.as_json:
        typer.echo(render_template(), nl=False)
    ctx.output.result({"template": render_template()})


def _check_memories(ctx: CommandContext) -> None:
    """Validate the configured memories, as an agent does when it starts."""
    if ctx.settings.memories or ctx.settings.attachments:
        from memgraph.attachments.manager import MemoryManager

        MemoryManager.from_settings(ctx.settings)


def _describe_setting(ctx: CommandContext, name: str) -> dict[str, Any]:

    value = redact(ctx.settings.model_dump(mode="json")[name])
    source = ctx.loaded.sources.get(name, "default")
    return {"value": value, "from": "the command line" if source == name else source}


def _show(ctx: CommandContext, document: dict[str, Any]) -> None:
    line = ctx.output.line
    line(f"File:    {document['file'] or 'none'}")
    line(f"Model:   {document['model']} ({document['model_reason']})")
    if not ctx.settings.model_name:
        line("         An agent's memory learns with the agent's own model unless model_name is set.", "dim")
    line(f"Checks:  {document['checking']}")
    line(f"Finding: {document['finding']}")
    line(f"Storage: {document['storage']}")
    line(f"Kept:    {document['kept_words']}")
    line()
    for name, setting in document["settings"].items():
        value = "none" if setting["value"] is None else str(setting["value"])
        line(f"{name:<26} {value:<20} {setting['from']}", "" if setting["from"] == "default" else "green", indent=2)
