"""attach: wraps a node so that it reads and writes memories."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, overload

from langchain_core.runnables import Runnable
from langgraph.pregel.protocol import PregelProtocol

from memgraph._validation import invalid_value, suggest
from memgraph.attachments.node import NodeMemory, wrap_function, wrap_runnable
from memgraph.attachments.store import STAGE_ALIASES, MemoryAttachment, MemoryStore, Stage, StageAlias
from memgraph.attachments.store_set import StoreSet, resolve_attachments
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

N = TypeVar("N", bound=Callable[..., Any])
MemoryDocument = str | Mapping[str, Any] | MemoryAttachment | MemoryStore
"""What a node may attach: a memory's name, an attachment, or a memory itself."""

STAGE = "stage"
"""Key in a node's metadata, and attribute of an attached node."""


@overload
def attach(
    node: Runnable[Any, Any],
    memories: Sequence[MemoryDocument] | None = None,
    *,
    manager: StoreSet | None = None,
    stage: Stage | StageAlias = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> Runnable[Any, Any]: ...


@overload
def attach(
    node: N,
    memories: Sequence[MemoryDocument] | None = None,
    *,
    manager: StoreSet | None = None,
    stage: Stage | StageAlias = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> N: ...


def attach(
    node: Any,
    memories: Sequence[MemoryDocument] | None = None,
    *,
    manager: StoreSet | None = None,
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
    node_name = name or _node_name(node)
    stage = _parse_stage(stage, node_name)
    memory = _bind_node(node_name, memories, manager, stage, messages_key)
    wrapped = wrap_runnable(memory, cast("Any", node)) if isinstance(node, Runnable) else wrap_function(memory, node)
    setattr(wrapped, STAGE, stage)
    return wrapped


def attach_all(builder: StateGraph[Any, Any, Any, Any], manager: StoreSet) -> None:
    """Attach to the nodes of *builder* what *manager* configures for them.

    Raises:
        ConfigError: If *manager* configures an unknown node, or a stage is invalid.
    """
    for node in manager.attachments:
        if node not in builder.nodes:
            raise ConfigError(f"attachments.{node}: the graph has no such node; {suggest(node, builder.nodes)}")
    for node, spec in builder.nodes.items():
        if node in manager.attachments or isinstance(spec.runnable, PregelProtocol):
            stage = (spec.metadata or {}).get(STAGE, "gen")
            runnable: Runnable[Any, Any] = cast("Any", spec.runnable)
            attached = attach(runnable, manager=manager, stage=stage, name=node)
            metadata = {**(spec.metadata or {}), STAGE: stage} if node in manager.attachments else spec.metadata
            builder.nodes[node] = dataclasses.replace(spec, runnable=attached, metadata=metadata)


def _parse_stage(stage: Stage | StageAlias, node: str) -> Stage:
    parsed = STAGE_ALIASES.get(stage, stage)
    if parsed not in get_args(Stage):
        raise invalid_value(f"the stage of {node}", stage, "pre, plan, gen or critique")
    return cast("Stage", parsed)


def _bind_node(
    name: str, memories: Sequence[MemoryDocument] | None, manager: StoreSet | None, stage: Stage, key: str
) -> NodeMemory:
    if memories is None:
        memories = manager.attachments.get(name, ()) if manager else ()
    own = [memory for memory in memories if isinstance(memory, MemoryStore)]
    entries = [memory.name if isinstance(memory, MemoryStore) else memory for memory in memories]
    sets = [*([StoreSet(own)] if own else []), *([manager] if manager else [])]
    bound = resolve_attachments(entries, sets, name) if sets or not entries else None
    return NodeMemory(name, stage, entries, bound, manager, key)


def _node_name(node: Any) -> str:  # noqa: ANN401 - a node of any kind
    if isinstance(node, Runnable):
        return str(node.get_name())
    return getattr(node, "__name__", type(node).__name__)
