"""ETags: which state of a memory somebody saw, so that nobody overwrites what they did not see."""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus

from memgraph.api.problems import ProblemError
from memgraph.editing import Change
from memgraph.models import Memory
from memgraph.storage.serialization import serialize

DIGEST_CHARS = 16

_TAG = re.compile(r'(W/)?"([!#-~\x80-\xff]*)"')
ANY = "*"


def etag_of(memory: Memory) -> str:
    """The strong validator of *memory*: its revision, and a hash of what it says.

    The revision alone would not do: an agent that has no memory of its own reads its user's at revision 0, and a
    storage that was emptied counts anew.
    """
    _, data = serialize(memory)
    return f'"{memory.revision}-{hashlib.sha256(data).hexdigest()[:DIGEST_CHARS]}"'


def matches_if_none_match(memory: Memory, if_none_match: str | None) -> bool:
    """Whether the caller has *memory* already, by If-None-Match."""
    return if_none_match is not None and _names(if_none_match, etag_of(memory), weakly=True)


def require_if_match(if_match: str | None, change: Change, *, needed: bool = True) -> Change:
    """Make *change* refuse a memory other than the one that If-Match names.

    Raises:
        Refused: If there is no If-Match, and one is *needed*.
    """
    if if_match is None and needed:
        raise ProblemError(
            HTTPStatus.PRECONDITION_REQUIRED,
            "PreconditionRequired",
            "this overwrites: send If-Match with the ETag of the memory that you saw, or * for whatever there is",
        )

    def checked(memory: Memory) -> Memory:
        if if_match is not None and not _names(if_match, etag_of(memory)):
            raise ProblemError(
                HTTPStatus.PRECONDITION_FAILED,
                "PreconditionFailed",
                f"the memory changed since you saw it and is at revision {memory.revision} now: "
                "load it, look again, and send its ETag",
                ETag=etag_of(memory),
            )
        return change(memory)

    return checked


def _names(header: str, etag: str, *, weakly: bool = False) -> bool:
    """Whether *header*, a list of ETags, names this one; a weak one only counts where *weakly* is enough."""
    if header.strip() == ANY:
        return True
    return any(f'"{tag}"' == etag and (weakly or not weak) for weak, tag in _TAG.findall(header))
