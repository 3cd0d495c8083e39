"""The documentation: the OpenAPI document, and the page at /memory/docs that renders it, without any other host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Response
from starlette.routing import Route as Page

from memgraph.api.problems import problem_docs
from memgraph.models import MemoryDocument

DESCRIPTION = """
Read and edit what is remembered of users, recall from it, and submit conversations to learn from.

**Whose memory** is given by `user_id` and `agent_name` in the query: any id can be sent there unchanged.

**Lost updates are prevented.** Every response about a memory has its ETag. A request that changes or deletes
something sends it as `If-Match`. If the memory has changed since, the response is 412 with the current ETag, and
nothing is changed. `If-Match: *` accepts any state; without the header the response is 428.

**Problems** are RFC 9457 documents: `error` identifies the problem, `detail` explains what to do.
"""

COMMON_PROBLEMS = problem_docs(400, 401, 403, 413, 422, 429, 500, 503)
"""The problems that any route may answer with."""

PREFIX = "Memgraph"
"""Prepended to schema names: in LangGraph Server's document, a mounted app's schema replaces one of the same name."""

MEMORY = "Memory"
_SCHEMAS = "#/components/schemas/"
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


class MemoryAPI(FastAPI):
    """The HTTP API, whose document names the schema of a memory Memory: clients are generated from that name."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema:
            return self.openapi_schema
        text = json.dumps(super().openapi())
        document = json.loads(text.replace(f'"{_SCHEMAS}{MemoryDocument.__name__}"', f'"{_SCHEMAS}{MEMORY}"'))
        schemas = document["components"]["schemas"]
        schemas[MEMORY] = schemas.pop(MemoryDocument.__name__)
        self.openapi_schema = document
        return document


def prefix_openapi(document: dict[str, Any], mounted_at: str) -> dict[str, Any]:
    """Return *document* for an app mounted at a path: with that path and with prefixed schema names, without info."""
    text = json.dumps({key: document[key] for key in ("openapi", "paths", "components")})
    prefixed = json.loads(text.replace(f'"{_SCHEMAS}', f'"{_SCHEMAS}{PREFIX}'))
    components = prefixed["components"]
    components["schemas"] = {f"{PREFIX}{name}": schema for name, schema in components["schemas"].items()}
    paths = {f"{mounted_at}{path}": item for path, item in prefixed["paths"].items()}
    return {"openapi": prefixed["openapi"], "info": {}, "paths": paths, "components": components}


def docs_routes() -> list[Page]:
    """Return the routes of the pages; they are not described in openapi.json."""
    return [
        Page(path, Response((_FOLDER / name).read_bytes(), headers=_HEADERS, media_type=kind), methods=["GET"])
        for path, (name, kind) in PAGES.items()
    ]
