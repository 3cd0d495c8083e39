"""Facts under ids that no other one has."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence

from memgraph.models import Fact, MemoryDocument, PastFact, current_time, new_fact_id
from memgraph.rules.add import SomeFact
from memgraph.text.normalize import fact_key


def unique_fact_id(taken: Container[str]) -> str:
    """Return a new id that is not in *taken*."""
    while (fact_id := new_fact_id()) in taken:
        pass
    return fact_id


def with_reworded(memory: MemoryDocument, old: Fact, limit: int) -> MemoryDocument:
    """Return *memory* with *old* among at most *limit* past facts, under another id: its id has another content now."""
    fact_id = unique_fact_id({fact.id for fact in (*memory.facts, *memory.past)})
    past = PastFact.of(old.model_copy(update={"id": fact_id}), "superseded", at=current_time(), by=old.id)
    return memory.with_past([past], limit)


def new_facts(own: Sequence[SomeFact], given: Iterable[SomeFact], taken: Collection[str]) -> list[SomeFact]:
    """Return those of *given* whose content *own* do not have, under ids that are not *taken*."""
    keys, ids = {fact_key(fact.content) for fact in own} | {""}, set(taken)
    new: list[SomeFact] = []
    for fact in given:
        if (key := fact_key(fact.content)) not in keys:
            new.append(fact.model_copy(update={"id": unique_fact_id(ids)}) if fact.id in ids else fact)
            keys.add(key)
            ids.add(new[-1].id)
    return new
