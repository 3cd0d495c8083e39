"""Decide about changes in quarantine."""

from __future__ import annotations

from memgraph.editing.facts import current_time, unique_fact_id
from memgraph.errors import EditError
from memgraph.models import MANUAL, Fact, MemoryDocument, Quarantined, Section
from memgraph.policy import Policy
from memgraph.retrieval.render import may_recall
from memgraph.sections import section_name
from memgraph.text.normalize import fact_key


def find_quarantined(memory: MemoryDocument, change_id: str) -> Quarantined:
    """Return the change *change_id* in quarantine.

    Raises:
        EditError: If there is none.
    """
    found = next((item for item in memory.quarantine if item.id == change_id), None)
    if found is None:
        raise EditError(f"there is no change {change_id[:80]!r} in quarantine; {len(memory.quarantine)} changes are")
    return found


def accept_quarantined(memory: MemoryDocument, change_id: str) -> MemoryDocument:
    """Return *memory* with the change *change_id* applied.

    What its facts replace is past, manual facts too, since a person decides; only learned facts are removed otherwise.
    A fact that no program may add, such as an order, is manual then.

    Raises:
        EditError: If there is no such change.
    """
    change, at = find_quarantined(memory, change_id), current_time()
    removes = {fact.id for fact in memory.facts if fact.id in change.removes and not fact.is_manual}
    for fact in change.facts:
        held = set(fact.replaces) - removes
        since = fact.valid_from or fact.said_at or at
        memory = memory.end_facts(held, "superseded", at=since, by=fact.id, limit=Policy().max_past_facts)
    kept = tuple(fact for fact in memory.facts if fact.id not in removes)
    accepted = memory.with_facts((*kept, *_new_facts(change, kept)))
    for key, summary in change.summaries.items():
        if summary:
            name = section_name(key)
            written = {"summary": summary, "updated_at": at, "source": MANUAL}
            section = Section.model_validate(accepted.section(name).model_dump() | written)
            accepted = accepted.with_section(name, section)
    return reject_quarantined(accepted, change_id).model_copy(update={"last_updated": at})


def reject_quarantined(memory: MemoryDocument, change_id: str) -> MemoryDocument:
    """Return *memory* without the change *change_id* in quarantine.

    Raises:
        EditError: If there is no such change.
    """
    rejected = find_quarantined(memory, change_id)
    return memory.model_copy(update={"quarantine": tuple(item for item in memory.quarantine if item is not rejected)})


def _new_facts(change: Quarantined, known: tuple[Fact, ...]) -> list[Fact]:
    """Return the facts of *change* that are not *known*, with ids of their own."""
    keys, ids = {fact_key(fact.content) for fact in known}, {fact.id for fact in known}
    new: list[Fact] = []
    for fact in change.facts:
        if (key := fact_key(fact.content)) not in keys:
            fact_id = unique_fact_id(ids) if fact.id in ids else fact.id
            source = fact.source if may_recall(fact) else MANUAL
            new.append(fact.model_copy(update={"id": fact_id, "source": source}))
            keys.add(key)
            ids.add(new[-1].id)
    return new
