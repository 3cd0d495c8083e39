"""create_app: the API as a FastAPI app, everything of it below /memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from memgraph.api.auth import Authenticator, AuthMiddleware
from memgraph.api.middleware import LocalHostMiddleware, MaxBodySizeMiddleware
from memgraph.api.openapi import prefix_openapi
from memgraph.api.problem_handlers import install_problem_handlers
from memgraph.api.problems import ProblemDocument, problem, problem_docs
from memgraph.api.routes import ROUTERS
from memgraph.api.services import Services
from memgraph.api.version import version
from memgraph.settings import Settings

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memgraph.storage import MemoryStorage

MOUNTED_AT = "/memory"
"""None of LangGraph Server's own routes begins so."""

DESCRIPTION = """
What is remembered of users: read it, correct it, recall from it, and hand conversations over to be learned from.

**Whose memory** is said by `user_id` and `agent_name` in the query, so that every id survives every proxy.

**Nobody overwrites what they did not see.** Every answer that tells of a memory has its ETag. What changes or removes
something sends it back as `If-Match`; where somebody else wrote meanwhile, the answer is 412 with the current ETag,
and nothing is changed. `If-Match: *` means whatever there is; without the header the answer is 428.

**Problems** are RFC 9457 documents: `error` names the situation, `detail` says what to do.
"""

ALWAYS = problem_docs(
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
"""How any request may end."""


class MountedApp(FastAPI):
    """An app with nothing of its own: what is mounted keeps its middleware and its problems to itself.

    LangGraph Server takes the routes of a given app among its own, and would run the app's middleware for all of them.
    """

    def __init__(self, inner: FastAPI, desk: Services) -> None:
        super().__init__(openapi_url=None, lifespan=lambda _: _opened(desk))
        self.exception_handlers.clear()  # the server's own stay in force
        self.router.redirect_slashes = False
        self.router.default = _nothing_here  # on LangGraph Server it is never asked
        self.mount(MOUNTED_AT, inner, name="memory")
        self.desk = desk
        self._inner = inner

    def openapi(self) -> dict[str, Any]:
        """Describe what is mounted; LangGraph Server shows it beside its own."""
        return prefix_openapi(self._inner.openapi(), MOUNTED_AT)


def create_app(
    settings: Settings,
    *,
    access: Authenticator | None = None,
    hosts: Collection[str] = (),
    storage: MemoryStorage | None = None,
) -> MountedApp:
    """Return the API for *settings*, to be served by any ASGI server. Nothing is opened before it starts.

    Args:
        settings: What is configured.
        access: Who may do what; None is what the settings say: without a token there, nobody anything.
        hosts: The only host names that are served, against pages that pretend to be local; none given is any.
        storage: Where memories are; None is what the settings say.

    Raises:
        IdentityError: If a token is for a user id that may not be used.
    """
    desk = Services(settings, storage=storage)
    inner = FastAPI(
        title="memgraph",
        version=version(),
        description=DESCRIPTION,
        redoc_url=None,
        responses={**ALWAYS, 422: {**ALWAYS[422], "model": ProblemDocument}},
        dependencies=[Depends(HTTPBearer(auto_error=False))],  # for the document; the guard does the work
    )
    inner.state.desk = desk
    for router in ROUTERS:
        inner.include_router(router)
    install_problem_handlers(inner)
    # the last one added is asked first
    inner.add_middleware(MaxBodySizeMiddleware, limit=settings.api_max_body_bytes)
    inner.add_middleware(AuthMiddleware, access=access or Authenticator.from_settings(settings))
    if hosts:
        inner.add_middleware(LocalHostMiddleware, hosts=hosts)
    return MountedApp(inner, desk)


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer what is not below /memory, or holds a line break, which no route takes."""
    if scope["type"] == "http":
        detail = f"there is nothing here; {MOUNTED_AT}/openapi.json tells what there is"
        await problem(HTTPStatus.NOT_FOUND, "NotFound", detail)(scope, receive, send)


@asynccontextmanager
async def _opened(desk: Services) -> AsyncGenerator[None]:
    await run_in_threadpool(desk.open)
    try:
        yield
    finally:
        await run_in_threadpool(desk.close)
