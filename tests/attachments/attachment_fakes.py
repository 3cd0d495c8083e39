"""A store and a node that record their calls, and a graph of one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult


class FakeStore(MemoryStore):
    """Returns the contents it was made with, and records its calls."""

    def __init__(self, name: str, *contents: str) -> None:
        self.name = name
        self.contents = contents
        self.queries: list[tuple[SearchQuery, int, float]] = []
        self.updates: list[Interaction] = []
        self.calls: list[str] = []

    def load(self) -> None:
        self.calls.append("load")

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        self.queries.append((query, top_k, threshold))
        return [make_result(content) for content in self.contents[:top_k]]

    def update(self, exchange: Interaction) -> None:
        self.updates.append(exchange)

    def save(self) -> None:
        self.calls.append("save")

    def close(self) -> None:
        self.calls.append("close")


class ReadOnlyStore(FakeStore):
    """A read-only store."""

    read_only = True


class FailingStore(FakeStore):
    """A store whose methods raise errors that are not memgraph's own."""

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        raise ZeroDivisionError("retrieve")

    def update(self, exchange: Interaction) -> None:
        raise ZeroDivisionError("update")


def make_result(content: str, source: str = "writer") -> SearchResult:
    return SearchResult(
        MemoryItem(id="i", content_summary=content, timestamp="2026-01-01T00:00:00.000000Z"), source, 0.5
    )


class RecordingNode:
    """A node that records its inputs and returns an answer."""

    def __init__(self, answer: Any = "Noted.") -> None:
        self.answer = answer
        self.inputs: list[Any] = []

    def reply(self, state: Any) -> dict[str, Any]:
        self.inputs.append(state)
        return {"messages": [AIMessage(self.answer)]}

    @property
    def contents(self) -> list[str]:
        """The contents of the messages in its last input."""
        return [message.content for message in self.inputs[-1]["messages"]]


def make_graph(node: Any, *, name: str = "writer", schema: Any = MessagesState, **compiled: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    return builder.compile(**compiled)
