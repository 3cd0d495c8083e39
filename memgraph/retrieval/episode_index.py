"""The episodes of one memory, indexed by a ranker. What is appended is indexed without the rest."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import numpy as np

from memgraph.models import Episode, Watermark
from memgraph.policy import Policy
from memgraph.retrieval.documents import NO_THREAD, Document
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.fact_index import Ranking, best_first, estimate_bytes, weighted_mean
from memgraph.retrieval.lexical import Scores, TermExtractor
from memgraph.retrieval.query import Query
from memgraph.retrieval.rankers import Ranker
from memgraph.retrieval.render import CountedLine, Line, TokenCounter, count_lines, episode_line
from memgraph.retrieval.terms import content_terms
from memgraph.text.requests import is_bare_question


class EpisodeIndex:
    """N episodes with their index. It never changes, so threads may share it.

    Args:
        episodes: The oldest first.
        ranker: Builds the index.
        extract: Returns the terms of texts.
        count: Counts the tokens of their lines.
        vectors: The embedding, for a ranker that uses one.
        timezone: IANA name of the time zone of the days in their lines.
        base: An index of the first of *episodes*, which is used again.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        ranker: Ranker,
        *,
        extract: TermExtractor,
        count: TokenCounter,
        vectors: EmbeddingCache | None = None,
        timezone: str = "UTC",
        base: EpisodeIndex | None = None,
    ) -> None:
        new = episodes[len(base.episodes) if base else 0 :]
        self.episodes = tuple(episodes)
        added = episode_documents(new)
        self.documents: tuple[Document, ...] = (*base.documents, *added) if base else added
        self.index = ranker(self.documents, vectors, extract=extract, base=base.index if base else None)
        self.positions = {episode.id: position for position, episode in enumerate(self.episodes)}
        self.size = estimate_bytes(added) + (base.size if base else 0)
        self._count = count
        self._timezone = timezone
        self.made: dict[int, CountedLine | None] = dict(base.made) if base else {}
        """The lines made so far, by position."""
        self._terms: dict[int, frozenset[str]] = {}

    def lines(self, positions: Sequence[int], note: Callable[[str], str]) -> list[CountedLine | None]:
        """Return the lines of episodes; None for one that has no text, or only asks something.

        Args:
            positions: Of the episodes.
            note: Returns what stands after the words of an episode, by its id: see `episode_line`.
        """
        notes = {position: found for position in positions if (found := note(self.episodes[position].id))}
        lines = dict[int, CountedLine | None]()
        if missing := [position for position in positions if position in notes or position not in self.made]:
            made = [self._line(self.episodes[position], notes.get(position, "")) for position in missing]
            lines.update(zip(missing, count_lines(made, self._count), strict=True))
            # a note follows the facts, which the index does not
            self.made.update((position, line) for position, line in lines.items() if position not in notes)
        return [lines[position] if position in lines else self.made[position] for position in positions]

    def _line(self, episode: Episode, note: str) -> Line | None:
        return None if is_bare_question(episode.text) else episode_line(episode, self._timezone, note)

    def unlearned(self, learned: Mapping[str, Watermark], in_review: Container[str] = ()) -> list[int]:
        """Return the positions of the episodes that no update has learned yet, the newest first.

        Args:
            learned: How far each thread was learned. An episode of any other thread is learned if it is older than all
                of these and there are as many as a memory keeps.
            in_review: The ids of episodes that count as not learned.
        """
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
        return found

    def terms(self, position: int) -> frozenset[str]:
        """Return the different terms of the text of an episode."""
        if position not in self._terms:
            self._terms[position] = content_terms(self.episodes[position].text)
        return self._terms[position]

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


# -- as documents ---------------------------------------------------------------------------------


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
