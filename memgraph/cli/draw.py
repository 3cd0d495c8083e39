"""memgraph draw: print the update graph."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memgraph.cli.command import CommandContext, add_command


class DrawFormat(StrEnum):
    """Output format of `memgraph draw`."""

    BOTH = "both"
    MERMAID = "mermaid"
    ASCII = "ascii"


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, draw)


def draw(
    ctx: CommandContext,
    *,
    form: Annotated[DrawFormat, typer.Option("--form", help="Mermaid source, ASCII art, or both.")] = DrawFormat.BOTH,
) -> None:
    """Print the graph of a memory update.

    memgraph draw
    memgraph draw --form mermaid > update.mmd
    """
    from memgraph.graph import build_graph

    graph = build_graph(review=ctx.settings.review).get_graph()
    drawings = {
        **({"mermaid": graph.draw_mermaid()} if form is not DrawFormat.ASCII else {}),
        **({"ascii": graph.draw_ascii()} if form is not DrawFormat.MERMAID else {}),
    }
    if not ctx.output.as_json:
        typer.echo("\n".join(drawings.values()))
    ctx.output.result(drawings)
