"""Updating an index: reads new and changed files, embeds new texts, and deletes removed files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from memgraph.attachments.embedding import BATCH_SIZE
from memgraph.attachments.files.index import FileIndex, IndexedFile, IndexedModel, ParsedFile
from memgraph.attachments.files.loader import UnreadableFileError, read_document
from memgraph.attachments.files.sources import FileSource, FileStat, ScanResult, SkippedFile, scan
from memgraph.retrieval.chunking import split_overlapping

if TYPE_CHECKING:
    from memgraph.attachments.embedding import Embedder
    from memgraph.retrieval.embeddings import Vector

Progress = Callable[[int, int], None]
"""Called with the number of files done and the number of files to read."""

MAX_PENDING_CHUNKS = 4 * BATCH_SIZE
"""Chunks that are collected in RAM before their files are written in one transaction."""


class IndexReport(BaseModel):
    """The changes of an update of the index."""

    model_config = ConfigDict(frozen=True)

    indexed: tuple[str, ...] = ()
    """Files that are new or have new content."""
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    """Files that no longer exist."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that cannot be read, with the reason."""
    missing: tuple[SkippedFile, ...] = ()
    """Sources that do not exist now; their indexed files are kept."""
    embedded: int = 0
    """Number of texts sent to the embedding model."""
    passages: int = 0
    """Number of passages in the index after the update."""


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A file to read, and how."""

    stat: FileStat
    source: FileSource
    root: str
    way: str


class Indexer:
    """One update of an index from all sources.

    If the update is interrupted, each file in the index is either old or new, and its vectors are kept. Two processes
    may update an index concurrently: the result is the same.

    Args:
        index: The index to update.
        embedder: Makes the vectors.
        sources: The sources, each with its absolute path.
        size: Maximum characters of a chunk.
        overlap: Maximum characters that a chunk repeats of the previous one.
    """

    def __init__(
        self, index: FileIndex, embedder: Embedder, sources: Sequence[tuple[FileSource, Path]], size: int, overlap: int
    ) -> None:
        self._index, self._embedder, self._sources = index, embedder, sources
        self._size, self._overlap = size, overlap
        self._known = index.files()
        self._indexed, self._skipped = list[str](), list[SkippedFile]()
        self._missing, self._removed = list[SkippedFile](), dict[str, IndexedFile]()
        self._unchanged = self._embedded = 0

    def run(self, progress: Progress) -> IndexReport:
        """Update the index.

        Raises:
            EmbeddingError: If the model fails; the files done so far are kept, and the next update continues there.
            MemoryStoreError: If the index cannot be written.
        """
        pending = list(self._find_changes())
        self._index.remove(self._removed.values())
        model = self._find_or_add_model(is_needed=bool(pending))
        if model:
            self._read_all(pending, model, progress)
            self._embed_missing(model)
            self._index.vacuum(model)
        return IndexReport(
            indexed=tuple(self._indexed),
            unchanged=self._unchanged,
            removed=tuple(self._removed),
            skipped=tuple(self._skipped),
            missing=tuple(self._missing),
            embedded=self._embedded,
            passages=self._index.count_chunks(),
        )

    # -- scanning --

    def _find_changes(self) -> Iterator[PendingFile]:
        """Yield new and changed files, and collect removed ones."""
        present, removed = set[str](), self._files_of_other_sources()
        for source, root in self._sources:
            result = self._scan(source, root)
            if result is None:
                continue
            files = [file for file in result.files if str(file.path) not in present]
            present.update(str(file.path) for file in files)
            removed |= {path: known for path, known in self._files_of(root).items() if result.covers(Path(path))}
            pending = (PendingFile(file, source, str(root), self._way(source)) for file in files)
            yield from (file for file in pending if not self._skip_unchanged(file))
        self._removed = {path: known for path, known in removed.items() if path not in present}

    def _files_of(self, root: Path) -> dict[str, IndexedFile]:
        return {path: known for path, known in self._known.items() if known.source == str(root)}

    def _files_of_other_sources(self) -> dict[str, IndexedFile]:
        """Return the files of sources that the configuration no longer has."""
        roots = {str(root) for _, root in self._sources}
        return {path: known for path, known in self._known.items() if known.source not in roots}

    def _way(self, source: FileSource) -> str:
        return f"{self._size}/{self._overlap}/{source.encoding}"

    def _skip_unchanged(self, file: PendingFile) -> bool:
        """Return whether a file is unchanged, and count it if so."""
        known = self._known.get(str(file.stat.path))
        if known is None or not known.is_unchanged(file.stat, file.root, file.way):
            return False
        self._count_unchanged(str(file.stat.path), known.problem)
        return True

    def _count_unchanged(self, path: str, problem: str) -> None:
        if problem:
            self._skipped.append(SkippedFile(path=path, why=problem))
        else:
            self._unchanged += 1

    def _scan(self, source: FileSource, root: Path) -> ScanResult | None:
        """Scan a source; None if it is missing, or empty now as the mount point of an absent disk."""
        try:
            result = scan(source, root)
        except OSError as error:
            self._missing.append(SkippedFile(path=str(root), why=error.strerror or str(error)))
            return None
        if not result.files and self._files_of(root):
            self._missing.append(SkippedFile(path=str(root), why="it no longer contains files"))
            return None
        self._skipped += result.skipped
        return result

    # -- reading --

    def _read_all(self, pending: Sequence[PendingFile], model: IndexedModel, progress: Progress) -> None:
        batch, chunks = list[ParsedFile](), 0
        for number, file in enumerate(pending, 1):
            parsed = self._read(file)
            if parsed:
                batch.append(parsed)
                chunks += len(parsed.chunks)
            if chunks >= MAX_PENDING_CHUNKS or number == len(pending):
                self._put(batch, model)
                batch, chunks = [], 0
                progress(number, len(pending))

    def _read(self, file: PendingFile) -> ParsedFile | None:
        """Read and split a file; None if its content is unchanged, or if it cannot be read now."""
        stat, path = file.stat, str(file.stat.path)
        known = self._known.get(path)
        try:
            document = read_document(stat.path, file.source.encoding)
        except UnreadableFileError as error:
            self._skipped.append(SkippedFile(path=path, why=str(error)))
            return ParsedFile(stat, file.root, "", file.way, problem=str(error))
        except OSError as error:  # may be temporary, so the indexed content is kept
            self._skipped.append(SkippedFile(path=path, why=error.strerror or str(error)))
            return None
        if known and (known.digest, known.way, known.source) == (document.digest, file.way, file.root):
            self._index.update_stat(known, stat)
            self._count_unchanged(path, known.problem)
            return None
        self._indexed.append(path)
        chunks = split_overlapping(document.text, self._size, self._overlap)
        return ParsedFile(stat, file.root, document.digest, file.way, chunks)

    def _put(self, batch: Sequence[ParsedFile], model: IndexedModel) -> None:
        texts = dict.fromkeys(chunk.text for file in batch for chunk in file.chunks)
        self._index.put(batch, self._embed(texts.keys() - self._index.embedded_texts(texts, model)), model)

    # -- embedding --

    def _find_or_add_model(self, *, is_needed: bool) -> IndexedModel | None:
        """Return the model in the index; None if there is nothing to embed and the index is empty.

        Before vectors are added to existing ones, the model is compared with the one that made those.
        """
        newest = next(iter(self._index.models()), None)
        if newest and newest.name == self._embedder.name:
            is_complete = not is_needed and not self._index.unembedded_texts(newest)
            if is_complete or self._embedder.is_same_model(newest.name, newest.probe):
                return newest
        if not is_needed and not self._index.count_chunks():
            return None
        return self._index.add_model(self._embedder.name, self._embedder.probe)

    def _embed_missing(self, model: IndexedModel) -> None:
        """Embed texts without a vector, after a change of the model or an interrupted update."""
        texts = self._index.unembedded_texts(model)
        for start in range(0, len(texts), MAX_PENDING_CHUNKS):
            self._index.put_vectors(self._embed(texts[start : start + MAX_PENDING_CHUNKS]), model)

    def _embed(self, texts: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of *texts*, without those that the model refuses."""
        batch = list(texts)
        self._embedded += len(batch)
        pairs = zip(batch, self._embedder.embed_each(batch), strict=True)
        return {text: vector for text, vector in pairs if vector is not None}
