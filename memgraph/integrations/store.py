"""MemoryBaseStore: a memory as a LangGraph BaseStore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, cast

from langchain_core.runnables.config import ensure_config
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, Result, SearchOp, TTLConfig
from langgraph.store.memory import InMemoryStore

from memgraph._concurrency import DaemonExecutor
from memgraph._validation import invalid_value
from memgraph.agents.tool_changes import WAITS, ToolCaller, ToolResult, save_tool_change
from memgraph.errors import ChangePendingError, MemoryOffError
from memgraph.integrations.store_entries import FACTS, Entry, Namespace, StoreView, matches, rank_entries
from memgraph.integrations.store_writes import StoreWriter, place_of
from memgraph.models import Fact, MemoryDocument, Scope, learned_source

if TYPE_CHECKING:
    from langgraph.store.base import SearchItem

    from memgraph.opened import OpenMemory
    from memgraph.settings import Settings


class MemoryBaseStore(BaseStore):
    """A memory as a LangGraph store, for `create_agent(store=...)`, `compile(store=...)` and tools that expect one.

    A value whose `content` is a text, under the namespace of facts, is a fact: it is recalled as one, and a put is
    admitted as a tool's write. Everything else is kept in the memory as it is, and never recalled in a prompt.

    In a batch, reads see the memory as it was before the puts; those of one memory are saved together or not at all.
    An item with a `ttl` ends after so many minutes, a fact at the end of that day (UTC): its `validUntil`. Reading
    does not extend it. `index` has no effect: the embedding model of the memory ranks everything.

    Args:
        memory: The open memory, which is not closed here.
        namespace: The namespace of facts, with `{user_id}`, and perhaps `{agent_name}` and `{category}`. A label at
            these places names the same in all other namespaces.
        user_id: The only user of the store; None is any.
        agent_name: The agent, if it has its own memory of the user.

    Raises:
        ConfigError: If *namespace* is invalid.
        IdentityError: If *user_id* or *agent_name* is invalid.
    """

    supports_ttl = True
    ttl_config: TTLConfig | None = TTLConfig(refresh_on_read=False, omit_expired=True)

    def __init__(
        self,
        memory: OpenMemory,
        namespace: Namespace = FACTS,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
    ) -> None:
        Scope("default" if user_id is None else user_id, agent_name)  # checks both
        self.memory = memory
        if isinstance(namespace, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            raise invalid_value("namespace", namespace, f"a tuple of labels, such as {FACTS!r}")
        self._view = StoreView(tuple(namespace), user_id, agent_name, memory.settings.policy)
        self._executor = DaemonExecutor(name="memgraph-store")
        self.caller: ToolCaller | None = None

    def has_facts(self, namespace: Namespace) -> bool:
        """Return whether values under *namespace* are facts if their content is a text."""
        return self._view.has_facts(namespace)

    def document(self, namespace: Namespace) -> MemoryDocument:
        """Return the memory that *namespace* belongs to."""
        return self.memory.storage.load(self._view.scope(namespace))

    def with_caller(self, caller: ToolCaller) -> MemoryBaseStore:
        """Return the same store for the calls of a model whose conversation is known."""
        store = copy(self)
        store.caller = caller
        return store

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of *ops*, in their order.

        Raises:
            ChangePendingError: If a put waits until a person accepts it. A removal that waits raises nothing.
            EditError: If a put is not admitted, or would change what a person wrote; its memory is unchanged.
            IdentityError: If a namespace does not name the caller, or an id is invalid.
            MemoryOffError: If something is put, and the settings turn memory off.
            StorageError: If a memory cannot be read or written.
        """
        given, loaded = list(ops), dict[Scope, MemoryDocument]()
        results = [self._read(op, loaded) for op in given]
        # as in LangGraph's own store, the last put of a key counts
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        self._write(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, on a thread."""
        given = list(ops)
        return await self._executor.arun(None, lambda: self.batch(given))

    def _read(self, op: Op, loaded: dict[Scope, MemoryDocument]) -> Result:
        if isinstance(op, GetOp):
            scope = self._view.scope(op.namespace)
            found = self._view.below(scope, self._load(scope, loaded), op.namespace, op.key)
            return next((entry.item for entry in found if entry.item.namespace == op.namespace), None)
        if isinstance(op, SearchOp):
            return self._search(op, loaded)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op, loaded)
        return None

    def _load(self, scope: Scope, loaded: dict[Scope, MemoryDocument]) -> MemoryDocument:
        if scope not in loaded:
            self.memory.resume()
            loaded[scope] = self.memory.storage.load(scope)
        return loaded[scope]

    def _search(self, op: SearchOp, loaded: dict[Scope, MemoryDocument]) -> list[SearchItem]:
        found = self._below(op.namespace_prefix, loaded)
        entries = [entry for entry in found if matches(entry.item.value, op.filter or {})]
        end = op.offset + op.limit
        if op.query and op.query.strip():
            return rank_entries(entries, op.query, self.memory.pipeline, end)[op.offset :]
        entries.reverse()  # of those of one second, the last one comes first
        entries.sort(key=lambda entry: entry.item.updated_at, reverse=True)
        return [entry.found() for entry in entries[op.offset : end]]

    def _list_namespaces(self, op: ListNamespacesOp, loaded: dict[Scope, MemoryDocument]) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefixes = [_until_wildcard(each.path) for each in conditions if each.match_type == "prefix"]
        prefix = max(prefixes, key=len, default=())
        # conditions and depth mean what they do in LangGraph's own store
        view = InMemoryStore()
        view.batch([PutOp(entry.item.namespace, "", {}) for entry in self._below(prefix, loaded)])
        return cast("list[Namespace]", view.batch([op])[0])

    def _below(self, prefix: Namespace, loaded: dict[Scope, MemoryDocument]) -> Iterator[Entry]:
        for scope in self._view.scopes(prefix, self.memory.storage):
            yield from self._view.below(scope, self._load(scope, loaded), prefix)

    def _write(self, puts: Sequence[PutOp]) -> None:
        scopes: dict[Scope, list[PutOp]] = {}
        for put in puts:
            scopes.setdefault(self._view.scope(put.namespace), []).append(put)
        if scopes and not self.memory.settings.enabled:
            raise MemoryOffError
        waiting = [put for scope, own in scopes.items() for put in self._save(scope, own) if put.value is not None]
        if waiting:
            raise ChangePendingError(f"{'; '.join(map(place_of, waiting))}: {WAITS}")

    def _save(self, scope: Scope, puts: Sequence[PutOp]) -> list[PutOp]:
        """Save *puts* in the memory of *scope*, and return those that wait for a person."""
        writer = StoreWriter(self._view, self.caller or unknown_caller(self.memory.settings))
        waiting: list[PutOp] = []

        def change(memory: MemoryDocument) -> ToolResult:
            waiting.clear()  # a conflict calls this again
            removed: tuple[Fact, ...] = ()
            for put in puts:
                result = writer.apply(memory, scope, put)
                memory, removed = result.memory, (*removed, *result.removed)
                if result.text == WAITS:
                    waiting.append(put)
            return ToolResult(memory, "Done.", removed)

        policy = self.memory.settings.policy
        save_tool_change(self.memory.storage, scope, change, thread=_current_thread() or "", policy=policy)
        return waiting


def unknown_caller(settings: Settings) -> ToolCaller:
    """Return a caller whose conversation is unknown, so that no content can be compared with it."""
    policy = settings.policy.model_copy(update={"grounding": "off"})
    return ToolCaller((), "", learned_source(_current_thread()), (), policy, settings.review, origin="tool")


def _current_thread() -> str | None:
    """Return the thread of the run in which the store is called; None outside of one."""
    thread = (ensure_config().get("configurable") or {}).get("thread_id")
    return str(thread) if thread else None


def _until_wildcard(path: Iterable[str]) -> Namespace:
    labels = tuple(path)
    return labels[: labels.index("*")] if "*" in labels else labels
