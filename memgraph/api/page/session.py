"""Sign-in of the page: a signed cookie for a browser, and a token that each change has to carry (CSRF)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, URLSafeTimedSerializer

from memgraph.api.auth import Authenticator, Principal

if TYPE_CHECKING:
    from fastapi import Request, Response

COOKIE = "memgraph_session"
SESSION_SECONDS = 12 * 3600
"""How long a browser stays signed in."""
CSRF_HEADER = "X-CSRF-Token"


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A signed-in browser."""

    principal: Principal
    csrf: str
    """What a change has to send in CSRF_HEADER. A page of another origin cannot read it."""


class Sessions:
    """Issues and reads the cookies of signed-in browsers. Nothing is stored: what a cookie states is signed.

    The key is derived from the tokens: every server with the same tokens reads the cookies, also after a restart, and
    a changed token signs every browser out.

    Args:
        authenticator: Finds the principal of a token, or of a request that the server around the app authenticated.
    """

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        tokens = b"".join(sorted(authenticator.principals)) or secrets.token_bytes(32)
        self._key = hashlib.sha256(b"memgraph page" + tokens).digest()
        self._serializer = URLSafeTimedSerializer(self._key, salt=COOKIE)

    def sign_in(self, token: str) -> str | None:
        """Return the cookie of the principal that *token* stands for; None if the token is wrong."""
        principal = self._authenticator.by_token(token)
        return self._serializer.dumps(_to_state(principal)) if principal else None

    def read(self, request: Request) -> BrowserSession | None:
        """Return the session of *request*; None if the browser has to sign in.

        Without tokens, or behind a server that authenticates users itself, no cookie is needed. Its CSRF token then
        belongs to the process and the user.
        """
        cookie = request.cookies.get(COOKIE, "")
        principal = self._principal_of(cookie)
        if principal is None:
            cookie, principal = "", self._authenticator.authenticate(request.scope)
        return BrowserSession(principal, self._csrf(cookie, principal)) if principal else None

    def _principal_of(self, cookie: str) -> Principal | None:
        try:
            user_id = self._serializer.loads(cookie, max_age=SESSION_SECONDS)
        except BadSignature:  # also expired ones
            return None
        return Principal(user_id) if user_id is None or isinstance(user_id, str) else None

    def _csrf(self, cookie: str, principal: Principal) -> str:
        subject = f"{cookie}\n{principal.user_id}".encode("utf-8", "replace")
        return hmac.new(self._key, subject, hashlib.sha256).hexdigest()


def set_cookie(response: Response, cookie: str, *, path: str, secure: bool) -> None:
    """Send *cookie* to the browser: no script can read it, and no other site's request carries it."""
    response.set_cookie(
        COOKIE, cookie, max_age=SESSION_SECONDS, path=path, httponly=True, samesite="strict", secure=secure
    )


def is_valid_csrf(session: BrowserSession, sent: str) -> bool:
    """Return whether a change was *sent* by a page of this session."""
    return hmac.compare_digest(session.csrf.encode(), sent.encode("utf-8", "replace"))


def _to_state(principal: Principal) -> str | None:
    return principal.user_id
