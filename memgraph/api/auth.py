"""Authentication: which principal a bearer token, or the server around the app, stands for, and what they may do.

Wrong tokens are slowed down by address.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from starlette.datastructures import Headers

from memgraph.api.openapi import PAGES
from memgraph.api.problems import ProblemError
from memgraph.models import Scope

if TYPE_CHECKING:
    from starlette.types import Scope as ConnectionScope

    from memgraph.settings import Settings


K = TypeVar("K")
V = TypeVar("V")

FREE_ATTEMPTS = 10
"""Wrong tokens of an address that are answered at once: a client with an old token, or a typing error."""
MAX_WAIT_SECONDS = 60
"""The longest wait. It doubles with each wrong token, from 1 s."""
FORGET_SECONDS = 900
"""Seconds without a wrong token after which an address starts afresh."""
MAX_ENTRIES = 10_000
"""Maximum size of each table; the entry that was used least recently is dropped."""


class Failures(NamedTuple):
    """The wrong tokens of an address."""

    times: int
    last_at: float

    @property
    def wait_seconds(self) -> float:
        """Seconds from the last wrong token in which none is checked."""
        excess = self.times - FREE_ATTEMPTS
        return min(2.0 ** min(excess, 30), MAX_WAIT_SECONDS) if excess >= 0 else 0


@dataclass(frozen=True)
class SignInAttempts:
    """Counts the wrong tokens of each address. A token that was right at an address is never refused there.

    Otherwise any client behind the same proxy could lock the others out. Tables contain addresses and hashes only.
    """

    clock: Callable[[], float] = time.monotonic
    _failures: OrderedDict[str, Failures] = field(default_factory=OrderedDict[str, Failures])
    _known: OrderedDict[tuple[str, bytes], None] = field(default_factory=OrderedDict[tuple[str, bytes], None])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, host: str, token_hash: bytes, *, is_valid: bool) -> float:
        """Record an attempt, and return the seconds that its address has to wait: 0 if the token may be answered."""
        address = _network(host)
        with self._lock:
            if is_valid and (address, token_hash) in self._known:
                self._known.move_to_end((address, token_hash))
                return 0
            now, failures = self.clock(), self._failures.get(address, Failures(0, 0))
            if now - failures.last_at > FORGET_SECONDS:
                failures = Failures(0, 0)
            remaining = failures.last_at + failures.wait_seconds - now
            if failures.times and remaining > 0:
                return remaining
            if is_valid:
                _put(self._known, (address, token_hash), None)
            else:
                _put(self._failures, address, Failures(failures.times + 1, now))
            return 0


def _put(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > MAX_ENTRIES:
        table.popitem(last=False)


def _network(host: str) -> str:
    """Return the part of an address that one client has: of IPv6, a /64. All other texts count as one client."""
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    return str(int(address) >> 64) if isinstance(address, IPv6Address) else str(address)


# -- principals -------------------------------------------------------------------------------------

PRINCIPAL_KEY = "memgraph.principal"
"""The key of the principal in the ASGI scope, and in the state, of an authenticated request."""
PUBLIC_PATHS = frozenset({"", "/", "/openapi.json", *PAGES})
"""Without a token. The page is at the first two."""
PAGE_PREFIX = "/page"
"""All paths of the page but its first one begin with it. The views of the page check the cookie of the browser."""
NO_TOKEN_IS_SET = (
    "no token is configured, so every request is refused: set MEMGRAPH_API_TOKEN in the server's environment, "  # noqa: S105
    "or api_tokens in its memgraph.yaml, and restart it"
)
WRONG_TOKEN = "send a valid token in the header: Authorization: Bearer TOKEN"  # noqa: S105 - a sentence


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated client: one user, or an administrator."""

    user_id: str | None = None
    """The only user whose memory it may access; None is every user."""

    @property
    def is_admin(self) -> bool:
        """Whether it may access every user's memory, and information about the service."""
        return self.user_id is None

    def scope(self, user_id: str | None, agent_name: str | None) -> Scope:
        """Return the memory that a request is about; a user's own requests may omit the user id.

        Raises:
            ProblemError: If it is another user's memory, or an administrator's request has no user id.
            IdentityError: If an id is invalid.
        """
        user_id = user_id or self.user_id
        if user_id is None:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "IdentityError", "no user: add ?user_id=... to the URL")
        if self.user_id not in (None, user_id):
            detail = f"this token gives access to the memory of {self.user_id!r} only"
            raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", detail)
        return Scope(user_id, agent_name)

    def require_admin(self) -> None:
        """Refuse the request unless it is an administrator's.

        Raises:
            ProblemError: If the principal is a user.
        """
        if not self.is_admin:
            detail = "information about the service needs the administrator's token (api_token), not a user's"
            raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", detail)


def get_principal(scope: Mapping[str, object]) -> Principal | None:
    """Return the principal of a request from its ASGI scope; None if it is not authenticated."""
    principal = scope.get(PRINCIPAL_KEY)  # a server may share the state between requests
    return principal if isinstance(principal, Principal) else None


def mark_authenticated(scope: ConnectionScope, principal: Principal) -> None:
    """Note in the state of a request, which its connection shares, that its headers are *principal*'s."""
    scope.setdefault("state", {})[PRINCIPAL_KEY] = principal


def is_authenticated(scope: Mapping[str, Any]) -> bool:
    """Whether `mark_authenticated` was called for a request."""
    return PRINCIPAL_KEY in scope.get("state", {})


@dataclass(frozen=True)
class Authenticator:
    """Finds the principal of a request by its token. Only hashes of tokens are stored."""

    principals: Mapping[bytes, Principal] = field(default_factory=dict[bytes, Principal])
    """By the SHA-256 hash of the token."""
    is_open: bool = False
    """Whether every request is an administrator's, without a token."""
    attempts: SignInAttempts = field(default_factory=SignInAttempts, compare=False, repr=False)
    """Slows down the addresses that send wrong tokens."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Authenticator:
        """Return the authenticator for the tokens in *settings*.

        Raises:
            IdentityError: If the user id of a token is invalid.
        """
        principals = {
            _hash(token.get_secret_value()): Principal(Scope(user_id).user_id)
            for user_id, token in settings.api_tokens.items()
        }
        if settings.api_token:
            principals[_hash(settings.api_token.get_secret_value())] = Principal()
        return cls(principals)

    def authenticate(self, scope: ConnectionScope) -> Principal | None:
        """Return the principal of a request; None if it has no valid credentials.

        Raises:
            ProblemError: As `find_hash`.
        """
        if self.is_open:
            return Principal()
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        token, user = token.strip(), _server_user(scope)
        if not token or scheme.lower() != "bearer" or (user and _hash(token) not in self.principals):
            return user  # whose header the server around the app has checked
        found = self.find_hash(token, scope)
        return self.principals[found] if found else None

    def find_hash(self, token: str, scope: Mapping[str, Any]) -> bytes | None:
        """Return the key in `principals` of the *token* of a request; None if it is not a valid one.

        Raises:
            ProblemError: 429 if the address of the request has sent too many wrong tokens.
        """
        token_hash = _hash(token)  # so the time of the look-up does not show how much of a token is right
        is_valid = token_hash in self.principals
        host = (scope.get("client") or ("",))[0]
        if wait := self.attempts.check(host, token_hash, is_valid=is_valid):
            detail = "too many wrong tokens came from this address: retry after the seconds in Retry-After"
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyAttempts", detail, Retry_After=str(ceil(wait)))
        return token_hash if is_valid else None


def admit_authenticated(authenticator: Authenticator, scope: ConnectionScope) -> ConnectionScope:
    """Return *scope* with its principal, or refuse it by 401 before its body is read."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    if path in PUBLIC_PATHS or path.startswith(f"{PAGE_PREFIX}/"):
        return scope
    principal = authenticator.authenticate(scope)
    if principal is None:
        detail = WRONG_TOKEN if authenticator.principals else NO_TOKEN_IS_SET
        realm = 'Bearer realm="memgraph"'
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "Unauthorized", detail, WWW_Authenticate=realm)
    mark_authenticated(scope, principal)
    return {**scope, PRINCIPAL_KEY: principal}


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _server_user(scope: ConnectionScope) -> Principal | None:
    """Return the user that the server around the app has authenticated.

    LangGraph Studio connects to any server with a user of its own, who must not get access to a memory.
    """
    user: Any = scope.get("user")
    if user is None or not user.is_authenticated or getattr(user, "kind", None) == "StudioUser":
        return None
    return Principal(Scope(str(user.identity)).user_id) if user.identity else None
