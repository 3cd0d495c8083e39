"""The memory text in two blocks: one that stays the same while a conversation goes on, and one for the question.

Providers cache the longest prefix that a request shares with an earlier one. So what changes with each question stands
at the end of a request, and what stands before it changes seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from memgraph.analysis.terms import content_terms
from memgraph.models import Episode, Fact, MemoryDocument, Section
from memgraph.retrieval.budget import SUMMARIES_SHARE, Lines, fit_in_order
from memgraph.retrieval.memory_index import covers, guaranteed_facts
from memgraph.retrieval.past import EndedWords
from memgraph.retrieval.pipeline import FittedMemory, RankedMemory, RecallPipeline, without_pending
from memgraph.retrieval.render import MIN_LINE_TOKENS, Line, episode_line, fact_line
from memgraph.retrieval.slot_values import earlier_values

if TYPE_CHECKING:
    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.vector_store import VectorStore


LEAST_SIMILARITY = 0.35
"""Similarity, as a share of the best, which a line of the recalled block exceeds."""
UNANSWERED_SHARE = 0.75
"""Share of what the best line does not answer of the question that the others exceed as well: at 1 a turn of RealMem
has .10 less of the evidence, at 0.5 the recalled block doubles (benchmarks/silence.py)."""


ATTRIBUTES_SHARE = 0.1
"""Share of the budget for the attributes that stand for summaries: about as many tokens as these have."""
FADING = 2
"""A memory of so many times the budget shows only what is guaranteed, in place of all below the budget: between these
the share falls evenly, so that one more fact changes little."""
RECALLED_SHARE = 0.25
"""Share of the budget that is left to the recalled block if the memory does not fit."""


class SplitText(NamedTuple):
    """The memory as a request shows it; each part is "" if there is nothing to show."""

    stable: str
    """What is known whatever the question is: summaries, profile, preferences and corrections; all if that fits."""
    recalled: str
    """What else the question needs, and what is new."""
    facts: tuple[str, ...] = ()
    """Ids of the facts and claims in both."""
    episodes: tuple[str, ...] = ()
    """Ids of the episodes in both."""
    revision: int = 0
    """Of the memory that the stable block depends on."""


def split(
    pipeline: RecallPipeline,
    memory: MemoryDocument,
    messages: Sequence[MessageLike],
    *,
    base: MemoryDocument,
    thread: str | None = None,
    episodes: Sequence[Episode] = (),
    vectors: VectorStore | None = None,
    now: datetime | None = None,
) -> SplitText:
    """Return the memory text for a prompt in two blocks, which together keep within the budget of *pipeline*.

    Args:
        pipeline: The options of recall.
        memory: The memory of the user.
        messages: The conversation so far, the oldest first.
        base: The memory as it was when the conversation began. The stable block depends on it, on what was said by
            then in other conversations, on the options and on the day alone; if what it would show was changed, ended
            or erased since, on *memory* instead.
        thread: The conversation.
        episodes: What the user said, the oldest first.
        vectors: Keeps the vectors of the memory beyond this process.
        now: The current time; default: that of the system.
    """
    query, episodes = pipeline.query(messages, now), without_pending(episodes, memory)
    options = pipeline.max_tokens, pipeline.guaranteed_share, pipeline.timezone

    def block(base: MemoryDocument) -> tuple[FittedMemory, Sequence[Fact | Episode]]:
        facts = [fact for fact in base.facts if not fact.has_expired(query.today)]
        said = [one for one in episodes if one.at <= base.last_updated and one.thread_id != thread]
        key, given = (options, base.revision, thread, *(fact.id for fact in facts[:1])), (base, said, query.today)
        return pipeline.cache.block(key, given, lambda: _fit_stable(pipeline, base, facts, said, query.today))

    stable, items = block(base)
    if base is not memory and (base.is_empty or not _still_holds(items, base, memory, query.today, pipeline.timezone)):
        base, (stable, items) = memory, block(memory)
    shown = [item.id for item in items if isinstance(item, Fact)]
    quoted = [item.id for item in items if isinstance(item, Episode)]
    ranked = pipeline.rank(memory, episodes, query, vectors=vectors).without_messages(messages)
    rest = replace(pipeline, max_tokens=max(0, pipeline.max_tokens - stable.tokens))
    known = {fact.id for fact in base.facts if not fact.has_expired(query.today)}
    settled = {place for place, fact in enumerate(ranked.facts.facts) if fact.id in known}
    # the less of the question the best line answers, the less the others are about it
    recalled = rest.fit(
        _without_sections(memory, base),
        _without(ranked, frozenset(shown), frozenset(quoted))._replace(settled=settled),
        min_similarity=max(LEAST_SIMILARITY, UNANSWERED_SHARE * (1 - ranked.answered)),
    )
    facts_shown = (*shown, *(ranked.facts.facts[position].id for position in recalled.facts))
    said_shown = (*quoted, *(ranked.episodes.episodes[position].id for position in recalled.episodes))
    return SplitText(stable.text, recalled.text, facts_shown, said_shown, base.revision)


def _still_holds(
    shown: Sequence[Fact | Episode], base: MemoryDocument, memory: MemoryDocument, today: str, timezone: str
) -> bool:
    """Return whether a stable block of *base*, which shows these facts and episodes, would have their lines still."""
    known = {fact.id: fact for fact in memory.facts if not fact.has_expired(today)}
    note, newer_note = (EndedWords(one, timezone).note for one in (base, memory))
    return (
        all(item.id in known and _is_same_line(item, known[item.id]) for item in shown if isinstance(item, Fact))
        and all(note(item.id) == newer_note(item.id) for item in shown if isinstance(item, Episode))
        and base.profile.values == memory.profile.values
        and all(memory.section(name).summary == section.summary for name, section in base.sections() if section.summary)
    )


def _is_same_line(fact: Fact, other: Fact) -> bool:
    """Return whether both have the same line, on whatever day they were said: a fact that is said again stays."""
    one, two = fact_line(fact), fact_line(other)
    return one is not None and two is not None and (one.text, one.group) == (two.text, two.group)


def _fit_stable(
    pipeline: RecallPipeline, base: MemoryDocument, facts: Sequence[Fact], said: Sequence[Episode], today: str
) -> tuple[FittedMemory, Sequence[Fact | Episode]]:
    """Return all if it fits the budget, else the summaries and the newest of what is guaranteed; and the items shown.

    Of a memory just above the budget the newest of the rest is shown as well, the less the larger the memory is.

    Until the upkeep has written a summary, the newest attributes stand for them, such as a name, a home or a job.
    """
    summaries = pipeline.cache.summaries(base, int(pipeline.max_tokens * SUMMARIES_SHARE))
    room, timezone, earlier = pipeline.max_tokens - summaries.tokens, pipeline.timezone, earlier_values(facts)

    @cache
    def line_of(place: int) -> Line | None:
        return fact_line(facts[place], timezone, is_earlier=facts[place].id in earlier)

    def fitted(lines: Lines) -> FittedMemory:
        """Return the block of *lines*; the places of episodes follow those of the facts."""
        spoken = {place: line for place, line in lines.items() if place >= len(facts)}
        known = {place: line for place, line in lines.items() if place < len(facts)}
        return FittedMemory(summaries, today, known, spoken)

    rest, fading, items = Lines(), 0, tuple[Fact | Episode, ...](facts)
    if _may_show_any(facts, said, pipeline.max_tokens):
        said = _not_covered(said, facts)
        note = EndedWords(base, timezone).note
        lines = chain(map(line_of, range(len(facts))), (episode_line(one, timezone, note(one.id)) for one in said))
        most = FADING * pipeline.max_tokens - summaries.tokens
        rest, tokens = fit_in_order(((place, line) for place, line in enumerate(lines) if line), most)
        items = (*facts, *said)
        if tokens <= room:
            return fitted(rest), [items[place] for place in rest]
        fading = min(most - tokens, int(pipeline.max_tokens * (1 - RECALLED_SHARE)))

    def newest(places: Sequence[int], room: int) -> Lines:
        """Return the lines of the newest of the facts at *places* that fit into *room*."""
        lines = ((place, line) for place in reversed(places) if (line := line_of(place)))
        return fit_in_order(islice(lines, room // MIN_LINE_TOKENS), room)[0]

    known = dict.fromkeys(guaranteed_facts(facts))
    lines = newest(tuple(known), min(room, int(pipeline.max_tokens * pipeline.guaranteed_share)))
    if not any(section.summary for _, section in base.sections()):
        attributes = [place for place, fact in enumerate(facts) if fact.slot and place not in known]
        lines |= newest(attributes, int(pipeline.max_tokens * ATTRIBUTES_SHARE))
    newest_first = sorted(rest.keys() - lines.keys(), key=lambda place: (place >= len(facts), -place))
    left = fading - fitted(lines).tokens
    lines |= fit_in_order(((place, rest[place]) for place in newest_first), left)[0]
    return fitted(lines), [items[place] for place in lines]


def _may_show_any(facts: Sequence[Fact], said: Sequence[Episode], max_tokens: int) -> bool:
    """Return whether a stable block may show more of these than is guaranteed: no word is less than a token."""
    least = sum(max(MIN_LINE_TOKENS, len(fact.content.split())) for fact in facts)
    return least + len(said) * MIN_LINE_TOKENS < FADING * max_tokens


def _not_covered(said: Sequence[Episode], facts: Sequence[Fact]) -> list[Episode]:
    """Return the episodes that the lines of the facts that were learned from them do not cover."""
    learned: dict[str, frozenset[str]] = {}
    for fact in facts:
        for item in fact.evidence:
            learned[item.episode] = learned.get(item.episode, frozenset()) | content_terms(fact.content)
    return [one for one in said if one.id not in learned or not covers(learned[one.id], content_terms(one.text))]


def _without_sections(memory: MemoryDocument, base: MemoryDocument) -> MemoryDocument:
    """Return *memory* without facts, profile, and the summaries that are those of *base*."""
    news = MemoryDocument()
    for name, section in memory.sections():
        is_new = section.summary != base.section(name).summary
        news = news.with_section(name, section if is_new else Section())
    return news


def _without(ranked: RankedMemory, facts: frozenset[str], episodes: frozenset[str]) -> RankedMemory:
    """Return *ranked* without the facts and episodes of these ids, and without the episodes that the facts cover."""
    known = {place for place, fact in enumerate(ranked.facts.facts) if fact.id in facts}
    candidates = {*ranked.episode_ranking.order, *ranked.unlearned}
    said = {
        place
        for place in candidates
        if ranked.episodes.episodes[place].id in episodes or ranked.is_episode_covered(place, known)
    }
    return ranked.without(known, said)
