"""The file `episodes.jsonl`: one episode per line, readable and editable by hand.

An append writes to the end of the file. If the process is killed meanwhile, the last line is torn: readers ignore it,
and the next append replaces it. A line that is not an episode is kept, skipped, and reported once.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memgraph.models import Episode
from memgraph.policy import Policy
from memgraph.storage.atomic_file import append, file_version, read, remove, replace
from memgraph.storage.episodes import (
    EpisodeSnapshot,
    decode_episode,
    encode_episode,
    merge_episodes,
    storable,
    within_limits,
)

if TYPE_CHECKING:
    from pathlib import Path

EVICTED_AT_ONCE = 20
"""Since an eviction rewrites the file, it evicts one of so many of the allowed episodes, to be rare."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What was read of the file."""

    stat: tuple[int, ...]
    """Identity, size and time; empty if there is no file."""
    position: int = 0
    """The end of the last complete line."""
    digest: bytes = b""
    """Of the bytes up to there. Empty if what follows is an episode, too, so that it is read again."""
    unreadable: int = 0


def load_episodes(path: Path, known: EpisodeSnapshot[FileVersion] | None = None) -> EpisodeSnapshot[FileVersion]:
    """Read the file, or only what was appended since *known* was read; *known* itself if it did not change."""
    stat = file_version(path)
    if known and known.version.stat == stat:
        return known
    data = (read(path) if stat else None) or b""
    reported = known.version.unreadable if known else 0
    if known is None or _digest(data[: known.version.position]) != known.version.digest:
        known = EpisodeSnapshot(FileVersion(()), ())
    *lines, last = data[known.version.position :].split(b"\n")
    position = len(data) - len(last)
    parsed = [decode_episode(line) for line in lines if line.strip()]
    unreadable = known.version.unreadable + parsed.count(None)
    if unreadable > reported:
        logger.warning("%s: lines that are not episodes, which are kept but not used: %d", path, unreadable)
    unfinished = decode_episode(last)
    version = FileVersion(stat, position, b"" if unfinished else _digest(data[:position]), unreadable)
    return EpisodeSnapshot(version, merge_episodes(known.episodes, filter(None, [*parsed, unfinished])))


def append_episodes(
    path: Path, episodes: Sequence[Episode], policy: Policy, *, known: EpisodeSnapshot[FileVersion] | None = None
) -> None:
    """Append those of *episodes* whose ids are not in the file, and evict the oldest. Hold the lock.

    Args:
        path: The file; it need not exist.
        episodes: Episodes in any order.
        policy: Its limits on episodes.
        known: What was read of the file before, if anything. Used only if an episode may have to be evicted.
    """
    stored = read(path) or b""
    data = _without_torn_line(stored)
    new = [storable(episode) for episode in merge_episodes((), episodes) if not _has_id(data, episode.id)]
    lines = "".join(f"{encode_episode(episode)}\n" for episode in new).encode()
    if data.count(b"\n") + len(new) > policy.max_episodes or policy.episode_days:
        kept = _kept_ids(merge_episodes(load_episodes(path, known).episodes, new), policy)
        if kept is not None:
            replace(path, _lines_of(data + lines, lambda episode: episode.id in kept))
            return
    if new:
        end = min(len(data), len(stored))
        append(path, data[end:] + lines, end=end)


def _kept_ids(episodes: Sequence[Episode], policy: Policy) -> frozenset[str] | None:
    """Return the ids that remain after an eviction; None if none is needed."""
    allowed = within_limits(episodes, policy, datetime.now(UTC))
    if len(allowed) == len(episodes):
        return None
    room = policy.max_episodes - policy.max_episodes // EVICTED_AT_ONCE
    return frozenset(episode.id for episode in allowed[max(0, len(allowed) - room) :])


def remove_episodes(path: Path, ids: Collection[str]) -> int:
    """Remove the episodes with these ids, and return how many there were. Hold the lock."""
    data = _without_torn_line(read(path) or b"")
    found = {name for name in ids if _has_id(data, name)}
    if found:
        replace(path, _lines_of(data, lambda episode: episode.id not in found))
    return len(found)


def delete_episodes(path: Path) -> None:
    """Remove the file. Hold the lock."""
    remove(path)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data).digest()


def _without_torn_line(data: bytes) -> bytes:
    """Return *data* ending with a complete line: without a torn last line, or with the missing line break after it."""
    end = data.rfind(b"\n") + 1
    return data if end == len(data) else data + b"\n" if decode_episode(data[end:]) else data[:end]


def _has_id(data: bytes, name: str) -> bool:
    """Return whether an episode of *data* has the id *name*. Only lines that contain it are parsed."""
    quoted = json.dumps(name, ensure_ascii=False).encode("utf-8", "replace")
    at = data.find(quoted)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        episode = decode_episode(data[start:end])
        if episode and episode.id == name:
            return True
        at = data.find(quoted, end)
    return False


def _lines_of(data: bytes, is_kept: Callable[[Episode], bool]) -> bytes:
    """Return the lines of *data* without those of episodes that are not kept."""
    return b"".join(line for line in data.splitlines(keepends=True) if _is_kept(line, is_kept))


def _is_kept(line: bytes, is_kept: Callable[[Episode], bool]) -> bool:
    episode = decode_episode(line)
    return episode is None or is_kept(episode)
