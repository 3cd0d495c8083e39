"""Fakes for tests of embeddings."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.embeddings import Embeddings

from memgraph._sql import Schema
from memgraph.attachments.database import VECTORS, Embedder, MemoryDatabase


class Letters(Embeddings):
    """An embedding model that counts letters: crude, but similar texts have similar vectors.

    Args:
        alphabet: The letters to count, one dimension each.
    """

    def __init__(self, alphabet: str = "abcdefghijklmnopqrstuvwxyz") -> None:
        self.alphabet = alphabet
        self.calls: list[list[str]] = []
        self.is_down = False
        self.refused = "\0"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        if self.is_down:
            raise ConnectionError("connection refused")
        if any(self.refused in text for text in texts):
            raise ValueError("this text is not embedded")
        return [[1.0, *(float(text.lower().count(letter)) for letter in self.alphabet)] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    @property
    def embedded(self) -> list[str]:
        """All texts of all calls, in order."""
        return [text for texts in self.calls for text in texts]


class Clock:
    """A module `time` that advances by `sleep`, or by assignment."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def make_embedder(model: Embeddings | Callable[[list[str]], list[list[float]]]) -> Embedder:
    """Return an embedder of a memory in RAM."""
    return Embedder(model, MemoryDatabase(None, schema=Schema("memory", VECTORS, 1, 0), kind=1))
