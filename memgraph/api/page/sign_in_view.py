"""Sign-in by a token, and sign-out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from memgraph.api.page.access import ChangeDep
from memgraph.api.page.rendering import HEADERS, render, root_of
from memgraph.api.page.route import SIGN_IN, page_router
from memgraph.api.page.session import COOKIE, Sessions, set_cookie

router = page_router()

Token = Annotated[str, Form(max_length=1_000)]


@router.get(SIGN_IN)
def show_sign_in(request: Request, token: Annotated[str, Query(max_length=1_000)] = "") -> Response:
    """Show the form; a link with the token signs in at once, and the token leaves the address bar."""
    return _sign_in(request, token) if token else render(request, "sign_in.html", {"is_wrong": False})


@router.post(SIGN_IN)
def sign_in(request: Request, token: Token = "") -> Response:
    """Sign in by the token."""
    return _sign_in(request, token)


@router.post("/page/sign-out", dependencies=[ChangeDep])
def sign_out(request: Request) -> Response:
    """Remove the cookie."""
    response = Response(headers={**HEADERS, "HX-Redirect": f"{root_of(request)}{SIGN_IN}"})
    response.delete_cookie(COOKIE, path=_cookie_path(request), httponly=True, samesite="strict")
    return response


def _sign_in(request: Request, token: str) -> Response:
    sessions: Sessions = request.app.state.sessions
    cookie = sessions.sign_in(token.strip())
    if cookie is None:
        return render(request, "sign_in.html", {"is_wrong": True}, status=HTTPStatus.UNAUTHORIZED)
    response = RedirectResponse(f"{root_of(request)}/", HTTPStatus.SEE_OTHER, headers=HEADERS)
    set_cookie(response, cookie, path=_cookie_path(request), secure=request.url.scheme == "https")
    return response


def _cookie_path(request: Request) -> str:
    return root_of(request) or "/"
