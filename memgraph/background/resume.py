"""A run that goes on where it was held for review, long after, and perhaps in another process."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memgraph.graph import in_memory_saver
from memgraph.models import UNKNOWN_THREAD, Memory, MemoryUpdate, Turn
from memgraph.report import Usage
from memgraph.review import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.context import Context

logger = logging.getLogger("memgraph.invoker")

_MODEL = "build_prompt"
"""Where the way to the model begins."""
INTERRUPT = "__interrupt__"
"""The key of a step under which the questions of an interrupt stand."""


def resume_with_changes(
    graph: CompiledStateGraph[Any, Context, Any, Any],
    conversation: Any,  # noqa: ANN401 - LangGraph's own
    changes: MemoryUpdate,
    config: RunnableConfig,
    context: Context,
    *,
    keys: list[str],
    allow_model: bool,
) -> Iterator[Mapping[str, Any]]:
    """Run *graph* with *changes*, which were decided, in the place of what the model would be asked for first.

    The run is stopped before the model, given the changes as if it had just understood them, and goes on: they are
    applied to the memory as it is now. Where they no longer fit, the model is asked anew, and what it says
    is a proposal of its own.

    Args:
        graph: The memory update.
        conversation: All that is to be learned from.
        changes: What was agreed to.
        config: Of the run.
        context: Of the run.
        keys: What is to be told of.
        allow_model: Whether the model may be asked about the rest. If not, the run stops before it.

    Yields:
        What each node wrote of *keys*; under INTERRUPT what is to be reviewed next.
    """
    stopped = graph.copy({"checkpointer": in_memory_saver()})
    # a conversation without a name must not get the one that the checkpointer wants
    place: RunnableConfig = {**config, "configurable": {"thread_id": context.thread_id or UNKNOWN_THREAD}}
    given: Any = {"context": context, "stream_mode": "updates", "output_keys": keys, "durability": "exit"}
    for step in stopped.stream(conversation, place, interrupt_before=[_MODEL], **given):
        if INTERRUPT not in step:
            yield step
    found = stopped.get_state(place)
    if not found.next:
        return
    memory, new = found.values["memory"], _new_ids(found.values["turns"], found.values["pending_turns"])
    if _fit(changes, memory, new):
        decided = {"changes": changes, "reviewed": fingerprint(changes), "usage": Usage()}
        stopped.update_state(place, decided, as_node="parse_update")
    elif not set(new).isdisjoint(changes.message_ids):  # else it was applied before
        logger.warning("what was decided for %s no longer fits its memory, so it is asked for anew", context.user_id)
    yield from stopped.stream(None, place, interrupt_before=[] if allow_model else [_MODEL], **given)


def _new_ids(turns: tuple[Turn, ...], unlearned: int) -> tuple[str, ...]:
    return tuple(turn.id for turn in turns[len(turns) - unlearned :])


def _fit(changes: MemoryUpdate, memory: Memory, new: tuple[str, ...]) -> bool:
    """Whether these turns are still to be learned, and each summary is still the one that was to be rewritten."""
    return new[: len(changes.message_ids)] == changes.message_ids and all(
        memory.section(rewrite.section).summary == rewrite.base for rewrite in changes.rewrites
    )
