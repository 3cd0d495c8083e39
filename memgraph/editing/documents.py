"""Import of complete documents: merged into a memory, or in its place."""

from __future__ import annotations

from memgraph.editing.facts import current_time, unique_fact_id
from memgraph.errors import DamagedMemoryError, EditError
from memgraph.models import Memory
from memgraph.storage.document import decode
from memgraph.text.normalize import fact_key


def read_document(data: bytes, name: str) -> Memory:
    """Parse a memory document, in any format that was ever released.

    Args:
        data: JSON in UTF-8.
        name: The name of the document in errors.

    Raises:
        EditError: If it is not a memory document.
    """
    try:
        memory = decode(data, name)
    except DamagedMemoryError as error:
        raise EditError(f"{name} is not a memory document: {error.reason}") from None
    if not memory.model_fields_set & {"user", "history", "facts"}:
        raise EditError(f"{name} is not a memory document: it has no user, history or facts")
    return memory


def merge_memory(memory: Memory, imported: Memory) -> Memory:
    """Return *memory* with new facts, missing summaries and watermarks of new threads from *imported*."""
    known = {fact_key(fact.content) for fact in memory.facts}
    merged = memory
    for fact in imported.facts:
        key = fact_key(fact.content)
        if key and key not in known:
            known.add(key)
            is_id_free = merged.fact(fact.id) is None
            added = fact if is_id_free else fact.model_copy(update={"id": unique_fact_id(merged)})
            merged = merged.with_facts((*merged.facts, added))
    for name, section in imported.sections():
        if section.summary and not memory.section(name).summary:
            merged = merged.with_section(name, section)
    merged = merged.model_copy(update={"threads": {**imported.threads, **memory.threads}})
    return merged if merged == memory else merged.model_copy(update={"last_updated": current_time()})


def replace_memory(memory: Memory, imported: Memory) -> Memory:
    """Return *imported* as the next version of *memory*.

    The watermarks of *memory* are kept, so that messages it has learned from are not learned again.
    """
    return imported.model_copy(
        update={
            "revision": memory.revision,
            "forgotten": memory.forgotten,
            "threads": {**imported.threads, **memory.threads},
        }
    )
