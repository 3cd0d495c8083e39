"""simple finds questions and answers of nodes by embedding and by words; blackboard gives the latest answers."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field
from rapidfuzz.distance import LCSseq

from memgraph.analysis.terms import extract_terms
from memgraph.attachments.database import Embedder, EmbeddingChoice, best_by_cosine
from memgraph.attachments.item import truncate
from memgraph.attachments.items import ItemConfig, ItemMemory
from memgraph.attachments.store import Interaction, SearchQuery, SearchResult
from memgraph.errors import EmbeddingError

if TYPE_CHECKING:
    from memgraph.attachments.item import MemoryItem
    from memgraph.retrieval.vector_store import Vector


_log = logging.getLogger("memgraph.attachments")

SELECT_TEXTS = "SELECT id, summary FROM item WHERE id > :last ORDER BY id LIMIT :count"
BATCH = 1_000
"""Items that are read at once to embed those that have no vector."""
SELECT_OWN_TEXTS = """
    SELECT id, summary, terms FROM item WHERE owner = (SELECT id FROM owner WHERE name = :owner) ORDER BY id
"""
SELECT_ITEMS = "SELECT id, document FROM item WHERE id IN :items"

COSINE_WEIGHT = 0.7
LEXICAL_WEIGHT = 0.3
CANDIDATES = 50
"""Minimum number of items, best by cosine, that are then compared by words; or three times the requested ones."""
MAX_TERMS = 2_000
"""Terms of a query that are compared, the first ones: the longest common subsequence takes time by both lengths."""


class ItemText(NamedTuple):
    """The text of an item, and its terms, separated by spaces."""

    number: int
    summary: str
    terms: str


class SearchHit(NamedTuple):
    """An item and how well it matches."""

    number: int
    cosine: float
    score: float
    vector: Vector | None


class SimpleConfig(ItemConfig):
    """Questions and answers of nodes."""

    embedding: EmbeddingChoice | None = None
    """The embedding model: provider and its keys, or a word such as `local`; none compares words only."""
    min_content_length: int = Field(default=10, ge=0, le=10_000)
    """Minimum characters of an exchange; shorter ones are not remembered."""
    max_content_length: int = Field(default=2_000, ge=50, le=100_000)
    """Maximum characters of an exchange that are shown in prompts and searched; the whole exchange is stored."""
    max_memories: int = Field(default=10_000, ge=1, le=1_000_000)
    """Maximum number of exchanges of a user; the oldest are evicted."""


class SimpleMemory(ItemMemory):
    """Exchanges without duplicates. Any number of threads and processes may write.

    An exchange is stored before it is embedded: if the model fails, `update` raises EmbeddingError, but the exchange
    is embedded when the model answers again. Vectors of different models are never compared: after a change of the
    model, `load` embeds all items again.

    Args:
        name: Name in the configuration.
        config: The configuration; None is the defaults.
        folder: Base of a relative `memory_path`; None is the working folder.
    """

    kind = 0x6D677369  # "mgsi"
    part = "simple memory"

    def __init__(self, name: str, config: SimpleConfig | None = None, *, folder: Path | str | None = None) -> None:
        self._config = config = config or SimpleConfig()
        super().__init__(name, config, folder, max_items=config.max_memories)
        self._embedder = Embedder(config.embedding, self._database) if config.embedding is not None else None

    def load(self) -> None:
        """Open the file, and embed the items that have no vector of the current model.

        If the model does not answer, the error is logged, so that updates are possible; `retrieve` raises it.

        Raises:
            MemoryStoreError: If the file is of another type, or damaged. It is left unchanged.
        """
        super().load()
        if not self._embedder:
            return
        last = 0
        try:
            while rows := self._database.rows(SELECT_TEXTS, {"last": last, "count": BATCH}):
                self._embedder.embed_texts([summary for _, summary in rows])
                last = rows[-1][0]
        except EmbeddingError as error:
            _log.error("memory %r will be embedded when its model answers: %s", self.name, error)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:
        """Return the items most similar to *query*, best first; of equal ones the newest first.

            score = 0.7 * cosine + 0.3 * (Jaccard + longest common subsequence) / 2

        For an item without a vector, as without an embedding model, the lexical similarity replaces the cosine, also
        for the threshold.
        """
        if not query.text.strip():
            return []
        rows = self._database.rows(SELECT_OWN_TEXTS, {"owner": self._owner(query.scope)})
        hits = self._search(query.text, [ItemText(*row) for row in rows], max(CANDIDATES, 3 * top_k))
        similar = [hit for hit in hits if hit.cosine >= threshold]
        best = sorted(similar, key=lambda hit: (-hit.score, -hit.number))[:top_k]
        items = self._items(SELECT_ITEMS, {"items": [hit.number for hit in best]})
        found = [(self._with_vector(items[hit.number], hit.vector), hit.score) for hit in best if hit.number in items]
        return self._results(found, query.scope)

    def update(self, exchange: Interaction) -> None:
        """Remember an exchange, unless it is too short or already known."""
        if len(exchange.input.text.strip()) + len(exchange.output.text.strip()) < self._config.min_content_length:
            return
        summary = exchange.summarize(self._config.max_content_length)
        content = json.dumps([exchange.input.blocks, exchange.output.blocks], sort_keys=True, default=dict)
        digest = hashlib.sha256(content.encode()).hexdigest()
        is_new = self._add(exchange, summary, with_input=True, digest=digest)
        if not (is_new and self._embedder):
            return
        try:
            _, known = self._embedder.embed_texts([summary])
        except EmbeddingError as error:
            raise EmbeddingError(f"{error}. The item is stored, and will be embedded later") from error
        if not known.all():
            raise EmbeddingError(f"{self._embedder.name} refuses the text of an item, which is found by its words only")

    def _search(self, text: str, items: Sequence[ItemText], count: int) -> list[SearchHit]:
        """Return the best *count* items by cosine, with their scores, and all without a vector; the newest are last."""
        query = extract_terms(text)[:MAX_TERMS]
        if not self._embedder:
            return [_make_hit(item, query) for item in items]
        question = self._embedder.embed_query(text)
        vectors, known = self._embedder.embed_texts([item.summary for item in items])
        best = best_by_cosine(vectors, known, question, count)
        others = [item for item, has_vector in zip(items, known, strict=True) if not has_vector]
        return [
            *(_make_hit(items[at], query, cosine, vectors[at]) for cosine, at in best),
            *(_make_hit(item, query) for item in others),
        ]

    def _with_vector(self, item: MemoryItem, vector: Vector | None) -> MemoryItem:
        if vector is None or not self._embedder:
            return item
        return item.model_copy(update={"embedding": tuple(vector.tolist()), "embedding_model": self._embedder.name})


def text_similarity(query: Sequence[str], text: Sequence[str]) -> float:
    """Return the similarity of two texts, given as terms, within [0, 1].

    (Jaccard + longest common subsequence) / 2
    Jaccard = terms in both / terms in either
    longest common subsequence = its length / terms of the shorter text
    """
    if not query or not text:
        return 0.0
    one, other = set(query), set(text)
    jaccard = len(one & other) / len(one | other)
    return (jaccard + LCSseq.similarity(query, text) / min(len(query), len(text))) / 2


def _make_hit(
    item: ItemText, query: Sequence[str], cosine: float | None = None, vector: Vector | None = None
) -> SearchHit:
    lexical = text_similarity(query, item.terms.split())
    cosine = lexical if cosine is None else cosine
    return SearchHit(item.number, cosine, COSINE_WEIGHT * cosine + LEXICAL_WEIGHT * lexical, vector)


# -- blackboard -------------------------------------------------------------------------------------


SELECT_LATEST = """
    SELECT id, document FROM item WHERE owner = (SELECT id FROM owner WHERE name = :owner)
    ORDER BY id DESC LIMIT :count
"""


class BlackboardConfig(ItemConfig):
    """The latest entries of several agents."""

    max_items: int = Field(default=1_000, ge=1, le=1_000_000)
    """Maximum number of entries; the oldest are evicted."""
    max_content_length: int = Field(default=4_000, ge=50, le=100_000)
    """Maximum characters of an entry in a prompt; the whole entry is stored."""


class BlackboardMemory(ItemMemory):
    """The answers of nodes, in the order of writing. Any number of threads and processes may write.

    Args:
        name: Name in the configuration.
        config: The configuration; None is the defaults.
        folder: Base of a relative `memory_path`; None is the working folder.
    """

    kind = 0x6D676262  # "mgbb"
    part = "blackboard"

    def __init__(self, name: str, config: BlackboardConfig | None = None, *, folder: Path | str | None = None) -> None:
        self._config = config = config or BlackboardConfig()
        super().__init__(name, config, folder, max_items=config.max_items)

    def retrieve(self, query: SearchQuery, *, top_k: int, threshold: float = -1) -> Sequence[SearchResult]:  # noqa: ARG002 - entries are selected by time
        """Return the latest *top_k* entries, oldest first."""
        items = self._items(SELECT_LATEST, {"owner": self._owner(query.scope), "count": top_k})
        return self._results(((item, None) for _, item in sorted(items.items())), query.scope)

    def update(self, exchange: Interaction) -> None:
        """Append the output of a node, unless it is empty."""
        if exchange.output.blocks:
            summary = truncate(exchange.output.text, self._config.max_content_length)
            self._add(exchange, summary, with_input=False)
