"""Principal: who makes a request, and for whom they may act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from memgraph.api.problems import ProblemError
from memgraph.models import Scope

CALLER = "memgraph.caller"
"""Where a request that was let in carries its caller."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling."""

    user_id: str | None = None
    """Whom they may act for; None is everybody."""

    @property
    def is_admin(self) -> bool:
        """Whether they may act for every user, and look at the service itself."""
        return self.user_id is None

    def scope(self, user_id: str | None, agent_name: str | None) -> Scope:
        """The memory that is meant; who may act for one user need not say for whom.

        Raises:
            Refused: If it is another user's, or nobody says whose.
            IdentityError: If an id may not be used.
        """
        whose = user_id or self.user_id
        if whose is None:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "IdentityError", "say whose memory it is: ?user_id=...")
        if self.user_id not in (None, whose):
            raise ProblemError(
                HTTPStatus.FORBIDDEN, "Forbidden", f"this token is for the memory of {self.user_id!r} only"
            )
        return Scope(whose, agent_name)

    def require_admin(self) -> None:
        """Let only those pass who may act for every user.

        Raises:
            Refused: If this caller may not.
        """
        if not self.is_admin:
            detail = "this tells of the service as a whole, for which api_token is needed, not a user's own token"
            raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", detail)


def get_principal(request: Mapping[str, object]) -> Principal | None:
    """The caller of a request, given as its ASGI scope; None where it was not let in."""
    caller = request.get(CALLER)
    return caller if isinstance(caller, Principal) else None
