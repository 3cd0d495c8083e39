"""The interface of attachable memories, the values of its methods, and the configuration that all types share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memgraph.analysis.admission import admitted_sentences
from memgraph.analysis.normalize import clean
from memgraph.attachments.item import MemoryItem, Snapshot, truncate
from memgraph.fields import ChoiceLabels, FieldSpecMixin, NoBooleanNumbers

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage
    from pydantic import JsonValue

    from memgraph.models import Scope
    from memgraph.storage.traces import TraceCount

ANSWER_SEPARATOR = "\n→ "
"""Between question and answer in a summary."""

Stage = Literal["pre", "plan", "gen", "critique"]
"""What a node does in an agent's work: it prepares, plans, writes, or judges."""

StageAlias = Literal["pre_gen_thinking", "post_gen_thinking", "finished"]
"""Names of stages in ChatDev."""
STAGE_ALIASES: Mapping[object, Stage] = MappingProxyType(
    {"pre_gen_thinking": "pre", "post_gen_thinking": "critique", "finished": "critique"}
)
"""The stage that each alias stands for."""


STAGES = ChoiceLabels(pre="prepares", plan="plans", gen="writes", critique="judges what was written")
"""What a node of each stage does."""


def _to_stages(value: object) -> object:
    """Accept a single stage, and the names of stages in ChatDev."""
    stages = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    return None if value is None else tuple(STAGE_ALIASES.get(str(stage), stage) for stage in stages)


class MemoryAttachment(FieldSpecMixin, BaseModel):
    """One entry of `attachments:`: a memory attached to a node."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name of the memory, as in `memories:`."""
    retrieve_stage: Annotated[tuple[Stage, ...] | None, BeforeValidator(_to_stages), STAGES] = None
    """Stages of nodes that read the memory; none is all. ChatDev's pre_gen_thinking is pre, its post_gen_thinking and
    finished are critique."""
    top_k: Annotated[int, Field(ge=1, le=100)] = 3
    """Maximum number of items that a node receives."""
    similarity_threshold: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = -1
    """Minimum cosine similarity of an item to the node's input; -1 turns it off."""
    read: bool = True
    """Whether the node receives what the memory finds."""
    write: bool | None = None
    """Whether the exchange is remembered; none is yes unless the memory is read-only."""

    def is_read_at(self, stage: Stage) -> bool:
        """Return whether a node of *stage* reads the memory."""
        return self.read and (self.retrieve_stage is None or stage in self.retrieve_stage)


@dataclass(frozen=True)
class SearchQuery:
    """A search."""

    text: str
    """The question, without surrounding whitespace."""
    messages: Sequence[AnyMessage] = ()
    """The conversation that ends with the question."""
    scope: Scope | None = None
    """Scope of the run; None if the user is unknown."""
    thread_id: str | None = None
    stage: Stage | None = None


@dataclass(frozen=True)
class Interaction:
    """A question to a node, and its answer."""

    input: Snapshot
    output: Snapshot
    node: str
    messages: Sequence[AnyMessage] = ()
    """The conversation, including the answer."""
    scope: Scope | None = None
    """Scope of the run; None if the user is unknown."""
    thread_id: str | None = None

    def metadata(self, *, shared: bool) -> dict[str, JsonValue]:
        """Return the node, thread and agent, and if all users share the memory, the author."""
        values = {
            "node": self.node,
            "thread_id": self.thread_id,
            "agent_name": self.scope.agent_name if self.scope else None,
            "user_id": self.scope.user_id if self.scope and shared else None,
        }
        return {key: clean(value) for key, value in values.items() if value}

    def summarize(self, limit: int) -> str:
        """Return question and answer in at most *limit* characters; if too long, half of it is for the answer."""
        question, answer = self.input.text.strip(), self.output.text.strip()
        room = limit - len(ANSWER_SEPARATOR)
        question = truncate(question, max(room // 2, room - len(answer)))
        answer = truncate(answer, room - len(question))
        return f"{question}{ANSWER_SEPARATOR}{answer}" if question and answer else question or answer


@dataclass(frozen=True)
class SearchResult:
    """An item that matches a query."""

    item: MemoryItem
    source: str
    """Origin for the reader: a node or a file."""
    score: float | None
    """Higher is better; None if items are not ranked."""
    author: str = ""
    """The other user who wrote it, in a memory that users share; "" if it is the reader's own."""


UNKNOWN_AUTHOR = "unknown"


def relay(found: Iterable[SearchResult], reader: Scope | None) -> list[SearchResult]:
    """Return results of a memory that users share: what another user wrote names its author, as far as it is admitted.

    Sentences with orders, secrets or hidden characters are left out, and so is an item without any other.
    """
    results: list[SearchResult] = []
    for result in found:
        author = str(result.item.metadata.get("user_id", ""))
        if author == (reader.user_id if reader else ""):
            results.append(result)
        elif text := admitted_sentences(result.item.content_summary):
            item = result.item.model_copy(update={"content_summary": text})
            results.append(replace(result, item=item, author=author or UNKNOWN_AUTHOR))
    return results


class StoreConfig(FieldSpecMixin, NoBooleanNumbers):
    """The `config:` of a memory. Each memory type has a subclass with its own keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class MemoryStore(ABC):
    """A memory that nodes can attach. Its methods are called from several threads at once.

    As a context manager it is loaded at the start, and saved and closed at the end.
    """

    read_only: ClassVar[bool] = False
    """Whether the memory cannot be updated."""

    name: str
    """Name in the configuration."""

    def load(self) -> None:  # noqa: B027 - a memory may have nothing to open
        """Open the storage, and bring it up to date.

        Raises:
            MemoryStoreError: If it cannot be read; it is left unchanged.
        """

    @abstractmethod
    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float) -> Sequence[SearchResult]:
        """Return at most *top_k* items for *query*, best first, or oldest first if they are selected by time.

        Args:
            query: The search.
            top_k: At least 1.
            threshold: Minimum cosine similarity, within [-1, 1]; -1 turns it off.

        Raises:
            MemoryStoreError: If the memory cannot be read.
            EmbeddingError: If its embedding model does not answer.
        """

    @abstractmethod
    def update(self, exchange: Interaction) -> None:
        """Remember *exchange*. It is durable when the method returns.

        Raises:
            MemoryStoreError: If it cannot be written.
            EmbeddingError: If its embedding model does not answer.
        """

    def texts_of(self, user_id: str) -> list[list[str]] | None:  # noqa: ARG002
        """Return the texts of each item of a user, for a search after their deletion; None if it cannot delete them.

        Raises:
            MemoryStoreError: If they cannot be read.
        """
        return None

    def delete_user(self, user_id: str) -> None:  # noqa: B027 - a custom memory may not know its users
        """Delete the items of a user, also those written for the user in a memory that users share.

        Raises:
            MemoryStoreError: If they cannot be deleted.
        """

    def find_traces(self, fragments: Collection[str]) -> TraceCount | None:  # noqa: ARG002
        """Search the stored bytes for texts that were deleted; None if that is not possible.

        Raises:
            MemoryStoreError: If they cannot be read.
        """
        return None

    def save(self) -> None:  # noqa: B027 - most updates are durable at once
        """Write what `update` has buffered."""

    def close(self) -> None:  # noqa: B027 - a memory may hold nothing open
        """Close open resources; the next use opens them again."""

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.save()
        finally:
            self.close()
