"""Undoing every change in reverse gives the first document, whatever the changes were."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph import MemoryClient
from memgraph.editing import (
    accept_pending,
    add_fact,
    edit_fact,
    edit_section,
    merge_memory,
    reject_pending,
    remove_fact,
    replace_memory,
    update_memory,
)
from memgraph.editing.history import iterate_revisions
from memgraph.models import Addition, Fact, MemoryDocument, MemoryUpdate, Merge, PendingChange, Removal, Scope
from memgraph.policy import Policy
from memgraph.rules.apply import apply
from memgraph.storage.document import encode
from memgraph.storage.memory import InMemoryStorage

ADA = Scope("ada")
POLICY = Policy(max_facts=10, max_past_facts=3, max_threads=2, thread_mark_ids=3, grounding="off")
EXAMPLES = 12
"""The property was checked with 2,000 examples; so many fit into the time of the suite."""


def fresh(memory: MemoryDocument, number: int) -> str:
    """Return a content that the memory does not have."""
    used = {fact.content for fact in (*memory.facts, *memory.past)}
    return next(text for other in range(1_000) if (text := f"Owns {number + other} ships.") not in used)


def fact_id(memory: MemoryDocument, number: int) -> str:
    return memory.facts[number % len(memory.facts)].id if memory.facts else ""


def update(memory: MemoryDocument, one: int, two: int) -> MemoryDocument:
    changes = MemoryUpdate(
        at="2026-01-01T00:00:00Z",
        thread=f"t{two}",
        message_ids=(f"m{one}",),
        additions=(Addition(id=f"u{memory.revision}", content=fresh(memory, one), confidence=0.9),),
        removals=(Removal(id=fact_id(memory, one)),),
    )
    return apply(changes, memory, POLICY).memory


def tend(memory: MemoryDocument, one: int, two: int) -> MemoryDocument:
    """An upkeep that merges two facts."""
    kept, merged = fact_id(memory, one), fact_id(memory, one + 1)
    merge = Merge(id=kept, content=fresh(memory, one), merged=(merged,))
    changes = MemoryUpdate(
        at="2026-01-02T00:00:00Z", thread="", message_ids=(), merges=(merge,) * (kept != merged), asked=(f"d{two}",)
    )
    return apply(changes, memory, POLICY).memory


def edit(memory: MemoryDocument, one: int, _: int) -> MemoryDocument:
    return edit_fact(memory, fact_id(memory, one), content=fresh(memory, one)) if memory.facts else memory


def remove(memory: MemoryDocument, one: int, _: int) -> MemoryDocument:
    return remove_fact(memory, fact_id(memory, one)) if memory.facts else memory


def merge(memory: MemoryDocument, one: int, two: int) -> MemoryDocument:
    return merge_memory(
        memory, MemoryDocument(facts=(Fact(id=f"i{one}", content=fresh(memory, one)),), **{f"key{two}": one})
    )


def replace(memory: MemoryDocument, one: int, two: int) -> MemoryDocument:
    kept = tuple(fact for index, fact in enumerate(memory.facts) if index % 2 == two % 2)
    return replace_memory(memory, MemoryDocument(facts=kept, **{f"key{one}": two}))


def hold(memory: MemoryDocument, one: int, _: int) -> MemoryDocument:
    return memory.with_pending(PendingChange(id=f"q{one}", facts=(Fact(id=f"f{one}", content=fresh(memory, one)),)))


def decide(memory: MemoryDocument, one: int, two: int) -> MemoryDocument:
    if not memory.pending:
        return memory
    decision = accept_pending if two % 2 else reject_pending
    return decision(memory, memory.pending[one % len(memory.pending)].id)


CHANGES: Mapping[str, Callable[[MemoryDocument, int, int], MemoryDocument]] = {
    "update": update,
    "upkeep": tend,
    "add": lambda memory, one, _: add_fact(memory, fresh(memory, one)),
    "edit": edit,
    "remove": remove,
    "summary": lambda memory, one, _: edit_section(memory, "work_context", fresh(memory, one)),
    "merge": merge,
    "replace": replace,
    "hold": hold,
    "decide": decide,
}
NUMBER = st.integers(0, 7)
STEPS = st.lists(st.tuples(st.sampled_from([*CHANGES, "update", "undo"]), NUMBER, NUMBER), max_size=10)


def without_times(memory: MemoryDocument) -> bytes:
    return encode(memory.model_copy(update={"revision": 0, "last_updated": ""}))


@settings(max_examples=EXAMPLES, deadline=None)
@given(steps=STEPS)
def test_undoing_everything_in_reverse_gives_the_first_document_byte_for_byte(
    steps: list[tuple[str, int, int]],
) -> None:
    """But for its revision and the time of the last change."""
    storage = InMemoryStorage()
    client = MemoryClient(storage, user_id="ada")
    first = storage.save(ADA, add_fact(MemoryDocument(), "Owns a dog."))
    for kind, one, two in steps:
        if kind == "undo":
            entries = storage.revisions(ADA)
            client.undo(entries[one % len(entries)].revision, partial=True, relearn=bool(two % 2))
        else:
            update_memory(storage, ADA, lambda memory, change=CHANGES[kind], one=one, two=two: change(memory, one, two))

    for entry in list(iterate_revisions(storage, ADA))[:-1]:
        assert not client.undo(entry.revision, relearn=True).conflicts

    assert without_times(storage.load(ADA)) == without_times(first)
