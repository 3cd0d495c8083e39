"""Whose run it is in which memories are attached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import ensure_config
from langgraph.runtime import Runtime, get_runtime

from memgraph.agents.identity import IdentityResolver
from memgraph.context import Context, ContextResolver

if TYPE_CHECKING:
    from memgraph.models import Scope
    from memgraph.settings import Settings

SOMEBODY = "default"


@dataclass(frozen=True, slots=True)
class Run:
    """A run, and whose it is."""

    scope: Scope | None
    """None where nobody is known: a team's work may be nobody's."""
    thread_id: str | None
    is_told: bool = True
    """Whether its nodes may be told what is remembered."""


class AnonymousIdentityResolver:
    """Finds whose run it is, as every memory of an agent does; but here it may be nobody's."""

    def __init__(self, settings: Settings) -> None:
        self._callers = IdentityResolver(settings)
        self._resolve = ContextResolver(Context())

    def current(self) -> Run | None:
        """Return the run of the node that runs, None where memory is switched off in it.

        Raises:
            IdentityError: If an id may not be used.
        """
        runtime, config = current_runtime(), ensure_config()
        is_known = bool(self._resolve(runtime, config).user_id)
        if not is_known:  # all else is found out as for somebody
            config["configurable"] = {**config.get("configurable", {}), "user_id": SOMEBODY}
        caller = self._callers.resolve(runtime, config)
        return Run(caller.scope if is_known else None, caller.thread_id, caller.inject) if caller else None


def current_runtime() -> Runtime[Any]:
    """Return the runtime of the running node; outside a graph one that leads nowhere."""
    try:
        return get_runtime() or Runtime()
    except (RuntimeError, KeyError):  # in no run at all; in one of LangChain's, that is no graph's
        return Runtime()
