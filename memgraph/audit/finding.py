"""A finding: what is wrong, and what is suggested."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.audit.masking import masked
from memgraph.models import Fact, SectionName

Kind = Literal[
    "secret", "instruction", "about_assistant", "upload", "duplicate", "contradiction", "stale", "meaningless"
]

SHOWN = 200
"""Characters of a text that are quoted."""


class Finding(BaseModel):
    """Something wrong with a fact, with several together, or with a summary. Nothing suggested means: look at it."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    facts: tuple[str, ...] = ()
    """Ids of the facts it is about."""
    section: SectionName | None = None
    """The summary it is about."""
    what: str
    """What stands there, secrets masked."""
    why: str
    remove: tuple[str, ...] = ()
    """Ids of the facts that might go."""
    rewrite: str | None = None
    """What the summary might say instead."""

    @property
    def is_fixable(self) -> bool:
        """Whether something is suggested."""
        return bool(self.remove) or self.rewrite is not None


def of_fact(kind: Kind, fact: Fact, why: str, *, remove: bool = True) -> Finding:
    """A finding about one fact. What a person wrote is not suggested to go."""
    return Finding(
        kind=kind,
        facts=(fact.id,),
        what=quoted(fact.content),
        why=why,
        remove=(fact.id,) if remove and not fact.is_manual else (),
    )


def of_two(kind: Kind, kept: Fact, gone: Fact, why: str, *, remove: bool = True) -> Finding:
    """A finding about two facts, of which *gone* might go."""
    return Finding(
        kind=kind,
        facts=(kept.id, gone.id),
        what=f"{quoted(kept.content)} / {quoted(gone.content)}",
        why=why,
        remove=(gone.id,) if remove and not gone.is_manual else (),
    )


def of_section(kind: Kind, section: SectionName, text: str, why: str, rewrite: str | None = None) -> Finding:
    """A finding about a summary."""
    return Finding(kind=kind, section=section, what=quoted(text), why=why, rewrite=rewrite)


def quoted(text: str) -> str:
    """*text* on one line, cut, its secrets masked."""
    text = " ".join(masked(text).split())
    return f"{text[: SHOWN - 3]}..." if len(text) > SHOWN else text


def latest(fact: Fact) -> str:
    """When it was last said, as far as is known."""
    return max(fact.created_at, fact.last_confirmed_at)
