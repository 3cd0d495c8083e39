"""memgraph draw: the update graph as a picture."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memgraph.cli.command import CommandContext, add_command


class Form(StrEnum):
    """What is drawn."""

    BOTH = "both"
    MERMAID = "mermaid"
    ASCII = "ascii"


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, draw)


def draw(
    ctx: CommandContext,
    *,
    form: Annotated[Form, typer.Option("--form", help="Mermaid text, an ASCII picture, or both.")] = Form.BOTH,
) -> None:
    """Draw the graph of a memory update."""
    from memgraph.graph import build_graph

    graph = build_graph(review=ctx.settings.review).get_graph()
    drawn = {
        **({"mermaid": graph.draw_mermaid()} if form is not Form.ASCII else {}),
        **({"ascii": graph.draw_ascii()} if form is not Form.MERMAID else {}),
    }
    if not ctx.output.as_json:
        typer.echo("\n".join(drawn.values()))
    ctx.output.result(drawn)
