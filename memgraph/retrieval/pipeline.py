"""The recall pipeline: query, ranking, budget and rendering, with the options of `recall`."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, cast

from memgraph.analysis.admission import MAY_WAIT
from memgraph.analysis.dates import check_timezone, local_day
from memgraph.analysis.quotes import sentences_of
from memgraph.analysis.tokens import SEARCHED_CHARS, count_tokens
from memgraph.errors import ConfigError, EmbeddingError
from memgraph.models import AsSaid, Episode, MemoryDocument
from memgraph.models.as_of import last_day
from memgraph.models.dates import DAY_CHARS
from memgraph.retrieval.budget import (
    SUMMARIES_SHARE,
    Candidates,
    Lines,
    Shares,
    Summaries,
    fit,
    fit_in_order,
    frame_tokens,
    tokens_of,
)
from memgraph.retrieval.index_cache import IndexCache, IndexOptions
from memgraph.retrieval.lexical import Scores, matched_words
from memgraph.retrieval.memory_index import EpisodeIndex, FactIndex, Ranking, covers, scale_to_best
from memgraph.retrieval.past import PAST_SHARE, EndedWords, PastIndex, past_facts, past_index
from memgraph.retrieval.query import Query, build_query, message_identities
from memgraph.retrieval.rankers import get_ranker
from memgraph.retrieval.render import MIN_LINE_TOKENS, Line, may_recall, recalled_words, render
from memgraph.retrieval.results import RecallResult, ScoredEpisode, ScoredFact, ScoredPastFact, Selection
from memgraph.telemetry import trace_recall

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from memgraph.retrieval.query import Document, MessageLike
    from memgraph.retrieval.vector_store import VectorStore


_log = logging.getLogger("memgraph.recall")

UNLEARNED_SHARE = 0.3
"""Share of the tokens that the words have that no update has learned yet, whatever the question is."""
NEEDS_FACTOR = 4
"""So many times the lines that fit are searched for standing needs, which are shown first."""
REVIEW_DAYS = 7
"""For so long the words count as not learned of which a fact waits for a review."""
NOISE_SHARE = 0.1
"""Share of the tokens that a text may take that is noise, with its frame."""
AREA_WEIGHT = 0.2
"""What being about the areas of a question counts if its words answer a third of it: the less they answer, the more,
and nothing from half of it on. At 0 RealMem loses .02 of the evidence in 500 tokens, at 0.3 LifeBench .01 in 2,000."""
LEAST_ANSWERED = 0.15
"""What the words of a question answer at least, where areas are weighed, so that what has most of them stays first."""
MIN_SIMILARITY = 0.5
"""Similarity above which a search returns a match: half of the best."""
BELOW = 0.999
"""What an excerpt has of the similarity of its episode, at most: just less, so that the episode is first."""

WaitsFor = Literal["vectors", "model", "nothing"]
T = TypeVar("T")


class RankedMemory(NamedTuple):
    """A memory ordered by a query."""

    query: Query
    facts: FactIndex
    fact_ranking: Ranking
    episodes: EpisodeIndex
    episode_ranking: Ranking
    past: PastIndex
    """Empty if the query is not about the past."""
    past_ranking: Ranking
    endings: EndedWords
    unlearned: Sequence[int] = ()
    """Positions of the episodes that no update has learned yet, the newest first."""
    answered: float = 0.0
    """How much of the query the best of them answers, in [0, 1]; 0 if nothing does."""
    settled: AbstractSet[int] = frozenset()
    """Positions of the facts that are not guaranteed here, since another block shows such facts."""

    def cutoff(self, min_similarity: float) -> float:
        """Return the similarity up to which matches are noise: all if nothing answers the query.

        None without a query, or if it is about the user in general.
        """
        is_open = not self.query or self.query.is_general
        return -1.0 if is_open else min_similarity if self.answered else 1.0

    def claims_in(self, episode: int) -> Sequence[int]:
        """Return the positions of the claims that are shown as words of an episode."""
        return self.facts.claims_in(self.episodes.episodes[episode].id)

    def is_episode_covered(self, episode: int, facts: Container[int]) -> bool:
        """Return whether the lines of these facts, those learned from the episode, cover it."""
        learned = self.facts.learned_from.get(self.episodes.episodes[episode].id, ())
        lines = [self.facts.terms(fact) for fact in learned if fact in facts]
        return bool(lines) and covers(lines[0].union(*lines), self.episodes.terms(episode))

    def is_fact_covered(self, fact: int, episodes: Container[int]) -> bool:
        """Return whether one of these episodes, which the fact was learned from, covers its line."""
        known = self.facts.facts[fact]
        said = [episode for episode in self.episodes.sources_of(known) if episode in episodes]
        if isinstance(known, AsSaid):
            return any(fact in self.claims_in(episode) for episode in said)
        return any(covers(self.episodes.terms(episode), self.facts.terms(fact)) for episode in said)

    def without_messages(self, messages: str | Sequence[MessageLike]) -> Self:
        """Return this memory without the episodes of *messages*, which the model sees anyway."""
        hidden = self.episodes.said_in(message_identities(messages))
        ids = [self.episodes.episodes[position].id for position in hidden]
        return self.without({claim for one in ids for claim in self.facts.claims_in(one, asked=True)}, hidden)

    def without(self, facts: AbstractSet[int], episodes: AbstractSet[int]) -> Self:
        """Return this memory without the facts and the episodes at these positions."""
        if not (facts or episodes):
            return self
        return self._replace(
            fact_ranking=self.fact_ranking.without(facts),
            episode_ranking=self.episode_ranking.without(episodes),
            unlearned=[position for position in self.unlearned if position not in episodes],
        )

    def explain(
        self, facts: Iterable[int], episodes: Iterable[int], past: Iterable[int] = ()
    ) -> tuple[tuple[ScoredFact, ...], tuple[ScoredEpisode, ...], tuple[ScoredPastFact, ...]]:
        """Return the facts, episodes and past facts at these positions, with their scores and how they were found.

        A claim that is kept as said is among the episodes: its words, under its own id.
        """
        query, notes = self.query, self.endings.note
        found = [
            ScoredFact(fact=fact, **scores)
            for fact, scores in _scored(query, self.facts.facts, self.fact_ranking, self.facts.documents, facts)
        ]
        said = _scored(query, self.episodes.episodes, self.episode_ranking, self.episodes.documents, episodes)
        ended = _scored(query, self.past.facts, self.past_ranking, self.past.documents, past)
        return (
            tuple(item for item in found if not isinstance(item.fact, AsSaid)),
            (
                *(_as_words(item, len(self.facts.facts)) for item in found if isinstance(item.fact, AsSaid)),
                *(ScoredEpisode(episode=one, ended=notes(one.id), **scores) for one, scores in said),
            ),
            tuple(ScoredPastFact(fact=fact, **scores) for fact, scores in ended),
        )


def without_pending(episodes: Sequence[Episode], memory: MemoryDocument) -> Sequence[Episode]:
    """Return *episodes* without the sentences on which an order rests that waits in *memory*."""
    held = defaultdict[str, list[str]](list)
    for fact in (fact for change in memory.pending if change.reason in MAY_WAIT for fact in change.facts):
        for said in fact.evidence:
            held[said.episode].append(said.quote)
    shown = (_without_sentences(one, held[one.id]) if one.id in held else one for one in episodes)
    return [one for one in shown if one.text] if held else episodes


def _without_sentences(episode: Episode, quotes: Iterable[str]) -> Episode:
    text = episode.text
    for sentence in (sentence for quote in quotes for sentence in sentences_of(quote, episode.text).touched):
        text = text.replace(sentence, "")
    return episode.model_copy(update={"text": text.strip()})


def _in_review(memory: MemoryDocument, today: str) -> frozenset[str]:
    """Return the ids of the episodes of which a fact waits for a review, for at most REVIEW_DAYS."""
    first = (date.fromisoformat(today) - timedelta(days=REVIEW_DAYS)).isoformat()
    waiting = (change for change in memory.pending if change.is_asked and change.at >= first)
    return frozenset(said.episode for change in waiting for fact in change.facts for said in fact.evidence)


def _below_episodes(facts: FactIndex, to_facts: Scores, episodes: EpisodeIndex, to_episodes: Scores) -> Scores:
    """Return *to_facts* in which an excerpt of an episode is below it, unless it covers all of it.

    Above it both would be shown, and take the room of other words.
    """
    below = to_facts.copy()
    for fact in facts.excerpts:
        sources = episodes.sources_of(facts.facts[fact]) if below[fact] else []
        if sources and not any(covers(facts.terms(fact), episodes.terms(one)) for one in sources):
            below[fact] = min(below[fact], BELOW * max(to_episodes[one] for one in sources))
    return below


def _scored(
    query: Query, items: Sequence[T], ranking: Ranking, documents: Sequence[Document], positions: Iterable[int]
) -> Iterator[tuple[T, dict[str, Any]]]:
    """Yield those of *items* at *positions*, each with its scores and the words by which it is found."""
    places = list(positions)
    for at, matched in zip(places, matched_words(query, [documents[place] for place in places]), strict=True):
        score, similarity = float(ranking.scores[at]), float(ranking.similarity[at])
        yield items[at], {"position": at, "score": score, "similarity": similarity, "matched": matched}


def _first_above(ranking: Ranking, cutoff: float, limit: int, may_show: Callable[[int], bool]) -> list[int]:
    """Return the first *limit* positions above *cutoff* of the best similarity that a prompt may have."""
    least = cutoff * ranking.similarity.max(initial=0.0)
    return list(islice((at for at in ranking.order if ranking.similarity[at] > least and may_show(at)), limit))


def _as_words(item: ScoredFact, count: int) -> ScoredEpisode:
    """Return a claim as the words of the user, which stand before the episodes of their day."""
    claim = cast("AsSaid", item.fact)
    said = Episode(id=claim.id, thread_id=claim.source, at=claim.said_last, text=claim.words)
    scores = item.model_dump(include={"score", "similarity", "matched"})
    return ScoredEpisode(episode=said, position=item.position - count, **scores)


@dataclass(frozen=True)
class FittedMemory:
    """What of a memory fits the budget."""

    summaries: Summaries
    today: str
    """The date of the user's day."""
    facts: Lines
    episodes: Lines = field(default_factory=Lines)
    past: Lines = field(default_factory=Lines)

    @cached_property
    def _lines(self) -> Sequence[Line]:
        """The lines, those of one day in the order of the memory; words that were said twice on a day are one line."""
        lines = (group[position] for group in (self.facts, self.past, self.episodes) for position in sorted(group))
        return tuple(dict.fromkeys(lines))

    @cached_property
    def text(self) -> str:
        """The block that goes into a prompt."""
        return render(self.summaries.texts, self._lines, today=self.today, profile=self.summaries.profile)

    @cached_property
    def tokens(self) -> int:
        """The tokens of the text. They are those of its lines, which are known, unless a line is long."""
        if not self.text or max(map(len, self.text.split("\n"))) > SEARCHED_CHARS:
            return count_tokens(self.text)
        return self.summaries.tokens + tokens_of(self._lines)

    def explained(self, ranked: RankedMemory) -> Selection:
        """Return what fits, with the scores that it has in *ranked*."""
        facts, episodes, past = ranked.explain(self.facts, self.episodes, self.past)
        summaries, profile = self.summaries.texts, tuple(self.summaries.profile)
        return Selection(
            summaries=summaries, profile=profile, facts=facts, episodes=episodes, past=past, today=self.today
        )


@dataclass(frozen=True, kw_only=True)
class RecallPipeline:
    """Recall with fixed options, which are those of `recall`."""

    max_tokens: int = 2_000
    max_context_turns: int = 3
    similarity_weight: float = 0.9
    confidence_weight: float = 0.1
    guaranteed_share: float = 0.25
    ranker: str | None = None
    embeddings: Embeddings | None = None
    waits_for: WaitsFor = "vectors"
    """What a question waits for: the "vectors" of all texts; the "model", while texts without a vector are ranked by
    words and a daemon thread makes theirs; or "nothing": until the model is loaded all are ranked by words."""
    timezone: str = "UTC"
    cache: IndexCache = field(default_factory=IndexCache)

    def __post_init__(self) -> None:
        get_ranker(self.ranker)  # an unknown one is refused at once
        try:
            check_timezone(self.timezone)
        except ValueError as error:
            raise ConfigError(f"timezone: {error}") from error

    def load(self) -> None:
        """Load the embedding model in the background."""
        if self.embeddings is not None:
            self.cache.load(self.embeddings)

    def __call__(
        self,
        memory: MemoryDocument,
        messages: str | Sequence[MessageLike] = (),
        *,
        episodes: Sequence[Episode] = (),
        vectors: VectorStore | None = None,
        now: datetime | None = None,
        as_of: str | None = None,
    ) -> str:
        """Return the text of `recall`."""
        given = (memory, messages)
        return self.recall(*given, episodes=episodes, vectors=vectors, now=now, as_of=as_of, explains=False).text

    def recall(
        self,
        memory: MemoryDocument,
        messages: str | Sequence[MessageLike] = (),
        *,
        episodes: Sequence[Episode] = (),
        vectors: VectorStore | None = None,
        now: datetime | None = None,
        as_of: str | None = None,
        explains: bool = True,
    ) -> RecallResult:
        """Return the memory text for a prompt, and why each fact and episode is in it.

        Args:
            memory: The memory of the user.
            messages: The conversation so far, the oldest first.
            episodes: What the user said, the oldest first.
            vectors: Keeps the vectors of the memory beyond this process.
            now: The current time; default: that of the system.
            as_of: A year, month or day: the memory as it held then, and what was said by then. None is the current one.
            explains: Whether the result has the facts and episodes; a caller of the text alone needs none.

        Raises:
            EditError: If *as_of* is not a date.
        """
        with trace_recall() as record_choice:
            today = self._day_of(now)
            if as_of is not None:
                day, memory = last_day(as_of), memory.as_of(as_of)
                episodes = tuple(episode for episode in episodes if episode.at[:DAY_CHARS] <= day)
                today = min(date.fromisoformat(day), today)
            query = build_query(messages, max_context_turns=self.max_context_turns, today=today)
            ranked = self.rank(memory, episodes, query, vectors=vectors, is_whole=as_of is None)
            ranked = ranked.without_messages(messages)
            fitted = self.fit(memory, ranked)
            record_choice(len(fitted.facts), len(fitted.episodes))
        chosen = fitted.explained(ranked) if explains else Selection()
        return RecallResult.of(chosen, fitted.text, fitted.tokens)

    def search(
        self,
        memory: MemoryDocument,
        query: str,
        *,
        episodes: Sequence[Episode] = (),
        vectors: VectorStore | None = None,
        limit: int = 10,
    ) -> list[ScoredFact | ScoredEpisode]:
        """Return the facts and episodes that answer *query*, the best first, at most *limit* of them.

        Each matches by itself, whatever others of its thread do, and more than half as well as the best of its kind.
        """
        asked = self.query([query]).model_copy(update={"alone": True})
        ranked = self.rank(memory, episodes, asked, vectors=vectors)
        cutoff = max(0.0, ranked.cutoff(MIN_SIMILARITY))
        facts, spoken = ranked.facts.facts, ranked.episodes.episodes
        said = _first_above(ranked.episode_ranking, cutoff, limit, lambda at: recalled_words(spoken[at]) != "")
        shown = {claim for position in said for claim in ranked.claims_in(position)}
        known = _first_above(ranked.fact_ranking, cutoff, limit, lambda at: at not in shown and may_recall(facts[at]))
        found, quoted, _ = ranked.explain(known, said)
        return sorted((*found, *quoted), key=lambda item: -item.score)[:limit]

    def query(self, messages: str | Sequence[MessageLike], now: datetime | None = None) -> Query:
        """Return the query of a conversation whose last message is written *now*; default: the current time."""
        return build_query(messages, max_context_turns=self.max_context_turns, today=self._day_of(now))

    def _day_of(self, now: datetime | None) -> date:
        moment = now or datetime.now(UTC)
        return local_day(moment, self.timezone) or moment.date()

    def rank(
        self,
        memory: MemoryDocument,
        episodes: Sequence[Episode],
        query: Query,
        *,
        vectors: VectorStore | None = None,
        is_whole: bool = True,
    ) -> RankedMemory:
        """Order the facts and *episodes* by *query*; by words alone if the embedding model fails.

        Facts that have expired are left out. If the query is about the past, past facts are ordered, too.

        Args:
            memory: The memory of the user.
            episodes: The oldest first.
            query: What they are compared with.
            vectors: Keeps their vectors beyond this process: `storage.vectors(scope)`.
            is_whole: Whether the memory has nothing else: stored vectors of other texts are deleted.
        """
        episodes = without_pending(episodes, memory)
        try:
            options = self._options(vectors)
            ranked = self._rank(memory, episodes, query, options)
        except EmbeddingError as error:
            _log.error("memory is ranked by words alone: %s", error)
            return self._rank(memory, episodes, query, self._by_words)
        if options.vectors is not None and is_whole:
            self.cache.prune_vectors(ranked.facts, ranked.episodes, options)
        return ranked

    def _rank(
        self, memory: MemoryDocument, said: Sequence[Episode], query: Query, options: IndexOptions
    ) -> RankedMemory:
        facts, episodes = self.cache.facts(memory.recallable, options), self.cache.episodes(said, options)
        weights = {"similarity_weight": self.similarity_weight, "confidence_weight": self.confidence_weight}
        to_facts, to_episodes = scale_to_best(facts.relevance(query), episodes.relevance(query))
        answered = max(facts.index.answered(query), episodes.index.answered(query))
        if query.areas:
            weight = AREA_WEIGHT * max(0.0, 1 / max(answered, LEAST_ANSWERED) - 2)
            to_facts += weight * facts.areas.nearness(query.areas) * (1 - to_facts)
            to_episodes += weight * episodes.areas.nearness(query.areas) * (1 - to_episodes)
        to_facts = to_facts if query.alone else _below_episodes(facts, to_facts, episodes, to_episodes)
        ranking = facts.rank(to_facts, **weights)
        if expired := facts.expired(query.today):
            ranking = ranking.without(expired)
        # more episodes than the budget can hold are not looked at
        episode_ranking = episodes.rank(to_episodes, self.max_tokens // MIN_LINE_TOKENS, **weights)
        # most memories have no past: then the question is not searched for signs of one
        is_about_past = (memory.past or facts.ending) and query.is_about_past
        past = past_index(past_facts(memory, query.today) if is_about_past else ())
        past_ranking = past.rank(query, facts, ranking)
        unlearned = episodes.unlearned(memory.threads, _in_review(memory, query.today))
        lines = int(self.max_tokens * UNLEARNED_SHARE) // MIN_LINE_TOKENS
        if len(unlearned) > lines:
            recent, older = unlearned[: NEEDS_FACTOR * lines], unlearned[NEEDS_FACTOR * lines :]
            unlearned = [*sorted(recent, key=lambda at: not episodes.documents[at].states_need), *older]
        rankings = (facts, ranking, episodes, episode_ranking, past, past_ranking)
        return RankedMemory(query, *rankings, EndedWords(memory, self.timezone), unlearned, answered)

    @property
    def _by_words(self) -> IndexOptions:
        """The options of an index that needs no embedding model."""
        return IndexOptions(timezone=self.timezone)

    def _options(self, vectors: VectorStore | None) -> IndexOptions:
        """Return the options of an index whose vectors are kept in *vectors*, which matters to a model only."""
        if self.embeddings is None:
            return replace(self._by_words, ranker=self.ranker)
        if self.waits_for == "nothing" and not self.cache.load(self.embeddings):
            return self._by_words
        return IndexOptions(self.ranker, self.embeddings, self.timezone, vectors, self.waits_for == "vectors")

    def fit(self, memory: MemoryDocument, ranked: RankedMemory, *, min_similarity: float = 0.0) -> FittedMemory:
        """Select what fits the budget: the summaries, then facts and episodes in their order.

        Args:
            memory: The memory of the user.
            ranked: Its order.
            min_similarity: What is less similar to the query is noise, as all is if nothing answers it.
        """
        summaries = self.cache.summaries(memory, int(self.max_tokens * SUMMARIES_SHARE))
        room = self.max_tokens - summaries.tokens
        ended = Candidates(ranked.past_ranking, partial(ranked.past.line, timezone=self.timezone)).lines()
        past, past_tokens = fit_in_order(ended, min(room, int(self.max_tokens * PAST_SHARE)))
        facts, episodes = fit(
            Candidates(ranked.fact_ranking, ranked.facts.line),
            Candidates(ranked.episode_ranking, partial(ranked.episodes.line, note=ranked.endings.note)),
            unlearned=ranked.unlearned,
            guaranteed=ranked.facts.guaranteed - ranked.settled,
            urgency=ranked.facts.urgency,
            repeated=ranked.facts.repeated - ranked.settled,
            cutoff=ranked.cutoff(min_similarity),
            overlap=ranked,
            shares=Shares(
                tokens=room - past_tokens,
                unlearned=int(self.max_tokens * UNLEARNED_SHARE),
                guaranteed=int(self.max_tokens * self.guaranteed_share),
                noise=int(self.max_tokens * NOISE_SHARE) - frame_tokens(),
            ),
        )
        fitted = FittedMemory(summaries, ranked.query.today, facts, episodes, past)
        # text without a break for hundreds of characters may take a token more next to other lines
        while fitted.tokens > self.max_tokens and (lines := episodes or facts or past):
            lines.popitem()
            fitted = replace(fitted)
        return fitted
