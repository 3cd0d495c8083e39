"""memgraph draw: print the update graph."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memgraph.cli.command import CommandContext
from memgraph.errors import ConfigError

NEEDS_EXTRA = "ASCII art needs grandalf: pip install 'langgraph-memgraph[draw]', or print Mermaid with --form mermaid"


class DrawFormat(StrEnum):
    """Output format of `memgraph draw`."""

    MERMAID = "mermaid"
    ASCII = "ascii"


def draw(
    ctx: CommandContext,
    *,
    form: Annotated[DrawFormat, typer.Option(help="Mermaid source or ASCII art.")] = DrawFormat.MERMAID,
) -> None:
    """Print the graph of a memory update.

    memgraph draw
    memgraph draw --form mermaid > update.mmd
    """
    from memgraph.graph import build_graph

    graph = build_graph(review=ctx.settings.review).get_graph()
    try:
        drawing = graph.draw_mermaid() if form is DrawFormat.MERMAID else graph.draw_ascii()
    except ImportError as error:
        raise ConfigError(NEEDS_EXTRA) from error
    if not ctx.output.as_json:
        typer.echo(drawing)
    ctx.output.result({form.value: drawing})
