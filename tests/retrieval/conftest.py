"""Embedding models for tests."""

from __future__ import annotations

import pytest
from langchain_core.embeddings import Embeddings


class LetterEmbeddings(Embeddings):
    """A vector of which letters a text has, and how often: a crude but honest meaning."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, *(float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz")]


class DownEmbeddings(LetterEmbeddings):
    """A server that is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += 1
        raise ConnectionError("connection refused")


@pytest.fixture
def letters() -> LetterEmbeddings:
    return LetterEmbeddings()


@pytest.fixture
def down() -> DownEmbeddings:
    return DownEmbeddings()
