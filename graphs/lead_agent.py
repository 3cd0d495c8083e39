"""A chat agent with long-term memory: inject_memory -> answer -> memory_update. Copy this file and adapt it.

`memory_update` is a subgraph: Studio draws it, and every stage can be streamed. To return the answer without waiting
for the update, use `capture_memory(...)` in its place, which learns in the background.

If `review` is set, the run is interrupted after the answer with the proposed changes, and continues when it is resumed
with a decision.

Each run names its user by its context, `{"user_id": ...}`; any context type with a `user_id` works. Without a
configured model the agent answers from memory alone, with a notice.
"""

# Some of LangGraph's types are partially unknown
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from langchain_core.messages import AnyMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, ConfigDict, Field

from memgraph import (
    MemoryState,
    answer_from_memory,
    build_graph,
    inject_memory,
    load_settings,
    make_chat_model,
    make_context,
    with_memory,
)

INSTRUCTIONS = "You are a helpful assistant. Use what you know about the user when it helps, without reciting it."

settings = load_settings()
defaults = make_context(settings)
chat_model = make_chat_model(settings)
model = chat_model.with_retry(stop_after_attempt=3) if chat_model else None


class User(BaseModel):
    """Whose memory a run uses."""

    model_config = ConfigDict(frozen=True)

    user_id: str = Field(default="", description="Whose memory. An authenticated caller's own id takes precedence.")
    agent_name: str = Field(default="", description="Which agent, if the user has a separate memory for each.")


def answer(state: MemoryState) -> dict[str, list[AnyMessage]]:
    """Call the model with the user's memory in its system message."""
    reply = model.invoke(with_memory(state, INSTRUCTIONS)) if model else answer_from_memory(state)
    return {"messages": [reply]}


builder = StateGraph(MessagesState, context_schema=User)
builder.add_node(inject_memory(defaults.storage, settings=settings))
builder.add_node(answer)
builder.add_node("memory_update", build_graph(defaults=defaults))
builder.add_edge(START, "inject_memory")
builder.add_edge("inject_memory", "answer")
builder.add_edge("answer", "memory_update")
graph = builder.compile(name="lead_agent")
