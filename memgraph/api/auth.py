"""Authentication: bearer tokens, or the user that LangGraph Server has authenticated."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers

from memgraph.api.principal import CALLER, Principal
from memgraph.api.problems import problem
from memgraph.models import Scope

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as ConnectionScope

    from memgraph.settings import Settings


OPEN_PATHS = frozenset({"/openapi.json", "/docs"})
"""What this API is, which is no secret."""
NO_TOKEN_IS_SET = (
    "this API lets nobody in before a token is set: put MEMGRAPH_API_TOKEN into the server's environment, "  # noqa: S105
    "or api_tokens into its memgraph.yaml, and restart it"
)
WRONG_TOKEN = "show a token that the server knows: Authorization: Bearer TOKEN"  # noqa: S105 - a sentence


@dataclass(frozen=True)
class Authenticator:
    """Which token lets whom in. Only hashes are kept."""

    callers: Mapping[bytes, Principal] = field(default_factory=dict[bytes, Principal])
    is_open: bool = False
    """Whether everybody may do everything, without a token."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Authenticator:
        """The access that *settings* give.

        Raises:
            IdentityError: If a token is for a user id that may not be used.
        """
        callers = {
            _hash(token.get_secret_value()): Principal(Scope(user_id).user_id)
            for user_id, token in settings.api_tokens.items()
        }
        if settings.api_token:
            callers[_hash(settings.api_token.get_secret_value())] = Principal()
        return cls(callers)

    def caller(self, scope: ConnectionScope) -> Principal | None:
        """Who makes this request; None where nobody knows."""
        if self.is_open:
            return Principal()
        return self._by_token(Headers(scope=scope).get("authorization", "")) or _by_server(scope)

    def _by_token(self, authorization: str) -> Principal | None:
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer":
            return None
        shown = _hash(token.strip())
        found: Principal | None = None
        for known, caller in self.callers.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(shown, known):
                found = caller
        return found


class AuthMiddleware:
    """ASGI middleware: lets in whom *access* knows, before anything of the request is read."""

    def __init__(self, app: ASGIApp, access: Authenticator) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its caller."""
        if scope["type"] != "http" or _path(scope) in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        caller = self._access.caller(scope)
        if caller:
            await self._app({**scope, CALLER: caller}, receive, send)
            return
        detail = WRONG_TOKEN if self._access.callers else NO_TOKEN_IS_SET
        headers = {"WWW-Authenticate": 'Bearer realm="memgraph"'}
        await problem(HTTPStatus.UNAUTHORIZED, "Unauthorized", detail, headers=headers)(scope, receive, send)


def _path(scope: ConnectionScope) -> str:
    return scope["path"].removeprefix(scope.get("root_path", ""))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _by_server(scope: ConnectionScope) -> Principal | None:
    """The user whom the server around this app authenticated. Studio's own is nobody's memory."""
    user: Any = scope.get("user")
    if user is None or not user.is_authenticated or getattr(user, "kind", None) == "StudioUser":
        return None
    return Principal(Scope(str(user.identity)).user_id) if user.identity else None
