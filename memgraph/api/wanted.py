"""What routes want of a request besides its query: the desk, the caller, preconditions, a body as it is."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Header, Request

from memgraph.api.callers import Caller, caller_of
from memgraph.api.desk import Desk
from memgraph.api.refused import Refused


async def _desk(request: Request) -> Desk:
    return request.app.state.desk


async def _caller(request: Request) -> Caller:
    caller = caller_of(request.scope)
    if caller is None:  # a route outside the guard: nobody may
        raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", "nobody was let in here")
    return caller


async def _json_body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        detail = "send the document as Content-Type: application/json"
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", detail)
    return await request.body()


TheDesk = Annotated[Desk, Depends(_desk)]
TheCaller = Annotated[Caller, Depends(_caller)]
JsonBody = Annotated[bytes, Depends(_json_body)]
IfMatch = Annotated[
    str | None, Header(description="The ETag of the memory that the change is based on, or * for whatever there is.")
]
IfNoneMatch = Annotated[str | None, Header(description="The ETag of the memory that is known already.")]
