"""The effective changes of a change set, item by item, and which of them a person must accept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from memgraph.analysis.normalize import fact_key
from memgraph.analysis.slots import Slots
from memgraph.analysis.uploads import mentions_upload
from memgraph.models import AcceptedKind, Addition, Fact, MemoryDocument, MemoryUpdate, PendingChange, Refusal, Turn
from memgraph.policy import Policy
from memgraph.report import Report, report_changes
from memgraph.review import Review
from memgraph.rules.add import rejection_reason
from memgraph.rules.apply import apply
from memgraph.rules.evict import FULL
from memgraph.rules.scrub import REASON, scrub


class Item(NamedTuple):
    """One effective change."""

    kind: Literal["add", "confirm", "remove", "merge", "rewrite", "profile"]
    """A new fact, a repeated one, a removal, a merge, or a new text of a summary or a field."""
    id: str
    """Of the addition or the fact, or the name of the section or the field."""
    after: str = ""
    """The new text; empty for a removal and a field."""
    category: str = ""
    """Of a new fact."""
    replaces: tuple[str, ...] = ()
    """What it would replace: ids of facts, also of those that would be merged into it, or the value of a field."""

    @property
    def is_correction(self) -> bool:
        """Whether it changes what is known, or is a correction."""
        return self.kind == "remove" or bool(self.replaces) or (self.kind == "add" and self.category == "correction")


class Proposed(NamedTuple):
    """The effect of a change set, and the memory if all of it were accepted."""

    items: tuple[Item, ...]
    """The changes to decide on; none if nothing would change."""
    evicts: bool
    """Whether facts would be evicted if all items were accepted."""
    quarantined: tuple[PendingChange, ...]
    """What is pending in any case."""
    refused: tuple[Refusal, ...]
    """What the rules reject in any case, and why."""
    memory: MemoryDocument


def make_proposal(
    changes: MemoryUpdate,
    memory: MemoryDocument,
    policy: Policy,
    turns: Sequence[Turn] = (),
    shown_ids: frozenset[str] | None = None,
    *,
    slots: Slots | None = None,
) -> Proposed:
    """Return the effect of *changes* on *memory*.

    Args:
        changes: What the model proposed.
        memory: The current memory.
        policy: The limits of an update.
        turns: The turns that the prompt showed.
        shown_ids: The ids of the facts that it showed; None if any fact may be removed.
        slots: What a person has one of at a time; by default the packaged table.
    """
    changes, uploads = _without_uploads(changes)
    result = apply(changes, memory, policy, turns, shown_ids, slots=slots)
    scrubbed = scrub(
        memory,
        result.memory,
        edited_by_user=[rewrite.section for rewrite in changes.rewrites if rewrite.edited_by_user],
    )
    report = report_changes(memory, scrubbed.memory)
    quarantined = tuple(item for item in result.memory.pending if item not in memory.pending)
    held = {fact.id for item in quarantined for fact in item.facts}
    groups = _group_additions([one for one in changes.additions if one.id not in held], policy)
    evicted = {removal.fact.id for removal in result.removed if removal.why == FULL}
    gone = {removal.fact.id for removal in report.removed}
    removed = gone - evicted
    merges = [
        Item("merge", one.id, one.content, replaces=tuple(merged for merged in one.merged if merged in removed))
        for one in changes.merges
    ]
    replaced = {old for group in groups for old in _replaced_by(group, result.memory)}
    replaced.update(old for one in merges for old in one.replaces)
    ended = {one.id for one in changes.removals} & removed - replaced
    return Proposed(
        items=(
            *(item for group in groups if (item := _addition_item(group, scrubbed.memory, report))),
            *(Item("remove", fact.id) for fact in memory.facts if fact.id in ended),
            *(one for one in merges if one.replaces),
            *(Item("rewrite", one.section, one.after) for one in report.rewritten),
            *(
                Item("profile", one.field, replaces=() if one.before is None else (str(one.before),))
                for one in report.profile
            ),
        ),
        evicts=bool(gone & evicted),
        quarantined=quarantined,
        refused=tuple(dict.fromkeys(result.refused + uploads + scrubbed.refused)),
        memory=scrubbed.memory,
    )


def items_to_review(proposed: Proposed, review: Review, accepted: Iterable[AcceptedKind] = ()) -> tuple[Item, ...]:
    """Return the items of *proposed* that a person must accept, without what a person always accepts.

    If a correction needs it, so do the summaries, which may state it; if facts would be evicted, so do the new ones.
    """
    categories = {one.category for one in accepted} if not proposed.evicts else set[str]()
    items = [one for one in proposed.items if one.category not in categories or one.kind != "add" or one.replaces]
    if review != "corrections":
        return tuple(items) if review == "always" else ()
    needed = [item for item in items if item.is_correction or (proposed.evicts and item.kind == "add")]
    return tuple(item for item in items if item in needed or (needed and item.kind == "rewrite"))


def _without_uploads(changes: MemoryUpdate) -> tuple[MemoryUpdate, tuple[Refusal, ...]]:
    """Drop additions that are scrubbed in any case, so that they do not replace or evict other facts."""
    dropped = [
        addition for addition in changes.additions if mentions_upload(addition.content) and not addition.edited_by_user
    ]
    kept = tuple(addition for addition in changes.additions if addition not in dropped)
    refused = tuple(Refusal(item=addition.content, reason=REASON) for addition in dropped)
    return changes.model_copy(update={"additions": kept}), refused


def _group_additions(additions: Iterable[Addition], policy: Policy) -> list[list[Addition]]:
    """Group the valid additions by content, since only one of each group is added."""
    groups: dict[str, list[Addition]] = {}
    for addition in additions:
        if not rejection_reason(addition, policy):
            groups.setdefault(fact_key(addition.content), []).append(addition)
    return list(groups.values())


def _replaced_by(group: Sequence[Addition], after: MemoryDocument) -> set[str]:
    """Return the ids of what the model, or a rule, replaces by one of *group*."""
    facts = (fact for addition in group if (fact := after.fact(addition.id)))
    return {fact_id for one in (*group, *facts) for fact_id in one.replaces}


def _addition_item(group: Sequence[Addition], after: MemoryDocument, report: Report) -> Item | None:
    """Return the effect of a group of additions: a new fact or a confirmed one, either of which may replace others."""
    first, ids, replaced = group[0], {addition.id for addition in group}, _replaced_by(group, after)
    replaces = tuple(removal.fact.id for removal in report.removed if removal.fact.id in replaced)
    # not always of the first addition: what it confirms may be replaced before the second
    new = next((fact for fact in report.added if fact.id in ids), None)
    known = _find_same(first, report.confirmed) or (_find_same(first, after.facts) if replaces else None)
    said = next((claim for claim in report.as_said if claim.id in ids), None) or _find_same(first, report.as_said)
    if fact := new or known or said or (first if replaces else None):
        kind = "confirm" if fact is known else "add"
        return Item(kind, new.id if new else first.id, fact.content, fact.category, replaces)
    return None


def _find_same(addition: Addition, facts: Iterable[Fact]) -> Fact | None:
    """Return the first of *facts* with the same content as *addition*."""
    return next((fact for fact in facts if fact_key(fact.content) == fact_key(addition.content)), None)
