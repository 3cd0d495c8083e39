"""The documentation at /memory/docs: a page of the package that renders openapi.json, without any other host."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = Path(__file__).parent
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": "default-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    }
)
PAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"/docs": ("docs.html", "text/html"), "/docs.js": ("docs.js", "text/javascript")}
)
"""File and media type by path. The pages need no token: like openapi.json, they are the same on every server."""


def docs_routes() -> list[Route]:
    """Return the routes of the pages; they are not described in openapi.json."""
    return [
        Route(path, _read(name, media_type), methods=["GET"], include_in_schema=False)
        for path, (name, media_type) in PAGES.items()
    ]


def _read(name: str, media_type: str) -> Response:
    """Return a response that can be sent any number of times."""
    return Response((_FOLDER / name).read_bytes(), media_type=media_type, headers=_HEADERS)
