"""Embedding of texts that are longer than a model reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from langchain_core.embeddings import Embeddings

from memgraph.retrieval.embeddings import Vector, normalised
from memgraph.text.sentences import cut_at_sentence

if TYPE_CHECKING:
    from memgraph.retrieval.embeddings import EmbeddingParams


class ChunkedEmbeddings(Embeddings):
    """Embeds long texts in pieces, cut at sentence ends, and makes one vector of theirs.

    Args:
        model: Embeds the pieces.
        params: How long a piece may be, and what stands for all of them.
    """

    def __init__(self, model: Embeddings, params: EmbeddingParams) -> None:
        self._model = model
        self._params = params

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        chunked = [self._chunks(text) for text in texts]
        pieces = [piece for chunks in chunked for piece in chunks]
        if not pieces:
            return []
        vectors = normalised(self._model.embed_documents(pieces), len(pieces))
        ends = list(accumulate(map(len, chunked), initial=0))
        return [
            self._joined(vectors[start:end], chunks).tolist()
            for chunks, (start, end) in zip(chunked, pairwise(ends), strict=True)
        ]

    def embed_query(self, text: str) -> list[float]:
        chunks = self._chunks(text)
        vectors = [self._model.embed_query(chunk) for chunk in chunks]
        return self._joined(normalised(vectors, len(chunks)), chunks).tolist()

    def _chunks(self, text: str) -> list[str]:
        """The pieces that are embedded; a text that says nothing is one."""
        params = self._params
        if not params.use_chunking or params.chunk_strategy == "first":
            return [cut_at_sentence(text, params.max_length, len)]
        return list(chunks_of(text, params.max_length)) or [text]

    def _joined(self, vectors: Vector, chunks: Sequence[str]) -> Vector:
        """Return the mean of unit *vectors*, at length 1."""
        if len(vectors) == 1:
            return vectors[0]
        is_weighted = self._params.chunk_strategy == "weighted"
        mean = np.average(vectors, axis=0, weights=[len(chunk) for chunk in chunks] if is_weighted else None)
        return normalised([mean.tolist()], 1)[0]


def chunks_of(text: str, max_length: int) -> Iterator[str]:
    """Yield *text* in pieces of at most *max_length* characters, cut at sentence ends where there are some."""
    rest = text.strip()
    while rest:
        # a piece is looked for near the beginning only, so that a long text costs no more than its length
        piece = cut_at_sentence(rest[: max_length + 1], max_length, len)
        if not piece:
            return
        yield piece
        rest = rest[len(piece) :].lstrip()
