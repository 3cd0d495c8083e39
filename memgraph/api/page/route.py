"""The routes of the page: their errors are shown as words on the page, not as JSON."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from memgraph._validation import field_errors
from memgraph.api.auth import PAGE_PREFIX
from memgraph.api.page.rendering import HEADERS, render_page, root_of
from memgraph.api.problem_handlers import status_of
from memgraph.api.problems import ProblemError
from memgraph.errors import MemgraphError

SIGN_IN = f"{PAGE_PREFIX}/sign-in"


class SignInRequiredError(Exception):
    """The browser has to sign in first."""


class PageRoute(APIRoute):
    """A route whose errors are rendered."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route, which renders the errors of the API."""
        handle = super().get_route_handler()

        async def handle_rendered(request: Request) -> Response:
            try:
                return await handle(request)
            except SignInRequiredError:
                return _ask_to_sign_in(request)
            except ProblemError as error:
                detail, status = str(error), int(error.status)
            except MemgraphError as error:
                detail, status = str(error), int(status_of(error))
            except RequestValidationError as error:
                detail, status = "; ".join(map(str, field_errors(error)[:3])), int(HTTPStatus.UNPROCESSABLE_ENTITY)
            return await run_in_threadpool(_show, request, detail, status)  # templates are files

        return handle_rendered


def page_router() -> APIRouter:
    """Return a router for views, which are not described in openapi.json."""
    return APIRouter(include_in_schema=False, route_class=PageRoute)


def _ask_to_sign_in(request: Request) -> Response:
    target = f"{root_of(request)}{SIGN_IN}"
    if _is_fragment(request):
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={**HEADERS, "HX-Redirect": target})
    return RedirectResponse(target, HTTPStatus.SEE_OTHER, headers=HEADERS)


def _show(request: Request, detail: str, status: int) -> Response:
    """Show an error in the message area of the page, or as a page of its own."""
    values = {"detail": detail, "is_conflict": status == HTTPStatus.PRECONDITION_FAILED}
    return render_page(request, "error.html" if _is_fragment(request) else "error_page.html", values, status=status)


def _is_fragment(request: Request) -> bool:
    return "hx-request" in request.headers
