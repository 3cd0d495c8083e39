"""Problem documents, as RFC 9457 defines them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Response
from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"


class ProblemError(Exception):
    """The request is not done."""

    def __init__(self, status: HTTPStatus, error: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.error = error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class FieldProblem(BaseModel):
    """What is wrong with one part of a request."""

    where: str
    """Such as `query.limit` or `body.content`."""
    what: str


class ProblemDocument(BaseModel):
    """Why a request was not done."""

    type: str = Field(default="about:blank", description="Always about:blank: `error` tells problems apart.")
    title: str = Field(description="The name of the status.")
    status: int
    detail: str = Field(description="What is wrong, and what to do about it.")
    error: str = Field(description="A name for the situation, such as EditError.")
    wrong: list[FieldProblem] = Field(
        default_factory=list[FieldProblem], description="What is wrong with which part of the request."
    )


def problem_docs(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe the problems of a route for the OpenAPI document."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {int(status): {"description": status.phrase, "content": content} for status in statuses}


def problem(
    status: int,
    error: str,
    detail: str,
    *,
    wrong: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with a problem. ASCII only: what is quoted may be half a surrogate pair."""
    document = ProblemDocument(
        title=HTTPStatus(status).phrase, status=status, detail=detail, error=error, wrong=list(wrong)
    )
    body = json.dumps(document.model_dump()).encode()
    kept = {**(headers or {}), "Cache-Control": "no-store"}
    return Response(body, int(status), headers=kept, media_type=MEDIA_TYPE)  # loggers show its number
