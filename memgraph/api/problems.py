"""Problem documents: the error responses of RFC 9457."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Response
from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"
INTERNAL_ERROR = "The server failed; stored memories are intact. The server's log has the reason."


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(self, status: HTTPStatus, error: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.http_status = status
        self.error = error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> Response:
        """Return the problem as a response."""
        return problem(self.http_status, self.error, str(self), headers=self.headers)


class FieldProblem(BaseModel):
    """An error in one part of a request."""

    where: str
    """The path of the part, such as `query.limit` or `body.content`."""
    what: str


class ProblemDocument(BaseModel):
    """Why a request failed."""

    type: str = Field(default="about:blank", description="Always about:blank; `error` identifies the problem.")
    title: str = Field(description="The name of the status.")
    status: int
    detail: str = Field(description="What is wrong, and what to do.")
    error: str = Field(description="The name of the problem, such as EditError.")
    wrong: list[FieldProblem] = Field(
        default_factory=list[FieldProblem], description="The errors in parts of the request."
    )


def problem_docs(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the problems that a route may answer with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def problem(
    status: int,
    error: str,
    detail: str,
    *,
    wrong: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem as a response, in ASCII: quoted text may contain half a surrogate pair."""
    document = ProblemDocument(
        title=HTTPStatus(status).phrase, status=status, detail=detail, error=error, wrong=list(wrong)
    )
    body = json.dumps(document.model_dump()).encode()
    all_headers = {**(headers or {}), "Cache-Control": "no-store"}
    # an int, since access logs would show the name of an HTTPStatus
    return Response(body, int(status), headers=all_headers, media_type=MEDIA_TYPE)
