"""Health check of a container: the server responds and can reach its database."""

from __future__ import annotations

import os
from urllib.request import Request, urlopen

URL = "http://127.0.0.1:8765/memory/status"  # reads the number of pending jobs from the outbox
HEADERS = {"Authorization": f"Bearer {os.environ['MEMGRAPH_API_TOKEN']}"}


def check(url: str = URL) -> None:
    """Request the status; an error status, a timeout or a refused connection raises, so the exit code is not 0."""
    with urlopen(Request(url, headers=HEADERS), timeout=8) as response:  # noqa: S310 - loopback
        response.read()


if __name__ == "__main__":
    check()
