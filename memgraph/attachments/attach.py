"""attach: a node of any kind, with memories."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, overload

from langchain_core.runnables import Runnable
from langgraph.pregel.protocol import PregelProtocol

from memgraph._validation import invalid_value, suggest
from memgraph.attachments.binding import resolve_attachments
from memgraph.attachments.config import MemoryAttachment
from memgraph.attachments.node import NodeMemory, wrap_function, wrap_runnable
from memgraph.attachments.store import MemoryStore, Stage
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

    from memgraph.attachments.manager import MemoryManager

N = TypeVar("N", bound=Callable[..., Any])
Memory = str | Mapping[str, Any] | MemoryAttachment | MemoryStore
"""What a node may attach: a memory by its name, an attachment that says more, or a memory itself."""

STAGE = "stage"
"""Key of a node's metadata, and attribute of an attached node."""


@overload
def attach(
    node: Runnable[Any, Any],
    memories: Sequence[Memory] | None = None,
    *,
    manager: MemoryManager | None = None,
    stage: Stage = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> Runnable[Any, Any]: ...


@overload
def attach(
    node: N,
    memories: Sequence[Memory] | None = None,
    *,
    manager: MemoryManager | None = None,
    stage: Stage = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> N: ...


def attach(
    node: Any,
    memories: Sequence[Memory] | None = None,
    *,
    manager: MemoryManager | None = None,
    stage: Stage = "gen",
    name: str | None = None,
    messages_key: str = "messages",
) -> Any:
    """Attach memories to a node: a function, sync or async, a Runnable, or a compiled graph.

        builder.add_node("writer", attach(write, ["notes", {"name": "board", "top_k": 5}], manager=manager))

    Before the node runs, its memories are asked for what fits the last thing the user said - without a user, the
    last message - and what they find goes in before that message, as one block in a message named `memory_context`.
    Only the node sees it: it is given a changed copy of its input, and what it returns goes on without the block; a
    graph that is a node has it in checkpoints of its own. After the node, what it was asked and what it answered is
    remembered; a node that raises, is interrupted, or goes on with a tool has not answered. A memory that fails is
    logged, and the node runs without.

    Whose memories they are is found in the run, as by `MemoryMiddleware`. A node without a manager finds its memories,
    when it runs, at the attached nodes around it: so a subgraph sees its parent's. Each retrieval and each update
    leaves one line in the log `memgraph.attachments` and one event in the stream "custom", see `MemoryEvent`.

    Args:
        node: What to run. What it is injected by LangGraph, such as `config` and `runtime`, it is still injected.
        memories: What to attach; None is what *manager* says of a node of this name. That may be nothing: then the
            node is only a place in which graphs see them.
        manager: Whose memories they are.
        stage: What the node does in the agent's work, by which attachments choose: "pre", "plan", "gen" or "critique".
        name: Of the node, in memories, logs and events; None is its own.
        messages_key: Where its state has messages.

    Raises:
        ConfigError: If a memory is not there, an attachment cannot be, or the stage is none. Where no manager is
            given, a memory is looked up when the node runs, and so is the error raised.
    """
    called = name or _name_of(node)
    seat = _seat(called, memories, manager, stage, messages_key)
    wrapped = wrap_runnable(seat, cast("Any", node)) if isinstance(node, Runnable) else wrap_function(seat, node)
    setattr(wrapped, STAGE, stage)
    return wrapped


def attach_all(builder: StateGraph[Any, Any, Any, Any], manager: MemoryManager) -> None:
    """Attach to the nodes of *builder* what *manager* says of each.

    Raises:
        ConfigError: If it says something of a node that is not there, or a stage is none.
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


def _seat(
    name: str, memories: Sequence[Memory] | None, manager: MemoryManager | None, stage: Stage, key: str
) -> NodeMemory:
    if stage not in get_args(Stage):
        raise invalid_value(f"the stage of {name}", stage, "pre, plan, gen or critique")
    if memories is None:
        memories = manager.attachments.get(name, ()) if manager else ()
    own = [memory for memory in memories if isinstance(memory, MemoryStore)]
    entries = [memory.name if isinstance(memory, MemoryStore) else memory for memory in memories]
    managers = [*([_manager_of(own)] if own else []), *([manager] if manager else [])]
    bound = resolve_attachments(entries, managers, name) if managers or not entries else None
    return NodeMemory(name, stage, entries, bound, manager, key)


def _manager_of(stores: Sequence[MemoryStore]) -> MemoryManager:
    from memgraph.attachments.manager import MemoryManager

    return MemoryManager(stores)


def _name_of(node: Any) -> str:  # noqa: ANN401 - a node of any kind
    if isinstance(node, Runnable):
        return str(node.get_name())
    return getattr(node, "__name__", type(node).__name__)
