"""A fake OpenAI-compatible server whose chat model makes one fact of each new turn.

    python benchmarks/provider.py SECONDS   # prints its URL, and serves until it is stopped

Each fact has a nonce, so that a turn which is learned twice shows as two facts; from the command line it has none, so
that the gates of the default settings accept it.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memgraph.prompts.update_prompt import read_turns
from memgraph.testing import update_answer


class Provider(ThreadingHTTPServer):
    """A chat model over HTTP, on loopback. It counts requests by API key.

    Args:
        seconds: Latency of each response.
        is_unique: Whether a fact gets a nonce.
    """

    daemon_threads = True

    def __init__(self, seconds: float, *, is_unique: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), Completions)
        self.is_unique = is_unique
        self.seconds = seconds
        self.active: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Ignore errors: the client may have been killed."""

    def is_serving(self, key: str) -> bool:
        """Whether a request with *key* is in progress."""
        with self.lock:
            return self.active[key] > 0


class Completions(BaseHTTPRequestHandler):
    """Handles chat completion requests."""

    server: Provider

    def do_POST(self) -> None:
        key = self.headers["Authorization"].removeprefix("Bearer ")
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][-1]["content"]
        with self.server.lock:
            self.server.active[key] += 1
            self.server.requests[key] += 1
        time.sleep(self.server.seconds)
        with self.server.lock:
            self.server.active[key] -= 1
        turns = [turn.text for turn in read_turns(prompt) if turn.is_new]
        answer = update_answer(
            *(f"{turn} #{secrets.token_hex(4)}" if self.server.is_unique else turn for turn in turns)
        )
        self._stream(answer) if request.get("stream") else self._answer(answer)

    def log_message(self, *_: object) -> None:
        """Disable the request log."""

    def _stream(self, content: str) -> None:
        frame = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "items"}
        delta = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        chunks = [{**frame, "choices": [delta]}, {**frame, "choices": [], "usage": usage}]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in [*map(json.dumps, chunks), "[DONE]"]:
            self.wfile.write(f"data: {chunk}\n\n".encode())

    def _answer(self, content: str) -> None:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "items",
                           "choices": [choice], "usage": usage}).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def provider(seconds: float) -> Iterator[Provider]:
    """Run a provider in a background thread."""
    with Provider(seconds) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield serving
        finally:
            serving.shutdown()


if __name__ == "__main__":
    with Provider(float(sys.argv[1]), is_unique=False) as endless:
        print(endless.url, flush=True)
        endless.serve_forever()
