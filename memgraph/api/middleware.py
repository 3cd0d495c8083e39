"""Keeping web pages out of an API that listens on this machine only."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from memgraph.api.problems import problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class LocalHostMiddleware:
    """ASGI middleware: answers only requests that name one of *hosts*, from no page of another one.

    A web page can have a name of its own resolved to the loopback address, and may send simple requests
    anywhere; its requests then carry its name as Host or as Origin.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and (stranger := self._foreign_host(Headers(scope=scope))):
            detail = f"{stranger.removeprefix('//')!r} is not served here: name one of {', '.join(sorted(self._hosts))}"
            await problem(HTTPStatus.MISDIRECTED_REQUEST, "WrongHost", detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _foreign_host(self, headers: Headers) -> str | None:
        """The host that is none of ours, if there is one; no Host at all is one too."""
        named = [f"//{headers.get('host', '')}", *headers.getlist("origin")]
        return next((name for name in named if _host(name) not in self._hosts), None)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


class MaxBodySizeMiddleware:
    """ASGI middleware: refuses bodies over *limit* bytes, also those that do not say how long they are."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting what comes in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isascii() and announced.isdecimal() and int(announced[:20]) > self._limit:
            await problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", self._detail)(
                scope, receive, send
            )
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._detail)
            return message

        await self._app(scope, counted, send)

    @property
    def _detail(self) -> str:
        return f"a request has at most {self._limit:,} bytes; api_max_body_bytes raises that"
