"""What every view needs: the sign-in, a session, the chosen memory, the check of a change, and errors as words."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import chain, islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from memgraph._validation import field_errors
from memgraph.api.auth import PAGE_PREFIX, Principal, mark_authenticated
from memgraph.api.page.rendering import HEADERS, render_page, root_of
from memgraph.api.page.session import COOKIE, CSRF_HEADER, SIGN_IN_COOKIE, BrowserSession, Sessions, is_valid_csrf
from memgraph.api.preconditions import ANY, State, guard_of
from memgraph.api.problems import ProblemError
from memgraph.api.route import HttpSession, ServicesDep, scope_query
from memgraph.api.services import SESSION_SECONDS, Services
from memgraph.editing.users import list_users
from memgraph.errors import MemgraphError
from memgraph.models import MemoryDocument, Scope

SIGN_IN = f"{PAGE_PREFIX}/sign-in"
MAX_USERS = 200
"""Maximum number of users and agents that are listed; an id can be typed, too."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of a signed-in browser about one memory."""

    request: Request
    services: Services
    session: BrowserSession
    scope: Scope | None
    """None: an administrator has not chosen a user yet, and there is none."""

    @property
    def chosen(self) -> Scope:
        """Whose memory it is about.

        Raises:
            ProblemError: If no user is chosen.
        """
        if self.scope is None:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "IdentityError", "choose a user first")
        return self.scope

    def operations(
        self, etag: str = ANY, state_of: Callable[[MemoryDocument], State] = lambda memory: memory
    ) -> HttpSession:
        """Return the operations on the chosen memory, as a person uses them.

        A change checks that the part of the memory that *state_of* returns is at *etag*.
        """
        scope, guard = self.chosen, guard_of(etag, state_of=state_of)
        return HttpSession(
            self.services.memory,
            user_id=scope.user_id,
            agent_name=scope.agent_name,
            by_person=True,
            guard=guard,
        )

    def count_waiting(self) -> int:
        """Return how many conversations and changes wait.

        Failures are left out: on LangGraph Server they take a request for each conversation.
        """
        if self.scope is None:
            return 0
        jobs = self.services.memory.invoker.pending()
        return sum(job.key.scope == self.scope for job in jobs) + len(self.operations().get().pending)

    def render(self, template: str, **values: object) -> Response:
        """Return the page or fragment *template*, with *values* and what the layout of every page shows."""
        principal = self.session.principal
        layout = {
            "csrf": self.session.csrf,
            "scope": self.scope,
            "query": scope_query(self.scope),
            "is_admin": principal.is_admin,
            "others": partial(_others, self.services, principal),  # read only where the users are listed
            "count_waiting": self.count_waiting,
            "query_of": scope_query,
            "path": self.request.url.path.removeprefix(root_of(self.request)),
        }
        return render_page(self.request, template, {**layout, **values})

    def render_change(self, what: str, memory: MemoryDocument, etag: str = "") -> Response:
        """Return the message about a change, with its undo; the lists on the page then load themselves again.

        The form that was sent goes on with *etag*, so that its next change does not conflict with this one.
        """
        response = self.render("toast.html", what=what, revision=memory.revision)
        response.headers.update({"HX-Trigger": "memory-changed", **({"ETag": etag} if etag else {})})
        return response


def _sessions(request: Request) -> Sessions:
    return request.app.state.sessions


def _session(request: Request) -> BrowserSession:
    session = _sessions(request).read(request)
    if session is None:
        raise SignInRequiredError
    mark_authenticated(request.scope, session.principal)
    return session


def _visit(
    request: Request,
    services: ServicesDep,
    session: Annotated[BrowserSession, Depends(_session)],
    user_id: Annotated[str, Query(max_length=256)] = "",
    agent_name: Annotated[str, Query(max_length=64)] = "",
) -> Visit:
    """Return the visit; a user sees their own memory, an administrator the first one until they choose."""
    principal = session.principal
    if user_id or principal.user_id:
        return Visit(request, services, session, principal.scope(user_id or None, agent_name or None))
    first = next(iter(_others(services, principal)), None)
    return Visit(request, services, session, first)


def _others(services: Services, principal: Principal) -> list[Scope]:
    """Return the memories that *principal* may switch to, sorted."""
    users = list_users(services.memory.storage)
    found = users.values() if principal.user_id is None else [users.get(principal.user_id, [])]
    return list(islice(chain.from_iterable(found), MAX_USERS))


async def _check_change(request: Request, session: Annotated[BrowserSession, Depends(_session)]) -> None:
    """Refuse a change that no page of this session sent.

    Raises:
        ProblemError: If the CSRF token is missing or wrong.
    """
    if not is_valid_csrf(session.csrf, request.headers.get(CSRF_HEADER, "")):
        raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", "this change did not come from the page: reload it")


VisitDep = Annotated[Visit, Depends(_visit)]
ChangeDep = Depends(_check_change)


# -- routes ----------------------------------------------------------------------------------------


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
            except (ProblemError, MemgraphError) as error:
                detail, status = str(error), int(error.http_status)
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


# -- sign-in ---------------------------------------------------------------------------------------

router = page_router()

Text = Annotated[str, Form(max_length=1_000)]


@router.get(SIGN_IN)
def show_sign_in(request: Request, code: Annotated[str, Query(max_length=1_000)] = "") -> Response:
    """Show the form; with a one-time code only a button, since no link may sign a browser in."""
    return _show_form(request, code=code)


@router.post(SIGN_IN)
def sign_in(request: Request, token: Text = "", code: Text = "", csrf: Text = "") -> Response:
    """Sign in by the token or the code, if this browser was shown the form: no other site can send it."""
    sessions = _sessions(request)
    nonce = request.cookies.get(SIGN_IN_COOKIE, "")
    if not (nonce and is_valid_csrf(sessions.sign_in_csrf(nonce), csrf)):
        return _show_form(request, "sign_in.repeat", HTTPStatus.FORBIDDEN, code=code)
    cookie = sessions.sign_in_by_code(code) if code else sessions.sign_in(token.strip(), request)
    if cookie is None:
        return _show_form(request, "sign_in.used" if code else "sign_in.wrong", HTTPStatus.UNAUTHORIZED)
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


def _show_form(request: Request, problem: str = "", status: HTTPStatus = HTTPStatus.OK, *, code: str = "") -> Response:
    nonce = request.cookies.get(SIGN_IN_COOKIE) or secrets.token_urlsafe(16)  # one for all tabs
    values = {"problem": problem, "code": code, "csrf": _sessions(request).sign_in_csrf(nonce)}
    response = render_page(request, "sign_in.html", values, status=status)
    _set_cookie(request, response, SIGN_IN_COOKIE, nonce)
    return response


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Send a cookie to the browser: no script can read it, and no other site's request carries it."""
    path, is_secure = _cookie_path(request), request.url.scheme == "https"
    response.set_cookie(
        name, value, max_age=SESSION_SECONDS, path=path, httponly=True, samesite="strict", secure=is_secure
    )


def _cookie_path(request: Request) -> str:
    return root_of(request) or "/"
