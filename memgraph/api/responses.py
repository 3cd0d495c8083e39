"""Responses: a document or a memory, with the current ETag."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastapi import Response

from memgraph.api.preconditions import State, etag_of
from memgraph.api.problems import problem_docs
from memgraph.models import MemoryDocument
from memgraph.storage.document import serialize

if TYPE_CHECKING:
    from pydantic import BaseModel

JSON = "application/json"
_PRIVATE = {"Cache-Control": "private, no-cache"}

ATTACHMENT: Mapping[str, str] = MappingProxyType({"Content-Disposition": 'attachment; filename="memory.json"'})
_ETAG = {"ETag": {"description": "The state of the memory.", "schema": {"type": "string"}}}


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


def etag_header_docs(status: int = HTTPStatus.OK) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the ETag header of a response."""
    return {int(status): {"headers": _ETAG}}


NOT_MODIFIED_DOCS: dict[int | str, dict[str, Any]] = {304: {"description": "The client has the current state already."}}
CONDITIONAL_PROBLEMS = problem_docs(
    HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED, HTTPStatus.PRECONDITION_REQUIRED
)
"""The problems of changes that require If-Match."""
