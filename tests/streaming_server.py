"""An OpenAI-compatible server on loopback that streams what a test scripts, and sees when its client goes away."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[["Connection"], None]
"""What the server does with one request."""

POLL_SECONDS = 0.02


class Connection:
    """One request, and the client that waits for its answer."""

    def __init__(self, handler: BaseHTTPRequestHandler, request: Mapping[str, Any]) -> None:
        self.request = request
        self._handler = handler
        self._has_headers = False
        self.was_closed = False
        """Whether the client closed the connection while the server waited for that."""

    def send(self, text: str, **fields: object) -> None:
        """Send one chunk of the answer."""
        self._event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, **fields}]})

    def finish(self, reason: str = "stop") -> None:
        """End the answer, with the usage if it was asked for."""
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if self.request.get("stream_options", {}).get("include_usage"):
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
            self._event({"choices": [], "usage": usage})
        self._write("data: [DONE]\n\n")

    def refuse(self, status: int, message: str) -> None:
        """Answer with an error."""
        self._whole(status, {"error": {"message": message}})

    def answer_whole(self, text: str) -> None:
        """Answer without streaming, whatever was asked for."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        self._whole(200, {**_FRAME, "object": "chat.completion", "choices": [choice], "usage": usage})

    def wait_until_closed(self, seconds: float = 60) -> bool:
        """Return whether the client closed the connection within *seconds*."""
        self._handler.connection.settimeout(seconds)
        try:
            self.was_closed = self._handler.connection.recv(1) == b""
        except ConnectionError:
            self.was_closed = True
        except TimeoutError:
            return False
        return self.was_closed

    def _event(self, fields: Mapping[str, object]) -> None:
        self._write(f"data: {json.dumps({**_FRAME, 'object': 'chat.completion.chunk', **fields})}\n\n")

    def _write(self, text: str) -> None:
        if not self._has_headers:
            self._handler.send_response(200)
            self._handler.send_header("Content-Type", "text/event-stream")
            self._handler.end_headers()
            self._has_headers = True
        self._handler.wfile.write(text.encode())
        self._handler.wfile.flush()

    def _whole(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Content-Length", str(len(data)))
        self._handler.end_headers()
        self._handler.wfile.write(data)


_FRAME = {"id": "c", "created": 1, "model": "m"}


class StreamingServer(ThreadingHTTPServer):
    """Runs the next script for each request; the last one is repeated."""

    daemon_threads = True

    def __init__(self, *scripts: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripts = scripts
        self.requests: list[Mapping[str, Any]] = []
        self.requested = threading.Semaphore(0)
        """Released for each request."""
        self.closed = threading.Semaphore(0)
        """Released for each connection that the client closed before the answer was whole."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """Ignore errors: the client may close the connection."""


class _Handler(BaseHTTPRequestHandler):
    server: StreamingServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.server.requested.release()
        scripts = self.server.scripts
        script = scripts[min(len(self.server.requests), len(scripts)) - 1]
        self.close_connection = True
        connection = Connection(self, request)
        try:
            script(connection)
        except ConnectionError:  # closed before something was sent
            connection.was_closed = True
        if connection.was_closed:
            self.server.closed.release()

    def log_message(self, *_: object) -> None:
        """Disable the request log."""


@contextmanager
def serving(*scripts: Script) -> Iterator[StreamingServer]:
    """Run a server in a background thread."""
    with StreamingServer(*scripts) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": POLL_SECONDS}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def answer(*texts: str, reason: str = "stop") -> Script:
    """Stream *texts*."""

    def script(connection: Connection) -> None:
        for text in texts:
            connection.send(text)
        connection.finish(reason)

    return script


def refuse(status: int, message: str) -> Script:
    """Refuse a request."""
    return lambda connection: connection.refuse(status, message)
