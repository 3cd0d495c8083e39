"""Backend: where `LogStorage` keeps documents and rows. It knows neither memories nor their rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memgraph.models import Episode, Revision, Scope
from memgraph.policy import Policy
from memgraph.storage.traces import TraceCount


class Stored(NamedTuple):
    """The document of one scope. As a whole it is the token that `commit` compares: an edit changes only bytes."""

    data: bytes | None = None
    """Its JSON; None if there is none."""
    revision: int | None = None
    """Its revision; None is the one in its JSON. Of a removed document, the one that it had."""


NOTHING = Stored(None, 0)


class Rows(NamedTuple):
    """Episodes as they are stored: one JSON object each, in the order in which they were appended."""

    position: object
    """Where the next call continues. It equals that of the last call if nothing changed since."""
    lines: Iterable[bytes | str]
    is_all: bool
    """Whether these are all of them, not only those after the position that was given."""
    place: str = ""
    """Their place, for messages about lines that cannot be read."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit writes: all of it, or nothing."""

    policy: Policy
    """Its limits of episodes and of the history are enforced by the same commit."""
    episodes: Sequence[Episode] = ()
    """Appended unless their ids are stored."""
    document: bytes | None = None
    """Replaces the stored one; None only appends."""
    entry: Revision | None = None
    """The revision that *document* is, and that the history gets."""
    is_deletion: bool = False
    """Whether everything else of the scope is removed, the history but for *entry* included."""


class Backend(ABC):
    """Stores a document, episodes and a history for each scope. All methods may be called from several threads.

    A commit with a document is numbered by its revision. A revision in the history that the document has not reached is
    what a killed process left: `LogStorage` never reads it, and the next commit replaces it.

    Args:
        name: See `MemoryStorage.name`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def place(self, scope: Scope) -> str:
        """Name the document of *scope*, in errors and caches."""
        return f"{self.name}, memory of {scope}"

    @abstractmethod
    def read(self, scope: Scope) -> Stored:
        """Return the document of exactly *scope*."""

    @abstractmethod
    def commit(self, scope: Scope, expected: Stored | None, change: Change, *, durable: bool = True) -> bool:
        """Write *change*, unless the document is no longer *expected*; None expects nothing.

        Returns:
            Whether it was written.
        """

    @abstractmethod
    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        """Remove the episodes with these ids, and return how many there were."""

    @abstractmethod
    def rows(self, scope: Scope, after: object) -> Rows:
        """Return the episodes after a position; all of them after None, or if any was removed since."""

    @abstractmethod
    def revisions(self, scope: Scope, below: int, limit: int | None) -> Iterable[bytes | str]:
        """Return the JSON of the revisions below a number, the newest first, at least *limit* if there are as many."""

    @abstractmethod
    def scopes(self) -> Iterator[tuple[Scope, bytes | None]]:
        """Yield each scope that has a document or episodes.

        With it comes the document, if it may be a tombstone and there are no episodes.
        """

    @abstractmethod
    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        """Search the stored bytes for texts of a user whose memories were deleted."""

    def vector_path(self, scope: Scope) -> Path | None:  # noqa: ARG002 - none is kept
        """Return the file of the vectors of *scope*; None, the default, keeps them in RAM."""
        return None

    def check_writable(self, scope: Scope) -> None:  # noqa: B027 - the default knows nothing
        """See `MemoryStorage.check_writable`."""

    def close(self) -> None:  # noqa: B027 - the default has opened nothing
        """Close connections and files."""
