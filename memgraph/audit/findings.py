"""A finding: what is wrong, and what is suggested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.audit.secrets import mask, redact
from memgraph.models import Fact, Memory, SectionName
from memgraph.text.normalize import single_line
from memgraph.text.uploads import without_uploads

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


def fact_finding(kind: Kind, fact: Fact, why: str, *, remove: bool = True) -> Finding:
    """A finding about one fact. What a person wrote is not suggested to go."""
    return Finding(
        kind=kind,
        facts=(fact.id,),
        what=quoted(fact.content),
        why=why,
        remove=(fact.id,) if remove and not fact.is_manual else (),
    )


def pair_finding(kind: Kind, kept: Fact, gone: Fact, why: str, *, remove: bool = True) -> Finding:
    """A finding about two facts, of which *gone* might go."""
    return Finding(
        kind=kind,
        facts=(kept.id, gone.id),
        what=f"{quoted(kept.content)} / {quoted(gone.content)}",
        why=why,
        remove=(gone.id,) if remove and not gone.is_manual else (),
    )


def section_finding(kind: Kind, section: SectionName, text: str, why: str, rewrite: str | None = None) -> Finding:
    """A finding about a summary."""
    return Finding(kind=kind, section=section, what=quoted(text), why=why, rewrite=rewrite)


def quoted(text: str) -> str:
    """*text* on one line, cut, its secrets masked."""
    text = single_line(mask(text))
    return f"{text[: SHOWN - 3]}..." if len(text) > SHOWN else text


def latest(fact: Fact) -> str:
    """When it was last said, as far as is known."""
    return max(fact.created_at, fact.last_confirmed_at)


REWRITES: Mapping[Kind, Callable[[str], str]] = MappingProxyType({"secret": redact, "upload": without_uploads})
"""How a summary is cleared of what was found in it; several may apply to one, so each works on what is left."""


def apply_fixes(memory: Memory, findings: Iterable[Finding]) -> Memory:
    """Do what *findings* suggest. What a person wrote stays, whatever is suggested."""
    findings = tuple(findings)
    gone = {fact_id for finding in findings for fact_id in finding.remove}
    changed = memory.with_facts(tuple(fact for fact in memory.facts if fact.is_manual or fact.id not in gone))
    for finding in findings:
        if finding.section and finding.kind in REWRITES:
            section = changed.section(finding.section)
            text = REWRITES[finding.kind](section.summary)
            changed = changed.with_section(finding.section, section.model_copy(update={"summary": text}))
    return changed
