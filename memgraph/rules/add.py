"""Add new facts, confirm known ones, and replace or remove outdated ones."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from memgraph.analysis.dates import local_day
from memgraph.analysis.normalize import fact_key, words_of
from memgraph.analysis.sentences import cut_at_sentence
from memgraph.analysis.words import in_order
from memgraph.models import (
    MANUAL,
    MAX_QUOTE_CHARS,
    Addition,
    AsSaid,
    Evidence,
    Fact,
    MemoryDocument,
    PastFact,
    current_time,
    learned_source,
    new_fact_id,
)
from memgraph.models.dates import days_of, is_before
from memgraph.models.values import Timestamp
from memgraph.policy import Policy
from memgraph.rules.draft import Draft
from memgraph.rules.end import end_replaced

MAX_EVIDENCE = 3
"""Maximum number of quotes of a fact, the earliest ones."""

_PLACEHOLDERS = [words_of(phrase.replace("_", " ")) for phrase in in_order("placeholders")]
MAX_PLACEHOLDER_CHARS = 40
"""A longer text has content."""

SomeFact = TypeVar("SomeFact", Fact, AsSaid)


def add(draft: Draft) -> Draft:
    """Add the facts that pass the quality checks; a known fact is confirmed instead, at most once per update."""
    known = {fact.derive(key_of): fact.id for fact in draft.memory.facts}
    confirmed: set[str] = set()
    for addition in draft.changes.additions:
        key = fact_key(addition.content)
        # a known fact may have been replaced by an earlier addition of this update
        fact = draft.memory.fact(known.get(key, ""))
        if reason := rejection_reason(addition, draft.policy):
            draft = draft.with_refusal(addition.content, reason)
        elif fact is None:
            draft = end_replaced(_add_fact(draft, addition), addition, by=addition.id)
            known[key] = addition.id
        elif fact.id != addition.id:  # else this change set was applied before
            if not draft.is_fixed(fact):
                is_first = fact.id not in confirmed | draft.new_ids
                quotes = {"evidence": merge_evidence(fact.evidence, addition.evidence)}
                again = repeated(fact, addition, draft) if is_first else fact.model_copy(update=quotes)
                draft = draft.with_fact(again)
            confirmed.add(fact.id)
            draft = end_replaced(draft.with_refusal(addition.content, "already known"), addition, by=fact.id)
    return draft


def key_of(fact: Fact) -> str:
    """Return the key of its content."""
    return fact_key(fact.content)


def rejection_reason(addition: Addition, policy: Policy) -> str | None:
    """Return why *addition* is refused, or None if it is accepted."""
    if not addition.content.strip():
        return "it is empty"
    return None if addition.edited_by_user else _quality_problem(addition, policy)


def _quality_problem(addition: Addition, policy: Policy) -> str | None:
    if is_placeholder(addition.content):
        return "it says nothing"
    if addition.content.rstrip().endswith(("?", "？")):
        return "it is a question"
    if not addition.durable:
        return "it matters only to the current task"
    if not addition.about_user:
        return "it is not about the user"
    if addition.confidence < policy.fact_confidence_threshold:
        return f"confidence {addition.confidence:.2f} is below {policy.fact_confidence_threshold:.2f}"
    return None


def is_placeholder(text: str) -> bool:
    """Return whether *text* only stands for nothing: "None", "(nothing yet)", "No change.", "暂无"."""
    return len(text) <= MAX_PLACEHOLDER_CHARS and words_of(text) in _PLACEHOLDERS


def _add_fact(draft: Draft, addition: Addition) -> Draft:
    fact = make_fact(addition, draft)
    return replace(draft, memory=draft.memory.with_facts((*draft.memory.facts, fact)))


def make_fact(addition: Addition, draft: Draft) -> Fact:
    """Return the fact that *addition* is, at the time and from the thread of *draft*."""
    category = addition.category if addition.category in draft.policy.category_names else "context"
    evidence = merge_evidence((), addition.evidence)
    valid_from, valid_until = _valid_dates(addition)
    return Fact(
        id=addition.id,
        content=cut_content(addition, draft.policy),
        category=category,
        confidence=addition.confidence,
        created_at=draft.changes.at,
        source=MANUAL if addition.edited_by_user else learned_source(draft.changes.thread),
        source_error=addition.source_error if category == "correction" else None,
        replaces=tuple(old for old in addition.replaces if draft.memory.fact(old)),
        said_at=addition.said_at,
        evidence=evidence,
        slot=addition.slot,
        modality=addition.modality,
        origin=draft.changes.origin,
        valid_from=valid_from,
        valid_until=valid_until,
    )


def cut_content(addition: Addition, policy: Policy) -> str:
    """Return the content of the fact that *addition* is: at most `max_fact_chars`, unless a reviewer wrote it."""
    content = addition.content.strip()
    if len(content) > policy.max_fact_chars and not addition.edited_by_user:
        content = cut_at_sentence(content, policy.max_fact_chars, len).strip()
    return content


def repeated(fact: SomeFact, addition: Addition, draft: Draft) -> SomeFact:
    """Return *fact* as one that *addition* repeats, with the new quotes.

    It keeps the time at which it was said first. A confirmation counts once a day. A fact that a tool
    added is the user's by the user's own words.
    """
    said_at = addition.said_at or draft.changes.at
    known_dates = (fact.valid_from, fact.valid_until)
    valid_from, valid_until = known_dates if any(known_dates) else _valid_dates(addition)
    return fact.model_copy(
        update={
            "confidence": max(fact.confidence, addition.confidence),
            "confirmations": fact.confirmations + _is_another_day(fact, said_at),
            "last_confirmed_at": max(fact.last_confirmed_at, said_at),
            "said_at": min(filter(None, (fact.said_at, addition.said_at)), default=""),
            "evidence": merge_evidence(fact.evidence, addition.evidence),
            "slot": fact.slot or addition.slot,
            "origin": draft.changes.origin if fact.origin == "tool" else fact.origin,
            "valid_from": valid_from,
            "valid_until": valid_until,
        }
    )


def _is_another_day(fact: Fact, said_at: Timestamp) -> bool:
    """Return whether *said_at* is on another day than when *fact* was said first and last."""
    known = (fact.said_at or fact.created_at, fact.last_confirmed_at)
    return local_day(said_at) not in {local_day(at) for at in known if at}


def merge_evidence(known: Sequence[Evidence], new: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return *known* and those of *new* that quote something else, at most MAX_EVIDENCE, each cut to its limit."""
    merged = {fact_key(one.quote): one for one in known}
    for one in new:
        quote = one.quote.strip()[:MAX_QUOTE_CHARS]
        if quote and len(merged) < MAX_EVIDENCE:
            merged.setdefault(fact_key(quote), one.model_copy(update={"quote": quote}))
    return tuple(merged.values())


def _valid_dates(addition: Addition) -> tuple[str, str]:
    """Return from when and until when *addition* is true; empty for a date that does not exist or an end before it."""
    start, end = (date if date and days_of(date) else "" for date in (addition.valid_from, addition.valid_until))
    return start, "" if end and is_before(end, start) else end


def remove(draft: Draft) -> Draft:
    """Remove the facts that the model considers contradicted, except manual ones, which only a person removes."""
    for removal in draft.changes.removals:
        fact = draft.memory.fact(removal.id)
        if fact is None:
            draft = draft.with_refusal(removal.id, "there is no such fact to remove")
        elif fact.is_manual and not removal.edited_by_user:
            draft = draft.with_refusal(fact.content, "a person wrote it, so it is not removed")
        else:
            draft = draft.end_facts([fact.id], "removed", why=removal.reason)
    return draft


# -- facts under ids that no other one has ----------------------------------------------------------


def unique_fact_id(taken: Container[str]) -> str:
    """Return a new id that is not in *taken*."""
    while (fact_id := new_fact_id()) in taken:
        pass
    return fact_id


def with_reworded(memory: MemoryDocument, old: Fact, limit: int) -> MemoryDocument:
    """Return *memory* with *old* among at most *limit* past facts, under another id: its id has another content now."""
    fact_id = unique_fact_id({fact.id for fact in (*memory.facts, *memory.past)})
    past = PastFact.of(old.model_copy(update={"id": fact_id}), "superseded", at=current_time(), by=old.id)
    return memory.with_past([past], limit)


def new_facts(own: Sequence[SomeFact], given: Iterable[SomeFact], taken: Collection[str]) -> list[SomeFact]:
    """Return those of *given* whose content *own* do not have, under ids that are not *taken*."""
    keys, ids = {fact_key(fact.content) for fact in own} | {""}, set(taken)
    new: list[SomeFact] = []
    for fact in given:
        if (key := fact_key(fact.content)) not in keys:
            new.append(fact.model_copy(update={"id": unique_fact_id(ids)}) if fact.id in ids else fact)
            keys.add(key)
            ids.add(new[-1].id)
    return new
