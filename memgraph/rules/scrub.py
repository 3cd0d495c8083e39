"""What this update wrote about uploads goes again: a file is gone next session."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from memgraph.models import Fact, Memory, Refusal, SectionName
from memgraph.text.uploads import mentions_upload, without_uploads

WHY = "it says a file was uploaded"


class Scrub(NamedTuple):
    """A memory without the upload events of this update, and what was left out."""

    memory: Memory
    refused: tuple[Refusal, ...]


def scrub(before: Memory, after: Memory, *, by_hand: Container[SectionName] = ()) -> Scrub:
    """Take out of *after* what it says about uploads that *before* did not say.

    A fact goes whole, and what it would have replaced stays. A summary loses the
    sentence, and keeps its old text if nothing is left. What a person wrote stays:
    manual facts, and the summaries named by *by_hand*.
    """
    known = {fact.id: fact for fact in before.facts}
    dropped = [fact for fact in after.facts if _is_new_and_learned(fact, known) and mentions_upload(fact.content)]
    facts = _undo_replacements(after.facts, dropped, known) if dropped else after.facts
    scrubbed = after.with_facts(facts)
    refused = [Refusal(item=fact.content, reason=WHY) for fact in dropped]
    for name, section in after.sections():
        old = before.section(name)
        if section.summary == old.summary or name in by_hand:
            continue
        summary = without_uploads(section.summary)
        if summary != section.summary:
            kept = section.model_copy(update={"summary": summary}) if summary.strip() else old
            scrubbed = scrubbed.with_section(name, kept)
            refused.append(Refusal(item=name, reason=WHY))
    return Scrub(scrubbed, tuple(refused))


def _is_new_and_learned(fact: Fact, known: dict[str, Fact]) -> bool:
    return not fact.is_manual and (fact.id not in known or fact.content != known[fact.id].content)


def _undo_replacements(facts: tuple[Fact, ...], dropped: list[Fact], known: dict[str, Fact]) -> tuple[Fact, ...]:
    gone = {fact.id for fact in dropped}
    kept = tuple(fact for fact in facts if fact.id not in gone)
    there = {fact.id for fact in kept}
    replaced_still = {old for fact in kept for old in fact.replaces}
    back = {old for fact in dropped for old in fact.replaces} - replaced_still - there
    return (*(known[old] for old in known if old in back), *kept)
