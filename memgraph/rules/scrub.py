"""Remove what an update wrote about uploads: an uploaded file is gone in the next session."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from memgraph.analysis.uploads import mentions_upload, without_uploads
from memgraph.models import Fact, MemoryDocument, Refusal, SectionName

REASON = "it mentions an uploaded file"


class ScrubResult(NamedTuple):
    """A memory without the upload events of this update, and what was removed from it."""

    memory: MemoryDocument
    refused: tuple[Refusal, ...]


def scrub(before: MemoryDocument, after: MemoryDocument, *, edited_by_user: Container[SectionName] = ()) -> ScrubResult:
    """Remove the mentions of uploads that *after* contains and *before* does not.

    A fact is removed as a whole, and the facts that it replaced are restored. A summary loses the sentence, and
    keeps its old text if nothing is left. Manual text is kept: manual facts, and the summaries *edited_by_user*.
    """
    known = {fact.id: fact for fact in before.facts}
    dropped = [fact for fact in after.facts if _is_new_and_learned(fact, known) and mentions_upload(fact.content)]
    scrubbed = _undo_replacements(after, dropped, known) if dropped else after
    refused = [Refusal(item=fact.content, reason=REASON) for fact in dropped]
    for name, section in after.sections():
        old = before.section(name)
        if section.summary == old.summary or name in edited_by_user:
            continue
        summary = without_uploads(section.summary)
        if summary != section.summary:
            kept = section.model_copy(update={"summary": summary}) if summary.strip() else old
            scrubbed = scrubbed.with_section(name, kept)
            refused.append(Refusal(item=name, reason=REASON))
    return ScrubResult(scrubbed, tuple(refused))


def _is_new_and_learned(fact: Fact, known: dict[str, Fact]) -> bool:
    return (fact.id not in known or fact.content != known[fact.id].content) and not fact.is_manual


def _undo_replacements(after: MemoryDocument, dropped: list[Fact], known: dict[str, Fact]) -> MemoryDocument:
    """Return *after* without *dropped*, and with the facts that only these replaced."""
    dropped_ids = {fact.id for fact in dropped}
    kept = tuple(fact for fact in after.facts if fact.id not in dropped_ids)
    kept_ids = {fact.id for fact in kept}
    still_replaced = {old for fact in kept for old in fact.replaces}
    restored = {old for fact in dropped for old in fact.replaces} - still_replaced - kept_ids
    current = (*(known[fact_id] for fact_id in known if fact_id in restored), *kept)
    past = tuple(fact for fact in after.past if fact.id not in restored or fact.id not in known)
    return after.model_copy(update={"facts": current, "past": past})
