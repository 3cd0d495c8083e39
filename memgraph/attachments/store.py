"""The contract of an attachable memory, and the values it is asked and answers with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

if TYPE_CHECKING:
    from types import TracebackType

    from langchain_core.messages import AnyMessage

    from memgraph.attachments.item import MemoryItem, Snapshot
    from memgraph.models import Scope

Stage = Literal["pre", "plan", "gen", "critique"]
"""What a node does in an agent's work: prepares, plans, writes, or judges."""


@dataclass(frozen=True)
class SearchQuery:
    """What a memory is asked."""

    text: str
    """The node's input, trimmed."""
    messages: Sequence[AnyMessage] = ()
    """The conversation it is the end of."""
    scope: Scope | None = None
    """Of the run; None where nobody is known."""
    thread_id: str | None = None
    stage: Stage | None = None


@dataclass(frozen=True)
class Interaction:
    """What a node was given, and what it answered."""

    input: Snapshot
    output: Snapshot
    node: str
    messages: Sequence[AnyMessage] = ()
    """The conversation, the answer included."""
    scope: Scope | None = None
    """Of the run; None where nobody is known."""
    thread_id: str | None = None

    @property
    def owner(self) -> str:
        """The user it is of; empty where nobody is known."""
        return self.scope.user_id if self.scope else ""


@dataclass(frozen=True)
class SearchResult:
    """An item that answers a query."""

    item: MemoryItem
    source: str
    """Where it is from, for the reader: a node, a file."""
    score: float | None
    """The better the higher; None where items are not ranked."""


class MemoryStore(ABC):
    """A memory that nodes can attach. It is called from several threads at once.

    As a context manager it is loaded, and closed at the end.
    """

    read_only: ClassVar[bool] = False
    """Whether update is never called."""

    name: str
    """As the configuration calls it."""

    def load(self) -> None:  # noqa: B027 - a memory may have nothing to open
        """Open what is stored, and bring it up to date.

        Raises:
            MemoryStoreError: If it cannot be read. It is left as it is.
        """

    @abstractmethod
    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        """Return at most *top_k* items for *query*, best first; of what is ranked by time, oldest first.

        Args:
            query: What is asked.
            top_k: At least 1.
            threshold: The least cosine similarity, within [-1, 1]; -1 is off.

        Raises:
            MemoryStoreError: If the memory cannot be read.
            EmbeddingError: If it needs an embedding model that does not answer.
        """

    @abstractmethod
    def update(self, exchange: Interaction) -> None:
        """Remember *exchange*, durably: a crash after this loses nothing.

        Raises:
            MemoryStoreError: If it cannot be written.
            EmbeddingError: If it needs an embedding model that does not answer.
        """

    def save(self) -> None:  # noqa: B027 - update is durable already
        """Write what update has not written yet."""

    def close(self) -> None:  # noqa: B027 - a memory may hold nothing open
        """Let go of what is open; it is opened again when used again."""

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.save()
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'name', '')}>"
