"""A lead agent that remembers its users: inject_memory -> answer -> memory_update. Copy it, and make it yours.

The update is a subgraph: Studio draws it, and every stage of it can be watched. To have the agent's answer wait for no
update, put `capture_memory` in its place, which learns in the background.

Where `review` is set, the agent's run is interrupted after its answer, with what would be learned; it goes on when it
is resumed with a decision.

Say who is remembered by the run's context, as `{"user_id": ...}`; any context with a user_id will do. With no model
configured the agent answers only from what it remembers, and says so.
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from langchain_core.messages import AnyMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, ConfigDict, Field

from memgraph.agents.nodes import MemoryState, inject_memory, with_memory
from memgraph.agents.offline_agent import answer_from_memory
from memgraph.config import default_model, load_settings, make_context
from memgraph.graph import assemble
from memgraph.llm.models import OFFLINE, chat_model
from memgraph.state import Result

INSTRUCTIONS = "You are a helpful assistant. Use what you know about the user where it helps, without reciting it."

settings = load_settings()
defaults = make_context(settings)
name = default_model(settings)
model = None if name == OFFLINE else chat_model(name).with_retry(stop_after_attempt=3)


class User(BaseModel):
    """Who talks with the agent."""

    model_config = ConfigDict(frozen=True)

    user_id: str = Field(
        default="", description="Whose memory. Where the server knows who is calling, that user counts."
    )
    agent_name: str = Field(default="", description="With which agent, where a user has several.")


def answer(state: MemoryState) -> dict[str, list[AnyMessage]]:
    """Ask the model, which is told what is remembered."""
    said = model.invoke(with_memory(state, INSTRUCTIONS)) if model else answer_from_memory(state)
    return {"messages": [said]}


builder = StateGraph(MessagesState, context_schema=User)
builder.add_node(inject_memory(defaults.storage, settings=settings))
builder.add_node(answer)
builder.add_node("memory_update", assemble(defaults, Result))
builder.add_edge(START, "inject_memory")
builder.add_edge("inject_memory", "answer")
builder.add_edge("answer", "memory_update")
graph = builder.compile(name="lead_agent")
