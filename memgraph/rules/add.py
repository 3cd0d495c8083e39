"""New facts come in."""

from __future__ import annotations

from memgraph.models import CATEGORIES, MANUAL, Addition, Fact
from memgraph.policy import Policy
from memgraph.rules.draft import Draft, same_key
from memgraph.text.sentences import cut_at_sentence


def add(draft: Draft) -> Draft:
    """Add the facts that are good enough; one that is known already is confirmed instead, once."""
    known = {same_key(fact.content): fact.id for fact in draft.facts}
    confirmed: set[str] = set()
    for addition in draft.changes.additions:
        objection = objection_to(addition, draft.policy)
        key = same_key(addition.content)
        if objection:
            draft = draft.refusing(addition.content, objection)
        elif key not in known:
            draft = _replacing(_added(draft, addition), addition, by=addition.id)
            known[key] = addition.id
        elif known[key] == addition.id:
            continue
        else:
            if known[key] not in confirmed | draft.new_ids:
                draft = _confirmed(draft, known[key], addition)
            confirmed.add(known[key])
            draft = _replacing(draft.refusing(addition.content, "known already"), addition, by=known[key])
    return draft


def objection_to(addition: Addition, policy: Policy) -> str | None:
    """Why *addition* is not kept, if it is not."""
    if not addition.content.strip():
        return "it is empty"
    return None if addition.by_hand else _objection_to_learned(addition, policy)


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
        source=MANUAL if addition.by_hand else draft.changes.thread,
        source_error=addition.source_error if category == "correction" else None,
        replaces=tuple(old for old in addition.replaces if draft.memory.fact(old)),
    )
    return draft.holding((*draft.facts, fact))


def _fitting(addition: Addition, policy: Policy) -> str:
    content = addition.content.strip()
    return content if addition.by_hand else cut_at_sentence(content, policy.max_fact_chars, len).strip()


def _confirmed(draft: Draft, fact_id: str, addition: Addition) -> Draft:
    """Note that a learned fact was said again; what a person wrote stays as written."""
    return draft.holding(
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
            draft = draft.refusing(fact.content, "a person wrote it, so it is not replaced")
        else:
            draft = draft.without([old], because=f"replaced by {by}")
    return draft
