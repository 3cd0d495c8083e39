"""ETags and conditional requests: a client cannot overwrite changes that it has not seen."""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus

from memgraph.api.problems import ProblemError
from memgraph.editing import Change
from memgraph.models import Memory
from memgraph.storage.document import serialize

DIGEST_CHARS = 16

_TAG = re.compile(r'(W/)?"([!#-~\x80-\xff]*)"')
ANY = "*"


def etag_of(memory: Memory) -> str:
    """Return the strong ETag of *memory*: its revision and a hash of its content.

    The revision is not enough: an agent without a memory of its own reads its user's at revision 0, and an emptied
    storage starts again at 1.
    """
    _, data = serialize(memory)
    return f'"{memory.revision}-{hashlib.sha256(data).hexdigest()[:DIGEST_CHARS]}"'


def matches_if_none_match(memory: Memory, if_none_match: str | None) -> bool:
    """Whether the client has *memory* already, according to If-None-Match."""
    return if_none_match is not None and _names(if_none_match, etag_of(memory), weak=True)


def require_if_match(if_match: str | None, change: Change, *, needed: bool = True) -> Change:
    """Return *change* with a check that the memory is in the state that If-Match names.

    Raises:
        ProblemError: If If-Match is missing but *needed*. The returned change raises it if the states differ.
    """
    if if_match is None and needed:
        raise ProblemError(
            HTTPStatus.PRECONDITION_REQUIRED,
            "PreconditionRequired",
            "this request overwrites data: send If-Match with the ETag that you read, or * for any state",
        )

    def checked_change(memory: Memory) -> Memory:
        if if_match is not None and not _names(if_match, etag_of(memory)):
            raise ProblemError(
                HTTPStatus.PRECONDITION_FAILED,
                "PreconditionFailed",
                f"the memory has changed and is at revision {memory.revision} now: "
                "read it again, and send its new ETag",
                ETag=etag_of(memory),
            )
        return change(memory)

    return checked_change


def _names(header: str, etag: str, *, weak: bool = False) -> bool:
    """Whether *header*, a list of ETags, contains *etag*; weak ones match only if *weak* comparison is allowed."""
    if header.strip() == ANY:
        return True
    return any(f'"{tag}"' == etag and (weak or not is_weak) for is_weak, tag in _TAG.findall(header))
