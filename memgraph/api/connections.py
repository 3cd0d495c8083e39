"""BoundedConnection: uvicorn's HTTP connection, closed when its client stops sending.

uvicorn limits only the time between two requests. A client that opens connections and sends nothing, or a header or a
body that never ends, would hold them for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 1_000
"""Open connections; beyond this number new ones are closed."""
HEADER_SECONDS = 20
"""Seconds for all headers of a request, from the opening of the connection or the request's first byte."""
BODY_SECONDS = 60
"""Seconds between two parts of a request's body."""
KEEP_ALIVE_SECONDS = 5
"""Seconds between a response and the next request."""


class BoundedConnection(H11Protocol):
    """An HTTP connection whose client has to send a request within a time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own arguments
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._is_header_timer = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection unless there are too many."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.close()
            return
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle *data*, and wait for more if the request is not complete."""
        super().data_received(data)
        self._update_timer()

    def _update_timer(self) -> None:
        """Time what the client has to send next. Only a body's timer starts again with each part of it."""
        is_header = self.conn.their_state is h11.IDLE
        is_body = self.conn.their_state is h11.SEND_BODY
        if is_header and self._timer and self._is_header_timer:
            return
        self._stop_timer()
        if is_header or is_body:
            self._is_header_timer = is_header
            self._timer = self.loop.call_later(HEADER_SECONDS if is_header else BODY_SECONDS, self._close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        self.transport.close()
