"""What routes want of a request besides its query: the desk, the caller, preconditions, a body as it is."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Header, Request

from memgraph.api.principal import Principal, get_principal
from memgraph.api.problems import ProblemError
from memgraph.api.services import Services


async def _desk(request: Request) -> Services:
    return request.app.state.desk


async def _caller(request: Request) -> Principal:
    caller = get_principal(request.scope)
    if caller is None:  # a route outside the guard: nobody may
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "nobody was let in here")
    return caller


async def _json_body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        detail = "send the document as Content-Type: application/json"
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", detail)
    return await request.body()


ServicesDep = Annotated[Services, Depends(_desk)]
PrincipalDep = Annotated[Principal, Depends(_caller)]
JsonBody = Annotated[bytes, Depends(_json_body)]
IfMatch = Annotated[
    str | None, Header(description="The ETag of the memory that the change is based on, or * for whatever there is.")
]
IfNoneMatch = Annotated[str | None, Header(description="The ETag of the memory that is known already.")]
