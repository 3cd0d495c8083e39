"""Claims that are kept as the user said them: new ones, those said again, and those that a fact states plainly now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from types import MappingProxyType

from memgraph.analysis.answers import denies
from memgraph.analysis.dates import parse_time
from memgraph.analysis.normalize import fact_key
from memgraph.analysis.similarity import is_richer
from memgraph.analysis.statement import firmness_of
from memgraph.analysis.subjects import other_subject
from memgraph.analysis.uploads import mentions_upload
from memgraph.models import Addition, AsSaid, timestamp
from memgraph.rules.add import key_of, make_fact, merge_evidence, rejection_reason, repeated
from memgraph.rules.draft import Draft
from memgraph.rules.end import end_replaced, share_words
from memgraph.rules.merge import SAME, KnownFacts
from memgraph.rules.scrub import REASON

_UNCLAIMED: Mapping[str, object] = MappingProxyType({"replaces": (), "slot": None, "valid_from": "", "valid_until": ""})
"""What a claim that may be wrong does not have: it would end facts, or keep its words from being found."""


def keep_as_said(draft: Draft) -> Draft:
    """Keep what `ground` collected, as claims with the user's words; a known one gets these words, too.

    They confirm no fact, and end only what the model named, if the words are firm. A claim that a fact of this
    update states plainly goes, and its words to that fact.
    """
    if not draft.as_said and not draft.memory.as_said:
        return draft
    draft = _made_plain(draft)
    if draft.changes.asked is not None:
        return _with_claims(draft, _without_repetitions(draft))
    facts, claims = KnownFacts(draft.memory.facts), {claim.id: claim for claim in draft.memory.as_said}
    known = KnownFacts(draft.memory.as_said)
    for addition, reason, _, named in draft.as_said:
        upload = REASON if mentions_upload(f"{addition.content}\n{addition.quote}") else None
        if problem := rejection_reason(addition, draft.policy) or upload:
            draft = draft.with_refusal(addition.content, problem)
        elif (same := facts.find(addition)) and same.id not in named:
            problem = "already known"
            draft = draft.with_refusal(addition.content, problem)
        elif same := _stated(addition, claims, known):
            claims[same.id] = _said_again(same, addition, draft)
        else:
            made = make_fact(addition, draft).model_copy(update=_UNCLAIMED)
            claims[made.id] = AsSaid.model_validate({**made.model_dump(), "reason": reason})
            known = KnownFacts(tuple(claims.values()))
        if not problem and not draft.changes.origin:
            draft = end_replaced(draft, addition, by=addition.id)
    return _with_claims(draft, claims.values())


def _stated(
    addition: Addition, claims: Mapping[str, AsSaid], known: KnownFacts, *, is_plain: bool = False
) -> AsSaid | None:
    """Return the one of *claims* that *addition* states: the one that the model names as that, else the most similar
    that was said in the same sense.

    One that it is to replace is stated only if it has to do with it, and neither denies what the other states.
    """
    replaced = (one for one in _replaced(addition, claims) if denies(one.content) == denies(addition.content))
    alike = (claims[one.id] for one in known.alike(addition, SAME) if one.id in claims)
    again = (one for one in alike if _is_same_sense(one, addition, is_plain=is_plain))
    return claims.get(addition.id) or claims.get(addition.repeats) or next(chain(replaced, again), None)


def _is_same_sense(one: AsSaid, other: AsSaid | Addition, *, is_plain: bool = False) -> bool:
    """Return whether what the user said last of both is about the same person, and as firm unless one *is_plain*."""
    said = [each.evidence[-1].quote if each.evidence else "" for each in (one, other)]
    is_firm = is_plain or firmness_of(said[0]) == firmness_of(said[1])
    return is_firm and other_subject(said[0]) == other_subject(said[1])


def _replaced(addition: Addition, claims: Mapping[str, AsSaid]) -> list[AsSaid]:
    """Return those of *claims* that *addition* is to replace and has to do with."""
    named = (claim for old in addition.replaces if (claim := claims.get(old)))
    return [claim for claim in named if share_words(addition, claim)]


def _said_again(claim: AsSaid, addition: Addition, draft: Draft) -> AsSaid:
    """Return *claim* with the words of *addition*; the last words are at the end, and the earliest ones are dropped."""
    is_later = (addition.said_at or draft.changes.at) >= claim.said_last
    parts = (claim.evidence, addition.evidence) if is_later else (addition.evidence, claim.evidence)
    newest = merge_evidence((), [*reversed([*parts[0], *parts[1]])])
    content = addition.content if is_richer(addition.content, claim.content) else claim.content
    again = repeated(claim, addition, draft)
    return again.model_copy(update={**_UNCLAIMED, "content": content, "evidence": tuple(reversed(newest))})


def _made_plain(draft: Draft) -> Draft:
    """Drop the claims that a fact of this update replaces or states plainly; the latter give it their words.

    A tool states none so.
    """
    if draft.changes.origin or not draft.changes.additions:
        return draft
    known, claims = KnownFacts(draft.memory.as_said), {claim.id: claim for claim in draft.memory.as_said}
    facts = {fact.derive(key_of): fact for fact in draft.memory.facts}
    for addition in draft.changes.additions:
        key = fact_key(addition.content)
        fact, claim = facts.get(key), _stated(addition, claims, known, is_plain=True)
        if fact and claim and not (draft.is_fixed(fact) and fact.id != addition.id):
            del claims[claim.id]
            facts[key] = fact.model_copy(update={"evidence": merge_evidence(fact.evidence, claim.evidence)})
        for replaced in _replaced(addition, claims) if fact else ():
            del claims[replaced.id]
    plain = {fact.id: fact for fact in facts.values()}
    kept = tuple(plain.get(fact.id, fact) for fact in draft.memory.facts)
    memory = draft.memory.model_copy(update={"facts": kept, "as_said": tuple(claims.values())})
    return draft if len(claims) == len(draft.memory.as_said) else replace(draft, memory=memory)


def _without_repetitions(draft: Draft) -> tuple[AsSaid, ...]:
    """Return the claims, those that state the same as one, with the words of all. This is all that an upkeep does."""
    known, kept = KnownFacts(draft.memory.as_said), {claim.id: claim for claim in draft.memory.as_said}
    for claim in draft.memory.as_said:
        alike = (kept[one.id] for one in known.alike(claim, SAME) if one.id != claim.id and one.id in kept)
        repeating = [one for one in alike if _is_same_sense(one, claim)]
        for same in repeating if claim.id in kept else ():
            del kept[same.id]
            kept[claim.id] = _said_again(kept[claim.id], _as_addition(same), draft)
    return tuple(kept.values())


def _as_addition(claim: AsSaid) -> Addition:
    fields = claim.model_dump(include={"id", "content", "category", "confidence", "evidence"})
    return Addition(**fields, said_at=claim.said_last)


def _with_claims(draft: Draft, claims: Iterable[AsSaid]) -> Draft:
    """Return the draft with *claims*, as far as a memory keeps their words and so many: those said last."""
    at, days = parse_time(draft.changes.at), draft.policy.episode_days
    since = timestamp(at - timedelta(days=days)) if at and days else ""
    kept = [claim for claim in claims if claim.said_last >= since or not any(said.episode for said in claim.evidence)]
    surplus = max(0, len(kept) - draft.policy.max_as_said)
    first = {claim.id for claim in sorted(kept, key=lambda claim: claim.said_last)[:surplus]}
    left = tuple(claim for claim in kept if claim.id not in first)
    return replace(draft, memory=draft.memory.model_copy(update={"as_said": left}))
