"""Error handlers: inside another graph, a failing memory does not fail the agent."""

from __future__ import annotations

import logging
from typing import Any

from langgraph.config import get_config
from langgraph.errors import NodeError
from langgraph.runtime import Runtime

from memgraph.context import ContextResolver
from memgraph.errors import ConfigError, IdentityError
from memgraph.langgraph_adapter import is_subgraph
from memgraph.models import Scope
from memgraph.retrieval.results import RecallResult
from memgraph.state import ErrorInput, Origin, RecallErrorInput, RunOutcome, TextRendered

_log = logging.getLogger("memgraph.update.graph")


class ErrorHandlers:
    """The error handlers of a graph.

    Args:
        resolve: Resolves the context of the failed run, and with it the memory concerned.
    """

    def __init__(self, resolve: ContextResolver) -> None:
        self._resolve = resolve

    def fail_open(self, state: ErrorInput, error: NodeError, runtime: Runtime[Any]) -> RunOutcome:
        """Log the error and end the update if it runs inside another graph; raise it otherwise.

        The watermark has not moved, so the turns are learned when they are submitted again.
        """
        self._go_on("updated", error, runtime, state.get("origin"))
        return {}

    def recall_nothing(self, _: RecallErrorInput, error: NodeError, runtime: Runtime[Any]) -> TextRendered:
        """Log the error and recall nothing if recall runs inside another graph; raise it otherwise.

        The result of an earlier run on the thread is overwritten: it may be of another user's memory.
        """
        self._go_on("recalled", error, runtime)
        return {"recalled": RecallResult(text="", tokens=0)}

    def _go_on(self, what: str, error: NodeError, runtime: Runtime[Any], origin: Origin | None = None) -> None:
        if not is_subgraph():
            raise error.error
        message = "memory of %s was not %s: %s failed; the agent goes on"
        _log.error(message, self._owner(runtime, origin), what, error.node, exc_info=error.error)

    def _owner(self, runtime: Runtime[Any], origin: Origin | None) -> str:
        """Name the owner of the memory: the one in the run's context, since *origin* may be of an earlier run."""
        try:
            context = self._resolve(runtime, get_config())
            if context.user_id:
                return Scope(context.user_id, context.agent_name).log_name
        except (ConfigError, IdentityError):
            _log.debug("the run names no valid user, or chooses what is not allowed", exc_info=True)
        return origin.scope.log_name if origin else "an unknown user"
