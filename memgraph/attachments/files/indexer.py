"""Bring an index up to date: read what is new, embed what was never said, forget what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from memgraph.attachments.embedding import BATCH_SIZE
from memgraph.attachments.files.index import FileIndex, IndexedFile, Model, ParsedFile
from memgraph.attachments.files.loader import UnreadableFileError, read_document
from memgraph.attachments.files.sources import FileSource, FileStat, ScanResult, SkippedFile, scan
from memgraph.retrieval.chunking import split_overlapping

if TYPE_CHECKING:
    from memgraph.attachments.embedding import Embedder
    from memgraph.retrieval.embeddings import Vector

Progress = Callable[[int, int], None]
"""Called with how many of the files that are to be read are done, and how many those are."""

TEXTS = 4 * BATCH_SIZE
"""Pieces that are held at once: what they are of is written together."""


class IndexReport(BaseModel):
    """What was done to bring an index up to date."""

    model_config = ConfigDict(frozen=True)

    indexed: tuple[str, ...] = ()
    """Files that were read and are new, or say something new."""
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    """Files that are gone."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that cannot be read."""
    missing: tuple[SkippedFile, ...] = ()
    """Sources that were not there: what was known of them is kept."""
    embedded: int = 0
    """Texts that the embedding model was asked for."""
    passages: int = 0
    """Pieces in the index now."""


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A file to be read, and in which way."""

    seen: FileStat
    source: FileSource
    root: str
    way: str


class Indexer:
    """One pass over all sources.

    Whatever happens in between, each file is in the index as it was or as it is, and what was embedded need not be
    embedded again. Two processes may do it at once: both come to the same.

    Args:
        index: What is brought up to date.
        embedder: Makes the vectors.
        sources: With the path of each, absolute.
        size: The most characters of a piece.
        overlap: How many of them the next one may repeat.
    """

    def __init__(
        self, index: FileIndex, embedder: Embedder, sources: Sequence[tuple[FileSource, Path]], size: int, overlap: int
    ) -> None:
        self._index, self._embedder, self._sources = index, embedder, sources
        self._size, self._overlap = size, overlap
        self._known = index.files()
        self._indexed, self._skipped = list[str](), list[SkippedFile]()
        self._missing, self._gone = list[SkippedFile](), dict[str, IndexedFile]()
        self._unchanged = self._embedded = 0

    def run(self, progress: Progress) -> IndexReport:
        """Do it.

        Raises:
            EmbeddingError: If the model fails; what was done by then is kept, and the next pass goes on there.
            MemoryStoreError: If the index cannot be written.
        """
        wanted = list(self._compared())
        self._index.remove(self._gone.values())
        model = self._model(is_needed=bool(wanted))
        if model:
            self._read_all(wanted, model, progress)
            self._embed_rest(model)
            self._index.vacuum(model)
        return IndexReport(
            indexed=tuple(self._indexed),
            unchanged=self._unchanged,
            removed=tuple(self._gone),
            skipped=tuple(self._skipped),
            missing=tuple(self._missing),
            embedded=self._embedded,
            passages=self._index.count(),
        )

    # -- what there is --

    def _compared(self) -> Iterator[PendingFile]:
        """The files that are not as they were. Those that are gone are noted."""
        taken, gone = set[str](), self._of_other_sources()
        for source, root in self._sources:
            found = self._scanned(source, root)
            if found is None:
                continue
            files = [file for file in found.files if str(file.path) not in taken]
            taken.update(str(file.path) for file in files)
            gone |= {path: known for path, known in self._of(root).items() if found.covers(Path(path))}
            wanted = (PendingFile(file, source, str(root), self._way(source)) for file in files)
            yield from (file for file in wanted if not self._still_holds(file))
        self._gone = {path: known for path, known in gone.items() if path not in taken}

    def _of(self, root: Path) -> dict[str, IndexedFile]:
        return {path: known for path, known in self._known.items() if known.source == str(root)}

    def _of_other_sources(self) -> dict[str, IndexedFile]:
        """What is of sources that the configuration no longer names."""
        roots = {str(root) for _, root in self._sources}
        return {path: known for path, known in self._known.items() if known.source not in roots}

    def _way(self, source: FileSource) -> str:
        return f"{self._size}/{self._overlap}/{source.encoding}"

    def _still_holds(self, wanted: PendingFile) -> bool:
        """Whether a file looks as it did; then what was found in it is told again."""
        known = self._known.get(str(wanted.seen.path))
        if known is None or not known.is_unchanged(wanted.seen, wanted.root, wanted.way):
            return False
        self._tell(str(wanted.seen.path), known.problem)
        return True

    def _tell(self, path: str, problem: str) -> None:
        """Count a file that is as it was."""
        if problem:
            self._skipped.append(SkippedFile(path=path, why=problem))
        else:
            self._unchanged += 1

    def _scanned(self, source: FileSource, root: Path) -> ScanResult | None:
        """What is in a source; None where it is not there, or empty now, as a disk is that was not mounted."""
        try:
            found = scan(source, root)
        except OSError as error:
            self._missing.append(SkippedFile(path=str(root), why=error.strerror or str(error)))
            return None
        if not found.files and self._of(root):
            self._missing.append(SkippedFile(path=str(root), why="there is no file in it any more"))
            return None
        self._skipped += found.skipped
        return found

    # -- reading --

    def _read_all(self, wanted: Sequence[PendingFile], model: Model, progress: Progress) -> None:
        batch, held = list[ParsedFile](), 0
        for number, file in enumerate(wanted, 1):
            read = self._read(file)
            if read:
                batch.append(read)
                held += len(read.chunks)
            if held >= TEXTS or number == len(wanted):
                self._put(batch, model)
                batch, held = [], 0
                progress(number, len(wanted))

    def _read(self, wanted: PendingFile) -> ParsedFile | None:
        """The file in pieces; None where it says what it said, or cannot be read at the moment."""
        seen, path = wanted.seen, str(wanted.seen.path)
        known = self._known.get(path)
        try:
            document = read_document(seen.path, wanted.source.encoding)
        except UnreadableFileError as error:
            self._skipped.append(SkippedFile(path=path, why=str(error)))
            return ParsedFile(seen, wanted.root, "", wanted.way, problem=str(error))
        except OSError as error:  # what is known of it is kept
            self._skipped.append(SkippedFile(path=path, why=error.strerror or str(error)))
            return None
        if known and (known.digest, known.way, known.source) == (document.digest, wanted.way, wanted.root):
            self._index.note(known, seen)
            self._tell(path, known.problem)
            return None
        self._indexed.append(path)
        pieces = split_overlapping(document.text, self._size, self._overlap)
        return ParsedFile(seen, wanted.root, document.digest, wanted.way, pieces)

    def _put(self, batch: Sequence[ParsedFile], model: Model) -> None:
        texts = dict.fromkeys(chunk.text for read in batch for chunk in read.chunks)
        self._index.put(batch, self._vectors(texts.keys() - self._index.embedded(texts, model)), model)

    # -- embedding --

    def _model(self, *, is_needed: bool) -> Model | None:
        """The model as the index knows it, or made known; None where there is nothing for it to do.

        Before it adds to vectors that are there, it is seen to that they are its own.
        """
        newest = next(iter(self._index.models()), None)
        if newest and newest.name == self._embedder.name:
            idle = not is_needed and not self._index.unembedded(newest)
            if idle or self._embedder.is_same_model(newest.name, newest.probe):
                return newest
        if not is_needed and not self._index.count():
            return None
        return self._index.add_model(self._embedder.name, self._embedder.probe)

    def _embed_rest(self, model: Model) -> None:
        """Embed what has no vector of this model: it may be a new one, or a pass may have been cut short."""
        texts = self._index.unembedded(model)
        for start in range(0, len(texts), TEXTS):
            self._index.put_vectors(self._vectors(texts[start : start + TEXTS]), model)

    def _vectors(self, texts: Iterable[str]) -> dict[str, Vector]:
        """The vectors of *texts*, less those of texts that the model refuses."""
        asked = list(texts)
        self._embedded += len(asked)
        pairs = zip(asked, self._embedder.each_of(asked), strict=True)
        return {text: vector for text, vector in pairs if vector is not None}
