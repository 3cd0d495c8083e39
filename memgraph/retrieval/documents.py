"""What is searched: facts and episodes as documents, with their thread and their time."""

from __future__ import annotations

from dataclasses import dataclass

from memgraph.models import MANUAL, UNKNOWN_THREAD

NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})
"""Sources that are not a conversation."""


@dataclass(frozen=True, slots=True)
class Document:
    """A fact or an episode as it is searched."""

    text: str
    """Its own text, which an embedding model compares with the question."""
    context: tuple[str, ...] = ()
    """Further texts by whose words it is found."""
    thread: str = ""
    """The conversation it is from; empty if there is none."""
    dates: tuple[str, ...] = ()
    """The times that it is about, as (partial) ISO 8601 dates: the first of them to the last."""

    @property
    def words(self) -> str:
        """All texts by whose words it is found."""
        return "\n".join((self.text, *self.context)) if self.context else self.text
