"""NamespacedMemory: the memory that a namespace of a LangGraph store names, read and changed by a model's tools."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.runnables.config import ensure_config
from langgraph.store.base import BaseStore, SearchItem

from memgraph.agents.messages import REVISION
from memgraph.agents.tool_changes import SavedChange, ToolCaller, messages_of
from memgraph.errors import ConfigError, EditError
from memgraph.models import Fact, Scope, learned_source
from memgraph.opened import OpenMemory
from memgraph.operations import Operations
from memgraph.retrieval.recall import rank_facts
from memgraph.retrieval.render import may_recall
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.langgraph import LangGraphStorage
from memgraph.text.dates import parse_time

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.prebuilt import ToolRuntime

    from memgraph.policy import Policy
    from memgraph.settings import Settings

Action = Literal["create", "update", "delete"]

SHARED_PART = "memories"
"""The part of a namespace that is not a part of the user id: the usual first one."""
DEFAULT_USER = "default"
"""The user of a namespace without other parts."""


class ConversationSession(Operations):
    """The operations for a call in a conversation, whose words count."""

    def __init__(self, memory: OpenMemory, scope: Scope, caller: ToolCaller) -> None:
        super().__init__(memory, user_id=scope.user_id, agent_name=scope.agent_name)
        self._own_caller = caller

    def _caller(self, quote: str, thread_id: str | None) -> ToolCaller:
        del quote, thread_id
        return self._own_caller


class NamespacedMemory:
    """The memory of the user whom a namespace names in the current run.

    Args:
        namespace: Parts; `{name}` is filled from `configurable`.
        store: A BaseStore, a storage or its URL; None is the store of the running graph.
        settings: The limits of the memory; None reads them as `load_settings` does.

    Raises:
        ConfigError: If the storage or the settings are invalid.
    """

    def __init__(
        self,
        namespace: tuple[str, ...] | str,
        store: str | MemoryStorage | BaseStore | None,
        settings: Settings | None,
    ) -> None:
        self._namespace = (namespace,) if isinstance(namespace, str) else namespace
        storage = open_storage(store) if isinstance(store, str | MemoryStorage) else LangGraphStorage(store)
        self._memory = OpenMemory(storage, settings=settings)

    def search(self, query: str, wanted: Mapping[str, object]) -> list[SearchItem]:
        """Return the memories that match *query* and have all values of *wanted*, the best first; "" matches all."""
        namespace, scope = self._resolve(ensure_config())
        ranked = rank_facts(self._memory.storage.load(scope).facts, query, matching=True)
        items = [
            _to_item(each.fact, namespace, each.similarity, self._memory.settings.policy)
            for each in ranked
            if may_recall(each.fact)
        ]
        return [item for item in items if wanted.items() <= item.value.items()]

    def change(
        self, action: Action, content: str | None, fact_id: str, runtime: ToolRuntime[Any, Any] | None
    ) -> tuple[str, dict[str, int]]:
        """Change the memory as a model asks, and return the answer and the revision of a changed memory."""
        config = ensure_config() if runtime is None else runtime.config
        _, scope = self._resolve(config)
        caller = self._caller(runtime, config)
        session = ConversationSession(self._memory, scope, caller)
        try:
            if action == "create":
                saved = session.propose_fact(content or "", "", thread_id=caller.thread)
            elif action == "update":
                saved = session.propose_update(fact_id, "", content=content or "", thread_id=caller.thread)
            else:
                saved = session.propose_removal(fact_id, "", thread_id=caller.thread)
        except EditError as error:
            return f"Not {action}d: {error}", {}
        return _answer(action, fact_id, saved), {REVISION: saved.memory.revision}

    def _resolve(self, config: RunnableConfig) -> tuple[tuple[str, ...], Scope]:
        """Return the namespace of a run, and whose memory it names.

        Raises:
            ConfigError: If `configurable` has no value for a placeholder.
            IdentityError: If the parts are not a valid user id.
        """
        values: Mapping[str, object] = config.get("configurable") or {}
        namespace = tuple(self._fill(part, values) for part in self._namespace)
        return namespace, Scope("/".join(part for part in namespace if part != SHARED_PART) or DEFAULT_USER)

    def _fill(self, part: str, values: Mapping[str, object]) -> str:
        if not part.startswith("{"):
            return part
        if (name := part.strip("{}")) not in values:
            raise ConfigError(f"configurable has no {name!r}, which the namespace {self._namespace} needs")
        return str(values[name])

    def _caller(self, runtime: ToolRuntime[Any, Any] | None, config: RunnableConfig) -> ToolCaller:
        """Return who calls: a model in its conversation, whose words count, or a program, which is trusted.

        A model does not quote here, so that the words of a memory themselves are looked for in the conversation.
        """
        policy = self._memory.settings.policy
        grounding = "off" if runtime is None or policy.grounding == "off" else "lenient"
        thread = (config.get("configurable") or {}).get("thread_id")
        return ToolCaller(
            messages=() if runtime is None else messages_of(runtime.state),
            call_id="" if runtime is None else runtime.tool_call_id or "",
            thread=learned_source(str(thread) if thread else None),
            user_names=(),
            policy=policy.model_copy(update={"grounding": grounding}),
            review=self._memory.settings.review,
        )


def _answer(action: Action, fact_id: str, saved: SavedChange) -> str:
    """Return LangMem's answer if the memory was changed as asked, else what happened instead."""
    new = next((fact.id for fact in saved.memory.facts if saved.before.fact(fact.id) is None), None)
    if action == "delete":
        return f"Deleted memory {fact_id}" if saved.removed else saved.text
    if action == "create":
        return f"created memory {new}" if new else saved.text
    return f"updated memory {new or fact_id}" if saved.memory.facts != saved.before.facts else saved.text


def _to_item(fact: Fact, namespace: tuple[str, ...], score: float, policy: Policy) -> SearchItem:
    learned = parse_time(fact.created_at) or datetime.fromtimestamp(0, UTC)
    confirmed = parse_time(fact.last_confirmed_at) or learned
    value = {"content": fact.content, "category": policy.category_of(fact)}
    return SearchItem(namespace, fact.id, value, learned, confirmed, score)
