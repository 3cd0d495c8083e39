"""BoundedConnection: uvicorn's HTTP connection, closed when its client stops sending.

uvicorn limits only the time between two requests. A client that opens connections and sends nothing, or a header or a
body that never ends, would hold them for ever. A connection is anonymous until the headers of its request are
authenticated; those whose client has not sent a whole request have few places, and a new one takes the oldest's.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from memgraph.api.auth import is_authenticated

MAX_CONNECTIONS = 1_000
"""Open connections; beyond this number new ones are closed."""
ANONYMOUS_SHARE = 0.2
"""Maximum share of them that wait for the request of a client that is not authenticated."""
HEADER_SECONDS = 20
"""Seconds for all headers of a request, from the opening of the connection or the request's first byte."""
BODY_SECONDS = 120
"""Seconds for the whole body of a request, from the end of its headers."""
KEEP_ALIVE_SECONDS = 5
"""Seconds between a response and the next request."""


class BoundedConnection(H11Protocol):
    """An HTTP connection whose client has to send a request within a time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own arguments
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._timed_state: Any = None
        self.opened_at = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection unless there are too many."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.close()
            return
        self._make_room()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle *data*, and wait for more if the request is not complete."""
        super().data_received(data)
        self._update_timer()

    @property
    def waits_anonymously(self) -> bool:
        """Whether its client has not sent a whole request, and is not authenticated."""
        is_complete = self.conn.their_state is h11.DONE
        return not (is_complete or self.transport.is_closing() or is_authenticated(self.scope or {}))

    def _make_room(self) -> None:
        """Close the oldest anonymous connection if there are too many: slow clients replace each other."""
        waiting = [each for each in self.connections if isinstance(each, BoundedConnection) and each.waits_anonymously]
        if self.limit_concurrency is not None and len(waiting) > max(1, int(self.limit_concurrency * ANONYMOUS_SHARE)):
            min(waiting, key=lambda each: each.opened_at).transport.close()

    def _update_timer(self) -> None:
        """Time what the client has to send next: all headers, then the whole body."""
        state = self.conn.their_state
        if self._timer and self._timed_state is state:
            return
        self._stop_timer()
        if state in (h11.IDLE, h11.SEND_BODY):
            self._timed_state = state
            seconds = HEADER_SECONDS if state is h11.IDLE else BODY_SECONDS
            self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
