"""NamespaceStore: a LangGraph store in which each namespace is the memory of one user, as LangMem uses them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables.config import ensure_config
from langgraph.config import get_store
from langgraph.store.base import BaseStore, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.base.embed import ensure_embeddings

from memgraph._concurrency import DaemonExecutor
from memgraph.config import load_settings
from memgraph.errors import ConfigError, EditError
from memgraph.integrations.store import MemoryBaseStore, unknown_caller
from memgraph.integrations.store_entries import Namespace, check_labels
from memgraph.opened import OpenMemory
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.langgraph import LangGraphStorage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langgraph.store.base import IndexConfig

    from memgraph.agents.tool_changes import ToolCaller
    from memgraph.settings import Settings

Store = str | MemoryStorage | BaseStore | None
"""A BaseStore, a storage or its URL; None is the store of the running graph."""

SHARED_PART = "memories"
"""The part of a namespace that is not a part of the user id: the usual first one."""
TEXT_KIND = "Memory"
"""The `kind` of a memory without a schema, whose content is a text."""
_FACTS: Namespace = (SHARED_PART,)


class NamespaceStore(BaseStore):
    """The memories of an open memory, by LangMem's namespaces. A structured `content` is a fact whose text is JSON.

    Args:
        memory: The open memory.
        given: Its store, if an application passed one: then the namespaces are those of that store.
        caller: The conversation in which the store is called; None is an unknown one.
    """

    supports_ttl = True

    def __init__(
        self, memory: OpenMemory, given: MemoryBaseStore | None = None, caller: ToolCaller | None = None
    ) -> None:
        self.memory = memory
        self.given = given
        self.caller = caller
        self._running: tuple[BaseStore, NamespaceStore] | None = None
        self._executor = DaemonExecutor(name="memgraph-langmem")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of *ops*, in their order; each put is saved by itself.

        Raises:
            ConfigError: If namespaces are listed, or a namespace is not the one of facts of the store that was given.
            EditError: If a value has no `content`, or as in `MemoryBaseStore.batch`, like all other errors.
        """
        store = self.bound()
        return [store.run(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, on a thread."""
        given = list(ops)
        return await self._executor.arun(None, lambda: self.batch(given))

    def bound(self) -> NamespaceStore:
        """Return the store of the running graph if none was given; outside of a graph, that of the last one."""
        if not self.memory.storage.needs_running_graph:
            return self
        try:
            running = cast("BaseStore | None", get_store())
        except (RuntimeError, KeyError):
            running = None
        last = self._running
        if running not in (None, self) and (last is None or last[0] is not running):
            last = self._running = running, open_store(running, self.memory.settings)
        return last[1] if last else self

    def in_conversation(self, messages: Sequence[BaseMessage] | None, call_id: str = "") -> NamespaceStore:
        """Return the store for a model whose words count if the user said them, or for a program if *messages* is None.

        A model does not quote here, so that the words of a memory themselves are looked for in the conversation.
        """
        store, policy = self.bound(), self.memory.settings.policy
        caller = unknown_caller(self.memory.settings)
        if messages is not None and policy.grounding != "off":
            caller = replace(caller, policy=policy.model_copy(update={"grounding": "lenient"}))
        known = replace(caller, messages=tuple(messages or ()), call_id=call_id, origin=None)
        return NamespaceStore(store.memory, store.given, known)

    def run(self, op: Op) -> Result:
        """Return the result of *op*."""
        if isinstance(op, ListNamespacesOp):
            raise ConfigError("a memory does not keep the names of LangMem's namespaces: they cannot be listed")
        caller, label = self.caller, "namespace_prefix" if isinstance(op, SearchOp) else "namespace"
        namespace: Namespace = getattr(op, label)
        check_labels(namespace)
        if isinstance(op, PutOp) and op.value is not None:
            value, is_json = _to_fact(op.value)
            if caller and is_json:  # no conversation has its words
                unknown = unknown_caller(self.memory.settings)
                caller = replace(unknown, messages=caller.messages, call_id=caller.call_id)
            op = op._replace(value=value)
        store, facts = self.open(namespace)
        own = op._replace(**{label: facts})
        if isinstance(own, SearchOp):
            result: Result = _nearest(store, own)
        else:
            (result,) = (store.with_caller(caller) if caller else store).batch([own])
        for item in result if isinstance(result, list) else [result]:
            if isinstance(item, Item):
                item.namespace, item.value = namespace, _from_fact(item.value)
        return result

    def open(self, namespace: Namespace) -> tuple[MemoryBaseStore, Namespace]:
        """Return the store that has the facts of *namespace*, and their namespace in it."""
        if self.given is None:
            user = "/".join(part for part in namespace if part != SHARED_PART) or "default"
            return self.memory.store(_FACTS, user_id=user), _FACTS
        if not self.given.has_facts(namespace):
            raise ConfigError(f"the store has no facts in the namespace {namespace!r}: use that of memory.store()")
        return self.given, namespace


def open_store(store: Store, settings: Settings | None = None) -> NamespaceStore:
    """Return *store* with LangMem's namespaces; memories are kept in it, in memgraph's own format.

    Raises:
        ConfigError: If the storage or the settings are invalid.
    """
    if isinstance(store, NamespaceStore):
        return store
    if isinstance(store, MemoryBaseStore):
        return NamespaceStore(store.memory, store)
    storage = open_storage(store) if isinstance(store, str | MemoryStorage) else LangGraphStorage(store)
    return NamespaceStore(OpenMemory(storage, settings=settings, learns=False))


def InMemoryStore(*, index: IndexConfig | None = None) -> NamespaceStore:  # noqa: N802 - LangGraph's name
    """Return a store in RAM in whose place a guide has LangGraph's: `store.search` finds what LangMem's tools wrote.

    Args:
        index: Its `embed` ranks; None is the embedding model of the settings.
    """
    embeddings = ensure_embeddings(index.get("embed")) if index else None
    return NamespaceStore(OpenMemory("memory:", settings=load_settings(), embeddings=embeddings, learns=False))


def _nearest(store: MemoryBaseStore, op: SearchOp) -> list[SearchItem]:
    """Return the facts that answer the query, then the others without a score: LangGraph's stores leave out nothing.

    What is kept as it was said is none of them.
    """
    memory, end = store.document(op.namespace_prefix), op.offset + op.limit
    wanted = op._replace(limit=end + len(memory.as_said), offset=0)
    matches, others = store.batch([wanted, wanted._replace(query=None)])
    found = {item.key: item for item in cast("list[SearchItem]", matches)}
    for item in cast("list[SearchItem]", others):
        found.setdefault(item.key, item)
    return [item for key, item in found.items() if memory.fact(key)][op.offset : end]


def fill(namespace: Namespace | str) -> Namespace:
    """Return *namespace* with its `{placeholders}` filled from the `configurable` of the run.

    Raises:
        ConfigError: If that has no value for one.
    """
    parts = (namespace,) if isinstance(namespace, str) else namespace
    values: Mapping[str, object] = ensure_config().get("configurable") or {}
    if missing := [part for part in parts if part.startswith("{") and part.strip("{}") not in values]:
        raise ConfigError(f"configurable has no {missing[0].strip('{}')!r}, which the namespace {parts} needs")
    return tuple(str(values[part.strip("{}")]) if part.startswith("{") else part for part in parts)


def _to_fact(value: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return *value* with a text as its content, and whether that is JSON.

    Raises:
        EditError: If it has no content.
    """
    content: Any = value.get("content")
    if value.get("kind") == TEXT_KIND and isinstance(content, dict) and [*content] == ["content"]:  # pyright: ignore[reportUnknownArgumentType]
        content = cast("dict[str, object]", content)["content"]
    if content is None:
        raise EditError("a memory needs a `content`")
    if is_json := not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False)
    return {**value, "content": content}, is_json


def _from_fact(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return *value* with the content that was put."""
    content: object = value.get("content")
    if isinstance(content, str) and content.startswith(("{", "[")):
        with suppress(ValueError):  # a person wrote a text instead
            content = json.loads(content)
    elif value.get("kind") == TEXT_KIND:
        content = {"content": content}
    return {**value, "content": content}
