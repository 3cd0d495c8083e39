"""The context of a run, as its nodes see it: the run's own values, else the graph's defaults."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langgraph.config import get_config

from memgraph._cache import ResourceCache
from memgraph.analysis.signals import Signals, load_signals
from memgraph.analysis.slots import Slots, packaged_slots
from memgraph.context.context import AllowedChoices, Context, SubmittedContext
from memgraph.errors import IdentityError, WrongStorageError
from memgraph.llm.call import RefusedOptions
from memgraph.llm.checkers import Checkers
from memgraph.llm.models import chat_model
from memgraph.models import Scope, validate_id
from memgraph.policy import Policy, Review, ReviewBy
from memgraph.prompts.json_text import StructuredOutput
from memgraph.review import strictest
from memgraph.state import Origin
from memgraph.storage import MemoryStorage, open_storage
from memgraph.telemetry import note_result

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime

    from memgraph.retrieval.embeddings import EmbeddingCache


@dataclass(frozen=True)
class RunContext:
    """The complete context that a node finds in `runtime.context`."""

    user_id: str | None
    agent_name: str | None
    thread_id: str | None
    at: datetime | None
    """When messages without a time of their own were written; None is now."""
    user_names: tuple[str, ...]
    """Names of the user, the user id included."""
    timezone: str
    """The time zone in which dates are shown."""
    policy: Policy
    prompt: str | None
    signals: Signals
    slots: Slots
    enabled: bool
    structured_output: StructuredOutput
    refused: RefusedOptions
    """What the models of the graph have refused."""
    checkers: Checkers
    """Which of them can check what an update adds."""
    vectors: EmbeddingCache | None
    """Makes the vectors of what is saved; None without an embedding model."""
    review: Review
    """When a person must agree: the stricter of what the run and the graph require."""
    review_by: ReviewBy
    """How a person is asked."""
    authenticated_user_id: str | None
    """The user that the server has authenticated."""
    open_model: Callable[[], BaseChatModel]
    """Returns the chat model, opened at first use: in the worker thread of the node that needs it."""
    open_storage: Callable[[], MemoryStorage]
    """Returns the storage, opened at first use."""

    def require_storage(self, origin: Origin) -> MemoryStorage:
        """Return the storage of *origin*, which stands in the state of the run's thread.

        Every node that reads or writes a memory calls it: a state can be another run's, and be edited.

        Raises:
            IdentityError: If the run names another memory.
            WrongStorageError: If the storage is another one, because the run was resumed without its context.
        """
        self.authorize(origin.scope)
        storage = self.open_storage()
        if storage.name != origin.storage:
            raise WrongStorageError(origin.storage, storage.name)
        return storage

    def authorize(self, scope: Scope) -> None:
        """Check that the run may work on *scope*. A run that is resumed without a context names no user.

        Raises:
            IdentityError: If the run names another user or agent, or the server has authenticated another user.
        """
        if self.user_id is None:
            return
        # an authenticated user is known without a context, which alone names an agent
        is_resumed = self.authenticated_user_id is not None and self.agent_name is None
        if scope != resolve_scope(self) and not (is_resumed and scope.user_id == self.user_id):
            raise IdentityError("the state of this thread belongs to another user's memory: start a thread of your own")


class ContextResolver:
    """Resolves the context of each run of a graph against the graph's *defaults*."""

    def __init__(self, defaults: Context) -> None:
        self._defaults = defaults
        params = dict(defaults.model_params or {})
        self._models = ResourceCache(lambda name: chat_model(name, params))
        self._refused = RefusedOptions()
        self._checkers = Checkers(defaults.checks_folder)
        self._vectors: EmbeddingCache | None = None
        if defaults.embeddings is not None:
            from memgraph.retrieval.embeddings import EmbeddingCache  # imports NumPy, which only embeddings need

            self._vectors = EmbeddingCache(defaults.embeddings)
        self._storages = ResourceCache(open_storage)
        self.policy = defaults.policy or Policy()
        """The limits of a run that gives no other."""
        self._signals = defaults.signals or load_signals()
        self.review: Review = strictest(defaults.review)
        """When a person must agree, whatever a run asks for."""
        self._allowed = defaults.allowed or AllowedChoices()

    @property
    def storage(self) -> MemoryStorage:
        """The storage of a run that names no other, opened at first use."""
        storage = self._defaults.storage or "file:"
        return self._storages(storage) if isinstance(storage, str) else storage

    def __call__(self, runtime: Runtime[Any], config: RunnableConfig) -> RunContext:
        """Return the complete context of the run.

        Raises:
            ConfigError: If the context came over HTTP and chooses what is not allowed.
            IdentityError: If the run of an authenticated user names a storage.
        """
        # inside another graph the context is the parent's, of any type: only ids are taken from it
        given, defaults = runtime.context, self._defaults
        run = given if isinstance(given, Context) else Context()
        authenticated = authenticated_user_id(runtime)
        _refuse_storage_url(run.storage, authenticated)
        if isinstance(run, SubmittedContext) or runtime.server_info is not None:
            # on the server even a Context may come over HTTP, in a parent that has it as its schema
            run = self._allowed.restrict(run, defaults)
        model = run.model or defaults.model or "offline"
        storage = run.storage or defaults.storage or "file:"
        enabled = defaults.enabled if run.enabled is None else run.enabled
        user_id = authenticated or self._find_id("user_id", given, config)
        return RunContext(
            user_id=user_id,
            agent_name=self._find_id("agent_name", given, config),
            thread_id=self._find_id("thread_id", given, config),
            at=run.at or defaults.at,
            user_names=(*(run.user_names or defaults.user_names or ()), *([user_id] if user_id else [])),
            timezone=run.timezone or defaults.timezone or "UTC",
            policy=_override(self.policy, run.policy),
            prompt=run.prompt or defaults.prompt,
            signals=run.signals or self._signals,
            slots=run.slots or self._defaults.slots or packaged_slots(),
            enabled=True if enabled is None else enabled,
            structured_output=run.structured_output or defaults.structured_output or "auto",
            refused=self._refused,
            checkers=self._checkers,
            vectors=self._vectors,
            review=strictest(run.review, self.review) if run.review else self.review,
            review_by=run.review_by or defaults.review_by or "pending",
            authenticated_user_id=authenticated,
            open_model=lambda: self._models(model) if isinstance(model, str) else model,
            open_storage=lambda: self._storages(storage) if isinstance(storage, str) else storage,
        )

    def bind(self, node: Callable[..., Any]) -> Callable[..., Any]:
        """Return *node*, sync or async, with a runtime whose context is the complete RunContext.

        functools.wraps keeps the annotations, from which LangGraph reads what the node may see.
        """
        # weak, since LangChain keeps the last nodes of a process in a cache; the graph holds the resolver
        own = weakref.ref(self)

        def resolve(runtime: Runtime[Any]) -> Runtime[Any]:
            resolver = own()
            if resolver is None:
                raise RuntimeError("the graph of this node was dropped: keep the graph that the builder returned")
            return runtime.override(context=resolver(runtime, get_config()))

        if inspect.iscoroutinefunction(node):

            @functools.wraps(node)
            async def call_async(state: Any, runtime: Runtime[Any]) -> Any:  # noqa: ANN401
                output = await node(state, resolve(runtime))
                note_result(output)
                return output

            return call_async

        @functools.wraps(node)
        def call(state: Any, runtime: Runtime[Any]) -> Any:  # noqa: ANN401
            output = node(state, resolve(runtime))
            note_result(output)
            return output

        return call

    def _find_id(self, name: str, context: object, config: RunnableConfig) -> str | None:
        """Find an id in the context, of whatever type, else in configurable; an empty one counts as absent."""
        found = (
            get_field(context, name) or get_field(config.get("configurable", {}), name) or getattr(self._defaults, name)
        )
        return str(found) if found else None


def get_field(source: object, name: str) -> object:
    """Return the key or the attribute *name* of *source*; None if it has neither."""
    if isinstance(source, Mapping):
        return cast("Mapping[str, object]", source).get(name)
    return getattr(source, name, None)


def _override(policy: Policy, run: Policy | None) -> Policy:
    """Return *policy* with the fields that the run sets itself."""
    return policy.model_copy(update={name: getattr(run, name) for name in run.model_fields_set}) if run else policy


def authenticated_user_id(runtime: Runtime[Any]) -> str | None:
    """Return the user that the server has authenticated; no context can override it."""
    user = runtime.server_info.user if runtime.server_info else None
    return user.identity if user is not None and user.is_authenticated else None


def _refuse_storage_url(storage: str | MemoryStorage | None, authenticated: str | None) -> None:
    """Refuse a storage URL from an authenticated user, since it could name another user's memory.

    Only strings come over HTTP: an object comes from code on the server, which is trusted.
    """
    if authenticated is not None and storage and isinstance(storage, str):
        raise IdentityError(
            "an authenticated user cannot choose the storage: leave it out of the context. "
            "Where memories are kept is configured on the server, in memgraph.yaml"
        )


def resolve_scope(context: RunContext) -> Scope:
    """Return the owner of the memory.

    Raises:
        IdentityError: If there is no user, or an id is invalid.
    """
    if not context.user_id:
        raise IdentityError(
            "no user_id: name the user by context=Context(user_id='ada'); 'default' is the memory without a user"
        )
    return Scope(context.user_id, context.agent_name)


def resolve_origin(context: RunContext) -> Origin:
    """Return the owner of the update.

    Raises:
        IdentityError: If there is no user, or an id is invalid.
    """
    return Origin(
        scope=resolve_scope(context),
        thread_id=validate_id(context.thread_id, "thread_id") if context.thread_id else None,
        storage=context.open_storage().name,
        review=context.review,
        review_by=context.review_by,
    )
