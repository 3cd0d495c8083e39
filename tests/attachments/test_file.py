"""The file memory: documents, their index, and search."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from embedding_fakes import Letters
from exchanges import write_earlier
from pydantic import ValidationError

from memgraph.attachments import file as file_memory
from memgraph.attachments.documents import FileSource, read_document, scan
from memgraph.attachments.file import FileConfig, FileMemory
from memgraph.attachments.store import SearchQuery
from memgraph.errors import ConfigError, EmbeddingError, MemoryStoreError

WORDS = ("apples", "rivers", "clocks", "bridges")


class CountingModel:
    """An embedding model that counts four words, and records its calls."""

    def __init__(self, *, turned: int = 0, size: int = 5) -> None:
        self.calls: list[str] = []
        self.down = False
        self._turned, self._size = turned, size

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("connection refused")
        self.calls += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        counts = [0.1, *(float(text.count(word)) for word in WORDS), *[0.0] * (self._size - 5)]
        return counts[self._turned :] + counts[: self._turned]

    @property
    def passages(self) -> list[str]:
        """The embedded texts of documents, without the probe of the model."""
        return [text for text in self.calls if any(word in text for word in WORDS)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents, one of them in a folder."""
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "apples.md").write_text("All about apples.")
    (docs / "rivers.md").write_text("All about rivers.")
    (docs / "deep" / "clocks.txt").write_text("All about clocks.")
    return tmp_path


def make_memory(folder: Path, model: object, **config: object) -> FileMemory:
    values = {"file_sources": [{"path": "docs"}], "embedding": model, **config}
    return FileMemory("docs", FileConfig.model_validate(values), folder=folder)


def find_sources(memory: FileMemory, question: str, **limits: int) -> list[str]:
    return [hit.source for hit in memory.retrieve(SearchQuery(question), **{"top_k": 3, "threshold": 0, **limits})]


def test_an_index_of_chatdev_stays_as_it_is_and_is_made_again_next_to_it(folder: Path) -> None:
    """Its vectors are those of a model that may not be this one."""
    stored = folder / "index.json"
    stored.write_text(json.dumps({"file_metadata": {}, "contents": [], "config": {"chunk_size": 500}}))
    before = stored.read_bytes()

    with make_memory(folder, CountingModel(), index_path="index.json") as memory:
        assert find_sources(memory, "apples")[0].endswith("apples.md")

    assert stored.read_bytes() == before
    assert (folder / "index.json.db").exists()


def test_the_passage_that_answers_comes_first(folder: Path) -> None:
    """With its file."""
    with make_memory(folder, CountingModel()) as memory:
        hit = memory.retrieve(SearchQuery("clocks"), top_k=1, threshold=-1)[0]

    assert (hit.source, hit.item.content_summary) == ("deep/clocks.txt", "All about clocks.")
    assert hit.score == pytest.approx(1, abs=0.01)
    assert hit.item.metadata["path"] == str(folder / "docs" / "deep" / "clocks.txt")


def test_passages_below_the_threshold_are_not_found(folder: Path) -> None:
    """The threshold applies to the cosine."""
    with make_memory(folder, CountingModel()) as memory:
        hits = memory.retrieve(SearchQuery("clocks"), top_k=3, threshold=0.9)

    assert [hit.source for hit in hits] == ["deep/clocks.txt"]


def test_a_second_start_reads_no_file_and_embeds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the folder is scanned."""
    with make_memory(folder, CountingModel()):
        pass
    second, read = CountingModel(), list[Path]()
    monkeypatch.setattr(file_memory, "read_document", _recording(read))

    report = make_memory(folder, second).index()

    assert (read, second.calls) == ([], [])
    assert (report.unchanged, report.indexed) == (3, [])


def _recording(read: list[Path]) -> Callable[[Path, str], tuple[str, str]]:
    def record(path: Path, encoding: str) -> tuple[str, str]:
        read.append(path)
        return read_document(path, encoding)

    return record


def test_an_earlier_index_of_files_is_up_to_date(tmp_path: Path) -> None:
    """An upgrade reads and embeds nothing again."""
    document = tmp_path / "docs" / "trips.md"
    document.parent.mkdir()
    document.write_text("The train to Oslo leaves at nine.\n", encoding="utf-8")
    os.utime(document, (1_700_000_000, 1_700_000_000))
    write_earlier(tmp_path, "handbook")
    config = FileConfig.model_validate({"file_sources": [{"path": "docs"}], "embedding": Letters("abcde")})

    report = FileMemory("handbook", config, folder=tmp_path).index()

    assert (report.indexed, report.unchanged, report.embedded, report.passages) == ([], 1, 0, 1)


def test_only_a_changed_file_is_embedded(folder: Path) -> None:
    """Its old passages are deleted."""
    with make_memory(folder, CountingModel()):
        pass
    (folder / "docs" / "rivers.md").write_text("All about bridges, at length.")
    second = CountingModel()

    with make_memory(folder, second) as memory:
        hits = memory.retrieve(SearchQuery("rivers"), top_k=9, threshold=0.9)

    assert second.passages == ["All about bridges, at length."]
    assert not hits
    assert find_sources(memory, "bridges", top_k=1) == ["rivers.md"]


def test_a_file_with_a_new_time_and_the_same_text_is_not_embedded(folder: Path) -> None:
    """A checkout sets new times."""
    with make_memory(folder, CountingModel()):
        pass
    os.utime(folder / "docs" / "rivers.md", (1, 1))
    second = CountingModel()

    report = make_memory(folder, second).index()

    assert second.passages == []
    assert report.unchanged == 3


def test_the_same_text_in_two_files_is_embedded_once(folder: Path) -> None:
    """Copies cost no embedding."""
    (folder / "docs" / "copy.md").write_text("All about apples.")
    model = CountingModel()

    with make_memory(folder, model) as memory:
        hits = find_sources(memory, "apples", top_k=2)

    assert sorted(model.passages) == ["All about apples.", "All about clocks.", "All about rivers."]
    assert sorted(hits) == ["apples.md", "copy.md"]


def test_a_deleted_file_is_removed_from_the_index(folder: Path) -> None:
    """If its folder still exists."""
    with make_memory(folder, CountingModel()):
        pass
    (folder / "docs" / "apples.md").unlink()

    with make_memory(folder, CountingModel()) as memory:
        hits = memory.retrieve(SearchQuery("apples"), top_k=9, threshold=0.9)

    assert not hits


@pytest.mark.parametrize("emptied", [False, True], ids=["gone", "empty"])
def test_a_source_that_is_missing_keeps_its_index(
    folder: Path, caplog: pytest.LogCaptureFixture, *, emptied: bool
) -> None:
    """A network drive may be mounted again."""
    with make_memory(folder, CountingModel()):
        pass
    (folder / "docs").rename(folder / "elsewhere")
    if emptied:
        (folder / "docs").mkdir()

    with caplog.at_level(logging.WARNING), make_memory(folder, CountingModel()) as memory:
        hits = find_sources(memory, "apples", top_k=1)

    assert hits == ["apples.md"]
    assert "its passages are kept" in caplog.text


def test_a_source_removed_from_the_configuration_is_removed_from_the_index(folder: Path) -> None:
    """Its passages are not found any longer."""
    (folder / "other").mkdir()
    (folder / "other" / "bridges.md").write_text("All about bridges.")
    with make_memory(folder, CountingModel()):
        pass

    with make_memory(folder, CountingModel(), file_sources=[{"path": "other"}]) as memory:
        hits = find_sources(memory, "apples", top_k=9)

    assert hits == ["bridges.md"]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"a\0b", "zero bytes"), (b"caf\xe9 and more", "not in utf-8: byte 3"), (b"x" * 1_001, "more than 1,000 bytes")],
    ids=["binary", "latin-1", "large"],
)
def test_a_file_that_is_not_a_text_is_skipped(
    folder: Path, data: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported at every start, but read only once."""
    monkeypatch.setattr("memgraph.attachments.documents.MAX_BYTES", 1_000)
    (folder / "docs" / "odd.md").write_bytes(data)

    first = make_memory(folder, CountingModel()).index()
    read = list[Path]()
    monkeypatch.setattr(file_memory, "read_document", _recording(read))
    second = make_memory(folder, CountingModel()).index()

    assert why in first.skipped[0].why
    assert len(first.indexed) == 3
    assert second.skipped == first.skipped
    assert read == []


def test_an_encoding_can_be_configured(folder: Path) -> None:
    """Old documents are not in UTF-8."""
    (folder / "docs" / "old.md").write_bytes("Äpfel, apples".encode("latin-1"))

    with make_memory(folder, CountingModel(), file_sources=[{"path": "docs/old.md", "encoding": "latin-1"}]) as memory:
        hit = memory.retrieve(SearchQuery("apples"), top_k=1, threshold=-1)[0]

    assert hit.item.content_summary == "Äpfel, apples"


def test_cyclic_links_end(folder: Path) -> None:
    """A file with several paths is found once."""
    (folder / "docs" / "deep" / "up").symlink_to(folder / "docs")
    (folder / "docs" / "again.md").symlink_to(folder / "docs" / "rivers.md")

    result = scan(FileSource(path="docs"), folder / "docs")

    assert [file.name for file in result.files] == ["again.md", "apples.md", "deep/clocks.txt"]


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
def test_a_source_filters_files(folder: Path, keys: dict[str, object], names: list[str]) -> None:
    """By depth, suffix and pattern; hidden files are always skipped."""
    (folder / "docs" / ".hidden").mkdir()
    (folder / "docs" / ".hidden" / "secret.md").write_text("apples")
    source = FileSource.model_validate({"path": "docs", **keys})

    files = scan(source, folder / "docs").files

    assert [file.name for file in files] == names


@pytest.mark.parametrize(
    "other", [CountingModel(turned=1), CountingModel(size=8)], ids=["another model", "another size"]
)
def test_another_model_of_the_same_name_embeds_all_again(folder: Path, other: CountingModel) -> None:
    """Vectors of different models cannot be compared."""
    with make_memory(folder, CountingModel()):
        pass

    with make_memory(folder, other) as memory:
        hits = find_sources(memory, "clocks", top_k=1)

    assert hits == ["deep/clocks.txt"]
    assert len(other.passages) == 3


def test_an_interrupted_update_continues(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors are paid for only once."""
    monkeypatch.setattr(file_memory, "MAX_PENDING_CHUNKS", 1)
    model = CountingModel()
    memory = make_memory(folder, model)

    def fail_after_one(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.index(fail_after_one)
    second = CountingModel()
    memory.close()
    report = make_memory(folder, second).index()

    assert len(model.passages) == 1
    assert len(second.passages) == 2
    assert report.passages == 3


def test_a_failing_model_leaves_the_index_unchanged(folder: Path) -> None:
    """Loading raises an error."""
    with make_memory(folder, CountingModel()):
        pass
    (folder / "docs" / "new.md").write_text("All about bridges.")
    model = CountingModel()
    model.down = True
    memory = make_memory(folder, model)

    with pytest.raises(EmbeddingError, match="connection refused"):
        memory.load()

    memory.close()
    with make_memory(folder, CountingModel()) as again:
        assert find_sources(again, "apples", top_k=1) == ["apples.md"]


@pytest.mark.parametrize("damage", [b"no database at all" * 300, None], ids=["overwritten", "torn"])
def test_a_damaged_index_is_renamed_and_rebuilt(folder: Path, damage: bytes | None) -> None:
    """It can be rebuilt from the documents."""
    with make_memory(folder, CountingModel()):
        pass
    file = folder / "docs.db"
    file.write_bytes(damage or file.read_bytes()[:4096] + b"\xff" * 20_000)

    with make_memory(folder, CountingModel()) as memory:
        hits = find_sources(memory, "apples", top_k=1)

    assert hits == ["apples.md"]
    assert (folder / "docs.db.damaged").exists()


def test_a_database_of_another_program_is_left_unchanged(folder: Path) -> None:
    """`index_path` may name the wrong file."""
    with sqlite3.connect(folder / "docs.db") as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    before = (folder / "docs.db").read_bytes()

    with pytest.raises(MemoryStoreError, match="left unchanged"):
        make_memory(folder, CountingModel()).load()

    assert (folder / "docs.db").read_bytes() == before


def test_an_update_by_another_process_is_seen(folder: Path) -> None:
    """`memgraph index` may run while an agent does."""
    with make_memory(folder, CountingModel()) as memory, make_memory(folder, CountingModel()) as other:
        assert not memory.retrieve(SearchQuery("bridges"), top_k=9, threshold=0.9)
        (folder / "docs" / "bridges.md").write_text("All about bridges.")
        other.load()

        hits = find_sources(memory, "bridges", top_k=1)

    assert hits == ["bridges.md"]


def test_concurrent_updates_have_the_same_result(folder: Path) -> None:
    """In several processes."""
    for number in range(40):
        (folder / "docs" / f"{number}.md").write_text(f"Number {number} is about apples.")
    script = (
        "import sys; from memgraph.attachments.file import FileConfig, FileMemory\n"
        "embed = lambda texts: [[1.0, float(len(text))] for text in texts]\n"
        "config = FileConfig(file_sources=[{'path': 'docs'}], embedding=embed)\n"
        "print(FileMemory('docs', config, folder=sys.argv[1]).index().passages)\n"
    )

    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    printed = [process.communicate(timeout=120)[0].strip() for process in processes]

    assert printed == ["43", "43", "43"]


def test_a_missing_embedding_model_is_an_error(folder: Path) -> None:
    """Passages are found by their vectors only."""
    with pytest.raises(ConfigError, match="needs an embedding model: set its `embedding`"):
        make_memory(folder, None)


def test_the_memory_is_read_only(folder: Path) -> None:
    """Documents are not changed by agents."""
    assert FileMemory.read_only


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"file_sources": []}, "file_sources"),
        ({"chunk_size": 100, "chunk_overlap": 50}, "less than half of chunk_size"),
        ({"file_sources": [{"path": "docs", "encoding": "utf-9"}]}, "no encoding is called 'utf-9'"),
        ({"file_sources": [{"path": "docs", "endings": [".md"]}]}, "endings"),
    ],
)
def test_an_invalid_configuration_is_an_error(keys: dict[str, object], message: str) -> None:
    """Before any file is read."""
    with pytest.raises(ValidationError, match=message):
        FileConfig.model_validate({"file_sources": [{"path": "docs"}], "embedding": CountingModel(), **keys})


def test_links_out_of_a_source_are_skipped(folder: Path) -> None:
    """A user with write access to the folder could make any file of the machine readable."""
    (folder / "private").mkdir()
    (folder / "private" / "keys.md").write_text("apples")
    (folder / "docs" / "linked.md").symlink_to(folder / "private" / "keys.md")
    (folder / "docs" / "deep" / "out").symlink_to(folder / "private")
    (folder / "docs" / "inside.md").symlink_to(folder / "docs" / "deep" / "clocks.txt")
    (folder / "docs" / "loop.md").symlink_to(folder / "docs" / "loop.md")

    result = scan(FileSource(path="docs"), folder / "docs")

    assert [file.name for file in result.files] == ["apples.md", "inside.md", "rivers.md"]
    assert sorted(Path(skipped.path).name for skipped in result.skipped) == ["linked.md", "loop.md", "out"]
