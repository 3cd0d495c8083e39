"""Dependencies of the routes: the services, the principal, preconditions and the raw body."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Header, Request

from memgraph.api.auth import Principal, get_principal
from memgraph.api.problems import ProblemError
from memgraph.api.services import Services


async def _services(request: Request) -> Services:
    return request.app.state.services


async def _principal(request: Request) -> Principal:
    principal = get_principal(request.scope)
    if principal is None:  # the app runs without AuthMiddleware
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "the request is not authenticated")
    return principal


async def _json_body(request: Request) -> bytes:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        detail = "send the document as Content-Type: application/json"
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", detail)
    return await request.body()


ServicesDep = Annotated[Services, Depends(_services)]
PrincipalDep = Annotated[Principal, Depends(_principal)]
JsonBody = Annotated[bytes, Depends(_json_body)]
IfMatch = Annotated[
    str | None, Header(description="The ETag of the memory that the change is based on, or * for any state.")
]
IfNoneMatch = Annotated[str | None, Header(description="The ETag of the memory that the client has already.")]
