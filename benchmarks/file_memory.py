"""Document memory: indexing 1,000 Markdown files of 5 kB, restarts, one changed file, and queries."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from common import Measurement, Row, median_row, run_standalone

from memgraph.attachments import file as file_memory
from memgraph.attachments.file import FileConfig, FileMemory
from memgraph.attachments.store import SearchQuery

T = TypeVar("T")

DIMENSION = 384
FILE_CHARS = 5_000


class HashedWords:
    """An embedding model that costs almost nothing, so the figures are those of the index."""

    def __init__(self) -> None:
        self.texts = self.calls = 0
        self._words: dict[str, np.ndarray] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        self.calls += 1
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = np.full(DIMENSION, 1e-3)
        for word in text.lower().split():
            if word not in self._words:
                self._words[word] = np.random.default_rng(abs(hash(word)) % 2**32).normal(size=DIMENSION)
            vector = vector + self._words[word]
        return vector.tolist()


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Index a folder, and measure later starts and queries."""
    count = 50 if quick else 1_000
    draw = random.Random(5)  # noqa: S311 - reproducible documents
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(4_000)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "docs").mkdir()
        for number in range(count):
            (folder / "docs" / f"{number:04}.md").write_text(_document(draw, words))

        model = HashedWords()
        first, seconds = _timed(lambda: _make_memory(folder, model).index())
        again, seconds_again = _timed(lambda: _index_without_reading(folder))
        (folder / "docs" / "0007.md").write_text(_document(draw, words))
        other = HashedWords()
        changed, seconds_changed = _timed(lambda: _make_memory(folder, other).index())
        memory = _make_memory(folder, HashedWords())
        memory.load()
        memory.retrieve(SearchQuery("first of all"), top_k=3, threshold=-1)
        query_ms = [
            _timed(lambda: memory.retrieve(SearchQuery(" ".join(draw.choices(words, k=8))), top_k=3, threshold=-1))[1]
            * 1_000
            for _ in range(20 if quick else 200)
        ]
        size = (folder / "docs.db").stat().st_size

    files = f"{count:,} files"
    rows = [
        Row(f"indexing {files} of 5 kB in one pass, with a free model", seconds, "s wall"),
        Row("passages of them", first.passages, "passages"),
        Row("embedding calls for them", model.calls, "calls"),
        Row("restart without changes", seconds_again, "s wall"),
        Row("files read by that restart", 0, "files", note="a read would have failed"),
        Row("texts embedded by that restart", again.embedded, "texts"),
        Row("restart after one file changed", seconds_changed, "s wall"),
        Row("files read and indexed by that change", len(changed.indexed), "files"),
        Row("texts embedded by that change", changed.embedded, "texts"),
        median_row(f"query, {first.passages:,} passages, top 3, without the embedding", query_ms, "ms wall"),
        Row("size of the index", size / 1e6, "MB"),
    ]
    notes = (
        (
            "The embedding model is a fake that hashes words into 384 numbers; a real one takes longer. Texts are "
            "embedded in batches of 64."
        ),
    )
    return Measurement("Documents: the file memory", rows, notes=notes)


def _make_memory(folder: Path, model: HashedWords) -> FileMemory:
    config = FileConfig.model_validate({"file_sources": [{"path": "docs"}], "embedding": model})
    return FileMemory("docs", config, folder=folder)


def _index_without_reading(folder: Path) -> file_memory.IndexReport:
    """Index the folder again; reading any file is an error."""

    def refuse(path: Path, encoding: str) -> tuple[str, str]:
        raise AssertionError(f"{path} was read ({encoding})")

    reader, file_memory.read_document = file_memory.read_document, refuse
    try:
        return _make_memory(folder, HashedWords()).index()
    finally:
        file_memory.read_document = reader


def _document(draw: random.Random, words: list[str]) -> str:
    lines, length = ["# " + " ".join(draw.choices(words, k=4)).title()], 0
    while length < FILE_CHARS:
        sentence = " ".join(draw.choices(words, k=draw.randint(6, 20))).capitalize() + "."
        lines.append(sentence if draw.random() < 0.7 else f"{sentence}\n")
        length += len(sentence)
    return "\n".join(lines)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


if __name__ == "__main__":
    run_standalone(measure)
