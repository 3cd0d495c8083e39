"""What every view needs: a signed-in session, the memory that is looked at, and the check of a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response

from memgraph.api.auth import Principal, mark_authenticated
from memgraph.api.dependencies import ServicesDep
from memgraph.api.page.rendering import render_page, root_of
from memgraph.api.page.route import SignInRequiredError
from memgraph.api.page.session import CSRF_HEADER, BrowserSession, Sessions, is_valid_csrf
from memgraph.api.preconditions import ANY, State, guard_of
from memgraph.api.problems import ProblemError
from memgraph.api.route import HttpSession
from memgraph.api.services import Services
from memgraph.models import MemoryDocument, Scope

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
        jobs = self.services.invoker.pending()
        return sum(job.key.scope == self.scope for job in jobs) + len(self.operations().get().pending)

    def values(self) -> Mapping[str, object]:
        """Return what the layout of every page shows."""
        principal = self.session.principal
        return {
            "csrf": self.session.csrf,
            "scope": self.scope,
            "query": scope_query(self.scope),
            "is_admin": principal.is_admin,
            "others": partial(_others, self.services, principal),  # read only where the users are listed
            "count_waiting": self.count_waiting,
            "query_of": scope_query,
            "path": self.request.url.path.removeprefix(root_of(self.request)),
        }


def scope_query(scope: Scope | None) -> str:
    """Return the query that every link about *scope* carries."""
    parts = {"user_id": scope.user_id, "agent_name": scope.agent_name} if scope else {}
    return urlencode({name: value for name, value in parts.items() if value})


def _session(request: Request) -> BrowserSession:
    sessions: Sessions = request.app.state.sessions
    session = sessions.read(request)
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
    scopes: Iterable[Scope] = services.storage.scopes()
    if principal.user_id is not None:
        scopes = (scope for scope in scopes if scope.user_id == principal.user_id)
    return sorted(scopes, key=lambda scope: (scope.user_id, scope.agent_name or ""))[:MAX_USERS]


async def _check_change(request: Request, session: Annotated[BrowserSession, Depends(_session)]) -> None:
    """Refuse a change that no page of this session sent.

    Raises:
        ProblemError: If the CSRF token is missing or wrong.
    """
    if not is_valid_csrf(session.csrf, request.headers.get(CSRF_HEADER, "")):
        raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", "this change did not come from the page: reload it")


VisitDep = Annotated[Visit, Depends(_visit)]
ChangeDep = Depends(_check_change)


def changed(visit: Visit, what: str, memory: MemoryDocument, etag: str = "") -> Response:
    """Return the message about a change, with its undo; the lists on the page then load themselves again.

    The form that was sent goes on with *etag*, so that its next change does not conflict with this one.
    """
    values = {"what": what, "revision": memory.revision}
    response = render_page(visit.request, "toast.html", {**visit.values(), **values})
    response.headers.update({"HX-Trigger": "memory-changed", **({"ETag": etag} if etag else {})})
    return response
