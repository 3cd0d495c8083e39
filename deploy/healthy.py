# ruff: noqa: INP001 - a script, not a package
"""Whether the server of this container works: it answers, and reaches its database."""

from __future__ import annotations

import os
from urllib.request import Request, urlopen

URL = "http://127.0.0.1:8765/memory/status"  # its count of what waits comes from the outbox
TOKEN = {"Authorization": f"Bearer {os.environ['MEMGRAPH_API_TOKEN']}"}


def check(url: str = URL) -> None:
    """Ask for the status; anything but an answer is an error, and an exit code that is not 0."""
    with urlopen(Request(url, headers=TOKEN), timeout=8) as answer:  # noqa: S310 - loopback
        answer.read()


if __name__ == "__main__":
    check()
