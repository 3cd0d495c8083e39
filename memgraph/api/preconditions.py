"""ETags, responses with them, and conditional requests: a client cannot overwrite changes that it has not seen."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from fastapi import Response
from pydantic import BaseModel

from memgraph.api.problems import ProblemError, problem_docs
from memgraph.editing.update import Change
from memgraph.models import Episode, MemoryDocument
from memgraph.operations.session import Guard
from memgraph.storage.document import encode_episode, serialize

DIGEST_CHARS = 16

_TAG = re.compile(r'(W/)?"([!#-~\x80-\xff]*)"')
ANY = "*"


State = MemoryDocument | Sequence[Episode] | str
"""What a response shows: a memory, all episodes of a scope, or the text of one fact or summary."""


def etag_of(state: State) -> str:
    """Return the strong ETag of *state*: the revision or the number of episodes, and a hash of the content.

    The revision is not enough: an agent without a memory of its own reads its user's at revision 0, and an emptied
    storage starts again at 1.
    """
    if isinstance(state, MemoryDocument):
        return _format_etag(state.revision, serialize(state)[1])
    if isinstance(state, str):
        return _format_etag(len(state), state.encode("utf-8", "replace"))
    return _format_etag(len(state), "".join(map(encode_episode, state)).encode())


def _format_etag(number: int, data: bytes) -> str:
    return f'"{number}-{hashlib.sha256(data).hexdigest()[:DIGEST_CHARS]}"'


def matches_if_none_match(state: State, if_none_match: str | None) -> bool:
    """Whether the client has *state* already, according to If-None-Match."""
    return if_none_match is not None and _names(if_none_match, etag_of(state), weak=True)


def guard_of(
    if_match: str | None,
    *,
    needed: bool = True,
    state_of: Callable[[MemoryDocument], State] = lambda memory: memory,
) -> Guard:
    """Return the guard of a change: it checks that the memory, or a part of it, is in the state that If-Match names.

    Raises:
        ProblemError: If If-Match is missing but *needed*. The guarded change raises it if the states differ.
    """
    if if_match is None and needed:
        raise ProblemError(
            HTTPStatus.PRECONDITION_REQUIRED,
            "PreconditionRequired",
            "this request overwrites data: send If-Match with the ETag that you read, or * for any state",
        )

    def check(change: Change, memory: MemoryDocument) -> MemoryDocument:
        if if_match is not None and not _names(if_match, current := etag_of(state_of(memory))):
            raise ProblemError(
                HTTPStatus.PRECONDITION_FAILED,
                "PreconditionFailed",
                f"the memory has changed and is at revision {memory.revision} now: "
                "read it again, and send its new ETag",
                ETag=current,
            )
        return change(memory)

    return lambda change: partial(check, change)


def _names(header: str, etag: str, *, weak: bool = False) -> bool:
    """Whether *header*, a list of ETags, contains *etag*; weak ones match only if *weak* comparison is allowed."""
    if header.strip() == ANY:
        return True
    return any(f'"{tag}"' == etag and (weak or not is_weak) for is_weak, tag in _TAG.findall(header))


# -- responses -------------------------------------------------------------------------------------

JSON = "application/json"
_PRIVATE = {"Cache-Control": "private, no-cache"}

ATTACHMENT: Mapping[str, str] = MappingProxyType({"Content-Disposition": 'attachment; filename="memory.json"'})
ETAG_DOCS = {"headers": {"ETag": {"description": "The state of the memory.", "schema": {"type": "string"}}}}
"""The OpenAPI description of a response with an ETag."""


def respond(
    document: BaseModel | bytes,
    state: State | None = None,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """Return *document* as a response, with the ETag of the *state* that it shows, if any.

    A memory is as it is stored, unknown keys included; bytes are JSON.
    """
    tag = {"ETag": etag_of(state)} if state is not None else {}
    if isinstance(document, MemoryDocument):
        document = serialize(document)[1]
    body = document if isinstance(document, bytes) else document.model_dump_json(by_alias=True)
    return Response(body, int(status), headers={**_PRIVATE, **tag, **headers}, media_type=JSON)


def not_modified(state: State) -> Response:
    """Return a 304 response: the client has *state* already."""
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={**_PRIVATE, "ETag": etag_of(state)})


NOT_MODIFIED_DOCS: dict[int | str, dict[str, Any]] = {304: {"description": "The client has the current state already."}}
CONDITIONAL_PROBLEMS = problem_docs(409, 412, 428)
"""The problems of changes that require If-Match."""
