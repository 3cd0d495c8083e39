"""Error handlers: every error is answered with a problem document."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from memgraph._validation import field_errors
from memgraph.api.auth import get_principal
from memgraph.api.problems import FieldProblem, ProblemError, problem
from memgraph.errors import MemgraphError

RETRY_SECONDS = 5
"""The Retry-After of temporary errors."""
INTERNAL_ERROR = "The server failed; stored memories are intact. The server's log has the reason."

logger = logging.getLogger("memgraph.api")


def _handle_problem(_: Request, error: ProblemError) -> Response:
    return error.response()


def _handle_memgraph_error(request: Request, error: MemgraphError) -> Response:
    """Describe the error; details of a server error, which name paths and URLs, are for administrators only."""
    status = error.http_status
    is_temporary = status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
    headers = {"Retry-After": str(RETRY_SECONDS)} if is_temporary else None
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return problem(status, error.code, str(error), headers=headers)
    logger.error("%s %s: %s: %s", request.method, request.url.path, type(error).__name__, error)
    principal = get_principal(request.scope)
    detail = str(error) if principal and principal.is_admin else INTERNAL_ERROR
    return problem(status, error.code, detail, headers=headers)


def _handle_invalid_request(_: Request, error: RequestValidationError) -> Response:
    errors = field_errors(error)
    detail = "; ".join(map(str, errors[:5]))
    is_json = all(item.type != "json_invalid" for item in errors)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_json else HTTPStatus.BAD_REQUEST
    wrong = [FieldProblem(where=item.path, what=item.message) for item in errors[:20]]
    return problem(status, "InvalidRequest" if is_json else "InvalidJson", detail, wrong=wrong)


def _handle_http_exception(_: Request, error: HTTPException) -> Response:
    phrase = HTTPStatus(error.status_code).phrase
    detail = str(error.detail)
    if detail == phrase:  # the router's own errors
        detail = f"{detail}: openapi.json lists the routes and their methods"
    return problem(error.status_code, phrase.title().replace(" ", ""), detail, headers=error.headers)


def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    """Answer any other error; the ASGI server logs its traceback."""
    logger.error("%s %s: %s", request.method, request.url.path, type(error).__name__)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "UnexpectedError", INTERNAL_ERROR)


PROBLEM_HANDLERS: Mapping[Any, Any] = MappingProxyType(
    {
        ProblemError: _handle_problem,
        MemgraphError: _handle_memgraph_error,
        RequestValidationError: _handle_invalid_request,
        HTTPException: _handle_http_exception,
        Exception: _handle_unexpected_error,
    }
)
"""The handler of every error that the API may raise, by its class."""
