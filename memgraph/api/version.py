"""Which version of memgraph this is."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """The version that is installed; "0" where the package runs without being installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("langgraph-memgraph")
    except PackageNotFoundError:
        return "0"
