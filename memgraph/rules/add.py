"""New facts come in."""

from __future__ import annotations

from memgraph.models import CATEGORIES, MANUAL, Addition, Fact
from memgraph.policy import Policy
from memgraph.rules.draft import Draft
from memgraph.text.normalize import fact_key
from memgraph.text.sentences import cut_at_sentence


def add(draft: Draft) -> Draft:
    """Add the facts that are good enough; one that is known already is confirmed instead, once."""
    known = {fact_key(fact.content): fact.id for fact in draft.facts}
    confirmed: set[str] = set()
    for addition in draft.changes.additions:
        objection = rejection_reason(addition, draft.policy)
        key = fact_key(addition.content)
        if objection:
            draft = draft.with_refusal(addition.content, objection)
        elif key not in known:
            draft = _replacing(_added(draft, addition), addition, by=addition.id)
            known[key] = addition.id
        elif known[key] == addition.id:
            continue
        else:
            if known[key] not in confirmed | draft.new_ids:
                draft = _confirmed(draft, known[key], addition)
            confirmed.add(known[key])
            draft = _replacing(draft.with_refusal(addition.content, "known already"), addition, by=known[key])
    return draft


def rejection_reason(addition: Addition, policy: Policy) -> str | None:
    """Why *addition* is not kept, if it is not."""
    if not addition.content.strip():
        return "it is empty"
    return None if addition.edited_by_user else _objection_to_learned(addition, policy)


def _objection_to_learned(addition: Addition, policy: Policy) -> str | None:
    if addition.content.rstrip().endswith(("?", "？")):
        return "it is a question"
    if not addition.durable:
        return "it matters to the task at hand only"
    if not addition.about_user:
        return "it is not about the user"
    if addition.confidence < policy.fact_confidence_threshold:
        return f"confidence {addition.confidence:.2f} is below {policy.fact_confidence_threshold:.2f}"
    return None


def _added(draft: Draft, addition: Addition) -> Draft:
    category = addition.category if addition.category in CATEGORIES else "context"
    fact = Fact(
        id=addition.id,
        content=_fitting(addition, draft.policy),
        category=category,
        confidence=addition.confidence,
        created_at=draft.changes.at,
        source=MANUAL if addition.edited_by_user else draft.changes.thread,
        source_error=addition.source_error if category == "correction" else None,
        replaces=tuple(old for old in addition.replaces if draft.memory.fact(old)),
    )
    return draft.with_facts((*draft.facts, fact))


def _fitting(addition: Addition, policy: Policy) -> str:
    content = addition.content.strip()
    return content if addition.edited_by_user else cut_at_sentence(content, policy.max_fact_chars, len).strip()


def _confirmed(draft: Draft, fact_id: str, addition: Addition) -> Draft:
    """Note that a learned fact was said again; what a person wrote stays as written."""
    return draft.with_facts(
        fact.model_copy(
            update={
                "confidence": max(fact.confidence, addition.confidence),
                "confirmations": fact.confirmations + 1,
                "last_confirmed_at": draft.changes.at,
            }
        )
        if fact.id == fact_id and not fact.is_manual
        else fact
        for fact in draft.facts
    )


def _replacing(draft: Draft, addition: Addition, *, by: str) -> Draft:
    """Let what *addition* replaces go, but nothing that a person wrote or this update brought."""
    for old in addition.replaces:
        fact = draft.memory.fact(old)
        if fact is None or old == by or old in draft.new_ids:
            continue
        if fact.is_manual:
            draft = draft.with_refusal(fact.content, "a person wrote it, so it is not replaced")
        else:
            draft = draft.without_facts([old], because=f"replaced by {by}")
    return draft
