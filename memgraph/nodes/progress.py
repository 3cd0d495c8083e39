"""How far an update is, for whoever listens to the stream mode `custom`."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime


def emit_progress(runtime: Runtime[Any], node: str, **counts: int) -> None:
    """Say how far it is, in counts: no word of anybody's is in them. Where nobody listens nothing is done.

    The name of the graph is in it, since a lead agent's clients hear it among the agent's own.
    """
    runtime.stream_writer({"graph": "memory_update", "node": node, **counts})
