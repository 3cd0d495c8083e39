"""What a tool does to a memory: as a person's edits, but in the name of the thread, and not to what a person wrote."""

from __future__ import annotations

from typing import Any

from memgraph.agents.consent import ConsentNeededError
from memgraph.editing import add_fact, edit_fact, find_fact, remove_fact
from memgraph.models import MANUAL, UNKNOWN_THREAD, Addition, Fact, Memory, MemoryUpdate
from memgraph.policy import Policy
from memgraph.rules.draft import Draft
from memgraph.rules.make_room import make_room


def added(memory: Memory, thread_id: str | None, policy: Policy, content: str, **fields: Any) -> Memory:  # noqa: ANN401
    """Add a fact learned in a thread; where the memory is full, the least valuable learned one goes.

    Raises:
        EditError: If the fact may not be so, or is known.
    """
    *known, fact = add_fact(memory, content, **fields).facts
    thread = source(thread_id)
    grown = _holding(memory, (*known, fact.model_copy(update={"source": thread})), fact.created_at)
    new = Addition(id=fact.id, content=fact.content)
    changes = MemoryUpdate(at=fact.created_at, thread=thread, message_ids=(), additions=(new,))
    return make_room(Draft(grown, changes, policy)).memory


def edited(memory: Memory, thread_id: str | None, fact_id: str, agreed: Fact | None, change: dict[str, Any]) -> Memory:
    """Change a fact. What a person wrote stays theirs, and has to be what they *agreed* to have changed.

    Raises:
        EditError: If there is no such fact, or it may not be so.
        ConsentNeededError: If a person wrote it, and was not asked.
    """
    before = _allowed(memory, fact_id, agreed)
    by = MANUAL if before.is_manual else source(thread_id)
    changed = edit_fact(memory, fact_id, **change)
    facts = (fact.model_copy(update={"source": by}) if fact.id == fact_id else fact for fact in changed.facts)
    return changed.with_facts(tuple(facts))


def removed(memory: Memory, fact_id: str, agreed: Fact | None) -> Memory:
    """Remove a fact.

    Raises:
        EditError: If there is no such fact.
        ConsentNeededError: If a person wrote it, and was not asked.
    """
    _allowed(memory, fact_id, agreed)
    return remove_fact(memory, fact_id)


def source(thread_id: str | None) -> str:
    """The source of what a tool writes. A thread that is called as people are is none to be believed."""
    return UNKNOWN_THREAD if thread_id in {None, MANUAL} else str(thread_id)


def _allowed(memory: Memory, fact_id: str, agreed: Fact | None) -> Fact:
    fact = find_fact(memory, fact_id)
    if fact.is_manual and fact != agreed:
        raise ConsentNeededError(fact)
    return fact


def _holding(memory: Memory, facts: tuple[Fact, ...], at: str) -> Memory:
    return memory.model_copy(update={"facts": facts, "last_updated": at})
