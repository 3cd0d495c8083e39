"""MemoryManager builds a graph's attachable memories; attach wraps a node so that it reads and writes them."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, get_args, overload

from langchain_core.runnables import Runnable
from langgraph.pregel.protocol import PregelProtocol

from memgraph._concurrency import Closing
from memgraph._validation import invalid_value, suggest, validate_config
from memgraph.agents.resources import IdentityResolver
from memgraph.attachments.node import DEFAULT_TIMEOUT_SECONDS, NodeMemory, StoreRunner, resolve_attachments, wrap
from memgraph.attachments.registry import MEMORY_TYPES, StoreContext, StoreDefinition, StoreType, build_store
from memgraph.attachments.store import (
    STAGE_ALIASES,
    Interaction,
    MemoryAttachment,
    MemoryStore,
    SearchQuery,
    SearchResult,
    Stage,
    StageAlias,
)
from memgraph.errors import ConfigError
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

B = TypeVar("B", bound="StateGraph[Any, Any, Any, Any]")
N = TypeVar("N", bound=Callable[..., Any])
Attachable = str | Mapping[str, Any] | MemoryAttachment | MemoryStore
"""What a node may attach: a memory's name, an attachment, or a memory itself."""

STAGE = "stage"
"""Key in a node's metadata, and attribute of an attached node."""


class LazyStore:
    """A store that is loaded at first use. If loading fails, the next use tries again."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._opened = ExitStack()
        self._is_loaded = False
        self._lock = threading.Lock()

    def load(self) -> MemoryStore:
        """Return the store, loaded."""
        with self._lock:
            if not self._is_loaded:
                self._opened.enter_context(self.store)
                self._is_loaded = True
        return self.store

    def save(self) -> None:
        """Save the store if it was loaded."""
        if self._is_loaded:
            self.store.save()

    def close(self) -> None:
        """Save and close the store if it was loaded."""
        with self._lock:
            self._is_loaded = False
            self._opened.close()


class MemoryManager(Closing):
    """The memories that nodes may attach. It builds, validates, loads, searches, updates and closes them.

    ```python
    from langgraph.graph import START, MessagesState, StateGraph

    from memgraph import MemoryManager

    builder = StateGraph(MessagesState)
    builder.add_node("writer", lambda state: {"messages": "Written."})
    builder.add_edge(START, "writer")
    manager = MemoryManager(
        memories=[{"name": "notes", "type": "simple", "config": {"memory_path": "notes.json"}}],
        attachments={"writer": ["notes"]},
    )
    with manager:
        graph = manager.attach_to(builder).compile()
    ```

    No file is opened before `load`, or before the first use of a memory.

    Args:
        memories: Each a mapping with name, type and config, in which `${VAR}` is replaced by the environment variable,
            or a MemoryStore.
        attachments: The memories of each node, by the node's name: names, or entries as `MemoryAttachment`.
        folder: Base of relative paths, and the place of memories whose path is `auto`; None is the working folder.
        settings: Settings of user memory, for `profile`, and the default embedding model.
        types: The known memory types by name; None is those of the package and of `register_memory_store`.
        wait_seconds: Seconds that a node waits for its memories; None waits without limit.

    Raises:
        ConfigError: If a definition or an attachment is invalid, with its path: `memories[1].name`.
    """

    attachments: Mapping[str, tuple[MemoryAttachment, ...]]
    """The configured attachments of each node, by its name."""

    def __init__(
        self,
        memories: Sequence[Mapping[str, Any] | StoreDefinition | MemoryStore] = (),
        attachments: Mapping[str, Sequence[str | Mapping[str, Any] | MemoryAttachment]] | None = None,
        *,
        folder: str | Path | None = None,
        settings: Settings | None = None,
        types: Mapping[str, StoreType] | None = None,
        wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        self.settings = settings = settings or Settings()
        self.runner = StoreRunner(wait_seconds=wait_seconds)
        self.identities = IdentityResolver(settings)
        self._stores: dict[str, LazyStore] = {}
        context = StoreContext(Path(folder or ""), settings)
        for index, memory in enumerate(memories):
            store = build_store(memory, f"memories[{index}]", MEMORY_TYPES if types is None else types, context)
            if store.name in self._stores:
                first = list(self._stores).index(store.name)
                raise ConfigError(
                    f"memories[{index}].name is {store.name!r}, which is the name of memories[{first}] already"
                )
            self._stores[store.name] = LazyStore(store)
        bound = {node: resolve_attachments(entries, (self,), node) for node, entries in (attachments or {}).items()}
        self.attachments = MappingProxyType(
            {node: tuple(each.attachment for each in attached) for node, attached in bound.items()}
        )

    @classmethod
    def from_settings(cls, settings: Settings, *, folder: str | Path | None = None) -> Self:
        """Return the manager of the memories and attachments in *settings*.

        Raises:
            ConfigError: If a definition or an attachment is invalid.
        """
        # not as mappings: `${VAR}` was replaced when the file was read
        memories = [
            validate_config(StoreDefinition, memory, f"memories[{index}]")
            for index, memory in enumerate(settings.memories)
        ]
        return cls(memories, settings.attachments, folder=folder, settings=settings)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the memories, in the order of their definitions."""
        return tuple(self._stores)

    def store(self, name: str) -> MemoryStore:
        """Return the memory called *name*, which may not be loaded yet.

        Raises:
            ConfigError: If there is no such memory; it suggests the most similar name.
        """
        return self._find(name).store

    def load(self) -> None:
        """Load every memory.

        Raises:
            MemgraphError: If a memory cannot be read; its stored content is left unchanged.
        """
        for store in self._stores.values():
            store.load()

    def retrieve(
        self, name: str, query: SearchQuery, *, top_k: int = 3, threshold: float = -1
    ) -> Sequence[SearchResult]:
        """Search the memory called *name*.

        Raises:
            ConfigError: If there is no such memory.
            MemgraphError: If the search fails.
        """
        return self._find(name).load().retrieve(query, top_k=top_k, threshold=threshold)

    def update(self, name: str, exchange: Interaction) -> None:
        """Add *exchange* to the memory called *name*.

        Raises:
            ConfigError: If there is no such memory, or it is read-only.
            MemgraphError: If it cannot be written.
        """
        found = self._find(name)
        if found.store.read_only:
            raise ConfigError(f"the memory {name!r} is read-only")
        found.load().update(exchange)

    def save(self) -> None:
        """Save every loaded memory."""
        for store in self._stores.values():
            store.save()

    def close(self) -> None:
        """Save and close every memory, even if one of them fails. A closed memory opens again when it is used."""
        with ExitStack() as stack:
            for store in self._stores.values():
                stack.callback(store.close)

    def attach_to(self, builder: B) -> B:
        """Attach the configured memories to the nodes of *builder*, which is not compiled yet, and return it.

        A node's stage is `stage` in its metadata, by default "gen". Compiled graphs among the nodes can use these
        memories too.

        Raises:
            ConfigError: If `attachments` names an unknown node, or a stage is invalid.
        """
        for node in self.attachments:
            if node not in builder.nodes:
                raise ConfigError(f"attachments.{node}: the graph has no such node; {suggest(node, builder.nodes)}")
        for node, spec in builder.nodes.items():
            if node in self.attachments or isinstance(spec.runnable, PregelProtocol):
                stage = (spec.metadata or {}).get(STAGE, "gen")
                runnable: Runnable[Any, Any] = cast("Any", spec.runnable)
                attached = attach(runnable, manager=self, stage=stage, name=node)
                metadata = {**(spec.metadata or {}), STAGE: stage} if node in self.attachments else spec.metadata
                builder.nodes[node] = dataclasses.replace(spec, runnable=attached, metadata=metadata)
        return builder

    def __enter__(self) -> Self:
        self.load()
        return self

    def _find(self, name: str) -> LazyStore:
        if name not in self._stores:
            raise ConfigError(f"there is no memory {name!r}; {suggest(name, self._stores)}")
        return self._stores[name]


@overload
def attach(
    node: Runnable[Any, Any],
    memories: Sequence[Attachable] | None = None,
    *,
    manager: MemoryManager | None = None,
    stage: Stage | StageAlias = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> Runnable[Any, Any]: ...


@overload
def attach(
    node: N,
    memories: Sequence[Attachable] | None = None,
    *,
    manager: MemoryManager | None = None,
    stage: Stage | StageAlias = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> N: ...


def attach(
    node: Any,
    memories: Sequence[Attachable] | None = None,
    *,
    manager: MemoryManager | None = None,
    stage: Stage | StageAlias = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> Any:
    """Attach memories to a node: a function, sync or async, a Runnable, or a compiled graph.

    ```python
    from langgraph.graph import MessagesState, StateGraph

    from memgraph import MemoryManager, attach

    manager = MemoryManager(memories=[{"name": "notes", "type": "simple", "config": {"memory_path": "notes.json"}}])
    builder = StateGraph(MessagesState)
    write = attach(lambda state: {"messages": "Written."}, [{"name": "notes", "top_k": 5}], manager=manager)
    builder.add_node("writer", write)
    ```

    Before the node runs, its memories are searched for the last message of the user, or without a user for the last
    message. The results are inserted before that message, as one block in a message named `memory_context`. Only the
    node sees it: the node receives a changed copy of its input, and the block is removed from what it returns. A
    compiled graph used as a node has the block in its own checkpoints. After the node, its question and its answer are
    remembered; a node that raises, is interrupted, or calls a tool has not answered. If a memory fails, the failure is
    logged and the node runs without it.

    The user comes from the run, as with `MemoryMiddleware`. A node without a manager looks up its memories when it
    runs, in the attached nodes around it, so that a subgraph can use its parent's. Each retrieval and each update
    writes one line to the log `memgraph.attachments` and one event to the stream "custom", see `MemoryEvent`.

    Args:
        node: The node. It still receives what LangGraph injects, such as `config` and `runtime`.
        memories: What to attach; None is what *manager* configures for a node of this name. If that is nothing, the
            node only makes the memories of *manager* available to the graphs inside it.
        manager: Has the memories, usually a MemoryManager.
        stage: What the node does in the agent's work: "pre", "plan", "gen" or "critique". Attachments select by it.
            The names of ChatDev's stages are accepted too.
        name: Name of the node in memories, logs and events; None is its own.
        messages_key: Key of the messages in the node's state.

    Raises:
        ConfigError: If a memory is unknown, or an attachment or the stage is invalid. Without a manager, memories
            are looked up when the node runs, and so are errors raised.
    """
    own_name = str(node.get_name()) if isinstance(node, Runnable) else getattr(node, "__name__", type(node).__name__)
    node_name, stage = name or own_name, STAGE_ALIASES.get(stage, cast("Stage", stage))
    if stage not in get_args(Stage):
        raise invalid_value(f"the stage of {node_name}", stage, "pre, plan, gen or critique")
    if memories is None:
        memories = manager.attachments.get(node_name, ()) if manager else ()
    own = [memory for memory in memories if isinstance(memory, MemoryStore)]
    entries = [memory.name if isinstance(memory, MemoryStore) else memory for memory in memories]
    sets = [*([MemoryManager(own)] if own else []), *([manager] if manager else [])]
    bound = resolve_attachments(entries, sets, node_name) if sets or not entries else None
    memory = NodeMemory(node_name, stage, entries, bound, manager, messages_key)
    wrapped = wrap(memory, node)
    setattr(wrapped, STAGE, stage)
    return wrapped
