"""Identity: the user, agent and thread of a run, and which parts of memory the run has turned off."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables.config import ensure_config

from memgraph.context import Context, ContextResolver, get_field
from memgraph.errors import IdentityError
from memgraph.models import Scope, validate_id
from memgraph.policy import Review
from memgraph.review import strictest
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime

logger = logging.getLogger("memgraph.agents")

ENABLED_KEY = "memory_enabled"
"""False in a run's context or configurable turns memory off for the run."""
INJECTION_KEY = "memory_injection_enabled"
"""False there turns injection off; the conversation is still learned from."""

_FALSE_WORDS = frozenset({"false", "0", "no", "off"})
_PLACEHOLDER_USER = "default"


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose memory a run may use, and in which conversation."""

    scope: Scope | None
    """None if the run has no user."""
    thread_id: str | None
    inject: bool = True
    """Whether memory may be injected into model calls."""
    user_names: tuple[str, ...] = ()
    """Names of the user; human messages with another name are another speaker's."""
    review: Review = "never"
    """When a person must approve a change: the stricter of what the run and the settings require."""


@dataclass(frozen=True, slots=True)
class UserIdentity(Identity):
    """The identity of a run whose user is known."""

    scope: Scope


class IdentityResolver:
    """Finds the identity of a run.

    A run determines identity only. The storage is chosen by the code that builds the agent, so that injecting and
    learning use the same one.
    """

    def __init__(self, settings: Settings, *, agent_name: str | None = None) -> None:
        self._settings = settings
        self._resolve_context = ContextResolver(Context(agent_name=agent_name))

    def resolve(self, runtime: Runtime[Any], config: RunnableConfig) -> UserIdentity | None:
        """Return the identity of a run, or None if memory is off.

        Raises:
            IdentityError: If the run has no user, or an id is invalid.
        """
        identity = self.resolve_anonymous(runtime, config)
        if identity is None:
            return None
        if identity.scope is None:
            raise IdentityError(
                "no user_id: set it in the run's context or in configurable; 'default' is the memory without a user"
            )
        return UserIdentity(identity.scope, identity.thread_id, identity.inject, identity.user_names, identity.review)

    def resolve_anonymous(self, runtime: Runtime[Any], config: RunnableConfig) -> Identity | None:
        """Return the identity of a run that may have no user, or None if memory is off.

        Raises:
            IdentityError: If an id is invalid.
        """
        found = self._resolve_context(runtime, config)
        sources: tuple[object, ...] = (runtime.context, config.get("configurable"))
        if not (self._settings.enabled and found.enabled) or _is_disabled(ENABLED_KEY, sources):
            return None
        scope = Scope(found.user_id or _PLACEHOLDER_USER, found.agent_name)  # checks agent_name in any case
        return Identity(
            scope if found.user_id else None,
            validate_id(found.thread_id, "thread_id") if found.thread_id else None,
            self._settings.injection_enabled and not _is_disabled(INJECTION_KEY, sources),
            found.user_names,
            strictest(self._settings.review, found.review),
        )

    def resolve_or_none(self, runtime: Runtime[Any], *, log: bool = True) -> UserIdentity | None:
        """Return the identity of the running node, or None if memory is off or the user is unknown.

        An unknown user is logged if *log*; a context that cannot be read is logged in any case.
        """
        try:
            return self.resolve(runtime, ensure_config())
        except IdentityError as error:
            if log:
                logger.warning("memory is off in this run: %s", error)
        except Exception:  # a context may be of any class; the agent must answer all the same
            logger.exception("memory is off in this run: its context cannot be read")
        return None


def _is_disabled(key: str, sources: tuple[object, ...]) -> bool:
    """Return whether *key* is false in any of *sources*. Over HTTP it may be a word, such as "no"."""
    values = (get_field(cast("Mapping[str, object] | None", source), key) for source in sources)
    return any(value is False or (isinstance(value, str) and value.lower() in _FALSE_WORDS) for value in values)
