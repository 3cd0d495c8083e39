"""Sign-in of the page: a signed cookie for a browser, and a token that each change has to carry (CSRF)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from itsdangerous import BadSignature, URLSafeTimedSerializer

from memgraph.api.auth import Authenticator, Principal
from memgraph.api.services import SESSION_SECONDS

if TYPE_CHECKING:
    from fastapi import Request

    from memgraph.api.services import Services, SessionStore

COOKIE = "memgraph_session"
SIGN_IN_COOKIE = "memgraph_sign_in"
"""A random value that a browser gets with the sign-in form, whose CSRF token is made from it."""
CODE_SECONDS = 900
"""How long a sign-in code is valid."""
CSRF_HEADER = "X-CSRF-Token"


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A signed-in browser."""

    principal: Principal
    csrf: str
    """What a change has to send in CSRF_HEADER. A page of another origin cannot read it."""


class Sessions:
    """Issues, reads and ends the sessions of browsers.

    A cookie holds the random id of its session and a keyed hash of the token that it was issued for, both signed. So
    it ends with the token, is not evidence of what the token is, and ends at the sign-out. Blocking: the key and what
    has ended are files.

    Args:
        authenticator: Finds the principal of a token, or of a request that the server around the app authenticated.
        services: Where the key and the ended sessions are kept.
    """

    def __init__(self, authenticator: Authenticator, services: Services) -> None:
        self._authenticator = authenticator
        self._services = services

    def sign_in(self, token: str, request: Request) -> str | None:
        """Return the cookie of a new session; None if the token is wrong."""
        token_hash = self._authenticator.find_hash(token, request.scope)
        return self._issue(COOKIE, self._digest("token", token_hash)) if token_hash else None

    def issue_code(self) -> str | None:
        """Return a code that signs one browser in as the administrator; None if there is no administrator's token."""
        principals = self._authenticator.principals.items()
        token_hash = next((token_hash for token_hash, principal in principals if principal.is_admin), None)
        return self._issue(SIGN_IN_COOKIE, self._digest("token", token_hash)) if token_hash else None

    def sign_in_by_code(self, code: str) -> str | None:
        """Return the cookie of a new session; None if the code is wrong, too old or was used before."""
        found = self._load(SIGN_IN_COOKIE, code, CODE_SECONDS)
        return self._issue(COOKIE, found[1]) if found and self._store.end(found[0]) else None

    def read(self, request: Request) -> BrowserSession | None:
        """Return the session of *request*; None if the browser has to sign in.

        Without tokens, or behind a server that authenticates users itself, no cookie is needed. Its CSRF token then
        belongs to the key and the user.
        """
        cookie = request.cookies.get(COOKIE, "")
        principal = self._principal_of(cookie)
        if principal is None:
            cookie, principal = "", self._authenticator.authenticate(request.scope)
        if principal is None:
            return None
        return BrowserSession(
            principal, self._digest("csrf", f"{cookie}\n{principal.user_id}".encode("utf-8", "replace"))
        )

    def end(self, request: Request) -> None:
        """End the session of *request*: its cookie is refused from then on."""
        if found := self._load(COOKIE, request.cookies.get(COOKIE, ""), SESSION_SECONDS):
            self._store.end(found[0])

    def sign_in_csrf(self, nonce: str) -> str:
        """Return what a sign-in has to send if the browser has *nonce* as its SIGN_IN_COOKIE."""
        return self._digest("sign-in", nonce.encode("utf-8", "replace"))

    @property
    def _store(self) -> SessionStore:
        return self._services.sessions

    def _principal_of(self, cookie: str) -> Principal | None:
        found = self._load(COOKIE, cookie, SESSION_SECONDS) if cookie else None
        if found is None or self._store.has_ended(found[0]):
            return None
        principals = self._authenticator.principals.items()
        return next((principal for known, principal in principals if self._digest("token", known) == found[1]), None)

    def _issue(self, salt: str, token_digest: str) -> str:
        return self._serializer(salt).dumps([secrets.token_hex(16), token_digest])

    def _load(self, salt: str, signed: str, seconds: int) -> tuple[str, str] | None:
        try:
            session_id, token_digest = cast("list[str]", self._serializer(salt).loads(signed, max_age=seconds))
        except BadSignature:  # also expired ones
            return None
        return session_id, token_digest

    def _serializer(self, salt: str) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._store.key, salt=salt)

    def _digest(self, purpose: str, value: bytes) -> str:
        return hmac.new(self._store.key, purpose.encode() + b"\n" + value, hashlib.sha256).hexdigest()


def is_valid_csrf(expected: str, sent: str) -> bool:
    """Return whether a change was *sent* by a page of this session."""
    return hmac.compare_digest(expected.encode(), sent.encode("utf-8", "replace"))
