"""What a model is asked about the claims of an update, and what its answer changes.

It is asked about what the rules would keep, with the known facts that this could touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from memgraph.analysis.parts import parts_of
from memgraph.analysis.slots import Slots
from memgraph.models import (
    UNFIRM,
    Addition,
    Check,
    CheckedClaim,
    ClaimVerdict,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    Turn,
)
from memgraph.retrieval.slot_values import slot_of
from memgraph.rules.add import rejection_reason
from memgraph.rules.draft import Draft
from memgraph.rules.end import asked_before, is_later, quoted_sentences
from memgraph.rules.ground import PASSING_REMARK, SaidWords, judge_addition
from memgraph.rules.merge import KnownFacts

MAX_CLAIMS = 20
"""Claims of one check, the first ones. What the rest ends is left to the rules."""
MAX_KNOWN = 60
"""Known facts of one check: all of a memory that has no more."""
NEAREST = 20
"""Known facts of a larger memory that are most alike to the claims; those shown and those of a slot come first."""
_NOTHING: Mapping[str, object] = MappingProxyType({"replaces": (), "repeats": "", "slot": None})


def make_check(draft: Draft, shown: Sequence[str]) -> Check | None:
    """Return what to ask about the additions of *draft* that the rules would keep; None if there are none.

    Args:
        draft: The memory, the proposed changes, and the turns and rules by which they are judged.
        shown: Ids of the known facts that the prompt of the update showed, the most relevant first.
    """
    said = SaidWords(draft.turns, draft.memory)
    judged = (_kept(addition, draft, said) for addition in draft.changes.additions)
    kept = [addition for addition in judged if addition][:MAX_CLAIMS]
    if not kept or draft.changes.origin:
        return None
    claims = tuple(_claim(addition, draft.turns) for addition in kept)
    ids = _touched(kept, draft.memory, shown, draft.slots)
    shown_parts = [(fact.id, part) for one in ids if (fact := draft.memory.fact(one)) for part in _parts_shown(fact)]
    parts = tuple(part for _, part in shown_parts)
    return Check(claims=claims, known=tuple(one for one, _ in shown_parts), parts=parts if any(parts) else ())


def _parts_shown(fact: Fact) -> tuple[str, ...]:
    """Return the statements of *fact*, of which one may end; an empty text for one that cannot be taken apart."""
    parts = parts_of(fact.content, [said.quote for said in fact.evidence])
    return parts if len(parts) > 1 else ("",)


def _kept(addition: Addition, draft: Draft, said: SaidWords) -> Addition | None:
    """Return what the rules would keep of *addition*; None if they would keep nothing, or a person wrote it."""
    if addition.edited_by_user or rejection_reason(addition, draft.policy):
        return None
    addition, judged = judge_addition(addition, draft, said)
    # a passing remark may end a known fact, and then it is none
    is_kept = judged.outcome != "refused" or (judged.problem == PASSING_REMARK and bool(draft.memory.facts))
    return addition if is_kept else None


def _claim(addition: Addition, turns: Sequence[Turn]) -> CheckedClaim:
    said = "".join(quoted_sentences(addition, turns)).strip()
    quotes = " ".join(evidence.quote for evidence in addition.evidence)
    return CheckedClaim(
        addition_id=addition.id,
        content=addition.content,
        said=said or quotes or addition.quote,
        said_at=addition.said_at,
        asked=asked_before(said, turns),
    )


def _touched(
    additions: Sequence[Addition], memory: MemoryDocument, shown: Sequence[str], slots: Slots
) -> dict[str, None]:
    """Return the ids of the known facts that *additions* could touch, chosen not only by similarity."""
    if len(memory.facts) <= MAX_KNOWN:
        return dict.fromkeys(fact.id for fact in memory.facts)
    filled = {slot for addition in additions if (slot := slot_of(addition, slots))}
    same_slot = [fact.id for fact in memory.facts if slot_of(fact, slots) in filled]
    known = KnownFacts(memory.facts)
    alike = [fact.id for addition in additions for fact in known.alike(addition, 0)[: NEAREST // len(additions) or 1]]
    named = [old for addition in additions for old in addition.replaces if memory.fact(old)]
    ids = dict.fromkeys((*named, *same_slot, *alike, *(one for one in shown if memory.fact(one))))
    return dict.fromkeys([*ids][:MAX_KNOWN])


def settle(changes: MemoryUpdate, check: Check, memory: MemoryDocument) -> MemoryUpdate:
    """Return *changes* with what the model found: which additions follow, and which known facts end or are repeated.

    A fact that was said after an addition is not ended by it.
    """
    asked = zip(check.claims, check.verdicts, strict=False)
    verdicts = {claim.addition_id: verdict for claim, verdict in asked if verdict and claim.addition_id}
    if not verdicts:
        return changes
    known = {fact.id: fact for fact in memory.facts}
    additions = (
        _settled(addition, verdict, known) if (verdict := verdicts.get(addition.id)) else addition
        for addition in changes.additions
    )
    return changes.model_copy(update={"additions": tuple(additions)})


def without_verdicts_on(changed: frozenset[str], changes: MemoryUpdate) -> MemoryUpdate:
    """Return *changes* without what the check found about the known facts *changed*, which it did not see like that."""
    if not any(changed.intersection((*addition.ends, addition.repeats)) for addition in changes.additions):
        return changes
    additions = (
        addition.model_copy(
            update={
                "ends": tuple(one for one in addition.ends if one not in changed),
                "replaces": tuple(one for one in addition.replaces if one not in changed.intersection(addition.ends)),
                "repeats": "" if addition.repeats in changed else addition.repeats,
            }
        )
        for addition in changes.additions
    )
    return changes.model_copy(update={"additions": tuple(additions)})


def _settled(addition: Addition, verdict: ClaimVerdict, known: Mapping[str, Fact]) -> Addition:
    modality = None if verdict.modality == "asserted" else verdict.modality
    if verdict.follows == "no" or modality in UNFIRM:
        return addition.model_copy(update={"checked": verdict.follows, "modality": modality, **_NOTHING})
    ends = tuple(one for one in verdict.ends if one != verdict.same and is_later(addition, known.get(one)))
    is_same = verdict.follows == "yes" and not addition.replaces and not ends
    return addition.model_copy(
        update={
            "checked": verdict.follows,
            "modality": modality,
            "ends": ends,
            "ended_parts": verdict.ended_parts,
            "replaces": tuple(dict.fromkeys((*addition.replaces, *ends))),
            "repeats": addition.repeats or (verdict.same if is_same else ""),
        }
    )
