"""memgraph draw: print the update graph."""

from __future__ import annotations

from typing import Literal

from memgraph.cli.command import CommandContext
from memgraph.errors import ConfigError

NEEDS_EXTRA = "ASCII art needs grandalf: pip install 'langgraph-memgraph[draw]', or print Mermaid with --form mermaid"


def draw(ctx: CommandContext, *, form: Literal["mermaid", "ascii"] = "mermaid") -> object:
    """Print the graph of a memory update.

    memgraph draw
    memgraph draw --form mermaid > update.mmd

    Args:
        form: Mermaid source or ASCII art.
    """
    from memgraph.graph import build_graph

    graph = build_graph(review=ctx.settings.review).get_graph()
    try:
        drawing = graph.draw_mermaid() if form == "mermaid" else graph.draw_ascii()
    except ImportError as error:
        raise ConfigError(NEEDS_EXTRA) from error
    ctx.output.verbatim(f"{drawing}\n")
    return {form: drawing}
