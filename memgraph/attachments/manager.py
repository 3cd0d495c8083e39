"""MemoryManager: builds a graph's attachable memories and attaches them to its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from memgraph.attachments.attach import attach_all
from memgraph.attachments.registry import (
    MEMORY_TYPES,
    StoreContext,
    StoreDefinition,
    StoreRegistry,
    build_stores,
    parse_definitions,
)
from memgraph.attachments.runner import DEFAULT_TIMEOUT_SECONDS
from memgraph.attachments.store import MemoryAttachment, MemoryStore
from memgraph.attachments.store_set import StoreSet, resolve_attachments
from memgraph.settings import Settings

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

B = TypeVar("B", bound="StateGraph[Any, Any, Any, Any]")


class MemoryManager(StoreSet):
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
        types: The known memory types; None is those of the package and of `register_memory_store`.
        wait_seconds: Seconds that a node waits for its memories; None waits without limit.

    Raises:
        ConfigError: If a definition or an attachment is invalid, with its path: `memories[1].name`.
    """

    def __init__(
        self,
        memories: Sequence[Mapping[str, Any] | StoreDefinition | MemoryStore] = (),
        attachments: Mapping[str, Sequence[str | Mapping[str, Any] | MemoryAttachment]] | None = None,
        *,
        folder: str | Path | None = None,
        settings: Settings | None = None,
        types: StoreRegistry | None = None,
        wait_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        settings = settings or Settings()
        context = StoreContext(Path(folder or ""), settings)
        stores = build_stores(memories, MEMORY_TYPES if types is None else types, context)
        super().__init__(stores, settings=settings, wait_seconds=wait_seconds)
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
        return cls(parse_definitions(settings.memories), settings.attachments, folder=folder, settings=settings)

    def attach_to(self, builder: B) -> B:
        """Attach the configured memories to the nodes of *builder*, which is not compiled yet, and return it.

        A node's stage is `stage` in its metadata, by default "gen". Compiled graphs among the nodes can use these
        memories too.

        Raises:
            ConfigError: If `attachments` names an unknown node, or a stage is invalid.
        """
        attach_all(builder, self)
        return builder
