"""The episodes of one memory, indexed by a ranker. What is appended is indexed without the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from memgraph.models import Episode
from memgraph.retrieval.documents import Document, episode_documents, preceding_turns
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.fact_index import Ranking, scale_to_best
from memgraph.retrieval.lexical import TermExtractor
from memgraph.retrieval.lines import Line, episode_lines
from memgraph.retrieval.query import Query
from memgraph.retrieval.rankers import Ranker


class EpisodeIndex:
    """N episodes with their index. It never changes, so threads may share it.

    Args:
        episodes: The oldest first.
        ranker: Builds the index.
        extract: Returns the terms of texts.
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
        vectors: EmbeddingCache | None = None,
        timezone: str = "UTC",
        base: EpisodeIndex | None = None,
    ) -> None:
        known = base.episodes if base else ()
        new = episodes[len(known) :]
        self.episodes = tuple(episodes)
        self.preceding: Mapping[str, str] = {
            **(base.preceding if base else {}),
            **preceding_turns(new, before=known),
        }
        """The text of the turn before each episode, by the id of the episode."""
        self.documents: tuple[Document, ...] = (
            *(base.documents if base else ()),
            *episode_documents(new, self.preceding),
        )
        self.index = ranker(self.documents, extract, vectors, base.index if base else None)
        self.positions = {episode.id: position for position, episode in enumerate(self.episodes)}
        self._timezone = timezone
        self._lines: dict[int, Line | None] = {}

    def lines(self, positions: Sequence[int]) -> list[Line | None]:
        """Return the lines of episodes; None for one that has no text."""
        if missing := [position for position in positions if position not in self._lines]:
            made = episode_lines([self.episodes[position] for position in missing], self._timezone)
            self._lines.update(zip(missing, made, strict=True))
        return [self._lines[position] for position in positions]

    def rank(self, query: Query) -> Ranking:
        """Order the episodes that match *query* by their similarity, the newest of equals first; none without a query.

        The order contains the episodes whose similarity is above 0 only.
        """
        similarity = scale_to_best(self.index.scores(query)) if query else np.zeros(len(self.episodes))
        matches = np.flatnonzero(similarity)
        newest_first = matches[::-1]
        order = newest_first[np.argsort(-similarity[newest_first], kind="stable")]
        return Ranking(cast("list[int]", order.tolist()), similarity, similarity)
