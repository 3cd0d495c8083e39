"""recall_load: the document as it is stored."""

from __future__ import annotations

from langgraph.runtime import Runtime

from memgraph.models import Memory
from memgraph.nodes.filter_messages import origin_of
from memgraph.nodes.recall_state import MemoryLoaded, Recalling
from memgraph.state import Conversation


def recall_load(_: Conversation, runtime: Runtime[Recalling]) -> MemoryLoaded:
    """Read the memory; an empty one where memory is switched off."""
    run = runtime.context.run
    return {"memory": run.storage.load(origin_of(run).scope) if run.enabled else Memory()}
