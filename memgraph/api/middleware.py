"""ASGI middleware: the form of what refuses requests, the check of host names, the limit of bodies, and nosniff."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from memgraph.api.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_AUTHORITY = re.compile(r"(?:https?:)?//(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(?::[0-9]{1,5})?")

MAX_MESSAGE_BYTES = 1_000_000
"""Maximum bytes of the texts in a message."""
# possessive, so that the time is linear and no position is kept
_SHORT_TEXTS = re.compile(rb'(?:[^"]++|"(?:[^"\\]|\\.){0,%d}+")*+' % MAX_MESSAGE_BYTES, re.DOTALL)


class AdmissionMiddleware:
    """ASGI middleware: forwards an HTTP request as *admit* returns it, or answers with the problem that it raises."""

    def __init__(self, app: ASGIApp, admit: Callable[[Scope], Scope]) -> None:
        self._app = app
        self._admit = admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, or answer it."""
        if scope["type"] == "http":
            try:
                scope = self._admit(scope)
            except ProblemError as error:
                await error.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)


def admit_local_host(hosts: Collection[str], scope: Scope) -> Scope:
    """Return *scope*, or refuse it by 421 if its Host or Origin is not one of *hosts*.

    A web page can make its own name resolve to the loopback address (DNS rebinding), and may send simple requests to
    any address. Both kinds of request carry the page's own name as Host or as Origin.
    """
    headers, served = Headers(scope=scope), {*map(str.lower, hosts)}
    urls = [f"//{headers.get('host', '')}", *headers.getlist("origin")]  # without a Host, the first one is foreign
    if foreign := next((url for url in urls if _host(url) not in served), None):
        detail = f"{foreign.removeprefix('//')!r} is not served here; use {', '.join(sorted(served))}"
        raise ProblemError(HTTPStatus.MISDIRECTED_REQUEST, "WrongHost", detail)
    return scope


def _host(url: str) -> str | None:
    """Return the host of `//HOST:PORT`, with or without a scheme; None unless that is all of it (RFC 3986, 3.2.2)."""
    found = _AUTHORITY.fullmatch(url)
    return (found["address"] or found["name"]).lower() if found else None


def check_texts(body: bytes) -> None:
    """Refuse a body with a text or a message of more than MAX_MESSAGE_BYTES, a text before the JSON is parsed.

    Raises:
        ProblemError: 413.
    """
    if len(body) <= MAX_MESSAGE_BYTES:
        return
    if not _SHORT_TEXTS.fullmatch(body) or max(map(_bytes_of, _messages(body)), default=0) > MAX_MESSAGE_BYTES:
        raise too_large(f"a message may have {MAX_MESSAGE_BYTES:,} bytes at most: send a long text in several messages")


def too_large(detail: str) -> ProblemError:
    """Return the error of what exceeds a limit of bytes."""
    return ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", detail)


def _messages(body: bytes) -> list[object]:
    """Return the messages of a body; none if it has no list of them."""
    try:
        found = cast("object", json.loads(body))
    except (ValueError, RecursionError):
        return []  # the route says what is wrong with it
    messages = cast("dict[str, object]", found).get("messages") if isinstance(found, dict) else None
    return cast("list[object]", messages) if isinstance(messages, list) else []


def _bytes_of(value: object) -> int:
    """Return the bytes of all texts in *value*."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    parts = cast("dict[str, object]", value).values() if isinstance(value, dict) else value
    return sum(map(_bytes_of, cast("list[object]", parts))) if isinstance(value, dict | list) else 0


class MessageRoute(APIRoute):
    """A route whose JSON body has messages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which checks the body first."""
        handle = super().get_route_handler()

        async def check_and_handle(request: Request) -> Response:
            check_texts(await request.body())
            return await handle(request)

        return check_and_handle


class MaxBodySizeMiddleware(AdmissionMiddleware):
    """ASGI middleware: refuses bodies of more than *limit* bytes, with or without a Content-Length header."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        super().__init__(app, self._admit_length)
        self._limit = limit
        self._detail = (
            f"a request body may have {limit:,} bytes at most; the setting api_max_body_bytes raises the limit"
        )

    def _admit_length(self, scope: Scope) -> Scope:
        """Return *scope*, or refuse it by 413 if its header declares too large a body."""
        length = Headers(scope=scope).get("content-length", "")
        if length.isascii() and length.isdecimal() and int(length[:20]) > self._limit:
            raise too_large(self._detail)
        return scope

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, counting the bytes of its body, or answer 413."""
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._detail)
            return message

        await super().__call__(scope, receive_counted, send)


class NoSniffMiddleware:
    """ASGI middleware: makes browsers treat every response as the type that it declares.

    Memories contain text of any origin; a browser that guesses types could run it as a page or a script.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, and add the header to its response."""

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Content-Type-Options"] = "nosniff"
            await send(message)

        await self._app(scope, receive, send_with_header)
