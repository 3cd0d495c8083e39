"""Keeping web pages out of an API that listens on this machine only."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from memgraph.api.problems import problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Receive, Scope, Send


class HostGuard:
    """ASGI middleware: answers only requests that name one of *hosts*, from no page of another one.

    A web page can have a name of its own resolved to the loopback address, and may send simple requests
    anywhere; its requests then carry its name as Host or as Origin.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and (stranger := self._stranger(Headers(scope=scope))):
            detail = f"{stranger.removeprefix('//')!r} is not served here: name one of {', '.join(sorted(self._hosts))}"
            await problem(HTTPStatus.MISDIRECTED_REQUEST, "WrongHost", detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _stranger(self, headers: Headers) -> str | None:
        """The host that is none of ours, if there is one; no Host at all is one too."""
        named = [f"//{headers.get('host', '')}", *headers.getlist("origin")]
        return next((name for name in named if _host(name) not in self._hosts), None)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
