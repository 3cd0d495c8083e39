"""Turn a change set into a proposal: the effective changes, item by item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memgraph.models import AcceptedKind, Addition, Fact, MemoryDocument, MemoryUpdate, Merge, Refusal, Scope, Turn
from memgraph.policy import Policy
from memgraph.profile import render_value
from memgraph.report import Report, report_changes
from memgraph.review.models import FactRef, Proposal, Review, ReviewItem
from memgraph.rules.add import rejection_reason
from memgraph.rules.apply import apply
from memgraph.rules.evict import FULL
from memgraph.rules.scrub import REASON, scrub
from memgraph.text.normalize import fact_key
from memgraph.text.slots import Slots
from memgraph.text.uploads import mentions_upload


class Proposed(NamedTuple):
    """A proposal, and the memory if all of it were accepted."""

    proposal: Proposal
    memory: MemoryDocument


def make_proposal(
    changes: MemoryUpdate,
    memory: MemoryDocument,
    policy: Policy,
    turns: Sequence[Turn] = (),
    shown_ids: frozenset[str] | None = None,
    *,
    scope: Scope,
    thread_id: str | None = None,
    slots: Slots | None = None,
) -> Proposed:
    """Return the effect of *changes* on *memory*, and the memory with it.

    Args:
        changes: What the model proposed.
        memory: The current memory.
        policy: The limits of an update.
        turns: The turns that the prompt showed.
        shown_ids: The ids of the facts that it showed; None if any fact may be removed.
        scope: Whose memory.
        thread_id: The conversation that was learned from.
        slots: What a person has one of at a time; by default the packaged table.

    Returns:
        A proposal without items if nothing would change.
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
    gone = {removal.fact.id: removal.fact for removal in report.removed}
    removed = {fact_id: fact for fact_id, fact in gone.items() if fact_id not in evicted}
    merges = [merge for merge in changes.merges if any(old in removed for old in merge.merged)]
    replaced = {old for group in groups for old in _replaced_by(group, result.memory) if old in removed}
    replaced.update(old for merge in merges for old in merge.merged if old in removed)
    items = (
        *(item for group in groups if (item := _addition_item(group, memory, scrubbed.memory, report))),
        *_removal_items(changes, {fact_id: fact for fact_id, fact in removed.items() if fact_id not in replaced}),
        *(_merge_item(merge, memory, scrubbed.memory, removed) for merge in merges),
        *(_item("rewrite", one.section, before=one.before, after=one.after) for one in report.rewritten),
        *_profile_items(report),
    )
    proposal = Proposal(
        user_id=scope.user_id,
        agent_name=scope.agent_name,
        thread_id=thread_id,
        items=items,
        evicted=tuple(_ref(fact) for fact in gone.values() if fact.id in evicted),
        quarantined=quarantined,
        refused=tuple(dict.fromkeys(result.refused + uploads + scrubbed.refused)),
    )
    return Proposed(proposal, scrubbed.memory)


def items_to_review(
    proposal: Proposal, review: Review, accepted: Iterable[AcceptedKind] = ()
) -> tuple[ReviewItem, ...]:
    """Return the items of *proposal* that a person must accept, without what a person always accepts.

    If a correction needs it, so do the summaries, which may state it; if facts would be evicted, so do the new ones.
    """
    categories = {one.category for one in accepted} if not proposal.evicted else set[str]()
    items = [one for one in proposal.items if one.category not in categories or one.kind != "add" or one.replaces]
    if review != "corrections":
        return tuple(items) if review == "always" else ()
    needed = [item for item in items if _corrects(item) or (proposal.evicted and item.kind == "add")]
    return tuple(item for item in items if item in needed or (needed and item.kind == "rewrite"))


def _corrects(item: ReviewItem) -> bool:
    return bool(
        item.kind == "remove"
        or item.replaces
        or (item.kind == "profile" and item.before)
        or (item.kind == "add" and item.category == "correction")
    )


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


def _addition_item(
    group: Sequence[Addition], before: MemoryDocument, after: MemoryDocument, report: Report
) -> ReviewItem | None:
    """Return the effect of a group of additions: a new fact or a confirmed one, either of which may replace others."""
    first = group[0]
    replaced = _replaced_by(group, after)
    replaces = tuple(_ref(removal.fact) for removal in report.removed if removal.fact.id in replaced)
    # not always the first: what it confirms may be replaced before the second
    for addition in group:
        if before.fact(addition.id) is None and (new := after.fact(addition.id)):
            return _item("add", addition.id, new, after=new.content, replaces=replaces)
    known = _find_same(first, after, report)
    if known and (replaces or known in report.confirmed):
        return _item("confirm", first.id, known, before=known.content, after=known.content, replaces=replaces)
    ids, key = {addition.id for addition in group}, fact_key(first.content)
    if said := next((one for one in report.as_said if one.id in ids or fact_key(one.content) == key), None):
        reason = f'as said: "{said.words}"'
        return _item("add", first.id, said, after=said.content, reason=reason, replaces=replaces)
    return _item("add", first.id, first, after=first.content, replaces=replaces) if replaces else None


def _find_same(addition: Addition, after: MemoryDocument, report: Report) -> Fact | None:
    """Return the known fact with the same content as *addition*; of several, the confirmed one."""
    key = fact_key(addition.content)
    same = [fact for fact in after.facts if fact_key(fact.content) == key]
    return next((fact for fact in same if fact in report.confirmed), same[0] if same else None)


def _item(kind: str, name: str, fact: Addition | Fact | None = None, **fields: object) -> ReviewItem:
    about = {name: getattr(fact, name) for name in ("category", "confidence", "source_error")} if fact else {}
    return ReviewItem.model_validate({"key": f"{kind}:{name}", "kind": kind, **about, **fields})


def _removal_items(changes: MemoryUpdate, removed: dict[str, Fact]) -> Iterator[ReviewItem]:
    reasons = {removal.id: removal.reason for removal in reversed(changes.removals)}
    for fact in removed.values():
        if fact.id in reasons:
            yield _item("remove", fact.id, fact, before=fact.content, reason=reasons[fact.id])


def _merge_item(merge: Merge, before: MemoryDocument, after: MemoryDocument, removed: Mapping[str, Fact]) -> ReviewItem:
    known, kept = before.fact(merge.id), after.fact(merge.id)
    return _item(
        "merge",
        merge.id,
        known,
        before=known.content if known else "",
        after=kept.content if kept else merge.content,
        source_error=None,
        replaces=tuple(_ref(removed[old]) for old in merge.merged if old in removed),
    )


def _profile_items(report: Report) -> Iterator[ReviewItem]:
    for one in report.profile:
        before, after = (
            "" if value is None else f"{one.field}: {render_value(value)}" for value in (one.before, one.after)
        )
        yield _item("profile", one.field, before=before, after=after)


def _ref(fact: Fact) -> FactRef:
    return FactRef(id=fact.id, content=fact.content)
