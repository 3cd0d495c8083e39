"""The OpenAPI document of a mounted app, as a part of that of the server around it."""

from __future__ import annotations

import json
from typing import Any

PREFIX = "Memgraph"
"""Of the names of schemas, so that none takes the place of one of the server's."""

_SCHEMAS = "#/components/schemas/"


def prefix_openapi(document: dict[str, Any], mounted_at: str) -> dict[str, Any]:
    """Return *document* with the paths and the names that it has below *mounted_at*; the title is the server's."""
    text = json.dumps({key: document[key] for key in ("openapi", "paths", "components")})
    renamed = json.loads(text.replace(f'"{_SCHEMAS}', f'"{_SCHEMAS}{PREFIX}'))
    components = renamed["components"]
    components["schemas"] = {f"{PREFIX}{name}": schema for name, schema in components["schemas"].items()}
    paths = {f"{mounted_at}{path}": item for path, item in renamed["paths"].items()}
    return {"openapi": renamed["openapi"], "info": {}, "paths": paths, "components": components}
