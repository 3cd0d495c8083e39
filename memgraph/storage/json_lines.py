"""The files `episodes.jsonl` and `history.jsonl`: one JSON object per line, readable and editable by hand.

An append writes to the end of a file. If the process is killed meanwhile, the last line is torn: readers ignore it, and
the next append replaces it. A line that cannot be read is kept and skipped.

A revision is appended before the document is replaced. If the process is killed in between, the file has a revision
that the document has not reached: the next save replaces it. So the document decides.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memgraph.models import Episode, Revision
from memgraph.policy import Policy
from memgraph.storage.atomic_file import append, file_version, read_file, remove_file, replace, sync
from memgraph.storage.document import decode_episode, encode_episode, merge_episodes, within_limits
from memgraph.storage.log import Rows
from memgraph.storage.revisions import EVICTED_AT_ONCE, decode_revision, encode_revision, horizon

if TYPE_CHECKING:
    from pathlib import Path

# -- episodes ---------------------------------------------------------------------------------------


class _Position(NamedTuple):
    """What was read of a file."""

    stat: tuple[int, ...]
    """Identity, size and time; empty if there is no file."""
    end: int = 0
    """The end of the last complete line."""
    digest: bytes = b""
    """Of the bytes up to there. Empty if what follows is an episode, too, so that it is read again."""


def read_episodes(path: Path, after: object) -> Rows:
    """Read the file, or only what was appended after an earlier position."""
    stat = file_version(path)
    if isinstance(after, _Position) and after.stat == stat:
        return Rows(after, (), is_all=False)
    data = (read_file(path) or b"") if stat else b""
    start = after.end if isinstance(after, _Position) and _digest(data[: after.end]) == after.digest else 0
    *lines, last = data[start:].split(b"\n")
    end = len(data) - len(last)
    is_episode = bool(last) and decode_episode(last) is not None
    position = _Position(stat, end, b"" if is_episode else _digest(data[:end]))
    complete = [line for line in (*lines, *([last] if is_episode else ())) if line.strip()]
    return Rows(position, complete, is_all=not start, place=str(path))


def append_episodes(path: Path, episodes: Sequence[Episode], policy: Policy, *, durable: bool) -> None:
    """Append those of *episodes* whose ids are not in the file, and evict the oldest. Hold the lock."""
    stored = read_file(path) or b""
    data = _without_torn_line(stored)
    new = [episode for episode in episodes if not _has_id(data, episode.id)]
    lines = "".join(f"{encode_episode(episode)}\n" for episode in new).encode()
    if data.count(b"\n") + len(new) > policy.max_episodes or policy.episode_days:
        known = merge_episodes((), filter(None, map(decode_episode, data.splitlines())))
        merged = merge_episodes(known, new)
        kept = {episode.id for episode in within_limits(merged, policy, datetime.now(UTC))}
        if len(kept) < len(merged):
            replace(path, _lines_of(data + lines, lambda episode: episode.id in kept))
            return
    if new:
        end = min(len(data), len(stored))
        append(path, data[end:] + lines, end=end, durable=durable)
    elif durable:
        sync(path)


def remove_episodes(path: Path, ids: Collection[str]) -> int:
    """Remove the episodes with these ids, and return how many there were. Hold the lock."""
    data = _without_torn_line(read_file(path) or b"")
    found = {name for name in ids if _has_id(data, name)}
    if found:
        replace(path, _lines_of(data, lambda episode: episode.id not in found))
    return len(found)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _without_torn_line(data: bytes) -> bytes:
    """Return *data* ending with a complete line: without a torn last line, or with the missing line break after it."""
    end = data.rfind(b"\n") + 1
    return data if end == len(data) else data + b"\n" if decode_episode(data[end:]) else data[:end]


def _has_id(data: bytes, name: str) -> bool:
    """Return whether *name* is the id of an episode, not only in its text. Only lines that have it are parsed."""
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
    decoded = ((line, decode_episode(line)) for line in data.splitlines(keepends=True))
    return b"".join(line for line, episode in decoded if episode is None or is_kept(episode))


# -- revisions --------------------------------------------------------------------------------------

_HEAD = re.compile(rb'\{"revision":([1-9]\d{0,8}),"at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"[,}]')
"""How `encode_revision` begins a line."""


def append_revision(path: Path, revision: Revision, policy: Policy) -> None:
    """Append *revision*, in place of those that the document never reached, and evict the oldest. Hold the lock.

    The folder is not synced: replacing the document does that.
    """
    if not policy.max_revisions:
        remove_file(path)
        return
    earlier, number = _lines_below(path, revision.revision), revision.revision
    line = f"{encode_revision(revision)}\n".encode()
    first = earlier[: earlier.find(b"\n") + 1]
    if first and horizon(policy, number).excludes(*_written_head(first)):
        allowed = horizon(policy, number, evicted_at_once=EVICTED_AT_ONCE)
        kept = (each for each in earlier.splitlines(keepends=True) if not allowed.excludes(*_head(each)))
        replace(path, b"".join(kept) + line)
    else:
        append(path, line, end=len(earlier), sync_folder=False)


def discard_from(path: Path, revision: int) -> None:
    """Remove *revision* and later ones, since the document was not replaced. Hold the lock."""
    if path.exists():
        append(path, b"", end=len(_lines_below(path, revision)), durable=False)


def read_revisions(path: Path, below: int) -> Iterator[bytes]:
    """Yield the lines of the revisions below a number, the last first."""
    return (line for _, line in _lines_backwards(read_file(path) or b"") if _head(line)[0] < below)


def _lines_below(path: Path, revision: int) -> bytes:
    """Return the lines up to the last one of a revision below *revision*."""
    data = read_file(path) or b""
    return data[: next((end for end, line in _lines_backwards(data) if _head(line)[0] < revision), 0)]


def _lines_backwards(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines, the last first, and where each ends; a torn last line is left out."""
    end = data.rfind(b"\n") + 1
    while end:
        start = data.rfind(b"\n", 0, end - 1) + 1
        yield end, data[start:end]
        end = start


def _written_head(line: bytes) -> tuple[int, str]:
    """Return the revision and the time of a line, which is parsed only if it does not begin as it was written.

    The first line may be the import of a large memory, and each save asks for its age.
    """
    head = _HEAD.match(line)
    return (int(head[1]), head[2].decode()) if head else _head(line)


def _head(line: bytes) -> tuple[int, str]:
    """Return the revision and the time of a line; of one that was edited by hand, perhaps 0 and an unknown time."""
    revision = decode_revision(line)
    return (revision.revision, revision.at) if revision else (0, "")
