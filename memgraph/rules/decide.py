"""Decide about changes that wait for a person: apply them to a memory, or remember that they were rejected."""

from __future__ import annotations

from dataclasses import replace

from memgraph.errors import AlreadyDecidedError, EditError
from memgraph.models import (
    MANUAL,
    AcceptedKind,
    MemoryDocument,
    MemoryUpdate,
    PendingChange,
    Section,
    SectionName,
    StoredProfile,
    current_time,
)
from memgraph.models.values import Timestamp
from memgraph.policy import Policy
from memgraph.retrieval.render import may_recall
from memgraph.rules.add import new_facts, with_reworded
from memgraph.rules.draft import Draft
from memgraph.rules.validation import validate_summary, validate_text
from memgraph.sections import section_name


def find_pending(memory: MemoryDocument, change_id: str) -> PendingChange:
    """Return the pending change *change_id*.

    Raises:
        AlreadyDecidedError: If there is none.
    """
    found = next((item for item in memory.pending if item.id == change_id), None)
    if found is None:
        raise AlreadyDecidedError(change_id)
    return found


def accept_pending(memory: MemoryDocument, change_id: str, *, text: str | None = None) -> MemoryDocument:
    """Return *memory* with the change *change_id* applied.

    Args:
        memory: The current memory.
        change_id: The change.
        text: Another wording of its only fact, which is manual then, or of its only summary.

    Raises:
        AlreadyDecidedError: If there is no such change.
        EditError: If it has no single text to edit, *text* is not allowed, or a person wrote all that it would remove.
    """
    change = find_pending(memory, change_id)
    removed = [fact for fact in memory.facts if fact.id in change.removes]
    if removed and all(fact.is_manual for fact in removed) and not (change.facts or change.summaries or change.profile):
        raise EditError(f"a person wrote {removed[0].id} since: reject this change, or remove the fact yourself")
    return accept(memory, change if text is None else reworded(change, text), at=current_time())


def ended_by(memory: MemoryDocument, change: PendingChange) -> set[str]:
    """Return the ids of the facts of *memory* that are past once *change* is accepted.

    A manual fact is among them if a fact of the change takes its place: under the same id, or as what it replaces.
    """
    replaced = {fact_id for fact in change.facts for fact_id in (fact.id, *fact.replaces)}
    found = map(memory.fact, change.replaced)
    return {fact.id for fact in found if fact and (fact.id in replaced or not fact.is_manual)}


def accept(memory: MemoryDocument, change: PendingChange, *, at: Timestamp) -> MemoryDocument:
    """Return *memory* with *change* applied, whether it waits there or not.

    What its facts replace is past, manual facts too, since a person decides; only learned facts are removed otherwise.
    A fact that no program may add, such as an order, is manual then.
    """
    removes = ended_by(memory, change).intersection(change.removes)
    reason = "merged" if change.thread == "upkeep" else "superseded"
    limit, rewritten = Policy().max_past_facts, removes & {fact.id for fact in change.facts}
    for fact in change.facts:
        held = set(fact.replaces) - rewritten
        since = fact.valid_from or fact.said_at or at
        memory = memory.end_facts(held, reason, at=since, by=fact.id, limit=limit, why="a person decided it")
    memory = memory.end_facts(removes - rewritten, "removed", at=at, limit=limit, why="a person decided it")
    kept = tuple(fact for fact in memory.facts if fact.id not in removes)
    for fact in [fact for fact in memory.facts if fact.id in rewritten and (fact.is_manual or reason == "superseded")]:
        memory = with_reworded(memory, fact, limit)
    plain = (fact if may_recall(fact) else fact.model_copy(update={"source": MANUAL}) for fact in change.facts)
    accepted = memory.with_facts((*kept, *new_facts(kept, plain, {fact.id for fact in kept})))
    for key, summary in change.summaries.items():
        if summary:
            name = section_name(key)
            written = {"summary": summary, "updated_at": at, "source": MANUAL}
            section = Section.model_validate(accepted.section(name).model_dump() | written)
            accepted = accepted.with_section(name, section)
    if change.profile:
        values = {**accepted.profile.values, **change.profile}
        known = {field: value for field, value in values.items() if value is not None}
        profile = StoredProfile.model_validate(accepted.profile.model_dump() | {"values": known, "updated_at": at})
        accepted = accepted.model_copy(update={"profile": profile})
    return accepted.without_pending(change.id).model_copy(update={"last_updated": at})


def always_accept(memory: MemoryDocument, change_id: str) -> MemoryDocument:
    """Return *memory* with the change *change_id* applied, and further facts of its category saved without a review.

    Raises:
        AlreadyDecidedError: If there is no such change.
        EditError: If it is not only new facts of one category that wait for a review.
    """
    category = category_to_accept(find_pending(memory, change_id))
    return _with_kind(accept_pending(memory, change_id), category, current_time())


def category_to_accept(change: PendingChange) -> str:
    """Return the category of the new facts of *change*, if a person may always accept such changes.

    Raises:
        EditError: If it is not only new facts of one category that wait for a review.
    """
    if change.category is None:
        raise EditError("only new facts that wait for a review can always be accepted: accept or reject this change")
    return change.category


def _with_kind(memory: MemoryDocument, category: str, at: Timestamp) -> MemoryDocument:
    others = (one for one in memory.accepted_kinds if one.category != category)
    return memory.model_copy(update={"accepted_kinds": (*others, AcceptedKind(category=category, at=at))})


def ask_again(memory: MemoryDocument, category: str) -> MemoryDocument:
    """Return *memory* in which new facts of *category* wait for a review again.

    Raises:
        EditError: If they are not always accepted.
    """
    left = tuple(one for one in memory.accepted_kinds if one.category != category)
    if len(left) == len(memory.accepted_kinds):
        known = ", ".join(one.category for one in memory.accepted_kinds) or "none"
        raise EditError(f"facts of {category[:80]!r} are not always accepted; those that are: {known}")
    return memory.model_copy(update={"accepted_kinds": left})


def reject_pending(memory: MemoryDocument, change_id: str) -> MemoryDocument:
    """Return *memory* without the change *change_id*, which is not proposed again.

    Raises:
        AlreadyDecidedError: If there is no such change.
    """
    return memory.without_pending(find_pending(memory, change_id).id, rejected=True)


def reworded(change: PendingChange, text: str) -> PendingChange:
    """Return *change* with *text* as its only fact, which is manual then, or as its only summary.

    Raises:
        EditError: If it has no single text to edit, or *text* is not allowed.
    """
    if change.text is None:
        raise EditError("only a change of one fact or one summary can be edited: accept or reject it")
    if change.facts:
        written = {"content": validate_text(text, "a fact"), "source": MANUAL}
        return change.model_copy(update={"facts": (change.facts[0].model_copy(update=written),)})
    return change.model_copy(update={"summaries": dict.fromkeys(change.summaries, validate_summary(text))})


def accepted_sections(changes: MemoryUpdate) -> list[SectionName]:
    """Return the summaries that a reviewer of the run accepted."""
    return [section_name(key) for change in changes.accepted for key in change.summaries]


def apply_decisions(draft: Draft) -> Draft:
    """Apply what a reviewer of the run accepted, as one change, and remember what was rejected."""
    at, changes, memory = draft.changes.at, draft.changes.accepted, draft.memory
    if changes:
        whole = {
            "facts": tuple(fact for change in changes for fact in change.facts),
            "removes": tuple(fact_id for change in changes for fact_id in change.removes),
            "summaries": {key: text for change in changes for key, text in change.summaries.items()},
            "profile": {field: value for change in changes for field, value in change.profile.items()},
        }
        memory = accept(memory, changes[0].model_copy(update=whole), at=at)
    categories = {change.id: change.category for change in changes}
    for decision in draft.changes.decisions:
        if decision.verdict == "reject":
            memory = memory.without_pending(decision.item, rejected=True)
        elif decision.verdict == "always" and (category := categories.get(decision.item)):
            memory = _with_kind(memory, category, at)
    return replace(draft, memory=memory)
