"""Erasing a user removes everything that is kept of one, in all places, and the receipt proves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from memgraph import Fact, MemoryDocument, Scope, Settings, open_storage
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.simple import BlackboardConfig, BlackboardMemory, SimpleConfig, SimpleMemory
from memgraph.attachments.store import Interaction
from memgraph.background import Outbox, open_outbox
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.erasure import ErasureReceipt, erase_user, open_places
from memgraph.models import Episode, Evidence, PendingChange
from memgraph.policy import Policy
from memgraph.storage.backups import Backups, new_name

URLS = {
    "file": ("file:{folder}/memories", "sqlite:{folder}/outbox.db"),
    "sqlite": ("sqlite:{folder}/memory.db", "sqlite:{folder}/outbox.db"),
    "postgresql": ("{postgres_url}", "{postgres_url}"),
}
"""The storage and the outbox. `{postgres_url}` is the fixture of that name."""
ADA, CODER, BOB = Scope("ada"), Scope("ada", "coder"), Scope("bob")
TIMING = DebouncePolicy(debounce=5, max_wait=10)


def seeded(place: str, kind: str = "ada") -> str:
    """A text that stands nowhere else."""
    return f"The {place} secret of {kind} is a purple walrus, 紫色的海象在跳舞."


SEEDS = tuple(
    map(seeded, ("fact", "quote", "removed fact", "summary", "quarantine", "episode", "agent's fact", "pending",
                 "failed", "backup", "question", "answer", "board"))
)  # fmt: skip


class Places:
    """A storage, an outbox, backups and attachable memories, all with something of ada and of bob."""

    def __init__(self, folder: Path, storage: str, outbox: str) -> None:
        self.folder = folder
        self.database_url = storage if storage.startswith("postgres") else None
        self.storage = open_storage(storage)
        self.outbox = open_outbox(outbox)
        self.backups = Backups(folder / "backups")
        self.notes = SimpleMemory(
            "notes",
            SimpleConfig(
                memory_path=str(folder / "notes.db"),
                embedding=lambda texts: [[1.0, float(len(text))] for text in texts],
            ),
        )
        self.board = BlackboardMemory("board", BlackboardConfig(memory_path=str(folder / "board.db"), shared=True))
        self.manager = MemoryManager([self.notes, self.board])
        self.settings = Settings()

    def erase(self, user_id: str = "ada") -> ErasureReceipt:
        with open_places(
            self.settings, self.storage, outbox=self.outbox, backups=self.backups, manager=self.manager
        ) as places:
            return erase_user(user_id, places)

    def close(self) -> None:
        self.manager.close()
        self.outbox.close()
        self.storage.close()


@pytest.fixture(params=URLS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    urls = [
        request.getfixturevalue("postgres_url") if url == "{postgres_url}" else url.format(folder=tmp_path)
        for url in URLS[request.param]
    ]
    found = Places(tmp_path, *urls)
    for kind, owner, agent in (("ada", ADA, CODER), ("bob", BOB, Scope("bob", "coder"))):
        fill(found, kind, owner, agent)
    yield found
    found.close()


def fill(places: Places, kind: str, owner: Scope, agent: Scope) -> None:
    """Put a text into every place that keeps something of *owner*."""

    def text(place: str) -> str:
        return seeded(place, kind)

    storage = places.storage
    fact = Fact(id="kept", content=text("fact"), evidence=(Evidence(quote=text("quote")),))
    held = PendingChange(id="q", facts=(Fact(content=text("quarantine")),))
    memory = storage.save(
        owner, MemoryDocument(facts=(fact, Fact(id="gone", content=text("removed fact"))), pending=(held,))
    )
    summary = memory.section("work_context").model_copy(update={"summary": text("summary")})
    storage.save(owner, memory.with_facts((fact,)).with_section("work_context", summary))
    storage.append_episodes(owner, [Episode(id="e", text=text("episode"))], Policy())
    storage.save(agent, MemoryDocument(facts=(Fact(content=text("agent's fact")),)))
    fill_outbox(places.outbox.for_storage(storage.name), owner, text)
    places.backups.save(owner, MemoryDocument(facts=(Fact(content=text("backup")),)), new_name())
    for store, content in ((places.notes, "answer"), (places.board, "board")):
        store.update(
            Interaction(take_snapshot(text("question")), take_snapshot(text(content)), node="writer", scope=owner)
        )


def fill_outbox(outbox: Outbox, owner: Scope, text: Callable[[str], str]) -> None:
    """Submit one conversation that waits and one that failed."""
    for number, place in enumerate(("failed", "pending")):
        key = ConversationKey(owner, f"thread {place}")
        messages = dump_messages([HumanMessage(text(place), id=f"{owner.user_id}-{number}")])
        outbox.enqueue(key, messages, now=number, timing=TIMING, max_jobs=1_000)
        claims = () if place == "pending" else outbox.claim(now=100, lease_seconds=30, scope=owner)
        for claim in claims:
            outbox.dead_letter(claim, error="no answer", timing=TIMING)


def bytes_of(places: Places) -> bytes:
    """All files, and all rows of the database if there is one."""
    files = [path.read_bytes() for path in sorted(places.folder.rglob("*")) if path.is_file()]
    return b"\n".join([*files, rows_of(places.database_url) if places.database_url else b""])


def rows_of(url: str) -> bytes:
    import psycopg
    from psycopg import sql

    with psycopg.connect(url, autocommit=True) as db:
        tables = db.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        names = [name for (name,) in tables.fetchall()]
        rows = [db.execute(sql.SQL("TABLE {}").format(sql.Identifier(name))).fetchall() for name in names]
    return repr(rows).encode()


def is_in(text: str, data: bytes) -> bool:
    return text.encode() in data or text.encode("unicode_escape") in data


def test_nothing_of_the_user_is_left_in_any_file(places: Places) -> None:
    """Free pages and logs of SQLite included; those of others stay."""
    before = bytes_of(places)

    receipt = places.erase()

    after = bytes_of(places)
    assert [text for text in SEEDS if is_in(text, after)] == []
    kept = [text for text in SEEDS if is_in(text.replace("ada", "bob"), before)]
    assert [text for text in kept if not is_in(text.replace("ada", "bob"), after)] == []
    assert receipt.is_complete


def test_the_receipt_counts_what_was_removed_where(places: Places) -> None:
    removed = [place.removed for place in places.erase().places]

    assert removed == [
        {"memories": 2, "facts": 2, "summaries": 1, "pending changes": 1, "revisions": 3, "episodes": 1},
        {"submissions": 2},
        {"backups": 1},
        {"items": 1},
        {"items": 1},
    ]


def test_the_receipt_has_none_of_the_erased_texts(places: Places) -> None:
    receipt = places.erase().model_dump_json()

    assert "walrus" not in receipt


def test_every_place_is_searched_for_every_text(places: Places) -> None:
    receipt = places.erase()

    assert [place.remaining for place in receipt.places] == [0] * 5
    assert receipt.searched_texts == len(SEEDS)


def test_a_second_run_finds_nothing(places: Places) -> None:
    places.erase()

    second = places.erase()

    assert (second.removed, second.searched_texts, second.is_complete) == (0, 0, True)


def test_others_keep_their_memory(places: Places) -> None:
    others = places.storage.load(BOB), places.outbox.texts_of("bob"), places.notes.texts_of("bob")

    places.erase()

    assert (places.storage.load(BOB), places.outbox.texts_of("bob"), places.notes.texts_of("bob")) == others
    assert len(others[1]) == 2


def test_messages_that_waited_are_not_learned_when_they_are_submitted_again(places: Places) -> None:
    """An application submits the whole conversation at each turn."""
    places.erase()

    assert places.storage.load(ADA).threads["thread pending"].message_ids == ("ada-1",)


def test_the_words_of_a_user_go_although_the_document_is_damaged(tmp_path: Path) -> None:
    """The document is left to a person, who may want to repair it; the receipt names it."""
    with open_storage(f"file:{tmp_path}/memories") as storage, open_outbox("memory:") as outbox:
        storage.save(ADA, MemoryDocument(facts=(Fact(content=seeded("fact")),)))
        storage.append_episodes(ADA, [Episode(id="e", text=seeded("episode"))], Policy())
        document = Path(storage.location(ADA))
        document.write_bytes(document.read_bytes()[:-30])

        with open_places(Settings(), storage, outbox=outbox, backups=Backups(tmp_path / "backups")) as places:
            receipt = erase_user("ada", places)

        assert storage.episodes(ADA) == ()
        assert (receipt.is_complete, receipt.places[0].removed["episodes"]) == (False, 1)
        assert str(document) in str(receipt.places[0].error)
        assert is_in(seeded("fact"), document.read_bytes())
