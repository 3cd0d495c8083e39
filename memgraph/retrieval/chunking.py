"""Splits long texts at sentence ends: for models that read only so much, and for passages that overlap."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from langchain_core.embeddings import Embeddings

from memgraph.retrieval.embeddings import Vector, normalize
from memgraph.text.normalize import HAN
from memgraph.text.sentences import cut_at_sentence, sentences, split_text

if TYPE_CHECKING:
    from memgraph.retrieval.embedding_config import EmbeddingParams


_WORD_END = re.compile(rf"\s+|(?<=[{HAN}，、；：])|(?=[{HAN}])")


class ChunkedEmbeddings(Embeddings):
    """Embeds long texts in chunks, cut at sentence ends, and combines their vectors.

    Args:
        model: Embeds the chunks.
        params: The maximum length of a chunk, and how the vectors are combined.
    """

    def __init__(self, model: Embeddings, params: EmbeddingParams) -> None:
        self._model = model
        self._params = params

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        chunked = [self._chunks(text) for text in texts]
        pieces = [piece for chunks in chunked for piece in chunks]
        if not pieces:
            return []
        vectors = normalize(self._model.embed_documents(pieces), len(pieces))
        ends = list(accumulate(map(len, chunked), initial=0))
        return [
            self._combine(vectors[start:end], chunks).tolist()
            for chunks, (start, end) in zip(chunked, pairwise(ends), strict=True)
        ]

    def embed_query(self, text: str) -> list[float]:
        chunks = self._chunks(text)
        vectors = [self._model.embed_query(chunk) for chunk in chunks]
        return self._combine(normalize(vectors, len(chunks)), chunks).tolist()

    def _chunks(self, text: str) -> list[str]:
        """Return the chunks of *text*; a blank text is one chunk."""
        params = self._params
        if not params.use_chunking or params.chunk_strategy == "first":
            return [cut_at_sentence(text, params.max_length, len)]
        return split_text(text, params.max_length) or [text]

    def _combine(self, vectors: Vector, chunks: Sequence[str]) -> Vector:
        """Return the mean of unit *vectors*, at length 1."""
        if len(vectors) == 1:
            return vectors[0]
        is_weighted = self._params.chunk_strategy == "weighted"
        mean = np.average(vectors, axis=0, weights=[len(chunk) for chunk in chunks] if is_weighted else None)
        return normalize([mean.tolist()], 1)[0]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a text and the position it starts at."""

    start: int
    text: str


def split_overlapping(text: str, size: int, overlap: int) -> list[Chunk]:
    """Split *text* into chunks that may overlap.

    A chunk ends at a sentence end if that makes it more than half of *size* long, else at the end of a word or
    a Chinese character. A single word longer than *size* is cut anywhere.

    Args:
        text: Any text.
        size: Maximum characters of a chunk, at least 1.
        overlap: Maximum characters that the next chunk repeats, from the start of a sentence or word; less than half of
            *size*.

    Returns:
        The chunks in order, none of them blank. Text outside of all chunks is blank.
    """
    sentence_ends = list(accumulate(len(sentence) for sentence in sentences(text)))
    word_ends = [match.end() for match in _WORD_END.finditer(text)]
    found, start = list[Chunk](), 0
    while start < len(text):
        end = _chunk_end(start, size, sentence_ends, word_ends)
        chunk = text[start:end]
        if chunk.strip():
            found.append(Chunk(start + len(chunk) - len(chunk.lstrip()), chunk.strip()))
        start = _next_start(end, overlap, sentence_ends, word_ends) if end < len(text) else end
    return found


def _chunk_end(start: int, size: int, sentence_ends: list[int], word_ends: list[int]) -> int:
    """Return the end of the chunk that begins at *start*."""
    limit = start + size
    if limit >= sentence_ends[-1]:
        return sentence_ends[-1]
    for ends in (sentence_ends, word_ends):
        index = bisect_right(ends, limit)
        if index and ends[index - 1] - start > size // 2:
            return ends[index - 1]
    return limit


def _next_start(end: int, overlap: int, sentence_ends: list[int], word_ends: list[int]) -> int:
    """Return the start of the next chunk: of the first sentence or word within *overlap* of *end*."""
    for starts in (sentence_ends, word_ends):
        index = bisect_right(starts, end - overlap - 1)
        if index < len(starts) and starts[index] < end:
            return starts[index]
    return end
