"""The file `history.jsonl`: one revision per line, the newest last.

A revision is appended before the document is replaced. If the process is killed in between, the file has a revision
that the document has not reached: readers ignore it, and the next save replaces it. So the document decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from memgraph.models import Revision
from memgraph.policy import Policy
from memgraph.storage.atomic_file import append, read, remove, replace, wrap_os_errors
from memgraph.storage.revision_json import decode_revision, encode_revision
from memgraph.storage.revisions import EVICTED_AT_ONCE, Horizon, horizon

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = re.compile(rb'\{"revision":(\d{1,18})(?:,"at":"([^"\\]{0,40})")?')
_BLOCK = 8 * 1024
_MAX_BLOCK = 16 * 1024 * 1024


class _Line(NamedTuple):
    end: int
    """The position after its line break."""
    data: bytes

    @property
    def head(self) -> tuple[int, str]:
        """Its revision and time; of a line that was edited by hand, 0 and an unknown time."""
        match = _HEAD.match(self.data)
        if match:
            return int(match[1]), (match[2] or b"").decode("utf-8", "replace")
        revision = decode_revision(self.data)
        return (revision.revision, revision.at) if revision else (0, "")


def append_revision(path: Path, revision: Revision, policy: Policy) -> None:
    """Append *revision*, in place of those that the document never reached, and evict the oldest. Hold the lock.

    The folder is not synced: replacing the document does that.
    """
    if not policy.max_revisions:
        remove(path)
        return
    end = _evict(path, _end_below(path, revision.revision), policy, revision.revision)
    append(path, f"{encode_revision(revision)}\n".encode(), end=end, sync_folder=False)


def discard_from(path: Path, revision: int) -> None:
    """Remove *revision* and later ones, since the document was not replaced. Hold the lock."""
    if path.exists():
        append(path, b"", end=_end_below(path, revision), durable=False)


def read_revisions(path: Path, newest: int, *, limit: int | None, before: int | None) -> list[Revision]:
    """Return the revisions up to *newest*, that of the document, the newest first.

    Args:
        path: The file; it need not exist.
        newest: The revision of the document; later ones in the file do not count.
        limit: Maximum number of revisions.
        before: Return only earlier ones than this.
    """
    found: list[Revision] = []
    below = newest + 1 if before is None else min(before, newest + 1)
    with closing(_lines_backwards(path)) as lines:
        for line in lines:
            if limit is not None and len(found) >= limit:
                break
            if line.head[0] < below and (revision := decode_revision(line.data)):
                found.append(revision)
    return found


def delete_history(path: Path) -> None:
    """Remove the file. Hold the lock."""
    remove(path)


def _end_below(path: Path, revision: int) -> int:
    """Return where the revisions below *revision* end."""
    with closing(_lines_backwards(path)) as lines:
        return next((line.end for line in lines if line.head[0] < revision), 0)


def _evict(path: Path, end: int, policy: Policy, newest: int) -> int:
    """Remove the revisions that *policy* excludes, if the first one is, and return where the others end."""
    if not end:
        return 0
    with wrap_os_errors(path), path.open("rb") as file:
        first = _Line(0, file.readline())
    if not horizon(policy, newest).excludes(*first.head):
        return end
    allowed = horizon(policy, newest, evicted_at_once=EVICTED_AT_ONCE)
    lines = (read(path) or b"")[:end].splitlines(keepends=True)
    kept = b"".join(line for line in lines if not _is_excluded(line, allowed))
    replace(path, kept)
    return len(kept)


def _is_excluded(line: bytes, allowed: Horizon) -> bool:
    return allowed.excludes(*_Line(0, line).head)


def _lines_backwards(path: Path) -> Generator[_Line]:
    """Yield the complete lines, the last first; a torn last line is left out."""
    with wrap_os_errors(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return
        with file:
            position = end = file.seek(0, os.SEEK_END)
            rest, size, is_torn = b"", _BLOCK, True
            while position:
                step = min(size, position)
                position, size = position - step, min(2 * size, _MAX_BLOCK)
                file.seek(position)
                rest, *lines = (file.read(step) + rest).split(b"\n")
                for data in reversed(lines):
                    if not is_torn:
                        yield _Line(end, data)
                    end -= len(data) + (0 if is_torn else 1)
                    is_torn = False
            if not is_torn:
                yield _Line(end, rest)
