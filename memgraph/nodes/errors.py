"""Error handlers: inside another graph, a failing memory does not fail the agent."""

from __future__ import annotations

import logging

from langgraph.errors import NodeError

from memgraph.langgraph_adapter import is_subgraph
from memgraph.retrieval.results import RecallResult
from memgraph.state import ErrorInput, RecallErrorInput, RunOutcome, TextRendered

_log = logging.getLogger("memgraph.graph")


def fail_open(state: ErrorInput, error: NodeError) -> RunOutcome:
    """Log the error and end the update if it runs inside another graph; raise it otherwise.

    The watermark has not moved, so the turns are learned when they are submitted again.
    """
    raise_if_root(error)
    origin = state.get("origin")
    _log.error(
        "memory of %s was not updated: %s failed; the agent goes on", origin.scope if origin else "?", error.node,
        exc_info=error.error,
    )  # fmt: skip
    return {}


def recall_error_handler(_: RecallErrorInput, error: NodeError) -> TextRendered:
    """Log the error and recall nothing if recall runs inside another graph; raise it otherwise.

    The result of an earlier run on the thread is overwritten: it may be of another user's memory.
    """
    raise_if_root(error)
    _log.error("nothing was recalled: %s failed; the agent goes on", error.node, exc_info=error.error)
    return {"recalled": RecallResult(text="", tokens=0)}


def raise_if_root(error: NodeError) -> None:
    """Raise the error unless the failed graph runs inside another graph."""
    if not is_subgraph():
        raise error.error
