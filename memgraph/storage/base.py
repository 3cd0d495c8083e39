"""MemoryStorage, the contract of every storage, and the turns of writers that lost several races."""

from __future__ import annotations

import logging
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Self

from memgraph._concurrency import Closing
from memgraph._validation import preview_value
from memgraph.errors import ForgottenError, IdentityError, RevisionConflictError, StorageError
from memgraph.models import Episode, MemoryDocument, Revision, Scope
from memgraph.storage.document import tombstone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from memgraph.policy import Policy
    from memgraph.retrieval.vector_store import VectorStore
    from memgraph.storage.traces import TraceCount


TURN_AFTER = 3
"""Lost races after which a writer waits for its turn."""
TURN_SECONDS = 5.0
"""Maximum seconds that a writer waits for the turn of another one to end: its run may have failed."""
JITTER_SECONDS = 0.01
_MAX_JITTER_FACTOR = 10


class Turns:
    """Which writer of this process has its turn to change each memory; others that lost several races wait for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # its lock is reentrant
        self._writers: dict[Scope, Hashable] = {}

    def pause(self, scope: Scope, writer: Hashable, conflicts: int) -> None:
        """Wait before the next attempt of *writer*, after a few lost races for its turn."""
        # writers that collided once, also those of other processes, would collide again at the same pace
        time.sleep(random.uniform(0, JITTER_SECONDS) * min(conflicts, _MAX_JITTER_FACTOR))  # noqa: S311 - not for secrets
        if conflicts >= TURN_AFTER:
            self.take(scope, writer)

    def take(self, scope: Scope, writer: Hashable) -> None:
        """Return when it is the turn of *writer*. One that has the turn keeps it."""
        with self._changed:
            self.wait(scope, writer)
            self._writers[scope] = writer

    def wait(self, scope: Scope, writer: Hashable) -> None:
        """Return when no other writer than *writer* has its turn: one that only begins would make it lose again."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._writers.get(scope, writer) == writer, TURN_SECONDS):
                del self._writers[scope]

    def end(self, scope: Scope, writer: Hashable) -> None:
        """Let another writer go, if *writer* has the turn."""
        with self._changed:
            if self._writers.get(scope) == writer:
                del self._writers[scope]
                self._changed.notify_all()


# -- the contract -----------------------------------------------------------------------------------

logger = logging.getLogger(__name__)


def _checking_scope(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return *method* of a storage, which refuses a user id in the place of a scope."""

    @wraps(method)
    def call(self: MemoryStorage, scope: Scope, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - of the method
        if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            raise IdentityError(f"scope is {preview_value(scope)}, but must be a Scope, such as Scope('ada')")
        return method(self, scope, *args, **options)

    return call


class MemoryStorage(Closing, ABC):
    """Stores one memory document per scope.

    A subclass implements `load` and `save`; everything else has a default, which keeps no episodes and no history.
    `load_with_fallback` and `next_revision` hold the rules of `load` and `save`, so that a storage only has to be
    atomic. All methods may be called from several threads at once. A class given by its dotted path is called with
    `storage_path`.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in vars(cls).keys() & {"load", "save", "delete", "episodes", "revisions"}:
            setattr(cls, name, _checking_scope(vars(cls)[name]))

    _has_reported_episodes = False
    _has_reported_history = False

    @cached_property
    def name(self) -> str:
        """Identifies this storage in logs and in the state of a run. Never contains a secret."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    @cached_property
    def turns(self) -> Turns:
        """The turns of writers in this process that lost several races."""
        return Turns()

    @property
    def needs_running_graph(self) -> bool:
        """Whether it can be used only while a graph runs, so not by updates in the background."""
        return False

    def bind(self) -> MemoryStorage:
        """Return the storage for use outside of runs: itself, unless it `needs_running_graph`.

        Raises:
            StorageError: If it needs one, and the caller is neither a graph nor a part of LangGraph Server.
        """
        return self

    def location(self, scope: Scope) -> str:  # noqa: ARG002 - a storage with one file per scope returns its path
        """Describe where the memory of *scope* is stored, for display."""
        return self.name

    @classmethod
    def from_url(cls, location: str) -> Self:
        """Open the storage at *location*, the part of a URL after the scheme and its colon.

        Raises:
            ConfigError: If *location* is invalid.
        """
        return cls(location)  # pyright: ignore[reportCallIssue] - the default for storages with one argument

    @abstractmethod
    def load(self, scope: Scope) -> MemoryDocument:
        """Return the memory of *scope*; a missing one is empty, at revision 0.

        An agent without a document reads the one that all agents of its user share (see `load_with_fallback`).

        Raises:
            DamagedMemoryError: If the stored document cannot be read.
            StorageError: If the storage cannot be reached.
        """

    @abstractmethod
    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        """Store *memory* as the next revision and return it as stored, if it is based on the latest revision.

        A storage that keeps a history appends its revision in the same step: `next_entry` of `storage.revisions` makes
        it, within the limits that `current_recording` has.

        Raises:
            RevisionConflictError: If another writer saved since *memory* was loaded.
            ForgottenError: If the memory was deleted since *memory* was loaded.
            DamagedMemoryError: If the stored document cannot be read; it is not overwritten.
            StorageError: If nothing could be written; the stored document is intact.
        """

    def reload(self, scope: Scope) -> MemoryDocument:
        """Load without any cache that a storage may have."""
        return self.load(scope)

    def delete(self, scope: Scope) -> MemoryDocument:
        """Delete the memory of *scope*, even if it does not exist, and return the tombstone that is stored instead.

        A memory that was loaded before, even an empty one, can no longer be saved.

        Raises:
            DamagedMemoryError: If the stored document cannot be read; it is left as it is.
            StorageError: If nothing could be written.
        """
        while True:
            loaded = self.reload(scope)
            deleted = tombstone(loaded)
            try:
                return self.save(scope, deleted.model_copy(update={"revision": loaded.revision}))
            except (RevisionConflictError, ForgottenError):
                continue  # another writer saved in between: delete that, too

    def check_writable(self, scope: Scope) -> None:
        """Raise an error if it is known that the memory of *scope* cannot be saved; stored data does not change.

        An update calls it before it pays for a call of the model. The default knows nothing.

        Raises:
            StorageError: If `save` would fail now.
        """

    def append_episodes(
        self,
        scope: Scope,  # noqa: ARG002 - for storages that keep episodes
        episodes: Sequence[Episode],
        policy: Policy,  # noqa: ARG002
        *,
        revision: int | None = None,  # noqa: ARG002
        durable: bool = True,  # noqa: ARG002
    ) -> None:
        """Store those of *episodes* whose ids are not stored yet, and evict what the limits of *policy* exclude.

        All of them are stored, or none. A custom storage keeps no episodes unless it has this method, `episodes` and
        `remove_episodes`; that is logged once.

        Args:
            scope: Whose memory they belong to.
            episodes: Episodes in any order; without any, nothing is done, nor evicted.
            policy: Its `max_episodes` and `episode_days` are enforced in the same step.
            revision: The revision of the memory that the caller loaded; None stores the episodes in any case.
            durable: Whether the episodes, those that were stored before included, survive a power cut. If not, they
                need only survive the process, which a storage may use to be faster; the caller appends them again.

        Raises:
            ForgottenError: If the memory was deleted after *revision*; nothing is stored.
            StorageError: If nothing could be written.
        """
        if episodes and not self._has_reported_episodes:
            self._has_reported_episodes = True
            logger.warning("%s keeps no episodes: only facts and summaries are stored", self.name)

    def save_with_episodes(
        self, scope: Scope, memory: MemoryDocument, episodes: Sequence[Episode], policy: Policy
    ) -> MemoryDocument:
        """Append *episodes*, then save *memory*, and return it as stored; a storage may do both in one step.

        If the process dies in between, the episodes are stored, and the run that is repeated stores them once.

        Raises:
            ForgottenError: If the memory was deleted since it was loaded; nothing is stored.
            RevisionConflictError: If another writer saved since *memory* was loaded.
            StorageError: If nothing could be written.
        """
        self.append_episodes(scope, episodes, policy, revision=memory.revision)
        return self.save(scope, memory)

    def episodes(self, scope: Scope) -> Sequence[Episode]:  # noqa: ARG002 - none is kept
        """Return the episodes of *scope*, the oldest first; the same object as before if none changed.

        An agent also sees those that all agents of its user share, unless its memory was ever deleted.

        Raises:
            StorageError: If the storage cannot be reached.
        """
        return ()

    def remove_episodes(self, scope: Scope, ids: Collection[str]) -> int:  # noqa: ARG002 - none is kept
        """Remove the episodes of exactly *scope* with these ids, and return how many were stored.

        All of them are removed by `delete`, and by `save` if the memory that it stores is a tombstone.

        Raises:
            StorageError: If nothing could be written.
        """
        return 0

    def revisions(self, scope: Scope, *, limit: int | None = None, before: int | None = None) -> Sequence[Revision]:  # noqa: ARG002
        """Return the history of exactly *scope*, the newest revision first.

        It agrees with the document: each revision is the one that the document had. It begins with the first save by a
        version that keeps a history, and after a deletion. `delete` removes it. A custom storage keeps none unless it
        has this method; that is logged once.

        Args:
            scope: Whose memory.
            limit: Maximum number of revisions; None returns all.
            before: Return only earlier revisions than this.

        Raises:
            StorageError: If the storage cannot be reached.
        """
        if not self._has_reported_history:
            self._has_reported_history = True
            logger.warning("%s keeps no history: changes cannot be undone", self.name)
        return ()

    def vectors(self, scope: Scope) -> VectorStore | None:  # noqa: ARG002 - none is kept
        """Return what keeps the vectors of the texts of *scope*, so that a restart embeds nothing again.

        None, the default, keeps them in RAM only. They are deleted with the memory.
        """
        return None

    def scopes(self) -> Iterator[Scope]:
        """Yield every scope that has a document which is not deleted, or episodes.

        Raises:
            StorageError: If this storage cannot list them, which is the default.
        """
        raise StorageError(f"{self.name} cannot list its memories")

    def scopes_of(self, user_id: str) -> list[Scope]:
        """Return the scopes of a user of which anything is stored, also what is only left over; see `scopes`."""
        return [scope for scope in self.scopes() if scope.user_id == user_id]

    def find_traces(self, user_id: str, fragments: Collection[str]) -> TraceCount | None:  # noqa: ARG002
        """Search the stored bytes for texts of a user whose memories were deleted; None if that is not possible.

        Raises:
            StorageError: If they cannot be read.
        """
        return None

    def close(self) -> None:
        """Close connections and files. A closed storage must not be used again."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
