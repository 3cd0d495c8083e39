"""A memory in RAM that says what it was asked, and a graph to attach it in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import Interaction, MemoryStore, SearchQuery, SearchResult


class Notes(MemoryStore):
    """Finds what it was made with, and keeps what it is told."""

    def __init__(self, name: str, *contents: str) -> None:
        self.name = name
        self.contents = contents
        self.asked: list[tuple[SearchQuery, int, float]] = []
        self.kept: list[Interaction] = []
        self.done: list[str] = []

    def load(self) -> None:
        self.done.append("load")

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        self.asked.append((query, top_k, threshold))
        return [found(content) for content in self.contents[:top_k]]

    def update(self, exchange: Interaction) -> None:
        self.kept.append(exchange)

    def save(self) -> None:
        self.done.append("save")

    def close(self) -> None:
        self.done.append("close")


class Papers(Notes):
    """One that is only read."""

    read_only = True


class Broken(Notes):
    """One that fails as only somebody's own class can."""

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        raise ZeroDivisionError("retrieve")

    def update(self, exchange: Interaction) -> None:
        raise ZeroDivisionError("update")


def found(content: str, source: str = "desk") -> SearchResult:
    return SearchResult(
        MemoryItem(id="i", content_summary=content, timestamp="2026-01-01T00:00:00.000000Z"), source, 0.5
    )


class Node:
    """What a node was given, and what it answers."""

    def __init__(self, answer: Any = "Noted.") -> None:
        self.answer = answer
        self.given: list[Any] = []

    def answered(self, state: Any) -> dict[str, Any]:
        self.given.append(state)
        return {"messages": [AIMessage(self.answer)]}

    @property
    def contents(self) -> list[str]:
        """Of the messages in its last input."""
        return [message.content for message in self.given[-1]["messages"]]


def graph_of(node: Any, *, name: str = "writer", schema: Any = MessagesState, **compiled: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    return builder.compile(**compiled)
