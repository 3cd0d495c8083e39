"""Finding: a problem in a memory with a suggested fix, and how fixes are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memgraph.models import Episode, Fact, MemoryDocument, SectionName
from memgraph.text.normalize import shorten
from memgraph.text.secrets import mask, redact
from memgraph.text.uploads import without_uploads

Kind = Literal[
    "secret", "instruction", "about_assistant", "upload", "duplicate", "contradiction", "stale", "meaningless"
]

QUOTED_CHARS = 200
"""Maximum characters of a text that a finding quotes."""


class Finding(BaseModel):
    """A problem in a fact, a pair of facts, a summary or an episode. Without a suggestion, a person has to decide."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    facts: tuple[str, ...] = ()
    """Ids of the affected facts."""
    section: SectionName | None = None
    """The affected summary."""
    episode: str | None = None
    """Id of the affected episode."""
    what: str
    """The affected text, with secrets masked."""
    why: str
    """What is wrong with it."""
    remove: tuple[str, ...] = ()
    """Ids of the facts to remove."""
    rewrite: str | None = None
    """The new text of the summary or the episode."""

    @property
    def is_fixable(self) -> bool:
        """Whether a fix is suggested."""
        return bool(self.remove) or self.rewrite is not None


def fact_finding(kind: Kind, why: str, *facts: Fact, remove: bool = True) -> Finding:
    """Return a finding about one fact or a pair that suggests to remove the last one, unless it is manual."""
    last = facts[-1]
    return Finding(
        kind=kind,
        facts=tuple(fact.id for fact in facts),
        what=" / ".join(shorten(mask(fact.content), QUOTED_CHARS) for fact in facts),
        why=why,
        remove=(last.id,) if remove and not last.is_manual else (),
    )


def text_finding(
    kind: Kind, why: str, text: str, *, section: SectionName | None = None, episode: str | None = None
) -> Finding:
    """Return a finding about a summary or an episode that suggests to rewrite it, if its kind has a rewrite."""
    rewrite = REWRITES[kind](text) if kind in REWRITES else None
    return Finding(
        kind=kind, section=section, episode=episode, what=shorten(mask(text), QUOTED_CHARS), why=why, rewrite=rewrite
    )


REWRITES: Mapping[Kind, Callable[[str], str]] = MappingProxyType({"secret": redact, "upload": without_uploads})
"""Rewrites of summaries and episodes by kind. Several may apply to one summary, so they run one after the other."""


def apply_fixes(memory: MemoryDocument, findings: Iterable[Finding]) -> MemoryDocument:
    """Return *memory* with the fixes that *findings* suggest. Manual facts are never removed."""
    findings = tuple(findings)
    removed = {fact_id for finding in findings for fact_id in finding.remove}
    fixed = memory.with_facts(tuple(fact for fact in memory.facts if fact.is_manual or fact.id not in removed))
    for finding in findings:
        if finding.section and finding.kind in REWRITES:
            section = fixed.section(finding.section)
            text = REWRITES[finding.kind](section.summary)
            fixed = fixed.with_section(finding.section, section.model_copy(update={"summary": text}))
    return fixed


def rewritten_episodes(episodes: Iterable[Episode], findings: Iterable[Finding]) -> list[Episode]:
    """Return those of *episodes* that *findings* are about, with the texts that they suggest."""
    texts = {finding.episode: finding.rewrite for finding in findings if finding.rewrite is not None}
    return [episode.model_copy(update={"text": texts[episode.id]}) for episode in episodes if episode.id in texts]
