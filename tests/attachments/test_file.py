"""file: documents as a memory."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from memgraph.attachments.file import FileConfig, FileMemory
from memgraph.attachments.files import indexer as indexing
from memgraph.attachments.files.loader import SourceDocument, read_document
from memgraph.attachments.files.sources import FileSource, scan
from memgraph.attachments.store import SearchQuery
from memgraph.errors import ConfigError, EmbeddingError, MemoryStoreError

WORDS = ("apples", "rivers", "clocks", "bridges")


class Counting:
    """An embedding model that knows four words, and counts what it is asked."""

    def __init__(self, *, turned: int = 0, size: int = 5) -> None:
        self.asked: list[str] = []
        self.down = False
        self._turned, self._size = turned, size

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("nobody is there")
        self.asked += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        counts = [0.1, *(float(text.count(word)) for word in WORDS), *[0.0] * (self._size - 5)]
        return counts[self._turned :] + counts[: self._turned]

    @property
    def passages(self) -> list[str]:
        """What was asked of documents: not what tells one model from another."""
        return [text for text in self.asked if any(word in text for word in WORDS)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents, one of them in a folder."""
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "apples.md").write_text("All about apples.")
    (docs / "rivers.md").write_text("All about rivers.")
    (docs / "deep" / "clocks.txt").write_text("All about clocks.")
    return tmp_path


def memory_of(folder: Path, model: object, **config: object) -> FileMemory:
    given = {"file_sources": [{"path": "docs"}], "embedding": model, **config}
    return FileMemory("docs", FileConfig.model_validate(given), folder=folder)


def found(memory: FileMemory, question: str, **asked: int) -> list[str]:
    return [hit.source for hit in memory.retrieve(SearchQuery(question), **{"top_k": 3, "threshold": 0, **asked})]


def test_the_passage_that_answers_comes_first(folder: Path) -> None:
    """With where it is from."""
    with memory_of(folder, Counting()) as memory:
        hit = memory.retrieve(SearchQuery("clocks"), top_k=1, threshold=-1)[0]

    assert (hit.source, hit.item.content_summary) == ("deep/clocks.txt", "All about clocks.")
    assert hit.score == pytest.approx(1, abs=0.01)
    assert hit.item.metadata["path"] == str(folder / "docs" / "deep" / "clocks.txt")


def test_what_is_too_unlike_is_not_found(folder: Path) -> None:
    """A threshold is on the cosine."""
    with memory_of(folder, Counting()) as memory:
        hits = memory.retrieve(SearchQuery("clocks"), top_k=3, threshold=0.9)

    assert [hit.source for hit in hits] == ["deep/clocks.txt"]


def test_a_second_start_reads_no_file_and_embeds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting costs a look at the folder."""
    with memory_of(folder, Counting()):
        pass
    second, read = Counting(), list[Path]()
    monkeypatch.setattr(indexing, "read_document", _noting(read))

    report = memory_of(folder, second).index()

    assert (read, second.asked) == ([], [])
    assert (report.unchanged, report.indexed) == (3, ())


def _noting(read: list[Path]) -> Callable[[Path, str], SourceDocument]:
    def noting(path: Path, encoding: str) -> SourceDocument:
        read.append(path)
        return read_document(path, encoding)

    return noting


def test_a_changed_file_is_embedded_alone(folder: Path) -> None:
    """And what it said before is gone."""
    with memory_of(folder, Counting()):
        pass
    (folder / "docs" / "rivers.md").write_text("All about bridges, at length.")
    second = Counting()

    with memory_of(folder, second) as memory:
        hits = memory.retrieve(SearchQuery("rivers"), top_k=9, threshold=0.9)

    assert second.passages == ["All about bridges, at length."]
    assert not hits
    assert found(memory, "bridges", top_k=1) == ["rivers.md"]


def test_a_file_that_was_written_again_with_the_same_text_embeds_nothing(folder: Path) -> None:
    """A checkout sets new times."""
    with memory_of(folder, Counting()):
        pass
    os.utime(folder / "docs" / "rivers.md", (1, 1))
    second = Counting()

    report = memory_of(folder, second).index()

    assert second.passages == []
    assert report.unchanged == 3


def test_the_same_text_in_two_files_is_embedded_once(folder: Path) -> None:
    """Copies cost nothing."""
    (folder / "docs" / "copy.md").write_text("All about apples.")
    model = Counting()

    with memory_of(folder, model) as memory:
        hits = found(memory, "apples", top_k=2)

    assert sorted(model.passages) == ["All about apples.", "All about clocks.", "All about rivers."]
    assert sorted(hits) == ["apples.md", "copy.md"]


def test_a_file_that_is_gone_is_forgotten(folder: Path) -> None:
    """The rest of its folder is there, so it was removed."""
    with memory_of(folder, Counting()):
        pass
    (folder / "docs" / "apples.md").unlink()

    with memory_of(folder, Counting()) as memory:
        hits = memory.retrieve(SearchQuery("apples"), top_k=9, threshold=0.9)

    assert not hits


@pytest.mark.parametrize("emptied", [False, True], ids=["gone", "empty"])
def test_a_source_that_is_missing_keeps_its_index(
    folder: Path, caplog: pytest.LogCaptureFixture, *, emptied: bool
) -> None:
    """A network drive comes back."""
    with memory_of(folder, Counting()):
        pass
    (folder / "docs").rename(folder / "elsewhere")
    if emptied:
        (folder / "docs").mkdir()

    with caplog.at_level(logging.WARNING), memory_of(folder, Counting()) as memory:
        hits = found(memory, "apples", top_k=1)

    assert hits == ["apples.md"]
    assert "its passages are kept" in caplog.text


def test_a_source_that_is_no_longer_named_is_forgotten(folder: Path) -> None:
    """Whoever takes a folder out of the configuration means it."""
    (folder / "other").mkdir()
    (folder / "other" / "bridges.md").write_text("All about bridges.")
    with memory_of(folder, Counting()):
        pass

    with memory_of(folder, Counting(), file_sources=[{"path": "other"}]) as memory:
        hits = found(memory, "apples", top_k=9)

    assert hits == ["bridges.md"]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"a\0b", "zero bytes"), (b"caf\xe9 and more", "not in utf-8: byte 3"), (b"x" * 1_001, "more than 1,000 bytes")],
    ids=["binary", "latin-1", "large"],
)
def test_what_is_no_text_is_skipped_and_told(
    folder: Path, data: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at the next start, without reading it again."""
    monkeypatch.setattr("memgraph.attachments.files.loader.MAX_BYTES", 1_000)
    (folder / "docs" / "odd.md").write_bytes(data)

    first = memory_of(folder, Counting()).index()
    read = list[Path]()
    monkeypatch.setattr(indexing, "read_document", _noting(read))
    second = memory_of(folder, Counting()).index()

    assert why in first.skipped[0].why
    assert len(first.indexed) == 3
    assert second.skipped == first.skipped
    assert read == []


def test_an_encoding_can_be_named(folder: Path) -> None:
    """Old documents are not in UTF-8."""
    (folder / "docs" / "old.md").write_bytes("Äpfel, apples".encode("latin-1"))

    with memory_of(folder, Counting(), file_sources=[{"path": "docs/old.md", "encoding": "latin-1"}]) as memory:
        hit = memory.retrieve(SearchQuery("apples"), top_k=1, threshold=-1)[0]

    assert hit.item.content_summary == "Äpfel, apples"


def test_a_loop_of_links_ends(folder: Path) -> None:
    """And a file that many paths lead to is there once."""
    (folder / "docs" / "deep" / "up").symlink_to(folder / "docs")
    (folder / "docs" / "again.md").symlink_to(folder / "docs" / "rivers.md")

    found = scan(FileSource(path="docs"), folder / "docs")

    assert [file.name for file in found.files] == ["again.md", "apples.md", "deep/clocks.txt"]


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"recursive": False}, ["apples.md", "rivers.md"]),
        ({"file_types": [".txt"]}, ["deep/clocks.txt"]),
        ({"exclude": ["deep/*", "riv*"]}, ["apples.md"]),
        ({"exclude": ["deep"]}, ["apples.md", "rivers.md"]),
    ],
    ids=["flat", "types", "patterns", "folder"],
)
def test_a_source_says_what_is_read(folder: Path, keys: dict[str, object], names: list[str]) -> None:
    """A folder holds more than documents."""
    (folder / "docs" / ".hidden").mkdir()
    (folder / "docs" / ".hidden" / "secret.md").write_text("apples")
    source = FileSource.model_validate({"path": "docs", **keys})

    seen = scan(source, folder / "docs").files

    assert [file.name for file in seen] == names


@pytest.mark.parametrize("other", [Counting(turned=1), Counting(size=8)], ids=["another model", "another size"])
def test_another_model_of_the_same_name_embeds_all_anew(folder: Path, other: Counting) -> None:
    """Vectors of two models cannot be compared."""
    with memory_of(folder, Counting()):
        pass

    with memory_of(folder, other) as memory:
        hits = found(memory, "clocks", top_k=1)

    assert hits == ["deep/clocks.txt"]
    assert len(other.passages) == 3


def test_a_pass_that_was_cut_short_goes_on_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was embedded is paid for."""
    monkeypatch.setattr(indexing, "MAX_PENDING_CHUNKS", 1)
    model = Counting()
    memory = memory_of(folder, model)

    def fail_after_one(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.index(fail_after_one)
    second = Counting()
    memory.close()
    report = memory_of(folder, second).index()

    assert len(model.passages) == 1
    assert len(second.passages) == 2
    assert report.passages == 3


def test_a_model_that_is_down_is_an_error_that_loses_nothing(folder: Path) -> None:
    """The index is as it was."""
    with memory_of(folder, Counting()):
        pass
    (folder / "docs" / "new.md").write_text("All about bridges.")
    model = Counting()
    model.down = True
    memory = memory_of(folder, model)
    memory._embedder._sleep = lambda seconds: None

    with pytest.raises(EmbeddingError, match="nobody is there"):
        memory.load()

    memory.close()
    with memory_of(folder, Counting()) as again:
        assert found(again, "apples", top_k=1) == ["apples.md"]


@pytest.mark.parametrize("damage", [b"no database at all" * 300, None], ids=["overwritten", "torn"])
def test_a_damaged_index_is_made_again_and_kept_aside(folder: Path, damage: bytes | None) -> None:
    """All of it can be made of the documents."""
    with memory_of(folder, Counting()):
        pass
    file = folder / "docs.db"
    file.write_bytes(damage or file.read_bytes()[:4096] + b"\xff" * 20_000)

    with memory_of(folder, Counting()) as memory:
        hits = found(memory, "apples", top_k=1)

    assert hits == ["apples.md"]
    assert (folder / "docs.db.damaged").exists()


def test_a_database_of_somebody_else_is_left_alone(folder: Path) -> None:
    """index_path may name the wrong file."""
    with sqlite3.connect(folder / "docs.db") as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    before = (folder / "docs.db").read_bytes()

    with pytest.raises(MemoryStoreError, match="left unchanged"):
        memory_of(folder, Counting()).load()

    assert (folder / "docs.db").read_bytes() == before


def test_another_process_that_indexes_is_seen(folder: Path) -> None:
    """`memgraph index` may run beside an agent."""
    with memory_of(folder, Counting()) as memory, memory_of(folder, Counting()) as other:
        assert not memory.retrieve(SearchQuery("bridges"), top_k=9, threshold=0.9)
        (folder / "docs" / "bridges.md").write_text("All about bridges.")
        other.load()

        hits = found(memory, "bridges", top_k=1)

    assert hits == ["bridges.md"]


def test_two_processes_that_index_at_once_come_to_the_same(folder: Path) -> None:
    """Whichever is first."""
    for number in range(40):
        (folder / "docs" / f"{number}.md").write_text(f"Number {number} is about apples.")
    script = (
        "import sys; from memgraph.attachments.file import FileConfig, FileMemory\n"
        "embed = lambda texts: [[1.0, float(len(text))] for text in texts]\n"
        "config = FileConfig(file_sources=[{'path': 'docs'}], embedding=embed)\n"
        "print(FileMemory('docs', config, folder=sys.argv[1]).index().passages)\n"
    )

    started = [
        subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    printed = [process.communicate(timeout=60)[0].strip() for process in started]

    assert printed == ["43", "43", "43"]


def test_without_an_embedding_it_says_what_to_set(folder: Path) -> None:
    """There is no other way to find a passage."""
    with pytest.raises(ConfigError, match="needs an embedding model: set its `embedding`"):
        memory_of(folder, None)


def test_it_is_never_written_to(folder: Path) -> None:
    """Documents are somebody else's."""
    assert FileMemory.read_only


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"file_sources": []}, "file_sources"),
        ({"chunk_size": 100, "chunk_overlap": 50}, "less than half of chunk_size"),
        ({"file_sources": [{"path": "docs", "encoding": "utf-9"}]}, "no encoding is called 'utf-9'"),
        ({"file_sources": [{"path": "docs", "endings": [".md"]}]}, "endings"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(keys: dict[str, object], said: str) -> None:
    """Before anything is read."""
    with pytest.raises(ValidationError, match=said):
        FileConfig.model_validate({"file_sources": [{"path": "docs"}], "embedding": Counting(), **keys})
