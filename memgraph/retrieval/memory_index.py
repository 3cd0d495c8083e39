"""The facts and the episodes of one memory, indexed by a ranker: their order for a question, and the line of each.

A superseded fact is one that another fact replaced, and that is current in its stead. Episodes that are appended are
indexed without the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memgraph.analysis.areas import AREAS, Shares
from memgraph.analysis.date_phrases import without_named_dates
from memgraph.analysis.orders import names_form
from memgraph.analysis.terms import content_terms
from memgraph.analysis.words import states_standing_need
from memgraph.models import AsSaid, Episode, Fact, Watermark
from memgraph.models.values import last_of
from memgraph.policy import Policy
from memgraph.retrieval.lexical import Scores
from memgraph.retrieval.query import NO_THREAD, Document, Query
from memgraph.retrieval.rankers import Index
from memgraph.retrieval.render import Line, episode_line, fact_line
from memgraph.retrieval.slot_values import earlier_values

GUARANTEED_CATEGORIES = frozenset({"correction", "preference"})
"""Categories that have a guaranteed share of the budget, as standing needs have."""
STANDING_NEED = 3
"""The urgency of a condition, a diet or an allergy."""
SAME_SHARE = 0.8
"""A text covers another one if it has this share of its terms; names and numbers are terms too."""
BYTES_PER_DOCUMENT = 1_000
BYTES_PER_CHARACTER = 20
"""Size of an index by its documents and their texts; measured, and rounded up."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order and the scores of N facts or episodes."""

    order: list[int]
    """Positions, the best first."""
    scores: Scores
    """Shape (N,), in the order of the memory."""
    similarity: Scores
    """Shape (N,), in [0, 1], in the order of the memory."""

    def between(self, above: float, up_to: float) -> Iterator[int]:
        """Yield the positions of a similarity above *above*, and at most *up_to*, the best first."""
        found = frozenset(np.flatnonzero((self.similarity > above) & (self.similarity <= up_to)).tolist())
        return filter(found.__contains__, self.order)

    def without(self, positions: AbstractSet[int]) -> Ranking:
        """Return this ranking without some positions in its order."""
        return replace(self, order=[position for position in self.order if position not in positions])


class AreaIndex:
    """The areas of life of N documents, which are read when they are asked for.

    Args:
        documents: N documents.
        base: Of the first of *documents*.
    """

    def __init__(self, documents: Sequence[Document], base: AreaIndex | None = None) -> None:
        self._documents = documents
        self._known = base._known if base else np.zeros((0, len(AREAS)))  # noqa: SLF001 - of the same class

    def nearness(self, areas: Shares) -> Scores:
        """Return how far each document is about *areas*, in [0, 1], shape (N,)."""
        known = self._known  # another thread may replace it meanwhile
        if added := [document.areas for document in self._documents[len(known) :]]:
            known = self._known = np.vstack([known, added])
        return known @ np.array(areas)


class FactIndex:
    """N facts with their index.

    Args:
        facts: In the order of the memory.
        documents: The facts as they are searched.
        index: What a ranker made of *documents*.
        timezone: IANA name of the time zone of the days in their lines.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        documents: Sequence[Document],
        index: Index,
        *,
        timezone: str = "UTC",
    ) -> None:
        self.facts = tuple(facts)
        self.documents = documents
        self.areas = AreaIndex(documents)
        self.size = estimate_bytes(documents)
        self.index = index
        self._timezone = timezone
        self._confidence = np.array([fact.confidence for fact in facts], dtype=np.float64)
        self.ending = [position for position, fact in enumerate(facts) if fact.valid_until]
        """Positions of the facts that hold until a date, past or to come."""
        self._superseded = resolve_superseded(facts)
        self._earlier = earlier_values(facts)
        self._lines: dict[int, Line | None] = dict.fromkeys(self._superseded)
        newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
        self._order_of_equals = np.array(sorted(newest_first, key=self._superseded.__contains__), dtype=np.int64)

    def expired(self, today: str) -> AbstractSet[int]:
        """Return the positions of the facts that have expired *today*: see `Fact.has_expired`."""
        return {position for position in self.ending if self.facts[position].has_expired(today)}

    def line(self, position: int) -> Line | None:
        """Return the line of a fact; None if it has no content, or is superseded."""
        if position not in self._lines:
            fact = self.facts[position]
            self._lines[position] = fact_line(fact, self._timezone, is_earlier=fact.id in self._earlier)
        return self._lines[position]

    @cached_property
    def guaranteed(self) -> frozenset[int]:
        """Positions of the facts that are guaranteed, but for preferences that only repeat the user's words."""
        return frozenset(guaranteed_facts(self.facts)) - self.repeated

    @cached_property
    def repeated(self) -> frozenset[int]:
        """Positions of the preferences and corrections that only repeat the user's words."""
        facts = ((position, self.facts[position]) for position in self.excerpts)
        return frozenset(at for at, fact in facts if _is_guaranteed(fact) and fact.derive(urgency_of) < STANDING_NEED)

    def urgency(self, position: int) -> int:
        """Return how much a fact matters whatever the question is: see `urgency_of`."""
        return self.facts[position].derive(urgency_of)

    @cached_property
    def excerpts(self) -> frozenset[int]:
        """Positions of the facts that only repeat words of the user."""
        return frozenset(position for position, fact in enumerate(self.facts) if fact.derive(_repeats_words))

    @cached_property
    def learned_from(self) -> Mapping[str, Sequence[int]]:
        """Positions of the facts that were learned from an episode, by its id."""
        learned = dict[str, list[int]]()
        for position, fact in enumerate(self.facts):
            for episode in dict.fromkeys(item.episode for item in fact.evidence):
                learned.setdefault(episode, []).append(position)
        return learned

    def claims_in(self, episode: str, *, asked: bool = False) -> Sequence[int]:
        """Return the positions of the claims shown as words of an episode; if *asked*, also those with a question."""
        found = ((position, self.facts[position]) for position in self.learned_from.get(episode, ()))
        claims = ((position, fact.evidence[-1]) for position, fact in found if isinstance(fact, AsSaid))
        return [position for position, said in claims if said.episode == episode and (asked or not said.asked)]

    def terms(self, position: int) -> frozenset[str]:
        """Return the different terms of the line of a fact."""
        fact = self.facts[position]
        return fact.derive(_terms_of_claim) if isinstance(fact, AsSaid) else self.documents[position].own_terms

    def relevance(self, query: Query) -> Scores:
        """Return what each fact scores for *query*; all 0 without one.

        A fact answers what the facts answered that it superseded.
        """
        if not query:
            return np.zeros(len(self.facts))
        scores = self.index.scores(query)
        for old, current in self._superseded.items():
            scores[current] = max(scores[current], scores[old])
        return scores

    def rank(self, similarity: Scores, *, similarity_weight: float, confidence_weight: float) -> Ranking:
        """Order the facts by their *similarity* to a query, in [0, 1], and their confidence.

            score = (similarity_weight * similarity + confidence_weight * confidence) / (both weights)

        A fact always ranks above those that it superseded. Of equals the newest is first. If none is similar, only
        confidence counts.
        """
        if similarity.any():
            scores = weighted_mean(similarity, self._confidence, similarity_weight, confidence_weight)
        else:
            scores = self._confidence.copy()
        for old, current in self._superseded.items():
            scores[old] = min(scores[old], scores[current])
        return Ranking(best_first(self._order_of_equals, scores), scores, similarity)


class EpisodeIndex:
    """N episodes with their index. It never changes, so threads may share it.

    Args:
        episodes: The oldest first.
        documents: The episodes as they are searched.
        index: What a ranker made of *documents*.
        timezone: IANA name of the time zone of the days in their lines.
        base: An index of the first of *episodes*, whose lines are used again.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        documents: Sequence[Document],
        index: Index,
        *,
        timezone: str = "UTC",
        base: EpisodeIndex | None = None,
    ) -> None:
        self.episodes = tuple(episodes)
        self.documents = documents
        self.index = index
        self.areas = AreaIndex(documents, base.areas if base else None)
        self.positions: dict[str, int] = dict(base.positions) if base else {}
        self._places: dict[str, tuple[int, ...]] = dict(base._places) if base else {}  # noqa: SLF001 - of the same class
        added = defaultdict[str, list[int]](list)
        for position in range(len(base.episodes) if base else 0, len(self.episodes)):
            episode = self.episodes[position]
            self.positions[episode.id] = position
            for identity in {episode.message_id, episode.text} - {""}:
                added[identity].append(position)
        for identity, places in added.items():
            self._places[identity] = (*self._places.get(identity, ()), *places)
        self.size = estimate_bytes(documents[len(base.documents) :]) + base.size if base else estimate_bytes(documents)
        self._timezone = timezone
        self.made: dict[int, Line | None] = dict(base.made) if base else {}
        """The lines made so far, by position."""
        self._unlearned: tuple[Mapping[str, Watermark], Container[str], list[int]] | None = None

    def said_in(self, identities: Iterable[str]) -> set[int]:
        """Return the positions of the episodes of some messages, which are known by their ids or their texts."""
        return {position for identity in identities for position in self._places.get(identity, ())}

    def sources_of(self, fact: Fact) -> list[int]:
        """Return the positions of the episodes that *fact* was learned from."""
        return [self.positions[item.episode] for item in fact.evidence if item.episode in self.positions]

    def line(self, position: int, note: Callable[[str], str]) -> Line | None:
        """Return the line of an episode; None if it has no text, or only asks something.

        Args:
            position: Of the episode.
            note: Returns what stands after the words of an episode, by its id: see `episode_line`.
        """
        episode = self.episodes[position]
        after = note(episode.id)
        if not after and position in self.made:
            return self.made[position]
        line = episode_line(episode, self._timezone, after)
        if not after:  # a note follows the facts, which the index does not
            self.made[position] = line
        return line

    def unlearned(self, learned: Mapping[str, Watermark], in_review: Container[str] = ()) -> list[int]:
        """Return the positions of the episodes that no update has learned yet, the newest first.

        Args:
            learned: How far each thread was learned. An episode of any other thread is learned if it is older than all
                of these and there are as many as a memory keeps.
            in_review: The ids of episodes that count as not learned.
        """
        if (known := self._unlearned) and known[0] is learned and known[1] == in_review:
            return known[2]
        is_full = len(learned) >= Policy.model_fields["max_threads"].default
        oldest = min((mark.at for mark in learned.values()), default="") if is_full else ""
        done, found = set[str](), list[int]()
        for position in range(len(self.episodes) - 1, -1, -1):
            episode = self.episodes[position]
            mark = learned.get(episode.thread_id)
            if mark is not None and episode.message_id in mark.known:
                done.add(episode.thread_id)
            is_learned = episode.thread_id in done or episode.at < oldest
            if not is_learned or episode.id in in_review:
                found.append(position)
        self._unlearned = learned, in_review, found
        return found

    def terms(self, position: int) -> frozenset[str]:
        """Return the different terms of the text of an episode."""
        return self.documents[position].own_terms

    def relevance(self, query: Query) -> Scores:
        """Return what each episode scores for *query*; all 0 without one."""
        return self.index.scores(query) if query else np.zeros(len(self.episodes))

    def rank(
        self,
        similarity: Scores,
        limit: int | None = None,
        *,
        similarity_weight: float = 1.0,
        confidence_weight: float = 0.0,
    ) -> Ranking:
        """Order the episodes by their *similarity* to a query, in [0, 1], the newest of equals first.

        They score as facts of which nothing is more certain: see `FactIndex.rank`. The order contains the best *limit*
        of them; default: all.
        """
        order = best_first(np.arange(len(self.episodes))[::-1], similarity, limit)
        return Ranking(order, weighted_mean(similarity, 1.0, similarity_weight, confidence_weight), similarity)


# what follows is derived from a fact once, and freed with it: an index is built again after an update


def _terms_of_claim(claim: AsSaid) -> frozenset[str]:
    return content_terms(claim.words)


def _repeats_words(fact: Fact) -> bool:
    said = content_terms("\n".join(item.quote for item in fact.evidence))
    return bool(said) and covers(said, content_terms(without_named_dates(fact.content)))


def guaranteed_facts(facts: Sequence[Fact]) -> list[int]:
    """Return the positions of what is shown whatever the question is, the most urgent last: see `urgency_of`."""
    urgency = [fact.derive(urgency_of) for fact in facts]
    found = [place for place, fact in enumerate(facts) if urgency[place] or _is_guaranteed(fact)]
    return sorted(found, key=urgency.__getitem__)


def urgency_of(fact: Fact) -> int:
    """Return STANDING_NEED for such a fact, less for a correction, then for a wish for the form of answers, else 0."""
    if states_standing_need(fact.content):
        return STANDING_NEED
    if fact.effective_category == "correction":
        return 2
    return int(fact.effective_category == "preference" and names_form(fact.content))


def _is_guaranteed(fact: Fact) -> bool:
    return fact.effective_category in GUARANTEED_CATEGORIES


def covers(terms: AbstractSet[str], of_other: AbstractSet[str]) -> bool:
    """Return whether a text of these terms covers another one."""
    return len(terms & of_other) >= SAME_SHARE * len(of_other)


def scale_to_best(*scores: Scores) -> list[Scores]:
    """Return each of *scores*, which are on one scale, in [0, 1], the best of all being 1; 0 if none is above 0."""
    best = max((float(some.max()) for some in scores if len(some)), default=0.0)
    return [np.clip(some / best, 0, 1) if best > 0 else np.zeros(len(some)) for some in scores]


def weighted_mean(
    similarity: Scores, confidence: Scores | float, similarity_weight: float, confidence_weight: float
) -> Scores:
    """Return the mean of *similarity* and *confidence*, which have these weights."""
    total = similarity_weight + confidence_weight or 1.0
    return (similarity_weight * similarity + confidence_weight * confidence) / total


def best_first(positions: NDArray[np.int64], scores: Scores, limit: int | None = None) -> list[int]:
    """Return *positions* by their scores, the highest first; equals stay in order.

    Args:
        positions: N positions.
        scores: By position.
        limit: How many to return at most; default: all.
    """
    return cast("list[int]", positions[np.argsort(-scores[positions], kind="stable")][:limit].tolist())


def estimate_bytes(documents: Sequence[Document]) -> int:
    """Estimate the bytes of an index of *documents*."""
    characters = sum(len(document.words) for document in documents)
    return len(documents) * BYTES_PER_DOCUMENT + characters * BYTES_PER_CHARACTER


# -- as documents ---------------------------------------------------------------------------------


def fact_documents(facts: Iterable[Fact]) -> tuple[Document, ...]:
    """Return the documents of *facts*: their content and their quotes."""
    return tuple(fact.derive(_document_of) for fact in facts)


def _document_of(fact: Fact) -> Document:
    return Document(
        searchable_text(fact),
        tuple(dict.fromkeys(item.quote for item in fact.evidence if item.quote)),
        "" if fact.source in NO_THREAD else fact.source,
        tuple(date for date in (fact.valid_from or fact.said_at, fact.valid_until) if date),
    )


def searchable_text(fact: Fact) -> str:
    """Return the text of *fact*: its content, and what went wrong."""
    return f"{fact.content}\n{fact.source_error}" if fact.source_error else fact.content


def episode_documents(episodes: Iterable[Episode]) -> tuple[Document, ...]:
    """Return the documents of *episodes*."""
    return tuple(
        Document(
            episode.text,
            thread="" if episode.thread_id in NO_THREAD else episode.thread_id,
            dates=(episode.at,) if episode.at else (),
        )
        for episode in episodes
    )


# -- superseded facts -----------------------------------------------------------------------------


def resolve_superseded(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the position of each superseded fact, the position of the current fact at the end of its chain."""
    replaced_by = find_replacements(facts)
    return {old: current for old in replaced_by if (current := last_of(old, replaced_by)) is not None}


def find_replacements(facts: Sequence[Fact]) -> dict[int, int]:
    """Return, by the position of each superseded fact, the position of the fact that replaced it.

    If facts replace each other in a circle, the newest one stays current, so at least one always does.
    """
    positions = {fact.id: position for position, fact in enumerate(facts)}
    newest_first = sorted(range(len(facts)), key=lambda position: facts[position].created_at, reverse=True)
    age = {position: rank for rank, position in enumerate(newest_first)}
    replaced_by = dict[int, int]()
    for new in newest_first:
        for fact_id in facts[new].replaces:
            old = positions.get(fact_id, new)
            # an older clock must not bring the replaced fact back, unless that closes a circle
            if old != new and (age[old] > age[new] or new not in replaced_by):
                replaced_by.setdefault(old, new)
    return replaced_by
