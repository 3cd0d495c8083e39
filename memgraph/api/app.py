"""create_app: the HTTP API as an ASGI app, with all routes below /memory, which answers each error with a problem."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Match

from memgraph import __version__
from memgraph._validation import check_arguments, field_errors
from memgraph.api.auth import Authenticator, admit_authenticated, get_principal
from memgraph.api.middleware import AdmissionMiddleware, MaxBodySizeMiddleware, NoSniffMiddleware, admit_local_host
from memgraph.api.openapi import COMMON_PROBLEMS, DESCRIPTION, MemoryAPI, docs_routes, prefix_openapi
from memgraph.api.page import add_page
from memgraph.api.problems import INTERNAL_ERROR, FieldProblem, ProblemDocument, ProblemError, problem
from memgraph.api.routes import router
from memgraph.api.services import Services
from memgraph.errors import MemgraphError
from memgraph.settings import Settings

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memgraph.api.page.session import Sessions
    from memgraph.storage import MemoryStorage

MOUNT_PATH = "/memory"
"""No route of LangGraph Server starts with it."""
RETRY_SECONDS = 5
"""The Retry-After of temporary errors."""

logger = logging.getLogger("memgraph.api")


class MountedApp(FastAPI):
    """An app without middleware or error handlers: those of the API belong to the app mounted in it.

    LangGraph Server adds the routes of a custom app to its own, and would run the custom app's middleware for all of
    them.
    """

    def __init__(self, inner: FastAPI, services: Services) -> None:
        super().__init__(openapi_url=None, lifespan=lambda _: _lifespan(services))
        self.exception_handlers.clear()  # the server's own stay in force
        self.router.redirect_slashes = False
        self.router.default = _not_found  # not used on LangGraph Server, which has its own router
        self.mount(MOUNT_PATH, NoSniffMiddleware(inner), name="memory")  # around the error handlers, too
        self.services = services
        self.sessions: Sessions = inner.state.sessions
        self._inner = inner

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document of the mounted app, which LangGraph Server merges with its own."""
        return prefix_openapi(self._inner.openapi(), MOUNT_PATH)


@check_arguments
def create_app(
    settings: Settings,
    *,
    authenticator: Authenticator | None = None,
    hosts: Collection[str] = (),
    storage: MemoryStorage | None = None,
) -> MountedApp:
    """Return the HTTP API as an app for any ASGI server. Nothing is opened before it starts.

    Args:
        settings: The settings of the API and of the memory.
        authenticator: Authenticates requests; default: by the tokens in *settings*. Without tokens every request is
            refused.
        hosts: The only host names that are served, which protects a local API from web pages; default: any.
        storage: The storage of the memories, which the app does not close; default: the configured one.

    Raises:
        IdentityError: If the user id of a token is invalid.
    """
    services = Services(settings, storage=storage)
    handlers: dict[Any, Any] = {
        ProblemError: _handle_problem,
        MemgraphError: _handle_memgraph_error,
        RequestValidationError: _handle_invalid_request,
        HTTPException: _handle_http_exception,
        Exception: _handle_unexpected_error,
    }
    inner = MemoryAPI(
        title="memgraph",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's pages load scripts from another host
        redoc_url=None,
        responses={**COMMON_PROBLEMS, 422: {**COMMON_PROBLEMS[422], "model": ProblemDocument}},
        exception_handlers=handlers,
        dependencies=[Depends(HTTPBearer(auto_error=False))],  # documentation only: admit_authenticated checks tokens
    )
    inner.state.services = services
    inner.include_router(router)
    inner.router.routes.extend(docs_routes())
    authenticator = authenticator or Authenticator.from_settings(settings)
    # the middleware that is added last runs first
    inner.add_middleware(MaxBodySizeMiddleware, limit=settings.api_max_body_bytes)
    inner.add_middleware(AdmissionMiddleware, admit=partial(admit_authenticated, authenticator))
    if hosts:
        inner.add_middleware(AdmissionMiddleware, admit=partial(admit_local_host, hosts))
    add_page(inner, authenticator)
    return MountedApp(inner, services)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer requests outside /memory, and paths with a line break, which match no route."""
    if scope["type"] == "http" and scope["path"] in ("/", MOUNT_PATH):
        await RedirectResponse(f"{MOUNT_PATH}/")(scope, receive, send)
    elif scope["type"] == "http":
        detail = f"there is nothing here: {MOUNT_PATH}/openapi.json lists the routes"
        await NoSniffMiddleware(problem(HTTPStatus.NOT_FOUND, "NotFound", detail))(scope, receive, send)


@asynccontextmanager
async def _lifespan(services: Services) -> AsyncGenerator[None]:
    await run_in_threadpool(services.open)
    try:
        yield
    finally:
        await run_in_threadpool(services.close)


# -- errors ----------------------------------------------------------------------------------------


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


def _handle_http_exception(request: Request, error: HTTPException) -> Response:
    phrase = HTTPStatus(error.status_code).phrase
    detail, headers = str(error.detail), error.headers
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:  # its header names the methods of the first route only
        routes = [each for each in router.routes if each.matches(request.scope)[0] is not Match.NONE]
        found = {method for each in routes if isinstance(each, APIRoute) for method in each.methods or ()}
        headers = {"Allow": ", ".join(sorted(found))} if found else headers
    if detail == phrase:  # the router's own errors
        detail = f"{detail}: openapi.json lists the routes and their methods"
    return problem(error.status_code, phrase.title().replace(" ", ""), detail, headers=headers)


def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    """Answer any other error; the ASGI server logs its traceback."""
    logger.error("%s %s: %s", request.method, request.url.path, type(error).__name__)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "UnexpectedError", INTERNAL_ERROR)
