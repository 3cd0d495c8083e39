"""Supersede what no longer holds: of two facts in one single-valued slot, the one said later wins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memgraph.analysis.normalize import fact_key
from memgraph.analysis.signals import find_change
from memgraph.models import Addition, Fact
from memgraph.models.dates import DAY_CHARS, is_before
from memgraph.retrieval.slot_values import slot_of, states_other
from memgraph.rules.add import make_fact, rejection_reason
from memgraph.rules.draft import Draft
from memgraph.rules.end import is_later, share_words
from memgraph.rules.pending import hold


class _Stated(NamedTuple):
    """A fact, proposed or known, the slot that it fills, and when it was said."""

    fact: Fact | Addition
    slot: str | None
    said: str

    @property
    def held(self) -> bool:
        """Whether it held when it was said: it was neither a plan nor over."""
        day = self.said[:DAY_CHARS]
        return not (is_before(day, self.fact.valid_from) or is_before(self.fact.valid_until, day))


def supersede(draft: Draft) -> Draft:
    """Name the slot that each addition fills, and let it replace the facts with another value of it.

    If a model checked the addition, it has decided that: what may hold with another value fills no slot. An
    addition that was said before such a fact, or before one that it names, becomes a past one itself. One that
    contradicts a manual fact is pending: accepting it replaces the manual fact.
    """
    proposed = [_state(one, one.said_at or draft.changes.at, draft) for one in draft.changes.additions]
    known = _read_known(draft, proposed)
    kept: list[Addition] = []
    for each, stated in zip(draft.changes.additions, proposed, strict=True):
        addition, named_later = _without_later(each, draft)
        several = addition.checked and any(
            one.fact.id not in addition.replaces and _is_rival(stated, one, draft) for one in known
        )
        named = addition.model_copy(update={"slot": None if several else stated.slot})
        later = [one for one in (*known, *proposed) if one.said > stated.said and _contradicts(one, stated, draft)]
        later += named_later
        earlier = [] if addition.checked else _ended_by(stated, known, draft)
        if not (later or earlier or addition.replaces):
            kept.append(named)  # as most: it has nothing to do with another fact
        elif rejection_reason(addition, draft.policy):
            kept.append(named)  # `add` notes why
        elif later and not addition.edited_by_user:
            draft = _add_to_past(draft, named, by=min(later, key=lambda one: one.said))
        elif manual := _manual_facts(named, earlier, draft):
            draft = _put_to_review(draft, named, earlier, manual)
        else:
            kept.append(_replacing(named, earlier))
    return _end_by_words(draft.with_additions(kept))


def _end_by_words(draft: Draft) -> Draft:
    """Return the draft with what firm words end that are kept as said: the facts with another value of their slot."""
    firm = {
        one.addition.id: _state(one.addition, one.addition.said_at or draft.changes.at, draft)
        for one in draft.as_said
        if one.is_firm
    }
    known = _read_known(draft, firm.values())
    earlier = {name: _ended_by(stated, known, draft) for name, stated in firm.items()}
    said = (one.ending(_replacing(one.addition, earlier.get(one.addition.id, ())).replaces) for one in draft.as_said)
    return replace(draft, as_said=tuple(said))


def _ended_by(stated: _Stated, known: Sequence[_Stated], draft: Draft) -> list[str]:
    return [one.fact.id for one in known if one.said <= stated.said and _contradicts(stated, one, draft)]


def _without_later(addition: Addition, draft: Draft) -> tuple[Addition, list[_Stated]]:
    """Return *addition*, and the facts that it names and that were said after it, as in an old conversation.

    If it names others, too, it only replaces these.
    """
    named = [fact for old in addition.replaces if (fact := draft.memory.fact(old))]
    earlier = [one.id for one in named if is_later(addition, one)]
    if earlier and len(earlier) < len(named):
        return addition.model_copy(update={"replaces": tuple(earlier)}), []
    later = [] if earlier else named
    return addition, [_Stated(one, None, one.said_at or one.created_at) for one in later]


def _state(fact: Fact | Addition, said: str, draft: Draft) -> _Stated:
    return _Stated(fact, slot_of(fact, draft.slots), said)


def _read_known(draft: Draft, proposed: Iterable[_Stated]) -> list[_Stated]:
    """Return the facts of the memory that fill one of the slots of *proposed*."""
    filled = {stated.slot for stated in proposed if stated.slot}
    known = (fact for fact in draft.memory.facts if fact.slot and fact.id not in draft.new_ids)
    stated = (_state(fact, fact.said_at or fact.created_at, draft) for fact in known if filled)
    return [one for one in stated if one.slot in filled]


def _contradicts(new: _Stated, old: _Stated, draft: Draft) -> bool:
    """Return whether *new* gives the slot of *old* another value: it has a word of it, or the user announced a change.

    Small models name slots at random: the fear of a speech and the confidence in a career, as one role.
    """
    is_announced = any(find_change(said.quote) for said in new.fact.evidence)
    return _is_rival(new, old, draft) and (is_announced or share_words(new.fact, old.fact))


def _is_rival(new: _Stated, old: _Stated, draft: Draft) -> bool:
    is_single = new.slot == old.slot and new.slot in draft.slots.single_valued
    return is_single and new.held and states_other(new.fact, old.fact)


def _manual_facts(addition: Addition, earlier: Collection[str], draft: Draft) -> list[Fact]:
    """Return the manual facts that *addition* would replace; none if a person wrote it."""
    ids = () if addition.edited_by_user else (*addition.replaces, *earlier)
    return [fact for fact_id in dict.fromkeys(ids) if (fact := draft.memory.fact(fact_id)) and fact.is_manual]


def _replacing(addition: Addition, ids: Collection[str]) -> Addition:
    return addition.model_copy(update={"replaces": tuple(dict.fromkeys((*addition.replaces, *ids)))})


def _put_to_review(draft: Draft, addition: Addition, earlier: Collection[str], manual: list[Fact]) -> Draft:
    reason = f"a person wrote otherwise: {manual[0].content}"
    return hold(draft, reason, additions=(_replacing(addition, earlier),))


def _add_to_past(draft: Draft, addition: Addition, *, by: _Stated) -> Draft:
    """Return the draft with *addition* among the past facts, as *by* was said later; a past fact stays as it is."""
    draft = draft.with_refusal(addition.content, "something that was said later holds: it is in the past")
    if fact_key(addition.content) in {fact_key(fact.content) for fact in draft.memory.past}:
        return draft
    memory = draft.memory.with_facts((*draft.memory.facts, make_fact(addition, draft)))
    ended = memory.end_facts(
        {addition.id},
        "superseded",
        at=by.fact.valid_from or by.said,
        by=by.fact.id,
        limit=draft.policy.max_past_facts,
    )
    return replace(draft, memory=ended)
