"""fail_open: inside a lead agent, a memory that fails costs the agent nothing but the memory."""

from __future__ import annotations

import logging

from langgraph.config import get_config
from langgraph.errors import NodeError
from typing_extensions import TypedDict

from memgraph.nodes.recall import TextRendered
from memgraph.retrieval.results import RecallResult
from memgraph.state import Filtered, RunOutcome

_log = logging.getLogger("memgraph.graph")
_ALONE = 1  # the handler's place is "node|handler", and "parent|node|handler" inside another graph


class ErrorInput(Filtered, total=False):
    """What fail_open reads: as little as it can."""


def fail_open(state: ErrorInput, error: NodeError) -> RunOutcome:
    """Log the error and end, where a graph is around this one; alone, raise it.

    No mark has moved, so what was not learned is learned when these turns come again.
    """
    raise_if_root(error)
    origin = state.get("origin")
    _log.error(
        "memory of %s was not updated: %s failed; the agent goes on", origin.scope if origin else "?", error.node,
        exc_info=error.error,
    )  # fmt: skip
    return {}


def raise_if_root(error: NodeError) -> None:
    """Raise the error, unless a graph is around the one that failed."""
    place = str(get_config().get("metadata", {}).get("langgraph_checkpoint_ns", ""))
    if place.count("|") <= _ALONE:
        raise error.error


class RecallErrorInput(TypedDict):
    """What recall_nothing reads."""


def recall_error_handler(_: RecallErrorInput, error: NodeError) -> TextRendered:
    """Log the error, where a graph is around this one; alone, raise it.

    What an earlier run of the thread recalled is not told again: it may have been another user's.
    """
    raise_if_root(error)
    _log.error("nothing was recalled: %s failed; the agent goes on", error.node, exc_info=error.error)
    return {"recalled": RecallResult(text="", tokens=0)}
