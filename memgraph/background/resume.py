"""Resumes an update with reviewed changes, long after it was held and possibly in another process."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memgraph.graph import in_memory_saver
from memgraph.models import UNKNOWN_THREAD, MemoryDocument, MemoryUpdate
from memgraph.report import Usage
from memgraph.review import fingerprint
from memgraph.rules.watermark import unlearned_turns, without_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from memgraph.context import Context

logger = logging.getLogger("memgraph.invoker")

_FIRST_MODEL_NODE = "build_prompt"
INTERRUPT = "__interrupt__"
"""The key under which a streamed step carries interrupts."""


def resume_with_changes(
    graph: CompiledStateGraph[Any, Context, Any, Any],
    conversation: Any,  # noqa: ANN401 - the graph's input type
    changes: MemoryUpdate,
    config: RunnableConfig,
    context: Context,
    *,
    output_keys: list[str],
    allow_model: bool,
) -> Iterator[Mapping[str, Any]]:
    """Run *graph* with the reviewed *changes* in place of the model's first answer.

    The run stops before the model, receives the changes as if they had just been parsed, and goes on: they are applied
    to the current memory. If they no longer fit it, the model is called again, and its answer is a new proposal.

    Args:
        graph: The memory update.
        conversation: Everything to learn from.
        changes: The changes that were accepted.
        config: Config of the run.
        context: Context of the run.
        output_keys: State keys to stream.
        allow_model: Whether the model may be called for the rest. If not, the run stops before it.

    Yields:
        What each node wrote to *output_keys*; under INTERRUPT what has to be reviewed next.
    """
    resumable = graph.copy({"checkpointer": in_memory_saver()})
    # the checkpointer needs a thread_id, which must not become the name of a conversation without one
    thread: RunnableConfig = {**config, "configurable": {"thread_id": context.thread_id or UNKNOWN_THREAD}}
    options: Any = {"context": context, "stream_mode": "updates", "output_keys": output_keys, "durability": "exit"}
    for step in resumable.stream(conversation, thread, interrupt_before=[_FIRST_MODEL_NODE], **options):
        if INTERRUPT not in step:
            yield step
    state = resumable.get_state(thread)
    if not state.next:
        return
    memory = state.values["memory"]
    pending = unlearned_turns(state.values["turns"], memory.threads.get(state.values["origin"].thread))
    new = tuple(turn.id for turn in pending)
    if _still_fit(changes, memory, new):
        parsed = {"changes": changes, "reviewed": fingerprint(changes), "usage": Usage()}
        resumable.update_state(thread, parsed, as_node="parse_update")
    elif not set(new).isdisjoint(changes.message_ids):  # else they were applied before
        logger.warning(
            "the accepted changes for %s no longer fit the memory: the model is called again",
            state.values["origin"].scope.log_name,
        )
    yield from resumable.stream(None, thread, interrupt_before=[] if allow_model else [_FIRST_MODEL_NODE], **options)


def _still_fit(changes: MemoryUpdate, memory: MemoryDocument, new: tuple[str, ...]) -> bool:
    """Whether the turns are still to be learned, and each summary is still the one that was to be rewritten."""
    return new[: len(changes.message_ids)] == tuple(map(without_progress, changes.message_ids)) and all(
        memory.section(rewrite.section).summary == rewrite.base for rewrite in changes.rewrites
    )
