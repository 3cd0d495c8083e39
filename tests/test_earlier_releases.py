"""Stores that earlier releases wrote: `data/RELEASE` has a memory and an outbox of each, as SQL.

The memory knows where Ada lives. In the outbox, an update of it waits for a decision, and a conversation of Will's to
be learned from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memgraph import BackgroundInvoker, MemoryDocument, Scope, build_graph, open_storage
from memgraph.background import open_outbox
from memgraph.testing import ScriptedModel, update_answer

DATA = Path(__file__).parent / "data"
ADA = Scope("ada")


@pytest.fixture(params=sorted(folder.name for folder in DATA.iterdir()))
def urls(request: Any, tmp_path: Path) -> dict[str, str]:
    """The memory and the outbox of an earlier release."""
    urls = {name: f"sqlite:{tmp_path / name}.db" for name in ("memory", "outbox")}
    for name in urls:
        statements = (DATA / request.param / f"{name}.sql").read_text().replace("sqlite:MEMORY", urls["memory"])
        run(tmp_path / f"{name}.db", statements)
    return urls


@pytest.fixture
def learn(urls: dict[str, str]) -> Callable[..., ScriptedModel]:
    """Run what is due in the outbox, and return the model that was asked."""

    def learn() -> ScriptedModel:
        model = ScriptedModel(update_answer("Works at a mill.", quote="I work at a mill."))
        graph = build_graph(model=model, storage=urls["memory"], review="always")
        with BackgroundInvoker(graph, outbox=urls["outbox"], storage=urls["memory"]) as invoker:
            invoker.flush(60)
        return model

    return learn


def run(path: Path, statements: str) -> None:
    """Run statements that memgraph has not made."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(statements)


def facts(urls: dict[str, str]) -> list[str]:
    return [fact.content for fact in open_storage(urls["memory"]).load(ADA).facts]


def pending(urls: dict[str, str], user: str = "ada") -> list[str]:
    """The facts that wait for a decision."""
    changes = open_storage(urls["memory"]).load(Scope(user)).pending
    return [fact.content for change in changes for fact in change.facts]


def test_a_memory_of_an_earlier_release_is_loaded(urls: dict[str, str]) -> None:
    """An upgrade keeps what was learned."""
    assert facts(urls) == ["I live in Lisbon."]


def test_what_an_earlier_release_holds_for_a_review_becomes_pending(urls: dict[str, str], learn: Any) -> None:
    """Its conversation is read again at the first opening."""
    learn()

    assert pending(urls) == ["Works at a mill."]
    with open_outbox(urls["outbox"]) as outbox:
        assert (outbox.pending(now=0), outbox.dead_letters()) == ((), ())


def test_a_conversation_that_waited_before_the_upgrade_is_learned(urls: dict[str, str], learn: Any) -> None:
    learn()

    assert pending(urls, "wil") == ["Works at a mill."]


@pytest.mark.parametrize("version", range(3))
def test_a_memory_may_be_migrated_again(urls: dict[str, str], tmp_path: Path, version: int) -> None:
    """Release 0.1 resets the version of a file that 0.2 has written: the tables decide."""

    def open_file() -> tuple[Any, ...]:
        with open_storage(urls["memory"]) as storage:
            found = storage.load(ADA), storage.episodes(ADA), list(storage.revisions(ADA))
        with closing(sqlite3.connect(tmp_path / "memory.db")) as db:
            return found, db.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()

    before = open_file()
    run(tmp_path / "memory.db", f"PRAGMA user_version = {version}")

    assert open_file() == before


@pytest.mark.parametrize("version", range(5))
def test_an_outbox_may_be_migrated_again(urls: dict[str, str], tmp_path: Path, version: int) -> None:
    """As above: what is in it stays, and its tables are as before."""

    def open_file() -> tuple[Any, ...]:
        with open_outbox(urls["outbox"]) as outbox:
            waiting = [each.key.scope for each in outbox.pending(now=0)]
        with closing(sqlite3.connect(tmp_path / "outbox.db")) as db:
            return waiting, db.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()

    before = open_file()
    run(tmp_path / "outbox.db", f"PRAGMA user_version = {version}")

    assert open_file() == before


def test_an_outbox_from_before_there_were_reviews_is_learned_from(
    urls: dict[str, str], tmp_path: Path, learn: Any
) -> None:
    """As the first commits wrote it."""
    run(tmp_path / "outbox.db", "DROP TABLE review; PRAGMA user_version = 1")

    learn()

    assert pending(urls, "wil") == ["Works at a mill."]


def test_a_checkpoint_of_an_earlier_release_has_its_document() -> None:
    """It names the class by the name that it had."""
    earlier = type("Memory", (MemoryDocument,), {"__module__": MemoryDocument.__module__})
    serializer = JsonPlusSerializer(allowed_msgpack_modules=True)

    loaded = serializer.loads_typed(serializer.dumps_typed(earlier(revision=3)))

    assert loaded == MemoryDocument(revision=3)
