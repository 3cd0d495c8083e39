"""Resources: the storage, the invoker and the settings of an agent's memory, and whose memory a run uses."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables.config import ensure_config

from memgraph._concurrency import Closing
from memgraph._validation import invalid_value
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.background.shared import AgentModel
from memgraph.config import given_settings, make_storage
from memgraph.context import Context, ContextResolver, get_field
from memgraph.errors import IdentityError
from memgraph.langgraph_adapter import has_checkpointer
from memgraph.models import Scope, validate_id
from memgraph.policy import Review
from memgraph.review import strictest
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime

    from memgraph.background.invoker import Invoker

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
    is_stored: bool = True
    """Whether a checkpointer stores the conversation, with the ids that LangGraph drew for its messages."""


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
        return UserIdentity(**{key.name: getattr(identity, key.name) for key in fields(identity)})

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
            has_checkpointer(config),
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


# -- resources -------------------------------------------------------------------------------------


class AgentResources:
    """The storage that an agent's memory is read from, and the invoker that learns into it.

    Agents of equal configuration share the workers of an invoker and the storage that these have opened, so that
    one for each request opens nothing of its own.

    Args:
        storage: A storage or its URL; None is the storage of *settings*.
        settings: What is injected and learned; None reads them as `load_settings` does.
        agent_name: The agent whose memory is used, unless the run names one.
        capture: Whether to learn from conversations.
        invoker: Receives the conversations; None is a BackgroundInvoker of the same storage.
        model: The chat model that learns if *invoker* is None; None is the one of *settings*. An AgentModel is used
            unless the settings name a model.

    Raises:
        ConfigError: If the storage cannot be opened; also for the reasons of BackgroundInvoker.
    """

    def __init__(
        self,
        storage: str | MemoryStorage | None,
        settings: Settings | None,
        agent_name: str | None,
        *,
        capture: bool,
        invoker: Invoker | None = None,
        model: str | BaseChatModel | AgentModel | None = None,
    ) -> None:
        if invoker is not None and not hasattr(invoker, "submit"):  # a call of it would fail after each turn
            raise invalid_value("invoker", invoker, "an invoker, such as BackgroundInvoker()")
        self.settings = effective = given_settings(settings)
        self.identities = IdentityResolver(effective, agent_name=agent_name)
        is_enabled = capture and effective.enabled
        self._own_invoker: BackgroundInvoker | None = None
        if isinstance(model, AgentModel) and effective.model_name:
            model = None
        if is_enabled and invoker is None:
            self._own_invoker = BackgroundInvoker(settings=settings, storage=storage, model=model)
        self.invoker = (invoker or self._own_invoker) if is_enabled else None
        known = storage if isinstance(storage, MemoryStorage) else self._own_invoker and self._own_invoker.storage
        self.storage = known or (make_storage(effective) if storage is None else open_storage(storage))
        self._own_storage = None if known else self.storage

    def use_model(self, model: object) -> None:
        """Learn with the agent's own *model*, unless another one was given, here or to the invoker."""
        if isinstance(self.invoker, BackgroundInvoker) and isinstance(model, BaseChatModel):
            self.invoker.use_model(model)

    def close(self, *, wait: bool) -> None:
        """Close what was opened here; *wait* as in `BackgroundInvoker.close`."""
        if self._own_invoker:
            self._own_invoker.close(wait=wait)
        if self._own_storage:
            self._own_storage.close()


class ResourceHolder(Closing):
    """A base class with the resources of an agent's memory, which also works as a context manager."""

    _resources: AgentResources

    def close(self, *, wait: bool = True) -> None:
        """Close the invoker and the storage that were opened here.

        Args:
            wait: Whether the last user of the shared threads learns from what is pending before, for at most
                `exit_seconds`. What remains stays in the outbox, and is due at once for the next process.
        """
        self._resources.close(wait=wait)
