"""fail_open: inside a lead agent, a memory that fails costs the agent nothing but the memory."""

from __future__ import annotations

import logging

from langgraph.config import get_config
from langgraph.errors import NodeError

from memgraph.state import Ended, Filtered

_log = logging.getLogger("memgraph.graph")
_ALONE = 1  # the handler's place is "node|handler", and "parent|node|handler" inside another graph


class Nothing(Filtered, total=False):
    """What fail_open reads: as little as it can."""


def fail_open(state: Nothing, error: NodeError) -> Ended:
    """Log the error and end, where a graph is around this one; alone, raise it.

    No mark has moved, so what was not learned is learned when these turns come again.
    """
    raise_alone(error)
    origin = state.get("origin")
    _log.error(
        "memory of %s was not updated: %s failed; the agent goes on", origin.scope if origin else "?", error.node,
        exc_info=error.error,
    )  # fmt: skip
    return {}


def raise_alone(error: NodeError) -> None:
    """Raise the error, unless a graph is around the one that failed."""
    place = str(get_config().get("metadata", {}).get("langgraph_checkpoint_ns", ""))
    if place.count("|") <= _ALONE:
        raise error.error
