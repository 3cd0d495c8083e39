"""Whether two facts are about the same thing, and the end of what an addition replaces.

What else such a fact states stays: "Lives in Oslo, repairs pianos.", then a move.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from memgraph.analysis.normalize import is_chinese
from memgraph.analysis.parts import Sources, parts_of
from memgraph.analysis.quotes import sentences_of
from memgraph.analysis.slots import Slots
from memgraph.analysis.subjects import other_subject
from memgraph.analysis.terms import content_terms, extract_terms, light_terms
from memgraph.analysis.words import states_standing_need
from memgraph.models import Addition, Fact, Turn
from memgraph.retrieval.slot_values import share_slot, slot_of, states_other
from memgraph.rules.draft import Draft


def is_related(addition: Addition, fact: Fact, slots: Slots) -> bool:
    """Return whether they share a word that names what they are about, the user's own words included, or a slot."""
    return share_words(addition, fact) or slots.touch(slot_of(addition, slots), slot_of(fact, slots))


def is_later(addition: Addition, fact: Fact | None) -> bool:
    """Return whether *addition* was said after *fact*, as far as that is known: what was said before ends nothing."""
    said_before = fact and (fact.said_at or fact.created_at)
    return fact is not None and (not (said_before and addition.said_at) or addition.said_at >= said_before)


def share_words(one: Fact | Addition, other: Fact | Addition) -> bool:
    """Return whether they share a word that names what they are about, the user's own words included."""
    return not _all_terms(one).isdisjoint(_all_terms(other))


def named_share(addition: Addition, fact: Fact) -> float:
    """Return how many of the words of *fact* are in *addition*, or in what it quotes, from 0 to 1."""
    known = topic_terms(fact.content)
    return len(known & _all_terms(addition)) / len(known) if known else 0.0


def quoted_sentences(addition: Addition, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the sentences of the user that *addition* quotes, of the first quote that is found in *turns*."""
    for evidence in addition.evidence:
        for turn in reversed(turns):
            if touched := sentences_of(evidence.quote, turn.own_words if turn.is_users else "").touched:
                return touched
    return ()


def asked_before(said: str, turns: Sequence[Turn]) -> str:
    """Return what the assistant wrote before the turn with *said*; empty if it asked nothing."""
    at = next((at for at, turn in enumerate(turns) if said and turn.is_users and said in turn.text), 0)
    before = turns[at - 1].text.strip() if at and turns[at - 1].role == "ai" else ""
    return before if before.endswith(("?", "？")) else ""


def _all_terms(one: Fact | Addition) -> frozenset[str]:
    return frozenset[str]().union(
        *(topic_terms(text) for text in (one.content, *(said.quote for said in one.evidence)))
    )


def topic_terms(text: str) -> frozenset[str]:
    """Return the words of *text*, in Chinese the pairs of characters, that name what it is about: no numbers."""
    words = (term for term in extract_terms(text) if len(term) > 1 or term.isascii())
    return frozenset(term for term in words if not term.isdecimal()) - light_terms()


# -- ending -----------------------------------------------------------------------------------------

_CLAUSE_END = re.compile(r"[.,;!?，。；！？]|\b(?:and|but)\b")


def end_replaced(draft: Draft, addition: Addition, *, by: str) -> Draft:
    """Move the facts that *addition* replaces to the past, except manual ones and those of this update.

    They ended when it became true, or was said. *by* is the id of what follows them.
    """
    for old in addition.replaces:
        fact = draft.memory.fact(old)
        if fact is None or old == by or old in draft.new_ids:
            continue
        if fact.is_manual:
            draft = draft.with_refusal(fact.content, "a person wrote it, so it is not replaced")
            continue
        held = parts_that_hold(fact, addition, draft)
        decided = _decided(fact, addition, draft)
        why = f"replaced by {by}: {decided}" + "".join(f"; it still holds: {part.content}" for part in held)
        at = addition.valid_from or addition.said_at or None
        draft = draft.end_facts([old], "superseded", why=why, by=by, at=at, decided=decided)
        draft = replace(draft, memory=draft.memory.with_facts((*draft.memory.facts, *held)))
    return draft


def _decided(fact: Fact, by: Addition, draft: Draft) -> str:
    """Return what decided that *by* ends *fact*, in words: the first that holds."""
    if by.edited_by_user:
        return "a person decided it"
    if fact.id in by.ends:
        return "the check found that it ends"
    is_other = by.slot in draft.slots.single_valued and share_slot(by, fact, draft.slots) and states_other(by, fact)
    return f"there is one {by.slot} at a time" if is_other else "the model named it"


def parts_that_hold(fact: Fact, by: Addition, draft: Draft) -> tuple[Fact, ...]:
    """Return what still holds of *fact*, which *by* ends: its statements that *by* is not about, as facts.

    None if it states one thing, or if neither the check nor the words show which of its statements ends; but then its
    standing needs hold, all but the first if it states nothing else. What *by* states again has not ended, and becomes
    no further fact.
    """
    parts, stated = parts_of(fact.content, [said.quote for said in fact.evidence]), Sources(parts_of(by.content))
    others = [part for part in parts if not stated.hold(part)]
    said = (by.content, *quoted_sentences(by, draft.turns), *(evidence.quote for evidence in by.evidence))
    ended = frozenset(by.ended_parts).intersection(others)
    if not ended and len(others) > 1:
        ended = ended_parts(others, said)
    if not ended and share_slot(by, fact, draft.slots):
        ended = frozenset(others[:1])  # a slot names what a fact is mainly about
    if not ended and len(others) > 1 and (needs := frozenset(filter(states_standing_need, others))):
        ended = frozenset(others) - needs or frozenset(others[:1])
    held = [part for part in others if part not in ended] if ended else []
    return tuple(_fact_of(_with_subject(part, fact.content), fact) for part in held)


def ended_parts(parts: Sequence[str], said: Sequence[str]) -> frozenset[str]:
    """Return those of *parts* that *said*, words of the user, are about, by words of their own.

    None if *said* is about all, or about none of them.
    """
    terms = [topic_terms(part) for part in parts]
    named = frozenset[str]().union(*map(topic_terms, said)) - terms[0].intersection(*terms[1:])
    by_words = frozenset(part for part, own in zip(parts, terms, strict=True) if own & named)
    # a Chinese word may have one character in common with another form of it
    shared = {part: len(content_terms(part) & content_terms("\n".join(said))) for part in parts}
    by_characters = frozenset(part for part in parts if shared[part] == max(shared.values()))
    found = (by_words, by_characters)
    return next((ended for ended in found if 0 < len(ended) < len(parts)), frozenset[str]())


def _with_subject(part: str, content: str) -> str:
    """Return *part* of *content* with the other person with whom the whole begins, if it has lost that."""
    person = other_subject(content)
    named = re.match(rf"(?:\w+\s|[我俺咱])?(?:{re.escape(person)})+", content, re.IGNORECASE) if person else None
    if not named or other_subject(part):
        return part
    return f"{named[0]}{part}" if is_chinese(part) else f"{named[0]} {part[:1].lower()}{part[1:]}"


def _fact_of(part: str, fact: Fact) -> Fact:
    """Return *part* of *fact* as a fact, with those of its words that are about it; the same each time."""
    digest = hashlib.sha256(f"{fact.id} {part}".encode()).hexdigest()
    evidence = (said.model_copy(update={"quote": _words_about(part, said.quote)}) for said in fact.evidence)
    content = part if fact.content.endswith(part[-1]) else part[:-1]  # without the stop that the fact does not have
    fields = {"id": f"fact_{digest[:8]}", "content": content, "slot": None, "evidence": tuple(evidence)}
    return fact.model_copy(update=fields)


def _words_about(part: str, quote: str) -> str:
    """Return the clause of *quote* that has most words of *part*; all of it if none has any."""
    wanted = content_terms(part)
    shared = {clause.strip(): len(wanted & content_terms(clause)) for clause in _CLAUSE_END.split(quote)}
    best = max(shared, key=lambda clause: shared[clause])
    return best if shared[best] else quote
