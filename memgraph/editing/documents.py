"""Import a whole document: beside what is known, or in its place."""

from __future__ import annotations

from memgraph.editing.checks import now, unique_fact_id
from memgraph.errors import DamagedMemoryError, EditError
from memgraph.models import Memory
from memgraph.storage.serialization import decode
from memgraph.text.normalize import fact_key


def read_document(data: bytes, place: str) -> Memory:
    """Read a memory document of any shape that was ever stored.

    Args:
        data: JSON in UTF-8.
        place: Where it comes from, for the error.

    Raises:
        EditError: If it is not a memory document.
    """
    try:
        memory = decode(data, place)
    except DamagedMemoryError as error:
        raise EditError(f"{place} is not a memory document: {error.reason}") from None
    if not memory.model_fields_set & {"user", "history", "facts"}:
        raise EditError(f"{place} is not a memory document: there is no user, history or facts in it")
    return memory


def merge_memory(memory: Memory, imported: Memory) -> Memory:
    """Add to *memory* what *imported* knows besides: facts, the text of empty summaries, threads learned from."""
    known = {fact_key(fact.content) for fact in memory.facts}
    merged = memory
    for fact in imported.facts:
        key = fact_key(fact.content)
        if key and key not in known:
            known.add(key)
            own = fact if merged.fact(fact.id) is None else fact.model_copy(update={"id": unique_fact_id(merged)})
            merged = merged.with_facts((*merged.facts, own))
    for name, section in imported.sections():
        if section.summary and not memory.section(name).summary:
            merged = merged.with_section(name, section)
    merged = merged.model_copy(update={"threads": {**imported.threads, **memory.threads}})
    return merged if merged == memory else merged.model_copy(update={"last_updated": now()})


def replace_memory(memory: Memory, imported: Memory) -> Memory:
    """Put *imported* in the place of *memory*.

    The threads that *memory* learned from stay marked: what was said before is not learned again.
    """
    return imported.model_copy(
        update={
            "revision": memory.revision,
            "forgotten": memory.forgotten,
            "threads": {**imported.threads, **memory.threads},
        }
    )
