"""InMemoryStorage: memories in RAM, for tests, experiments and runs that must leave nothing on disk."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Self, cast

from memgraph.errors import ConfigError
from memgraph.models import Episode
from memgraph.storage.backend import NOTHING, Backend, Rows, Stored
from memgraph.storage.document import encode_episode, merge_episodes, within_limits
from memgraph.storage.log import LogStorage
from memgraph.storage.revisions import encode_revision, horizon
from memgraph.storage.traces import TraceCount, find_in_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from memgraph.models import Scope
    from memgraph.policy import Policy
    from memgraph.storage.backend import Change


class InMemoryStorage(LogStorage):
    """One document per user in this process, lost when it ends. Stored as bytes, like a file, to behave like one."""

    def __init__(self) -> None:
        super().__init__(MemoryBackend())

    @classmethod
    def from_url(cls, location: str) -> Self:
        if location:
            raise ConfigError("memory: takes no name; each call opens a new, empty storage")
        return cls()


@dataclass(slots=True)
class _Log:
    document: Stored = NOTHING
    episodes: dict[str, Episode] = field(default_factory=dict[str, Episode])
    """By id, in the order in which they were appended."""
    removals: int = 0
    """How often any were removed."""
    history: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    """The time and the JSON of each revision, the oldest first."""

    def keep(self, episodes: dict[str, Episode]) -> int:
        """Replace the episodes by fewer, and return how many were removed."""
        removed = len(self.episodes) - len(episodes)
        if removed:
            self.episodes, self.removals = episodes, self.removals + 1
        return removed


class MemoryBackend(Backend):
    """A dictionary."""

    def __init__(self) -> None:
        super().__init__(f"memory:{secrets.token_hex(4)}")
        self._lock = threading.Lock()
        self._logs: dict[Scope, _Log] = {}

    def read(self, scope: Scope) -> Stored:
        return self._log(scope).document

    def commit(self, scope: Scope, expected: Stored | None, change: Change, *, durable: bool = True) -> bool:  # noqa: ARG002 - nothing here is
        with self._lock:
            log = self._logs[scope] if scope in self._logs else _Log()
            if expected is not None and log.document != expected:
                return False
            self._logs[scope] = log
            if change.is_deletion:
                log.keep({})
                log.history = {}
            if change.episodes:
                self._append(log, change.episodes, change.policy)
            if change.document is not None:
                log.document = Stored(change.document)
            if entry := change.entry:
                log.history[entry.revision] = entry.at, encode_revision(entry)
                allowed = horizon(change.policy, entry.revision)
                while log.history and allowed.excludes(oldest := next(iter(log.history)), log.history[oldest][0]):
                    del log.history[oldest]
            return True

    def _append(self, log: _Log, episodes: Sequence[Episode], policy: Policy) -> None:
        for episode in episodes:
            log.episodes.setdefault(episode.id, episode)
        if len(log.episodes) > policy.max_episodes or policy.episode_days:
            ordered = merge_episodes((), log.episodes.values())
            allowed = {episode.id for episode in within_limits(ordered, policy, datetime.now(UTC))}
            log.keep({name: episode for name, episode in log.episodes.items() if name in allowed})

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        with self._lock:
            log = self._log(scope)
            return log.keep({name: episode for name, episode in log.episodes.items() if name not in ids})

    def rows(self, scope: Scope, after: object) -> Rows:
        with self._lock:
            log = self._log(scope)
            removals, count = cast("tuple[int, int]", after or (0, 0))
            is_all = after is None or removals != log.removals
            new = islice(log.episodes.values(), 0 if is_all else count, None)
            return Rows((log.removals, len(log.episodes)), [encode_episode(each) for each in new], is_all)

    def revisions(self, scope: Scope, below: int, limit: int | None) -> Iterable[str]:  # noqa: ARG002 - read as needed
        with self._lock:
            history = self._log(scope).history.copy()
        return (history[number][1] for number in reversed(history) if number < below)

    def scopes(self) -> Iterator[tuple[Scope, bytes | None]]:
        for scope, log in list(self._logs.items()):
            if log.episodes or log.document.data:
                yield scope, None if log.episodes else log.document.data

    def find_bytes(self, user_id: str, fragments: Collection[str]) -> TraceCount:
        found = [
            text
            for scope, log in list(self._logs.items())
            if scope.user_id == user_id
            for text in (
                (log.document.data or b"").decode(),
                *(episode.text for episode in log.episodes.values()),
                *(text for _, text in log.history.values()),
            )
        ]
        return TraceCount(len(find_in_bytes("\n".join(found).encode(), fragments)))

    def _log(self, scope: Scope) -> _Log:
        return self._logs.get(scope) or _Log()
