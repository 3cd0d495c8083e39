"""recall_nothing: inside a lead agent, a recall that fails costs the agent nothing but what it would have been told."""

from __future__ import annotations

import logging

from langgraph.errors import NodeError
from typing_extensions import TypedDict

from memgraph.nodes.fail_open import raise_alone
from memgraph.nodes.recall_state import TextRendered
from memgraph.retrieval.recalled import Recalled

_log = logging.getLogger("memgraph.graph")


class Nothing(TypedDict):
    """What recall_nothing reads."""


def recall_nothing(_: Nothing, error: NodeError) -> TextRendered:
    """Log the error, where a graph is around this one; alone, raise it.

    What an earlier run of the thread recalled is not told again: it may have been another user's.
    """
    raise_alone(error)
    _log.error("nothing was recalled: %s failed; the agent goes on", error.node, exc_info=error.error)
    return {"recalled": Recalled(text="", tokens=0)}
