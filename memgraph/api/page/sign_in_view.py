"""Sign-in by a token or a one-time code, and sign-out."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from memgraph.api.page.access import SIGN_IN, ChangeDep, page_router
from memgraph.api.page.rendering import HEADERS, render_page, root_of
from memgraph.api.page.session import COOKIE, SIGN_IN_COOKIE, Sessions, is_valid_csrf
from memgraph.api.services import SESSION_SECONDS

router = page_router()

Text = Annotated[str, Form(max_length=1_000)]


@router.get(SIGN_IN)
def show_sign_in(request: Request, code: Annotated[str, Query(max_length=1_000)] = "") -> Response:
    """Show the form; with a one-time code only a button, since no link may sign a browser in."""
    return _show(request, code=code)


@router.post(SIGN_IN)
def sign_in(request: Request, token: Text = "", code: Text = "", csrf: Text = "") -> Response:
    """Sign in by the token or the code, if this browser was shown the form: no other site can send it."""
    sessions = _sessions(request)
    nonce = request.cookies.get(SIGN_IN_COOKIE, "")
    if not (nonce and is_valid_csrf(sessions.sign_in_csrf(nonce), csrf)):
        return _show(request, "sign_in.repeat", HTTPStatus.FORBIDDEN, code=code)
    cookie = sessions.sign_in_by_code(code) if code else sessions.sign_in(token.strip(), request)
    if cookie is None:
        return _show(request, "sign_in.used" if code else "sign_in.wrong", HTTPStatus.UNAUTHORIZED)
    response = RedirectResponse(f"{root_of(request)}/", HTTPStatus.SEE_OTHER, headers=HEADERS)
    _set_cookie(request, response, COOKIE, cookie)
    response.delete_cookie(SIGN_IN_COOKIE, path=_cookie_path(request), httponly=True, samesite="strict")
    return response


@router.post("/page/sign-out", dependencies=[ChangeDep])
def sign_out(request: Request) -> Response:
    """End the session, and remove the cookie."""
    _sessions(request).end(request)
    response = Response(headers={**HEADERS, "HX-Redirect": f"{root_of(request)}{SIGN_IN}"})
    response.delete_cookie(COOKIE, path=_cookie_path(request), httponly=True, samesite="strict")
    return response


def _show(request: Request, problem: str = "", status: HTTPStatus = HTTPStatus.OK, *, code: str = "") -> Response:
    nonce = request.cookies.get(SIGN_IN_COOKIE) or secrets.token_urlsafe(16)  # one for all tabs
    values = {"problem": problem, "code": code, "csrf": _sessions(request).sign_in_csrf(nonce)}
    response = render_page(request, "sign_in.html", values, status=status)
    _set_cookie(request, response, SIGN_IN_COOKIE, nonce)
    return response


def _sessions(request: Request) -> Sessions:
    return request.app.state.sessions


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Send a cookie to the browser: no script can read it, and no other site's request carries it."""
    path, is_secure = _cookie_path(request), request.url.scheme == "https"
    response.set_cookie(
        name, value, max_age=SESSION_SECONDS, path=path, httponly=True, samesite="strict", secure=is_secure
    )


def _cookie_path(request: Request) -> str:
    return root_of(request) or "/"
