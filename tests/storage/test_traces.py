"""The search for erased texts finds them in every encoding, in free pages and between two blocks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memgraph._sql import Schema, SqliteDatabase
from memgraph.errors import StorageError
from memgraph.storage import traces
from memgraph.storage.traces import TraceCount, find_in_bytes, find_in_files, fragments_of, texts_in

TEA = "Likes jasmine tea with honey."
WALRUS = "紫色的海象在跳舞"
ITEMS = Schema("items", (), sqlite_version=0, postgres_version=0)


@pytest.mark.parametrize("text", [TEA, WALRUS, "naïve café society 😀"])
def test_a_text_is_found_as_it_is_in_json_and_in_json_within_json(text: str) -> None:
    (fragment,) = fragments_of([text])

    for stored in (text, json.dumps(text), json.dumps(json.dumps(text)), json.dumps(text, ensure_ascii=False)):
        assert find_in_bytes(f"x{stored}x".encode(), [fragment]) == {fragment}


def test_the_longest_part_without_escapes_is_searched() -> None:
    assert fragments_of(['"Yes"\nshe said that she prefers window seats\n']) == (
        "she said that she prefers window seats",
    )


def test_a_short_text_is_not_searched() -> None:
    """It would be found in the entries of anybody."""
    assert fragments_of(["Likes tea."]) == ()


def test_the_same_text_is_searched_once() -> None:
    assert len(fragments_of([TEA, TEA])) == 1


def test_a_text_between_two_blocks_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_BLOCK", 64)
    path = tmp_path / "file"
    path.write_bytes(b"." * 50 + TEA.encode() + b"." * 50)

    assert find_in_files([path, tmp_path / "missing"], fragments_of([TEA])) == {TEA}


def test_ids_and_times_are_no_texts() -> None:
    document = {"id": "fact_0123456789", "content": TEA, "evidence": [{"quote": WALRUS}], "summaries": {"a": "b"}}

    assert texts_in(document) == [TEA, WALRUS, "b"]


def find_in_file(path: Path, *texts: str) -> TraceCount:
    with closing(SqliteDatabase(path, ITEMS, StorageError)) as database:
        return database.find_bytes("ada", fragments_of(texts))


def test_what_an_earlier_version_left_in_free_pages_is_removed(tmp_path: Path) -> None:
    """It deleted without overwriting."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("CREATE TABLE item (document TEXT)")
        db.execute("INSERT INTO item VALUES (?)", (TEA,))
        db.execute("DELETE FROM item")
    assert TEA.encode() in path.read_bytes()

    found = find_in_file(path, TEA)

    assert (found, TEA.encode() in path.read_bytes()) == (TraceCount(), False)


def test_the_write_ahead_log_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("CREATE TABLE item (document TEXT)")
        db.execute("INSERT INTO item VALUES (?)", (TEA,))
        db.execute("DELETE FROM item")
        log = path.with_name("old.db-wal")
        assert TEA.encode() in log.read_bytes()

        found = find_in_file(path, TEA)

        assert (found, log.read_bytes()) == (TraceCount(), b"")


def test_a_text_in_a_row_is_of_another_user(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE item (document TEXT)")
        db.execute("INSERT INTO item VALUES (?)", (TEA,))

    assert find_in_file(path, TEA, WALRUS) == TraceCount(remaining=0, of_others=1)
