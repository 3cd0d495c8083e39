"""memgraph config: the settings in force, and where each comes from."""

from __future__ import annotations

from typing import Any

import typer

from memgraph.cli.command import Run, add_command


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, config)


def config(run: Run) -> None:
    """Show the settings and where each is from.

    Passwords and keys are left out.
    """
    from memgraph.config import default_model

    loaded = run.loaded
    document = {
        "file": str(loaded.file) if loaded.file else None,
        "model": default_model(loaded.settings),
        "storage": run.storage.name,
        "settings": {name: _said(run, name) for name in type(loaded.settings).model_fields},
    }
    _show(run, document)
    run.screen.result(document)


def _said(run: Run, name: str) -> dict[str, Any]:
    from memgraph.config.problems import without_secrets

    value = without_secrets(run.settings.model_dump(mode="json")[name])
    place = run.loaded.places.get(name, "default")
    return {"value": value, "from": "the command line" if place == name else place}


def _show(run: Run, document: dict[str, Any]) -> None:
    line = run.screen.line
    line(f"File:    {document['file'] or 'none'}")
    line(f"Model:   {document['model']}")
    line(f"Storage: {document['storage']}")
    line()
    for name, said in document["settings"].items():
        value = "none" if said["value"] is None else str(said["value"])
        line(f"{name:<26} {value:<20} {said['from']}", "" if said["from"] == "default" else "green", indent=2)
