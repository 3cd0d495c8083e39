"""memgraph config: the settings in force, and where each comes from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memgraph.cli.command import CommandContext, add_command


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, config)


def config(
    ctx: CommandContext,
    *,
    template: Annotated[
        bool, typer.Option("--template", help="Print a memgraph.yaml with everything there is in it, explained.")
    ] = False,
) -> None:
    """Show the settings and where each is from.

    Passwords and keys are left out.
    """
    if template:
        _show_template(ctx)
        return
    from memgraph.config import default_model

    loaded = ctx.loaded
    _check_memories(ctx)
    document = {
        "file": str(loaded.file) if loaded.file else None,
        "model": default_model(loaded.settings),
        "storage": ctx.storage.name,
        "settings": {name: _said(ctx, name) for name in type(loaded.settings).model_fields},
    }
    _show(ctx, document)
    ctx.output.result(document)


def _show_template(ctx: CommandContext) -> None:
    """Print it as it is, so that it can go into a file."""
    from memgraph.cli.config_template import template

    if not ctx.output.as_json:
        typer.echo(template(), nl=False)
    ctx.output.result({"template": template()})


def _check_memories(ctx: CommandContext) -> None:
    """Find out what cannot be before an agent does."""
    if ctx.settings.memories or ctx.settings.attachments:
        from memgraph.attachments.manager import MemoryManager

        MemoryManager.from_settings(ctx.settings)


def _said(ctx: CommandContext, name: str) -> dict[str, Any]:
    from memgraph._validation import redact

    value = redact(ctx.settings.model_dump(mode="json")[name])
    place = ctx.loaded.sources.get(name, "default")
    return {"value": value, "from": "the command line" if place == name else place}


def _show(ctx: CommandContext, document: dict[str, Any]) -> None:
    line = ctx.output.line
    line(f"File:    {document['file'] or 'none'}")
    line(f"Model:   {document['model']}")
    line(f"Storage: {document['storage']}")
    line()
    for name, said in document["settings"].items():
        value = "none" if said["value"] is None else str(said["value"])
        line(f"{name:<26} {value:<20} {said['from']}", "" if said["from"] == "default" else "green", indent=2)
