"""Draw the update graph as docs/update-graph.svg: nodes and edges are those of the code, places and labels are here.

python docs/hooks/draw_graph.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from memgraph import build_graph

FILE = Path(__file__).parents[1] / "update-graph.svg"
WIDTH, HEIGHT = 930, 430
NODE_WIDTH, NODE_HEIGHT = 132, 44
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2937; text-anchor: middle; dominant-baseline: central }
.label { font-size: 12px; fill: #475569 }
.node { fill: #eef2ff; stroke: #4f46e5; stroke-width: 1.5 }
.model { fill: #fef3c7; stroke: #b45309 }
.person { fill: #dcfce7; stroke: #15803d }
.end { fill: #4f46e5; stroke: #4f46e5 }
.edge { fill: none; stroke: #475569; stroke-width: 1.5; marker-end: url(#arrow) }
.other { stroke-dasharray: 5 4 }
"""

ARROW = """<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0 8 4 0 8z" fill="#475569"/></marker></defs>"""

PLACES = {
    "__start__": (30, 70),
    "filter_messages": (140, 70),
    "detect_signals": (306, 70),
    "load_memory": (472, 70),
    "build_prompt": (638, 70),
    "call_model": (804, 70),
    "parse_update": (804, 280),
    "apply_update": (638, 280),
    "scrub_uploads": (472, 280),
    "save_memory": (306, 280),
    "review_changes": (389, 395),
    "__end__": (140, 280),
}
"""The centre of each node."""
CLASSES = {"call_model": "node model", "review_changes": "node person", "__start__": "end", "__end__": "end"}


class Route(NamedTuple):
    """An edge: the points it goes through, and what leads to it if it is not the usual way."""

    points: tuple[tuple[int, int], ...]
    label: tuple[str, ...] = ()
    label_at: tuple[int, int] = (0, 0)


ROUTES = {
    ("__start__", "filter_messages"): Route(((39, 70), (72, 70))),
    ("filter_messages", "detect_signals"): Route(((206, 70), (238, 70))),
    ("filter_messages", "__end__"): Route(((140, 92), (140, 268)), ("no user", "text"), (112, 170)),
    ("detect_signals", "load_memory"): Route(((372, 70), (404, 70))),
    ("load_memory", "build_prompt"): Route(((538, 70), (570, 70))),
    ("load_memory", "__end__"): Route(((440, 92), (440, 135), (160, 135), (146, 268)), ("nothing new",), (250, 124)),
    ("load_memory", "apply_update"): Route(
        ((490, 92), (490, 160), (660, 160), (660, 256)), ("conflict,", "changes", "still apply"), (706, 180)
    ),
    ("build_prompt", "call_model"): Route(((704, 70), (736, 70))),
    ("call_model", "parse_update"): Route(((780, 92), (780, 256))),
    ("parse_update", "call_model"): Route(
        ((832, 258), (832, 94)), ("unreadable,", "or a check", "is due;", "each once"), (882, 175)
    ),
    ("parse_update", "apply_update"): Route(((738, 280), (706, 280))),
    ("apply_update", "scrub_uploads"): Route(((572, 280), (540, 280))),
    ("scrub_uploads", "save_memory"): Route(((406, 280), (374, 280))),
    ("scrub_uploads", "review_changes"): Route(((440, 302), (440, 371)), ("review required",), (492, 338)),
    ("review_changes", "save_memory"): Route(((338, 373), (338, 304))),
    ("review_changes", "apply_update"): Route(
        ((455, 395), (638, 395), (638, 304)), ("edited or rejected",), (555, 384)
    ),
    ("save_memory", "load_memory"): Route(((290, 258), (290, 185), (462, 185), (462, 94)), ("conflict",), (350, 174)),
    ("save_memory", "build_prompt"): Route(
        ((322, 258), (322, 220), (610, 220), (610, 94)), ("more turns",), (400, 209)
    ),
    ("save_memory", "__end__"): Route(((240, 280), (151, 280))),
}


def draw() -> str:
    """Return the drawing.

    Raises:
        ValueError: If an edge of the graph is not drawn here, or one is drawn that the graph does not have.
    """
    edges = {(edge.source, edge.target) for edge in build_graph(storage="memory:").get_graph().edges}
    if edges != ROUTES.keys():
        raise ValueError(f"draw these edges, or remove them: {sorted(edges ^ ROUTES.keys())}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>The nodes of a memory update, and the ways between them</title>",
        f"<style>{STYLE}</style>",
        ARROW,
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        *(line for route in ROUTES.values() for line in _edge(route)),
        *(line for name in PLACES for line in _node(name)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _edge(route: Route) -> list[str]:
    (x, y), *others = route.points
    path = f"M{x} {y}" + "".join(f" L{x} {y}" for x, y in others)
    kind = "edge other" if route.label else "edge"
    x, y = route.label_at
    first = y - 7 * (len(route.label) - 1)
    labels = [
        f'<text class="label" x="{x}" y="{first + 14 * row}">{part}</text>' for row, part in enumerate(route.label)
    ]
    return [f'<path class="{kind}" d="{path}"/>', *labels]


def _node(name: str) -> list[str]:
    x, y = PLACES[name]
    kind = CLASSES.get(name, "node")
    if kind == "end":
        return [f'<circle class="end" cx="{x}" cy="{y}" r="9"/>']
    left, top = x - NODE_WIDTH // 2, y - NODE_HEIGHT // 2
    box = f'<rect class="{kind}" x="{left}" y="{top}" width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="8"/>'
    return [box, f'<text x="{x}" y="{y}">{name}</text>']


if __name__ == "__main__":
    FILE.write_text(draw(), encoding="utf-8")
