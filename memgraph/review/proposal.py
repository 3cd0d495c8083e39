"""A change set as a person sees it: what would really change, item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph.models import Addition, Fact, Memory, MemoryUpdate, Refusal, Scope
from memgraph.policy import Policy
from memgraph.report import Report, diff
from memgraph.review.models import FactRef, Proposal, Review, ReviewItem
from memgraph.rules.add import rejection_reason
from memgraph.rules.apply import apply
from memgraph.rules.scrub import REASON, scrub
from memgraph.text.normalize import fact_key
from memgraph.text.uploads import mentions_upload


def make_proposal(
    changes: MemoryUpdate, memory: Memory, policy: Policy, *, scope: Scope, thread_id: str | None = None
) -> Proposal:
    """Show what *changes* would do to *memory*.

    Args:
        changes: What the model proposed.
        memory: What is remembered.
        policy: The limits of an update.
        scope: Whose memory it is.
        thread_id: The conversation learned from.

    Returns:
        The items that would change something; none where nothing would.
    """
    changes, uploads = _without_uploads(changes)
    result = apply(changes, memory, policy)
    scrubbed = scrub(
        memory,
        result.memory,
        edited_by_user=[rewrite.section for rewrite in changes.rewrites if rewrite.edited_by_user],
    )
    report = diff(memory, scrubbed.memory)
    groups = _groups(changes, policy)
    removed = {gone.fact.id: gone.fact for gone in report.removed}
    replaced = {old for group in groups for old in _replaced_by(group) if old in removed}
    items = (
        *(item for group in groups if (item := _of_addition(group, memory, scrubbed.memory, report))),
        *_removals(changes, {known: fact for known, fact in removed.items() if known not in replaced}),
        *_rewrites(report),
    )
    decided = replaced | {item.id for item in items if item.kind == "remove"}
    return Proposal(
        user_id=scope.user_id,
        agent_name=scope.agent_name,
        thread_id=thread_id,
        items=items,
        evicted=tuple(_known(fact) for fact in removed.values() if fact.id not in decided),
        refused=tuple(dict.fromkeys(result.refused + uploads + scrubbed.refused)),
    )


def needs_review(proposal: Proposal, review: Review) -> bool:
    """Whether *review* asks a person before what is proposed is learned."""
    if review == "always":
        return bool(proposal.items)
    return review == "corrections" and any(
        item.kind == "remove" or item.replaces or (item.kind == "add" and item.category == "correction")
        for item in proposal.items
    )


def _without_uploads(changes: MemoryUpdate) -> tuple[MemoryUpdate, tuple[Refusal, ...]]:
    """Take out what is scrubbed in any case, so that it neither takes a place nor another fact's room."""
    gone = [
        addition for addition in changes.additions if mentions_upload(addition.content) and not addition.edited_by_user
    ]
    kept = tuple(addition for addition in changes.additions if addition not in gone)
    refused = tuple(Refusal(item=addition.content, reason=REASON) for addition in gone)
    return changes.model_copy(update={"additions": kept}), refused


def _groups(changes: MemoryUpdate, policy: Policy) -> list[list[Addition]]:
    """The additions that are good enough; those that say the same belong together, since only the first is added."""
    groups: dict[str, list[Addition]] = {}
    for addition in changes.additions:
        if not rejection_reason(addition, policy):
            groups.setdefault(fact_key(addition.content), []).append(addition)
    return list(groups.values())


def _replaced_by(group: Sequence[Addition]) -> set[str]:
    return {old for addition in group for old in addition.replaces}


def _of_addition(group: Sequence[Addition], before: Memory, after: Memory, report: Report) -> ReviewItem | None:
    """What the additions of a group do: bring a new fact, or confirm a known one; either may take others' place."""
    first = group[0]
    replaced = _replaced_by(group)
    replaces = tuple(_known(gone.fact) for gone in report.removed if gone.fact.id in replaced)
    new = after.fact(first.id) if before.fact(first.id) is None else None
    if new:
        return _item("add", first, new, replaces)
    known = _said_by(first, after, report)
    if known and (replaces or known in report.confirmed):
        return _item("confirm", first, known, replaces).model_copy(update={"before": known.content})
    return _item("add", first, None, replaces) if replaces else None


def _said_by(addition: Addition, after: Memory, report: Report) -> Fact | None:
    """The known fact that says what *addition* says; of several the one that was confirmed."""
    key = fact_key(addition.content)
    same = [fact for fact in after.facts if fact_key(fact.content) == key]
    return next((fact for fact in same if fact in report.confirmed), same[0] if same else None)


def _item(kind: str, addition: Addition, fact: Fact | None, replaces: tuple[FactRef, ...]) -> ReviewItem:
    shown = fact or addition
    return ReviewItem.model_validate(
        {
            "key": f"{kind}:{addition.id}",
            "kind": kind,
            "after": shown.content,
            "category": shown.category,
            "confidence": shown.confidence,
            "source_error": shown.source_error,
            "replaces": replaces,
        }
    )


def _removals(changes: MemoryUpdate, removed: dict[str, Fact]) -> Iterator[ReviewItem]:
    reasons = {removal.id: removal.reason for removal in reversed(changes.removals)}
    for fact in removed.values():
        if fact.id in reasons:
            yield ReviewItem(
                key=f"remove:{fact.id}",
                kind="remove",
                before=fact.content,
                category=fact.category,
                confidence=fact.confidence,
                source_error=fact.source_error,
                reason=reasons[fact.id],
            )


def _rewrites(report: Report) -> Iterator[ReviewItem]:
    for section in report.rewritten:
        yield ReviewItem(key=f"rewrite:{section.section}", kind="rewrite", before=section.before, after=section.after)


def _known(fact: Fact) -> FactRef:
    return FactRef(id=fact.id, content=fact.content)
