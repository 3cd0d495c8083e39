"""Supersede what no longer holds: of two facts in one single-valued slot, the one said later wins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from memgraph.models import Addition, Fact
from memgraph.models.dates import DAY_CHARS, is_before
from memgraph.rules.add import make_fact, rejection_reason
from memgraph.rules.draft import Draft
from memgraph.rules.pending import hold
from memgraph.rules.relatedness import share_words
from memgraph.text.changes import find_change
from memgraph.text.normalize import fact_key
from memgraph.text.parts import parts_of
from memgraph.text.slots import Slots, SlotValue


class _Stated(NamedTuple):
    """What a fact, proposed or known, states about slots, and when it was said."""

    fact: Fact | Addition
    values: tuple[SlotValue, ...]
    said: str

    @property
    def id(self) -> str:
        return self.fact.id

    @property
    def valid_from(self) -> str:
        return self.fact.valid_from

    @property
    def held(self) -> bool:
        """Whether it held when it was said: it was neither a plan nor over."""
        day = self.said[:DAY_CHARS]
        return not (is_before(day, self.fact.valid_from) or is_before(self.fact.valid_until, day))


def supersede(draft: Draft) -> Draft:
    """Name the slot that each addition fills, and let it replace the facts with another value of it.

    If a model checked the addition, it has decided that. An addition that was said before such a fact becomes a past
    one itself. One that contradicts a manual fact is pending: accepting it replaces the manual fact.
    """
    slots = draft.slots
    proposed = [_state(one, one.said_at or draft.changes.at, slots) for one in draft.changes.additions]
    known = _read_known(draft, {value.slot for stated in proposed for value in stated.values})
    kept: list[Addition] = []
    for addition, stated in zip(draft.changes.additions, proposed, strict=True):
        named = addition.model_copy(update={"slot": _filled_slot(stated, slots)})
        later = [one for one in (*known, *proposed) if one.said > stated.said and _contradicts(one, stated, slots)]
        earlier = [] if addition.checked else _ended_by(stated, known, slots)
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
        one.addition.id: _state(one.addition, one.addition.said_at or draft.changes.at, draft.slots)
        for one in draft.as_said
        if one.is_firm
    }
    known = _read_known(draft, {value.slot for stated in firm.values() for value in stated.values})
    earlier = {name: _ended_by(stated, known, draft.slots) for name, stated in firm.items()}
    said = (one.ending(_replacing(one.addition, earlier.get(one.addition.id, ())).replaces) for one in draft.as_said)
    return replace(draft, as_said=tuple(said))


def _ended_by(stated: _Stated, known: Sequence[_Stated], slots: Slots) -> list[str]:
    return [one.id for one in known if one.said <= stated.said and _contradicts(stated, one, slots)]


def _state(fact: Fact | Addition, said: str, slots: Slots) -> _Stated:
    return _Stated(fact, slots.values(fact.content, fact.slot), said)


def _read_known(draft: Draft, names: Collection[str]) -> list[_Stated]:
    """Return what the facts of the memory state that state something about the slots *names*."""
    slots = draft.slots
    return [
        _state(fact, fact.said_at or fact.created_at, slots)
        for fact in (draft.memory.facts if names else ())
        if fact.id not in draft.new_ids and (slots.normalize(fact.slot) in names or slots.states(fact.content, names))
    ]


def _filled_slot(stated: _Stated, slots: Slots) -> str | None:
    filled = (value.slot for value in stated.values if value.slot in slots.single_valued and not value.is_ended)
    return next(filled, None)


def _contradicts(new: _Stated, old: _Stated, slots: Slots) -> bool:
    """Return whether *new* contradicts what *old* is mainly about, or contradicts a part of it and covers the rest.

    So it does if the rest can be taken apart: that stays.
    """
    held = [value for value in old.values if not value.is_ended]
    changed = [value for value in held if any(_changes(other, value, slots) for other in new.values)]
    if not changed or not new.held or (_is_only_claimed(new, changed) and not _has_reason(new, old)):
        return False
    covered = {(value.slot, value.of) for value in new.values}
    is_covered = held[0] in changed or covered.issuperset((value.slot, value.of) for value in held)
    return is_covered or len(parts_of(old.fact.content, [said.quote for said in old.fact.evidence])) > 1


def _is_only_claimed(new: _Stated, changed: Sequence[SlotValue]) -> bool:
    """Return whether the slots of *changed* are only claimed by the model, for both facts."""
    return all(value.is_claimed for value in (*new.values, *changed))


def _has_reason(new: _Stated, old: _Stated) -> bool:
    """Return whether both facts have a word in common, or the user announced a change.

    Small models name slots at random: the fear of a speech and the confidence in a career, as one role.
    """
    return share_words(new.fact, old.fact) or any(find_change(said.quote) for said in new.fact.evidence)


def _changes(new: SlotValue, old: SlotValue, slots: Slots) -> bool:
    if (new.slot, new.of) != (old.slot, old.of):
        return False
    if new.is_ended:
        return slots.are_same(new, old)
    return new.slot in slots.single_valued and not slots.are_same(new, old)


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
        at=by.valid_from or by.said,
        by=by.id,
        limit=draft.policy.max_past_facts,
    )
    return replace(draft, memory=ended)
