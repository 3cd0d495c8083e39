"""Who is calling: user, agent and thread of a run, found in whatever the run brings, and what is switched off."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables.config import ensure_config

from memgraph.context import Context, ContextResolver, get_field
from memgraph.errors import IdentityError
from memgraph.models import Scope, validate_id
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime

logger = logging.getLogger("memgraph.agents")

OFF = "memory_enabled"
"""False in a run's context or configurable: memory does nothing in this run."""
NOT_INJECTED = "memory_injection_enabled"
"""False there: this run is learned from, but told nothing."""

_NO = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose memory a run may see, and in which conversation."""

    scope: Scope
    thread_id: str | None
    inject: bool = True
    """Whether the model may be told what is remembered."""


class IdentityResolver:
    """Finds the caller of a run.

    Only identity is taken from a run. Where memories are is said by whoever builds the agent, so that what
    is told and what is learned are of one storage.
    """

    def __init__(self, settings: Settings, *, agent_name: str | None = None) -> None:
        self._settings = settings
        self._resolve = ContextResolver(Context(agent_name=agent_name))

    def resolve(self, runtime: Runtime[Any], config: RunnableConfig) -> Identity | None:
        """Return who calls, None where memory is off.

        Raises:
            IdentityError: If nobody says whose memory it is, or an id may not be used.
        """
        found = self._resolve(runtime, config)
        places: tuple[object, ...] = (runtime.context, config.get("configurable"))
        if not (self._settings.enabled and found.enabled) or _is_off(OFF, places):
            return None
        if not found.user_id:
            raise IdentityError(
                "no user_id: say whose memory it is, in the run's context or in configurable; "
                "'default' is the memory without a user"
            )
        return Identity(
            Scope(found.user_id, found.agent_name),
            validate_id(found.thread_id, "thread_id") if found.thread_id else None,
            self._settings.injection_enabled and not _is_off(NOT_INJECTED, places),
        )

    def resolve_or_none(self, runtime: Runtime[Any], *, log: bool = True) -> Identity | None:
        """Return who calls the running node. Where nobody does it is logged, if *log*, and nothing is remembered."""
        try:
            return self.resolve(runtime, ensure_config())
        except IdentityError as error:
            if log:
                logger.warning("nothing is remembered in this run: %s", error)
        except Exception:  # the last resort: a context may be anything, and the agent has its answer
            logger.exception("nothing is remembered in this run: its context cannot be read")
        return None


def _is_off(name: str, places: tuple[object, ...]) -> bool:
    """Tell whether any of *places* says no; over HTTP it may be said in a word."""
    said = (get_field(cast("Mapping[str, object] | None", place), name) for place in places)
    return any(value is False or (isinstance(value, str) and value.lower() in _NO) for value in said)
