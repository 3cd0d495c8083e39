"""Who is calling the guarded server: the key `key-NAME` is NAME's, and whose a thread is may use it."""

from __future__ import annotations

from typing import Any

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes]) -> dict[str, Any]:
    """Read the key, from either header."""
    said = headers.get(b"x-api-key") or headers.get(b"authorization", b"").removeprefix(b"Bearer ")
    kind, _, name = said.decode().partition("-")
    if kind != "key" or not name:
        raise Auth.exceptions.HTTPException(status_code=401, detail="who is calling?")
    return {"identity": name}


@auth.on.threads
async def own(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, Any]:
    """Let everybody see their own threads only."""
    owner = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(owner)
    return owner
