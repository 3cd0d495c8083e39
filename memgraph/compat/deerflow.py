"""A memory manager for DeerFlow: `manager_class: memgraph.compat.deerflow:MemgraphManager` in its configuration.

The contract is `MemoryManager` of bytedance/deer-flow, `backend/packages/harness/deerflow/agents/memory/manager.py` at
commit 0a266905f79b2bd394389b94fca0bb0e1c7b5c1a (after pull request 4528 of 2026-07-28), and `get_context` with a
`query` as in `backends/README.md` at commit 1cf4afd436969eb0c81a75f7c9d278ae1cbce732. `backend_config` has settings of
memgraph; without a `storage_class` the memories are files in `memgraph` below the `storage_path` of DeerFlow. The
settings of DeerFlow's own backend that memgraph does not have are ignored, with a warning.

In the mode "middleware" a person edits facts, on DeerFlow's page: they are manual. In the mode "tool" a model does it:
its facts are learned ones, within the rules of an update, and it cannot change manual ones.

The host's callbacks see each call of the model that learns. A trace id is known until the process ends: a conversation
that another one learns has none.
"""

from __future__ import annotations

import importlib
import json
import logging
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from langchain_core.callbacks import BaseCallbackHandler
from pydantic import PrivateAttr

from memgraph._cache import LRUCache
from memgraph.agents.tool_changes import WAITS, SavedChange, ToolCaller, ToolResult
from memgraph.analysis.normalize import fact_key
from memgraph.background.outbox import ConversationKey
from memgraph.config import load_settings
from memgraph.errors import EditError, MemgraphError, ModelSetupError, NoSuchFactError, RevisionConflictError
from memgraph.llm import OFFLINE
from memgraph.llm.models import chat_model
from memgraph.models import UNKNOWN_THREAD, Fact, MemoryDocument
from memgraph.opened import OpenMemory
from memgraph.operations import Operations
from memgraph.retrieval.recall import rank_facts
from memgraph.retrieval.render import CLOSING, may_recall

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.language_models import BaseChatModel
    from langchain_core.outputs import LLMResult
    from langchain_core.runnables import RunnableConfig

    from memgraph.background.execution import OnStart

DEFAULT_USER = "default"
"""The user of calls without one."""
MAX_TRACES = 10_000
"""Conversations whose trace id is kept, the latest ones."""
OWN_SETTINGS = frozenset(
    {
        *("strict_user_scope", "manifest_filename", "file_lock_timeout_seconds", "retrieval_adapter"),
        *("queue_max_depth", "watermark_max_keys", "token_counting", "guaranteed_categories"),
        *("guaranteed_token_budget", "patterns_dir", "prompts_dir", "model", "host_llm", "extraction_callback"),
        *("should_keep_hidden_message", "trace_context_manager"),
    }
)
"""Settings of DeerFlow's own backend that memgraph does not have."""
OWN_PREFIXES = ("staleness_", "consolidation_", "eviction_", "fact_eviction_", "fact_dedup_")

Document = dict[str, Any]
logger = logging.getLogger("memgraph.compat")


class MemoryConflictError(RuntimeError):
    """A change lost the race against other writers; raised if DeerFlow has no error of this name."""


class HostSession(Operations):
    """The operations for one call. What a model changes keeps the id that the caller knows."""

    def _caller(self, quote: str, thread_id: str | None) -> ToolCaller:
        """A model whose conversation is not known here, so that its facts cannot be compared with it."""
        del quote, thread_id
        policy = self._policy.model_copy(update={"grounding": "off"})
        return ToolCaller((), "", UNKNOWN_THREAD, (), policy, self.settings.review)

    def _made(self, before: MemoryDocument, result: ToolResult, fact_id: str | None) -> ToolResult:
        return result if fact_id is None else result._replace(memory=_with_same_id(before, result.memory, fact_id))


class DeerFlowMemory:
    """What DeerFlow calls. `MemgraphManager` is this together with DeerFlow's own base class."""

    supports_search: ClassVar[bool] = True
    supports_query_aware_context: ClassVar[bool] = True
    mode: Literal["middleware", "tool"]
    _memory: OpenMemory
    _traces: LRUCache[ConversationKey, str]

    @classmethod
    def from_config(
        cls,
        backend_config: Mapping[str, object] | None = None,
        *,
        mode: Literal["middleware", "tool"] = "middleware",
        **host_hooks: Any,  # noqa: ANN401 - functions of the host
    ) -> Self:
        """Open the storage and the queue that *backend_config* describes.

        Without a `model_name` of memgraph's the host's default model learns.

        Raises:
            ConfigError: If a setting is unknown or invalid.
        """
        callbacks, make_model = host_hooks.get("callbacks"), host_hooks.get("host_llm_factory")
        manager = cls(backend_config=dict(backend_config or {}), mode=mode, callbacks=callbacks)  # type: ignore[call-arg]
        manager._traces = LRUCache[ConversationKey, str](MAX_TRACES)
        values = _settings(backend_config or {})
        settings = load_settings(None, **_with_places(values))
        model: BaseChatModel | None = make_model() if make_model and not settings.model_name else None
        is_observed = hasattr(callbacks, "on_memory_llm_call")
        on_start = _observe_calls(callbacks, manager._traces, values.get("model_name")) if is_observed else None
        manager._memory = OpenMemory(settings=settings, model=model, on_start=on_start)
        return manager

    def add(
        self,
        thread_id: str,
        messages: Sequence[Any],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Learn from a conversation after it has been quiet for a while; *trace_id* is that of its model calls."""
        session = self._session(user_id, agent_name)
        if trace_id:
            self._traces.put(ConversationKey(session.scope, thread_id), trace_id)
        session.add(messages, thread_id=thread_id, background=True)

    def add_nowait(
        self, thread_id: str, messages: Sequence[Any], *, agent_name: str | None = None, user_id: str | None = None
    ) -> None:
        """Learn from a conversation at once, in the background."""
        session = self._session(user_id, agent_name)
        session.add(messages, thread_id=thread_id, background=True)
        self._memory.invoker.flush_nowait(session.scope, thread_id)

    def get_context(
        self,
        user_id: str | None,
        *,
        agent_name: str | None = None,
        thread_id: str | None = None,  # noqa: ARG002 - the memory is that of all threads
        query: str | None = None,
    ) -> str:
        """Return the text to inject, which the host puts into its own tags; "" if the memory cannot be read."""
        try:
            text = self._session(user_id, agent_name).context([query] if query else [])
        except MemgraphError:
            logger.exception("the memory cannot be read: the conversation goes on without it")
            return ""
        return text.removeprefix("<memory>\n").removesuffix(CLOSING).rstrip()

    def search(
        self,
        query: str,
        top_k: int = 5,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
        category: str | None = None,
    ) -> list[Document]:
        """Return the facts that match *query*, the best first."""
        ranked = rank_facts(self._session(user_id, agent_name).facts(), query, matching=True)
        wanted = (each.fact for each in ranked if category in {None, each.fact.category})
        return list(map(_dump, islice(filter(may_recall, wanted), top_k)))

    def get_memory(self, *, user_id: str | None = None, agent_name: str | None = None) -> Document:
        """Return the document, whose format DeerFlow's page reads."""
        return _dump(self._session(user_id, agent_name).get())

    export_memory = reload_memory = get_memory

    def clear_memory(self, *, user_id: str | None = None, agent_name: str | None = None) -> Document:
        """Delete the memory of an agent; without one, all memories of the user. Return the empty document."""
        with _errors():
            deleted = self._session(user_id, agent_name).forget()
            for other in () if agent_name else deleted.agents:
                self._session(user_id, other).forget()
        return self.get_memory(user_id=user_id, agent_name=agent_name)

    def import_memory(
        self, memory_data: Document, *, user_id: str | None = None, agent_name: str | None = None
    ) -> Document:
        """Add what a document has and the memory does not; what steers a model is held back. Return the result."""
        data = json.dumps(memory_data).encode()
        with _errors():
            done = self._session(user_id, agent_name).import_document(data, name="the imported memory")
        return _dump(done.changed.after)

    def create_fact(
        self,
        content: str,
        category: str = "context",
        confidence: float = 0.5,
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> tuple[Document, str]:
        """Add a fact; return the document, and the id of the fact, or of the known one that it confirmed.

        Raises:
            ValueError: If the fact is invalid, refused, or known: "Duplicate fact", to which the host answers 409.
        """
        session, key = self._session(user_id, agent_name), fact_key(content)
        if any(fact_key(fact.content) == key for fact in session.facts()):
            raise ValueError("Duplicate fact")
        values: dict[str, Any] = {"category": category, "confidence": confidence}
        with _errors():
            if self.mode != "tool":
                fact_id = session.remember(content, **values).id
                return _dump(session.get()), fact_id
            saved = _require_applied(session.propose_fact(content, "", **values))
        changed = (fact.id for fact in saved.memory.facts if saved.before.fact(fact.id) != fact)
        return _dump(saved.memory), next(changed)

    def update_fact(
        self,
        fact_id: str,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> Document:
        """Change a fact, which keeps its id: it is what the host's tool answers.

        Raises:
            KeyError: If there is no such fact.
            ValueError: If the change is invalid, refused, or waits for a person now.
        """
        session = self._session(user_id, agent_name)
        fields: dict[str, Any] = {"content": content, "category": category, "confidence": confidence}
        with _errors():
            if self.mode == "tool":
                return _dump(_require_applied(session.propose_update(fact_id, "", **fields)).memory)
            session.update(fact_id, **fields)
            return _dump(session.get())

    def delete_fact(self, fact_id: str, *, agent_name: str | None = None, user_id: str | None = None) -> Document:
        """Delete a fact, and the words of the user that only it rests on; errors as in `update_fact`."""
        session = self._session(user_id, agent_name)
        with _errors():
            if self.mode == "tool":
                return _dump(_require_applied(session.propose_removal(fact_id, "")).memory)
            session.delete(fact_id)
            return _dump(session.get())

    def shutdown_flush(self, timeout: float) -> bool:
        """Learn from what waits; return whether all of it was learned within *timeout* seconds."""
        return self._memory.invoker.flush(timeout)

    def close(self) -> None:
        """Close what was opened. What still waits is learned after the next start."""
        self._memory.close()

    def _session(self, user_id: str | None, agent_name: str | None) -> HostSession:
        by_person = self.mode != "tool"
        return HostSession(self._memory, user_id=user_id or DEFAULT_USER, agent_name=agent_name, by_person=by_person)


def _observe_calls(host: Any, traces: LRUCache[ConversationKey, str], model_name: object) -> OnStart:  # noqa: ANN401 - of the host
    """Return what shows the calls of the model to the host.

    Args:
        host: Its `MemoryCallbacks`.
        traces: The trace ids of the conversations.
        model_name: The model of the settings; None is the host's.
    """

    def observe(key: ConversationKey, config: RunnableConfig) -> None:
        """Let the host add its metadata and callbacks to the config of an update, and see the answers of its model."""
        user_id, trace_id = key.scope.user_id, traces.get(key)
        host.on_memory_llm_call(
            config, thread_id=key.thread_id, user_id=user_id, trace_id=trace_id, model_name=model_name
        )
        if hasattr(host, "on_memory_llm_result"):
            handlers = config.get("callbacks")
            config["callbacks"] = [*(handlers if isinstance(handlers, list) else ()), _Results(host, config)]

    return observe


class _Results(BaseCallbackHandler):
    """Reports each answer of the model, and each failed call."""

    def __init__(self, host: Any, config: RunnableConfig) -> None:  # noqa: ANN401 - an object of the host
        self._host = host
        self._config = config
        self._started: dict[UUID, tuple[float, object, str | None]] = {}

    def on_chat_model_start(
        self, serialized: object, messages: list[list[Any]], *, run_id: UUID, **kwargs: object
    ) -> None:
        del serialized
        metadata = cast("Mapping[str, object]", kwargs.get("metadata") or {})
        name = metadata.get("ls_model_name")
        self._started[run_id] = (time.perf_counter(), messages[0], str(name) if name else None)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        del kwargs
        generation = response.generations[0][0]
        self._report(run_id, getattr(generation, "message", generation), None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        del kwargs
        self._report(run_id, None, error)

    def _report(self, run_id: UUID, response: object, error: BaseException | None) -> None:
        started, prompt, name = self._started.pop(run_id)
        self._host.on_memory_llm_result(
            self._config,
            prompt=prompt,
            response=response,
            error=error,
            duration_ms=(time.perf_counter() - started) * 1_000,
            model_name=name,
        )


def _with_places(values: Mapping[str, object]) -> dict[str, object]:
    """Return the settings *values* with the places of the memories, the queue and the backups.

    Without a `storage_class`, they are in the folder `memgraph` below `storage_path`.
    """
    root = values.get("storage_path")
    if values.get("storage_class"):
        # a class that cannot be loaded must not open the files of the host's own memory instead
        return {"storage_fallback": False, **values}
    if not isinstance(root, str):
        return {**values}
    folder = Path(root) / "memgraph"
    places = {"outbox": f"sqlite:{folder / 'outbox.db'}", "api_backups": str(folder / "backups")}
    return {**places, **values, "storage_path": str(folder)}


def _settings(config: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of memgraph in *config*: without those of DeerFlow's own backend, and its own classes."""
    ignored = {name for name in config if name in OWN_SETTINGS or name.startswith(OWN_PREFIXES)}
    if str(config.get("storage_class") or "").startswith("deerflow."):
        ignored.add("storage_class")
    if ignored:
        logger.warning("ignored, since memgraph has no such settings: %s", ", ".join(sorted(ignored)))
    settings = {name: value for name, value in config.items() if name not in ignored and value is not None}
    name = settings.get("model_name")
    if isinstance(name, str) and name != OFFLINE and not _is_known_model(name):
        logger.warning("%r names no model of memgraph: the default model of the host learns", name)
        del settings["model_name"]
    return settings


def _is_known_model(name: str) -> bool:
    """Return whether memgraph can make the model, or its name has a provider: an error of that is for its user."""
    if ":" in name:
        return True
    try:
        chat_model(name)
    except ModelSetupError:
        return False
    return True


def _require_applied(saved: SavedChange) -> SavedChange:
    """Return *saved* if it was applied: a caller must not take what is pending for done.

    Raises:
        EditError: If it is pending.
    """
    if saved.text == WAITS:
        raise EditError(WAITS)
    return saved


def _with_same_id(before: MemoryDocument, after: MemoryDocument, fact_id: str) -> MemoryDocument:
    """Return *after* with the id of a replaced fact at the fact that replaced it, and the new id at the past one.

    Raises:
        EditError: If another fact states the new content already.
    """
    if after.fact(fact_id) or not after.past_fact(fact_id):
        return after
    new_id = next((fact.id for fact in after.facts if before.fact(fact.id) is None), None)
    if new_id is None:
        raise EditError("another fact states this already; delete one of them instead")
    swapped = {fact_id: new_id, new_id: fact_id}
    facts = (fact.model_copy(update={"id": swapped.get(fact.id, fact.id)}) for fact in after.facts)
    past = (
        fact.model_copy(
            update={"id": swapped.get(fact.id, fact.id), "ended_by": swapped.get(fact.ended_by, fact.ended_by)}
        )
        for fact in after.past
    )
    return after.model_copy(update={"facts": tuple(facts), "past": tuple(past)})


@contextmanager
def _errors() -> Generator[None]:
    """Raise the host's errors for a fact that there is not, and for a change that lost the race against others."""
    try:
        yield
    except NoSuchFactError as error:
        raise KeyError(str(error)) from error
    except RevisionConflictError as error:
        manager = importlib.import_module("deerflow.agents.memory.manager")
        raise getattr(manager, "MemoryConflictError", MemoryConflictError)(str(error)) from error


def _dump(value: MemoryDocument | Fact) -> Document:
    return value.model_dump(mode="json", by_alias=True)


@cache
def __getattr__(name: str) -> type:
    """Return `MemgraphManager`, which needs DeerFlow's package: a manager must derive from its class."""
    if name != "MemgraphManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base = importlib.import_module("deerflow.agents.memory.manager").MemoryManager
    return type(
        name, (DeerFlowMemory, base), {"__module__": __name__, "_memory": PrivateAttr(), "_traces": PrivateAttr()}
    )
