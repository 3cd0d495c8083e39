"""Authentication of the test server: the key `key-NAME` belongs to user NAME, and threads are private."""

from __future__ import annotations

from typing import Any

from langgraph_sdk import Auth

from memgraph import protect_store

auth = Auth()
protect_store(auth)


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes]) -> dict[str, Any]:
    """Read the key from either header."""
    api_key = headers.get(b"x-api-key") or headers.get(b"authorization", b"").removeprefix(b"Bearer ")
    kind, _, name = api_key.decode().partition("-")
    if kind != "key" or not name:
        raise Auth.exceptions.HTTPException(status_code=401, detail="unknown key")
    return {"identity": name}


@auth.on.threads
async def restrict_to_owner(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, Any]:
    """Limit users to their own threads."""
    owner = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(owner)
    return owner
