"""How a node finds its context: what the run says, else what the graph was built with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel

from memgraph._cache import ResourceCache
from memgraph.context.context import Context
from memgraph.errors import IdentityError, WrongStorageError
from memgraph.llm.models import chat_model
from memgraph.models import Scope
from memgraph.policy import Policy
from memgraph.prompts.schema import StructuredOutput
from memgraph.review import Review, strictest
from memgraph.storage import MemoryStorage, open_storage
from memgraph.text.signals import Signals, load_signals

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime


@dataclass(frozen=True)
class RunContext:
    """What a node finds in `runtime.context`: everything is there."""

    user_id: str | None
    agent_name: str | None
    thread_id: str | None
    policy: Policy
    prompt: str | None
    signals: Signals
    enabled: bool
    structured_output: StructuredOutput
    review: Review
    """When a person must agree: the stricter of what the run and the graph say."""
    has_review_node: bool
    """Whether the graph was built to ask."""
    caller: str | None
    """The user whom the server knows to be calling."""
    open_model: Callable[[], BaseChatModel]
    open_storage: Callable[[], MemoryStorage]

    @property
    def model(self) -> BaseChatModel:
        """The chat model, opened at first use: in the worker thread of the node that needs it."""
        return self.open_model()

    @property
    def storage(self) -> MemoryStorage:
        """The storage, opened at first use."""
        return self.open_storage()

    def require_storage(self, name: str) -> MemoryStorage:
        """The storage, if it is the one called *name*.

        Raises:
            WrongStorageError: If it is another: the run was resumed without its context.
        """
        storage = self.storage
        if storage.name != name:
            raise WrongStorageError(name, storage.name)
        return storage

    def check(self, scope: Scope) -> None:
        """See to it that who is calling may work on *scope*, which the state of a thread says.

        Raises:
            IdentityError: If the server knows the caller to be another. A thread may have been started by
                somebody else, and its state can be edited.
        """
        if self.caller is not None and self.caller != scope.user_id:
            raise IdentityError(
                "the state of this thread is of another user's memory than the caller's: start a thread of your own"
            )


class ContextResolver:
    """Finds the context of a run: what it says, else what the graph was built with."""

    def __init__(self, defaults: Context) -> None:
        self._defaults = defaults
        self._models = ResourceCache(chat_model)
        self._storages = ResourceCache(open_storage)
        self._signals = defaults.signals or load_signals()

    def __call__(self, runtime: Runtime[Any], config: RunnableConfig) -> RunContext:
        """Return the whole context of the run.

        Raises:
            IdentityError: If a caller whom the server knows names a storage.
        """
        given = runtime.context
        ours = given if isinstance(given, Context) else Context()
        caller = _authenticated(runtime)
        model = ours.model or self._defaults.model or "offline"
        storage = _allowed(ours.storage, caller) or self._defaults.storage or "file:"
        return RunContext(
            user_id=caller or self._named("user_id", given, config),
            agent_name=self._named("agent_name", given, config),
            thread_id=self._named("thread_id", given, config),
            policy=_merged(ours.policy, self._defaults.policy or Policy()),
            prompt=ours.prompt or self._defaults.prompt,
            signals=ours.signals or self._signals,
            enabled=_first(ours.enabled, self._defaults.enabled, or_else=True),
            structured_output=ours.structured_output or self._defaults.structured_output or "none",
            review=strictest(ours.review, self._defaults.review),
            has_review_node=strictest(self._defaults.review) != "never",
            caller=caller,
            open_model=lambda: self._models(model),
            open_storage=lambda: self._storages(storage),
        )

    def _named(self, name: str, given: object, config: RunnableConfig) -> str | None:
        """Find an id in the context, whatever its type, else in configurable; empty counts as absent."""
        found = (
            get_field(given, name) or get_field(config.get("configurable", {}), name) or getattr(self._defaults, name)
        )
        return str(found) if found else None


def get_field(given: object, name: str) -> object:
    """What *given*, of whatever type, has under *name*: as a key or as an attribute."""
    if isinstance(given, Mapping):
        return cast("Mapping[str, object]", given).get(name)
    return getattr(given, name, None)


def _first(*said: bool | None, or_else: bool) -> bool:
    return next((value for value in said if value is not None), or_else)


def _merged(said: Policy | None, graphs: Policy) -> Policy:
    """The policy of the graph, but for what the run says."""
    return graphs.model_copy(update={name: getattr(said, name) for name in said.model_fields_set}) if said else graphs


def _authenticated(runtime: Runtime[Any]) -> str | None:
    """The user whom the server knows to be calling; nobody can claim to be another."""
    user = runtime.server_info.user if runtime.server_info else None
    return user.identity if user is not None and user.is_authenticated else None


def _allowed(storage: str | MemoryStorage | None, caller: str | None) -> str | MemoryStorage | None:
    """A storage of somebody else's would be their memory by another road. Over HTTP only strings come."""
    if caller is not None and storage and isinstance(storage, str):
        raise IdentityError(
            "a caller whom the server knows cannot choose the storage: leave it out of the context. "
            "Where memories are kept is configured with the server, in memgraph.yaml"
        )
    return storage
