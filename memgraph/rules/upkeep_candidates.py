"""What the upkeep asks a model about: facts that are alike, facts not repeated for long, and outdated summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import accumulate, takewhile

from memgraph.analysis.dates import local_day
from memgraph.analysis.similarity import Profile, SimilarityIndex
from memgraph.analysis.tokens import count_tokens
from memgraph.models import Candidate, Fact, MemoryDocument
from memgraph.models.dates import days_of
from memgraph.policy import Policy
from memgraph.retrieval.summary_facts import with_current_summaries
from memgraph.rules.limit_damage import damage_limit

MAX_GROUP = 10
"""Maximum number of facts of a group; the others form further groups when these are merged."""
MIN_SIMILARITY = 0.5
"""Minimum similarity, or `Profile.overlap`, of two facts about which the model is asked: it may decide what an update
must not."""


def find_candidates(memory: MemoryDocument, policy: Policy, today: date) -> tuple[Candidate, ...]:
    """Return what a model should be asked about *memory* now, the groups first.

    A question whose facts have not changed since it was asked is not asked again; a stale fact is asked about again
    after the same time. What one upkeep may change, and what fits the prompt, limits the number: the rest is asked by
    the next one.
    """
    asked = frozenset(memory.upkeep.asked if memory.upkeep else ())
    found = [*_groups(memory), *_stale(memory, policy, today), *_summaries(memory, policy)]
    return tuple(_within_limits([one for one in found if one.digest not in asked], memory, policy))


def _within_limits(found: Sequence[Candidate], memory: MemoryDocument, policy: Policy) -> Iterator[Candidate]:
    facts = {fact.id: fact for fact in memory.facts}
    changes, tokens = damage_limit(memory), policy.prompt_facts_tokens
    for candidate in found:
        changes -= _changes(candidate)
        tokens -= sum(_tokens(facts[fact_id]) for fact_id in candidate.ids)
        if changes < 0 or tokens < 0:
            return
        yield candidate


_LINE_TOKENS = 20  # id, category, month and line break of a fact, and its share of the tag of a group


def _tokens(fact: Fact) -> int:
    return count_tokens(fact.content) + _LINE_TOKENS


def _changes(candidate: Candidate) -> int:
    """Return how many facts the answer may end."""
    return len(candidate.ids) - 1 if candidate.kind == "alike" else int(candidate.kind == "stale")


# -- facts that may state the same ------------------------------------------------------------


def _groups(memory: MemoryDocument) -> Iterator[Candidate]:
    """Yield the groups of facts that are alike, of which at most one is manual."""
    most = min(MAX_GROUP, damage_limit(memory) + 1)
    for group in alike_groups(memory.facts):
        learned = [fact for fact in group if not fact.is_manual]
        manual = [fact for fact in group if fact.is_manual]
        members = [*manual[:1], *learned][:most]
        if len(members) > 1:
            about = sorted(f"{fact.id} {fact.content}" for fact in members)
            yield Candidate.make("alike", tuple(fact.id for fact in members), *about)


def alike_groups(facts: Sequence[Fact]) -> list[list[Fact]]:
    """Return the groups of *facts* that may state the same, each fact in one group at most."""
    pairs = SimilarityIndex([fact.content for fact in facts]).pairs(MIN_SIMILARITY, _likeness)
    alike = sorted((-score, one, other) for one, other, score in pairs)
    group_of: dict[int, list[int]] = {}
    for _, one, other in alike:  # the most similar first
        first, second = group_of.get(one, [one]), group_of.get(other, [other])
        if first is not second and len(first) + len(second) <= MAX_GROUP:
            merged = sorted(first + second)
            group_of.update(dict.fromkeys(merged, merged))
    groups = {group[0]: group for group in group_of.values()}
    return [[facts[index] for index in groups[first]] for first in sorted(groups)]


def _likeness(one: Profile, other: Profile) -> float:
    """Return how alike two facts are, the surest first: those that the rules take for the same, then the others."""
    score = one.score(other)
    return 1 + score if score >= MIN_SIMILARITY else one.overlap(other)


# -- facts that were not repeated -------------------------------------------------------------------


def _stale(memory: MemoryDocument, policy: Policy, today: date) -> Iterator[Candidate]:
    """Yield the learned facts that were not confirmed for longer than their kind lives, the oldest first."""
    # the date alone shows of most facts that they are not stale, and is read faster than a time
    days = (*policy.stale_days.values(), *filter(None, (category.stale_days for category in policy.categories)))
    latest = (today - timedelta(days=min(days) - 1)).isoformat()
    old = [fact for fact in memory.facts if fact.said_last < latest]
    for fact in sorted(old, key=lambda fact: fact.said_last):
        if periods := stale_periods(fact, policy, today):
            yield Candidate.make("stale", (fact.id,), fact.id, fact.content, fact.said_last, str(periods))


def stale_periods(fact: Fact, policy: Policy, today: date) -> int:
    """Return how many times the life of its kind has passed since *fact* was last said; 0 if it is not stale.

    Corrections, manual facts and those of a category without `stale_days` never become stale, nor does a fact before
    its end, or of which the time is unknown.
    """
    seen, end = local_day(fact.said_last), days_of(fact.valid_until)
    days = policy.days_until_stale(fact)
    if fact.is_manual or seen is None or days is None or (end and end.last >= today):
        return 0
    return max(0, (today - seen).days // days)


# -- summaries --------------------------------------------------------------------------------------


def _summaries(memory: MemoryDocument, policy: Policy) -> Iterator[Candidate]:
    """Yield the question about the summaries, with the facts learned since they were written.

    It is asked if a sentence rests on a fact that has ended, or if the summaries are left to the upkeep and there are
    such facts. If they do not all fit the prompt, the newest are shown.
    """
    before, held = dict(memory.sections()), dict(with_current_summaries(memory).sections())
    since = [section.updated_at for name, section in before.items() if section.summary != held[name].summary]
    is_outdated = bool(since)
    if policy.summaries == "upkeep":
        since.append(min((section.updated_at for section in before.values() if section.summary), default=""))
    learned = [fact for fact in memory.facts if since and fact.created_at > min(since)]
    if learned or is_outdated:
        shown = _newest(learned, policy.prompt_facts_tokens // 2)
        about = (*(section.summary for section in held.values()), *(f"{fact.id} {fact.content}" for fact in learned))
        yield Candidate.make("summaries", tuple(fact.id for fact in shown), *about)


def _newest(facts: Sequence[Fact], max_tokens: int) -> list[Fact]:
    """Return the last of *facts* that fit."""
    totals = accumulate(_tokens(fact) for fact in reversed(facts))
    count = sum(1 for _ in takewhile(lambda total: total <= max_tokens, totals))
    return list(facts[len(facts) - count :])
