"""Two agents with attached memories: a researcher, who reads documents, and a writer. Copy this file and adapt it.

They share a blackboard, and each keeps its own notes; the researcher also searches documents. `MEMORIES` and
`ATTACHMENTS` define which node uses what, as `memgraph.yaml` could; the nodes themselves contain no memory code.

Documents need an embedding model: the one of the settings, else the extra `local`. Without either, the team works
without documents and logs a warning. Documents are indexed when the researcher first searches them.

Each run names its user by its context, `{"user_id": ...}`; without one, memories are shared by all runs that name no
user. Without a configured model the agents only pass on what their memories contain.
"""

# Some of LangGraph's types are partially unknown
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field

from memgraph import MemoryManager, context_entries, load_settings, make_chat_model, make_recall_pipeline

DOCUMENTS = Path(__file__).parents[1] / "examples" / "research"
FOLDER = user_data_path("memgraph", appauthor=False) / "research_team"
RESEARCH = "You are a researcher. List what your documents and notes say about the question, each with its source."
WRITE = "You are a writer. Answer the question in a short paragraph from what the researcher found; add nothing to it."

settings = load_settings()
chat_model = make_chat_model(settings)
model = chat_model.with_retry(stop_after_attempt=3) if chat_model else None

# A memory_path of "auto" is a file below FOLDER, named after the memory
MEMORIES: list[dict[str, Any]] = [
    {"name": "board", "type": "blackboard", "config": {"memory_path": "auto"}},
    {"name": "researcher_notes", "type": "simple", "config": {"memory_path": "auto"}},
    {"name": "writer_notes", "type": "simple", "config": {"memory_path": "auto"}},
]
ATTACHMENTS: dict[str, list[dict[str, Any]]] = {
    "researcher": [{"name": "board"}, {"name": "researcher_notes", "top_k": 2}],
    "writer": [{"name": "board"}, {"name": "writer_notes", "top_k": 2}],
}

if (embeddings := make_recall_pipeline(settings).embeddings) is not None:
    papers = {"file_sources": [{"path": str(DOCUMENTS)}], "embedding": embeddings}
    MEMORIES.append({"name": "papers", "type": "file", "config": papers})
    ATTACHMENTS["researcher"].append({"name": "papers", "top_k": 3})
else:
    logging.getLogger("memgraph.graphs").warning(
        "the researcher reads no documents, because no embedding model is available: "
        "pip install 'langgraph-memgraph[local]', or set `embedding` in memgraph.yaml"
    )


class Team(BaseModel):
    """Whose memories a run uses."""

    model_config = ConfigDict(frozen=True)

    user_id: str = Field(default="", description="Whose memories. Empty: those of all runs that name no user.")


def researcher(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Look things up in documents and notes."""
    if model:
        reply = model.invoke([SystemMessage(RESEARCH), *state["messages"]])
        return {"messages": [AIMessage(reply.content, name="researcher")]}
    passages = context_entries(state["messages"], "papers")
    text = f"From the documents: {passages[0]}" if passages else "I have no documents to look that up in."
    return {"messages": [AIMessage(text, name="researcher")]}


def writer(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Answer the question from what is on the board."""
    if model:
        reply = model.invoke([SystemMessage(WRITE), *state["messages"], HumanMessage("Now write the answer.")])
        return {"messages": [AIMessage(reply.content, name="writer")]}
    findings = [entry for entry in context_entries(state["messages"], "board") if entry.startswith("[researcher]")]
    text = (
        f"No model is configured, so this is what is on the board. {findings[-1]}" if findings else "Nothing was found."
    )
    return {"messages": [AIMessage(text, name="writer")]}


manager = MemoryManager(MEMORIES, ATTACHMENTS, folder=FOLDER, settings=settings, wait_seconds=60)

builder = StateGraph(MessagesState, context_schema=Team)
builder.add_node(researcher, metadata={"stage": "plan"})
builder.add_node(writer, metadata={"stage": "gen"})
builder.add_edge(START, "researcher")
builder.add_edge("researcher", "writer")
graph = manager.attach_to(builder).compile(name="research_team")
