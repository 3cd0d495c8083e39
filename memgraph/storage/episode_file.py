"""The file `episodes.jsonl`: one episode per line, readable and editable by hand.

An append writes to the end of the file. If the process is killed meanwhile, the last line is torn: readers ignore it,
and the next append replaces it. A line that is not an episode is kept, skipped, and reported once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memgraph.models import Episode
from memgraph.policy import Policy
from memgraph.storage.atomic_file import append, file_version, read, remove, replace, sync
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

_ID = re.compile(rb'"id"\s*+:\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+")')
"""Matches at least once in the line of each episode."""
_SIZE = 2
"""Position of the size in what `file_version` returns."""

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


@dataclass(frozen=True, slots=True)
class FileIds:
    """The ids in the file after an append, so that the next one need not read it if nothing else wrote to it."""

    stat: tuple[int, ...]
    """As in `FileVersion`. The file ends with a complete line."""
    quoted: frozenset[bytes]
    """All that may be ids, as the file has them."""
    count: int
    """How often they occur."""


def load_episodes(path: Path, known: EpisodeSnapshot[FileVersion] | None = None) -> EpisodeSnapshot[FileVersion]:
    """Read the file, or only what was appended since *known* was read; *known* itself if it did not change."""
    stat = file_version(path)
    if known and known.version.stat == stat:
        return known
    if not stat:
        return EpisodeSnapshot(FileVersion(stat), ())
    data = read(path) or b""
    reported = known.version.unreadable if known else 0
    if known is None or _digest(data[: known.version.position]) != known.version.digest:
        known = EpisodeSnapshot(FileVersion(()), ())
    *lines, last = data[known.version.position :].split(b"\n")
    position = len(data) - len(last)
    parsed = [decode_episode(line) for line in lines if line.strip()]
    unreadable = known.version.unreadable + parsed.count(None)
    if unreadable > reported:
        logger.warning("%s: lines that are not episodes, which are kept but not used: %d", path, unreadable)
    unfinished = decode_episode(last) if last else None
    version = FileVersion(stat, position, b"" if unfinished else _digest(data[:position]), unreadable)
    return EpisodeSnapshot(version, merge_episodes(known.episodes, filter(None, [*parsed, unfinished])))


def append_episodes(
    path: Path,
    episodes: Sequence[Episode],
    policy: Policy,
    *,
    load: Callable[[], tuple[Episode, ...]],
    durable: bool = True,
    known: FileIds | None = None,
) -> FileIds | None:
    """Append those of *episodes* whose ids are not in the file, and evict the oldest. Hold the lock.

    Args:
        path: The file; it need not exist.
        episodes: Episodes in any order.
        policy: Its limits on episodes.
        load: Returns the episodes of the file. Called only if one may have to be evicted.
        durable: Whether the file survives a power cut, with what was appended before.
        known: What the last append returned.

    Returns:
        The ids in the file now; None if it was rewritten.
    """
    given = [storable(episode) for episode in merge_episodes((), episodes)]
    if known and _may_append(path, given, policy, known):
        stat = append(path, _encode_lines(given), end=known.stat[_SIZE], durable=durable)
        return _ids_after(stat, known.quoted, known.count, given)
    stored = read(path) or b""
    data = _without_torn_line(stored)
    quoted_ids = _ID.findall(data)
    known_ids = _known_ids(data, (episode.id for episode in given), quoted_ids)
    new = [episode for episode in given if episode.id not in known_ids]
    lines = _encode_lines(new)
    if len(quoted_ids) + len(new) > policy.max_episodes or policy.episode_days:
        kept = _kept_ids(merge_episodes(load(), new), policy)
        if kept is not None:
            replace(path, _lines_of(data + lines, lambda episode: episode.id in kept))
            return None
    if new:
        end = min(len(data), len(stored))
        stat = append(path, data[end:] + lines, end=end, durable=durable)
        return _ids_after(stat, quoted_ids, len(quoted_ids), new)
    if durable:
        sync(path)
    return None


def _may_append(path: Path, given: Sequence[Episode], policy: Policy, known: FileIds) -> bool:
    """Return whether the file is as *known*, none of *given* may be in it, and none has to be evicted."""
    has_room = known.count + len(given) <= policy.max_episodes and not policy.episode_days
    is_new = known.quoted.isdisjoint(_quote(episode.id) for episode in given)
    return has_room and is_new and file_version(path) == known.stat


def _ids_after(stat: tuple[int, ...], quoted: Iterable[bytes], count: int, new: Sequence[Episode]) -> FileIds:
    return FileIds(stat, frozenset(quoted).union(_quote(episode.id) for episode in new), count + len(new))


def _encode_lines(episodes: Iterable[Episode]) -> bytes:
    return "".join(f"{encode_episode(episode)}\n" for episode in episodes).encode()


def _kept_ids(episodes: Sequence[Episode], policy: Policy) -> frozenset[str] | None:
    """Return the ids that remain after an eviction; None if none is needed."""
    kept = within_limits(episodes, policy, datetime.now(UTC))
    return frozenset(episode.id for episode in kept) if len(kept) < len(episodes) else None


def remove_episodes(path: Path, ids: Collection[str]) -> int:
    """Remove the episodes with these ids, and return how many there were. Hold the lock."""
    data = _without_torn_line(read(path) or b"")
    found = _known_ids(data, ids, _ID.findall(data))
    if found:
        replace(path, _lines_of(data, lambda episode: episode.id not in found))
    return len(found)


def delete_episodes(path: Path) -> None:
    """Remove the file. Hold the lock."""
    remove(path)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _without_torn_line(data: bytes) -> bytes:
    """Return *data* ending with a complete line: without a torn last line, or with the missing line break after it."""
    end = data.rfind(b"\n") + 1
    return data if end == len(data) else data + b"\n" if decode_episode(data[end:]) else data[:end]


def _known_ids(data: bytes, names: Iterable[str], quoted_ids: Iterable[bytes]) -> set[str]:
    """Return those of *names* that are ids of episodes in *data*. Only lines that may be such an episode are parsed.

    Args:
        data: The file.
        names: Ids to look for.
        quoted_ids: All that may be ids in *data*, as it has them.
    """
    seen = set(quoted_ids)
    return {name for name in names if (quoted := _quote(name)) in seen and _is_id(data, quoted, name)}


def _is_id(data: bytes, quoted: bytes, name: str) -> bool:
    """Return whether *name* is the id of an episode, not only a part of its text or of another key."""
    at = data.find(quoted)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        episode = decode_episode(data[start:end])
        if episode and episode.id == name:
            return True
        at = data.find(quoted, end)
    return False


def _quote(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode("utf-8", "replace")


def _lines_of(data: bytes, is_kept: Callable[[Episode], bool]) -> bytes:
    """Return the lines of *data* without those of episodes that are not kept."""
    return b"".join(line for line in data.splitlines(keepends=True) if _is_kept(line, is_kept))


def _is_kept(line: bytes, is_kept: Callable[[Episode], bool]) -> bool:
    episode = decode_episode(line)
    return episode is None or is_kept(episode)
