"""Scope: the owner of a memory."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from pydantic import BaseModel

from memgraph._validation import preview_value
from memgraph.errors import IdentityError

MAX_ID_CHARS = 256
_AGENT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def validate_id(value: str, name: str) -> str:
    """Return *value* if it is a valid id; *name* is the field that an error refers to.

    Raises:
        IdentityError: If it is empty, longer than 256 characters, or contains a control character
            or an unpaired surrogate.
    """
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        raise IdentityError(f"{name} is {preview_value(value)}, but must be a text")
    if not value:
        raise IdentityError(f"{name} is empty: use 1 to {MAX_ID_CHARS} characters")
    if len(value) > MAX_ID_CHARS:
        raise IdentityError(f"{name} {value[:20]!r}... has {len(value)} characters; at most {MAX_ID_CHARS} are allowed")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise IdentityError(f"{name} {value!r} contains a control character")
    return value


def log_id(user_id: str) -> str:
    """Return what stands for a user in logs."""
    return hashlib.sha256(user_id.encode("utf-8", "replace")).hexdigest()[:12]


class Scope(BaseModel, frozen=True, extra="forbid"):
    """The owner of a memory: a user, or a user with one agent.

    Args:
        user_id: 1-256 characters without control characters. "default" is the memory without a user.
        agent_name: Letters, digits, `-` and `_`, at most 64, lower-cased. None or "" is the user's shared memory.

    Raises:
        IdentityError: If an id is invalid.
    """

    user_id: str
    """The user, 1-256 characters."""
    agent_name: str | None = None
    """The agent, in lower case; None is the memory that all agents of the user share."""

    def __init__(self, user_id: str = "", agent_name: str | None = None, **unknown: object) -> None:
        # JSON comes here too: an unknown key is left to pydantic, which lists it by name
        if not isinstance(agent_name, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise IdentityError(f"agent_name is {preview_value(agent_name)}, but must be a text")
        if agent_name and not _AGENT_NAME.fullmatch(agent_name):
            raise IdentityError(
                f"agent_name {agent_name[:80]!r} is invalid: use letters, digits, - and _ only, at most 64 characters"
            )
        agent_name = agent_name.lower() if agent_name else None
        super().__init__(user_id=validate_id(user_id, "user_id"), agent_name=agent_name, **unknown)

    def __str__(self) -> str:
        return f"{self.user_id!r} with agent {self.agent_name!r}" if self.agent_name else f"{self.user_id!r}"

    @property
    def log_name(self) -> str:
        """Names the owner in logs, which outlive an erasure: the user by 12 digits of the SHA-256 hash of the id."""
        user = f"user {log_id(self.user_id)}"
        return f"{user} with agent {self.agent_name!r}" if self.agent_name else user

    @property
    def shared(self) -> Scope:
        """The user's memory that all agents share; the scope itself if it has no agent."""
        return Scope(self.user_id) if self.agent_name else self
