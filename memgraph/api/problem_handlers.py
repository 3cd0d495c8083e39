"""Answers every error with a problem document: one table maps errors to statuses."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from memgraph._validation import field_errors
from memgraph.api.principal import get_principal
from memgraph.api.problems import FieldProblem, ProblemError, problem
from memgraph.errors import (
    ConversationError,
    DamagedMemoryError,
    EditError,
    ForgottenError,
    IdentityError,
    MemgraphError,
    NotInReviewError,
    OutboxError,
    QueueFullError,
    RevisionConflictError,
    StorageError,
)

STATUSES: Mapping[type[MemgraphError], HTTPStatus] = MappingProxyType(
    {
        IdentityError: HTTPStatus.UNPROCESSABLE_ENTITY,
        ConversationError: HTTPStatus.UNPROCESSABLE_ENTITY,
        EditError: HTTPStatus.UNPROCESSABLE_ENTITY,
        RevisionConflictError: HTTPStatus.CONFLICT,  # fifty writers in a row were quicker
        ForgottenError: HTTPStatus.CONFLICT,
        NotInReviewError: HTTPStatus.NOT_FOUND,
        QueueFullError: HTTPStatus.SERVICE_UNAVAILABLE,
        OutboxError: HTTPStatus.SERVICE_UNAVAILABLE,
        # trying again does not help: a person has to repair what is stored
        DamagedMemoryError: HTTPStatus.INTERNAL_SERVER_ERROR,
        StorageError: HTTPStatus.SERVICE_UNAVAILABLE,
        MemgraphError: HTTPStatus.INTERNAL_SERVER_ERROR,
    }
)
"""By the nearest class of an error."""

RETRY_SECONDS = 5
"""When to try again what could not be done just now."""
INSIDE = "The server could not do it; what is stored is intact. Whoever runs it finds the reason in its log."

logger = logging.getLogger("memgraph.api")


def install_problem_handlers(app: FastAPI) -> None:
    """Make *app* answer every error with a problem."""
    app.add_exception_handler(ProblemError, _refused)
    app.add_exception_handler(MemgraphError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)  # noqa: S101 - what it is registered for
    return problem(error.status, error.error, str(error), headers=error.headers)


def _failed(request: Request, error: Exception) -> Response:
    """Tell what is wrong; of the server's own trouble, which names its places, only those who may act for everybody."""
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return problem(status, type(error).__name__, str(error))
    logger.error("%s %s: %s: %s", request.method, request.url.path, type(error).__name__, error)
    caller = get_principal(request.scope)
    detail = str(error) if caller and caller.is_admin else INSIDE
    passing = status == HTTPStatus.SERVICE_UNAVAILABLE
    return problem(
        status, type(error).__name__, detail, headers={"Retry-After": str(RETRY_SECONDS)} if passing else None
    )


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    errors = field_errors(error)
    detail = "; ".join(map(str, errors[:5]))
    is_json = all(item.type != "json_invalid" for item in errors)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_json else HTTPStatus.BAD_REQUEST
    wrong = [FieldProblem(where=item.path, what=item.message) for item in errors[:20]]
    return problem(status, "InvalidRequest" if is_json else "InvalidJson", detail, wrong=wrong)


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    phrase = HTTPStatus(error.status_code).phrase
    said = str(error.detail)
    detail = f"{said}: openapi.json tells which routes and methods there are" if said == phrase else said
    return problem(error.status_code, phrase.title().replace(" ", ""), detail, headers=error.headers)


def _unexpected(request: Request, error: Exception) -> Response:
    """The last resort; the server logs where it comes from."""
    logger.error("%s %s: %s", request.method, request.url.path, type(error).__name__)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "UnexpectedError", INSIDE)
