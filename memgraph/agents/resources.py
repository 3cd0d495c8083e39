"""AgentResources: the storage, the invoker and the settings of an agent's memory, and whose memory a run uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel

from memgraph._concurrency import Closing
from memgraph.agents.identity import IdentityResolver
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.background.shared import AgentModel
from memgraph.config import load_settings, make_storage
from memgraph.settings import Settings
from memgraph.storage import MemoryStorage, open_storage

if TYPE_CHECKING:
    from memgraph.background.invoker import Invoker


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
        self.settings = effective = settings or load_settings()
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
