"""The receipt of an erasure: what was removed where, what a search found afterwards, and what is out of reach."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

_FROZEN = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

OUT_OF_REACH = (
    "the database of a LangGraph checkpointer, which has the conversations themselves",
    "conversations that wait on a LangGraph Server, in its threads and runs",
    "logs, and traces such as LangSmith's",
    "providers of chat and embedding models, to whom the texts were sent",
    "files that `memgraph export` wrote to a path of your choice, copies of files, and database dumps",
    "memgraph-backup-*.json in the working folders of imports and audits by release 0.2 and before",
    "attachable memories that only code configures, not the settings",
    "free pages, write-ahead log and replicas of a PostgreSQL server or the store of a LangGraph graph",
    "caches of other processes, until they load the memory again or end",
    "items of shared memories that were written without a user, and documents of file memories",
)
"""What no erasure removes or searches."""
KEPT = "a tombstone for each memory: user id, agent, time, and ids of threads and messages, without any of their text"


class ErasedPlace(BaseModel):
    """One place that kept something of the user, or could have."""

    model_config = _FROZEN

    name: str
    """The storage, outbox, folder of backups or attachable memory."""
    removed: Mapping[str, int] = Field(default_factory=dict[str, int])
    """How many entries of each kind were removed."""
    remaining: int | None = None
    """How many of the searched texts its bytes still have; none if it cannot be searched."""
    of_others: int = 0
    """How many of the searched texts it keeps for other users, who have the same words."""
    error: str | None = None
    """Why it was not erased or searched completely."""


class ErasureReceipt(BaseModel):
    """What was erased of a user. It has none of the erased texts."""

    model_config = _FROZEN

    user_id: str
    """Whose memories were erased."""
    erased_at: str
    """ISO 8601 in UTC."""
    places: tuple[ErasedPlace, ...]
    """Each storage, outbox, folder of backups and attachable memory, with what was removed there."""
    searched_texts: int
    """How many different texts were searched afterwards, each by a fragment of at least 12 bytes."""
    kept: str = KEPT
    """What stays, so that a running update cannot store the memory again."""
    out_of_reach: tuple[str, ...] = OUT_OF_REACH
    """What no erasure removes or searches, such as logs and checkpoints."""

    @property
    def removed(self) -> int:
        """How many entries were removed in all places."""
        return sum(sum(place.removed.values()) for place in self.places)

    @property
    def is_complete(self) -> bool:
        """Whether every place was erased, and no erased text was found."""
        return not any(place.error or place.remaining for place in self.places)
