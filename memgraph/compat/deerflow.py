"""A memory manager for DeerFlow: `manager_class: memgraph.compat.deerflow:MemgraphManager` in its configuration.

The contract is `MemoryManager` of bytedance/deer-flow, `backend/packages/harness/deerflow/agents/memory/manager.py` at
commit 0a266905f79b2bd394389b94fca0bb0e1c7b5c1a (after pull request 4528 of 2026-07-28), and `get_context` with a
`query` as in `backends/README.md` at commit 1cf4afd436969eb0c81a75f7c9d278ae1cbce732. `backend_config` has settings of
memgraph; without a `storage_class` the memories are files in `memgraph` below the `storage_path` of DeerFlow.

In the mode "middleware" a person edits facts, on DeerFlow's page: they are manual. In the mode "tool" a model does it:
its facts are learned ones, within the rules of an update, and it cannot change manual ones.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import PrivateAttr

from memgraph.compat.opened_memory import FactFields, OpenedMemory
from memgraph.editing import merge_memory, missing_episodes, read_document, take_episodes
from memgraph.errors import MemgraphError
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.retrieval.recall import rank_facts
from memgraph.retrieval.render import CLOSING, may_recall
from memgraph.text.normalize import fact_key

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEFAULT_USER = "default"
"""The user of calls without one."""

Document = dict[str, Any]
logger = logging.getLogger("memgraph.compat")


class DeerFlowMemory:
    """What DeerFlow calls. `MemgraphManager` is this together with DeerFlow's own base class."""

    supports_search: ClassVar[bool] = True
    supports_query_aware_context: ClassVar[bool] = True
    mode: Literal["middleware", "tool"]
    _parts: OpenedMemory

    @classmethod
    def from_config(
        cls,
        backend_config: Mapping[str, object] | None = None,
        *,
        mode: Literal["middleware", "tool"] = "middleware",
        **host_hooks: Any,  # noqa: ANN401 - functions of the host
    ) -> Self:
        """Open the storage and the queue that *backend_config* describes.

        Without a `model_name` the host's default model learns.

        Raises:
            ConfigError: If a setting is unknown or invalid.
        """
        make_model: Callable[[], BaseChatModel | None] = host_hooks.get("host_llm_factory") or (lambda: None)
        manager = cls(backend_config=dict(backend_config or {}), mode=mode)  # type: ignore[call-arg]
        manager._parts = OpenedMemory(backend_config or {}, make_model, "tool" if mode == "tool" else "person")
        return manager

    def add(
        self,
        thread_id: str,
        messages: Sequence[Any],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
        trace_id: str | None = None,  # noqa: ARG002 - of the host's tracing
    ) -> None:
        """Learn from a conversation after it has been quiet for a while."""
        self._parts.invoker.submit(messages, _scope(user_id, agent_name), thread_id)

    def add_nowait(
        self, thread_id: str, messages: Sequence[Any], *, agent_name: str | None = None, user_id: str | None = None
    ) -> None:
        """Learn from a conversation at once, in the background."""
        scope = _scope(user_id, agent_name)
        self._parts.invoker.submit(messages, scope, thread_id)
        self._parts.invoker.flush_nowait(scope, thread_id)

    def get_context(
        self,
        user_id: str | None,
        *,
        agent_name: str | None = None,
        thread_id: str | None = None,  # noqa: ARG002 - the memory is that of all threads
        query: str | None = None,
    ) -> str:
        """Return the text to inject, which the host puts into its own tags; "" if the memory cannot be read."""
        scope, storage = _scope(user_id, agent_name), self._parts.storage
        try:
            memory, episodes = storage.load(scope), storage.episodes(scope)
            asked = [query] if query else []
            text = self._parts.recall(memory, asked, episodes=episodes, vectors=storage.vectors(scope))
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
        scope, storage = _scope(user_id, agent_name), self._parts.storage
        ranked = rank_facts(storage.load(scope).facts, query, episodes=storage.episodes(scope), matching=True)
        wanted = (each.fact for each in ranked if category in {None, each.fact.category})
        return list(map(_dump, islice(filter(may_recall, wanted), top_k)))

    def get_memory(self, *, user_id: str | None = None, agent_name: str | None = None) -> Document:
        """Return the document, whose format DeerFlow's page reads."""
        return _dump(self._parts.storage.load(_scope(user_id, agent_name)))

    export_memory = reload_memory = get_memory

    def clear_memory(self, *, user_id: str | None = None, agent_name: str | None = None) -> Document:
        """Delete the memory of an agent; without one, all memories of the user. Return the empty document."""
        own = _scope(user_id, agent_name)
        others = self._parts.storage.scopes() if not agent_name else ()
        for scope in (own, *(other for other in others if other.user_id == own.user_id and other != own)):
            self._parts.invoker.forget(scope)
        return self.get_memory(user_id=user_id, agent_name=agent_name)

    def import_memory(
        self, memory_data: Document, *, user_id: str | None = None, agent_name: str | None = None
    ) -> Document:
        """Add what a document has and the memory does not; what steers a model is held back. Return the result."""
        scope, storage, policy = _scope(user_id, agent_name), self._parts.storage, self._parts.settings.policy
        imported, episodes = take_episodes(read_document(json.dumps(memory_data).encode(), "the imported memory"))
        saved = self._parts.change(scope, lambda memory: merge_memory(memory, imported))
        storage.append_episodes(scope, missing_episodes(storage.episodes(scope), episodes, policy).episodes, policy)
        return _dump(saved)

    def create_fact(
        self,
        content: str,
        category: str = "context",
        confidence: float = 0.5,
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> tuple[Document, str | None]:
        """Add a fact; return the document and the id of the fact, None if it was not kept.

        Raises:
            ValueError: If the fact is invalid, or known: "Duplicate fact", to which the host answers 409.
        """
        scope, key = _scope(user_id, agent_name), fact_key(content)
        if any(fact_key(fact.content) == key for fact in self._parts.storage.load(scope).facts):
            raise ValueError("Duplicate fact")
        memory, fact_id = self._parts.add(scope, content, category, confidence)
        return _dump(memory), fact_id

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
        """Change a fact; KeyError if there is none, ValueError if the change is invalid or refused."""
        fields: FactFields = {"content": content, "category": category, "confidence": confidence}
        return _dump(self._parts.edit(_scope(user_id, agent_name), fact_id, fields))

    def delete_fact(self, fact_id: str, *, agent_name: str | None = None, user_id: str | None = None) -> Document:
        """Delete a fact, and the words of the user that only it rests on; errors as in `update_fact`."""
        return _dump(self._parts.remove(_scope(user_id, agent_name), fact_id))

    def shutdown_flush(self, timeout: float) -> bool:
        """Learn from what waits; return whether all of it was learned within *timeout* seconds."""
        return self._parts.invoker.flush(timeout)

    def close(self) -> None:
        """Close what was opened. What still waits is learned after the next start."""
        self._parts.close()


def _scope(user_id: str | None, agent_name: str | None) -> Scope:
    return Scope(user_id or DEFAULT_USER, agent_name)


def _dump(value: MemoryDocument | Fact) -> Document:
    return value.model_dump(mode="json", by_alias=True)


@cache
def __getattr__(name: str) -> type:
    """Return `MemgraphManager`, which needs DeerFlow's package: a manager must derive from its class."""
    if name != "MemgraphManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base = importlib.import_module("deerflow.agents.memory.manager").MemoryManager
    return type(name, (DeerFlowMemory, base), {"__module__": __name__, "_parts": PrivateAttr()})
