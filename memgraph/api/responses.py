"""Answers: what is stored now, under the ETag it has now."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import Response

from memgraph.api.preconditions import etag_of
from memgraph.storage.serialization import serialize

if TYPE_CHECKING:
    from pydantic import BaseModel

    from memgraph.models import Memory

JSON = "application/json"
_PRIVATE = {"Cache-Control": "private, no-cache"}

_ETAG = {"ETag": {"description": "Which state of the memory this is.", "schema": {"type": "string"}}}


def json_response(
    document: BaseModel, memory: Memory | None = None, status: int = HTTPStatus.OK, **headers: str
) -> Response:
    """Answer with *document*, under the ETag of *memory* if it tells of one."""
    tag = {"ETag": etag_of(memory)} if memory else {}
    body = document.model_dump_json(by_alias=True)
    return Response(body, int(status), headers={**_PRIVATE, **tag, **headers}, media_type=JSON)


def document_response(memory: Memory, **headers: str) -> Response:
    """Answer with *memory* as it is stored."""
    return Response(serialize(memory)[1], headers={**_PRIVATE, "ETag": etag_of(memory), **headers}, media_type=JSON)


def not_modified(memory: Memory) -> Response:
    """Answer that nothing changed."""
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={**_PRIVATE, "ETag": etag_of(memory)})


def etag_header_docs(status: int = HTTPStatus.OK) -> dict[int | str, dict[str, Any]]:
    """Describe the ETag of an answer for the OpenAPI document."""
    return {int(status): {"headers": _ETAG}}
