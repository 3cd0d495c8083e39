"""What is left of an erased user: the bytes of seeded texts in all files and rows, after an erasure.

    python benchmarks/erase.py [--quick]   # --quick: 10 texts instead of 100, without PostgreSQL

The search is not that of the package: every file of the folder is read whole, every row of every table is printed.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from cluster import postgres_url
from common import Measurement, Row, Skipped, at_least, at_most, run_standalone
from langchain_core.messages import HumanMessage

from memgraph import Fact, MemoryDocument, Scope, Settings, open_storage
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.store import Interaction
from memgraph.background import Outbox, open_outbox
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.erasure import erase_user, open_places
from memgraph.models import Episode
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage
from memgraph.storage.backups import Backups, new_name

ADA, CODER = Scope("ada"), Scope("ada", "coder")
URLS = {
    "file": ("file:{folder}/memories", "sqlite:{folder}/outbox.db"),
    "sqlite": ("sqlite:{folder}/memory.db", "sqlite:{folder}/outbox.db"),
}
"""The storage and the outbox."""
PLACES = 7
"""Kinds of places that the texts are spread over: see `seed`."""
NOTES = (
    "The texts are in facts, removed facts, an agent's facts, episodes, submitted conversations, backups and items.",
    "Rows of PostgreSQL that were deleted are not searched: how long they stay in free pages depends on the server.",
)


def texts(count: int) -> list[str]:
    return [f"Seeded text {number:03d} of the purple walrus near the old harbour." for number in range(count)]


def seed(storage: MemoryStorage, outbox: Outbox, backups: Backups, manager: MemoryManager, seeded: list[str]) -> None:
    """Spread the texts over the places, the first one in a fact, the second in a removed fact, and so on."""
    facts, removed, of_agent, said, submitted, saved, items = (seeded[place::PLACES] for place in range(PLACES))
    memory = storage.save(ADA, MemoryDocument(facts=tuple(Fact(content=text) for text in (*facts, *removed))))
    storage.save(ADA, memory.with_facts(memory.facts[: len(facts)]))
    storage.save(CODER, MemoryDocument(facts=tuple(Fact(content=text) for text in of_agent)))
    storage.append_episodes(ADA, [Episode(id=text, text=text) for text in said], Policy())
    for number, text in enumerate(submitted):
        messages = dump_messages([HumanMessage(text, id=f"m{number}")])
        key, timing = ConversationKey(ADA, f"t{number}"), DebouncePolicy(debounce=3_600, max_wait=3_600)
        outbox.enqueue(key, messages, now=time.time(), timing=timing, max_jobs=1_000)
    backups.save(ADA, MemoryDocument(facts=tuple(Fact(content=text) for text in saved)), new_name())
    for text in items:
        exchange = Interaction(take_snapshot(text), take_snapshot("Noted."), node="writer", scope=ADA)
        manager.update("notes", exchange)


def rows_of(url: str) -> bytes:
    """Return all rows of all tables."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(url, autocommit=True) as db:
        tables = db.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        names = [name for (name,) in tables.fetchall()]
        return repr(
            [db.execute(sql.SQL("TABLE {}").format(sql.Identifier(name))).fetchall() for name in names]
        ).encode()


def count_found(folder: Path, url: str | None, seeded: list[str]) -> int:
    """Return how many of the texts stand in any file, or in any row."""
    stored = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    data = b"\n".join([*stored, rows_of(url) if url else b""])
    return sum(text.encode() in data for text in seeded)


def erase(name: str, storage_url: str, outbox_url: str, folder: Path, seeded: list[str]) -> list[Row]:
    """Seed the texts, erase the user, and count what is found before and afterwards."""
    url = storage_url if name == "postgresql" else None
    notes = {"name": "notes", "type": "simple", "config": {"memory_path": str(folder / "notes.db")}}
    backups, settings = Backups(folder / "backups"), Settings()
    with open_storage(storage_url) as storage, open_outbox(outbox_url) as outbox, MemoryManager([notes]) as manager:
        seed(storage, outbox.for_storage(storage.name), backups, manager, seeded)
        before = count_found(folder, url, seeded)
        with open_places(settings, storage, outbox=outbox, backups=backups, manager=manager) as places:
            began = time.perf_counter()
            receipt = erase_user(ADA.user_id, places)
            seconds = time.perf_counter() - began
            second = erase_user(ADA.user_id, places)
        after = count_found(folder, url, seeded)
    return [
        Row(f"{name}: texts found before", before, "texts", bound=at_least(len(seeded)), note="a check of the search"),
        Row(f"{name}: texts found after", after, "texts", bound=at_most(0)),
        Row(f"{name}: texts left by the receipt", sum(place.remaining or 0 for place in receipt.places), "texts"),
        Row(f"{name}: entries found by a second run", second.removed, "entries", bound=at_most(0)),
        Row(f"{name}: erasure", seconds, "s"),
    ]


def measure(quick: bool) -> Measurement:  # noqa: FBT001
    """Erase a user in each storage."""
    seeded, rows, notes = texts(10 if quick else 100), list[Row](), NOTES
    for name, urls in URLS.items():
        with tempfile.TemporaryDirectory() as folder:
            storage_url, outbox_url = (url.format(folder=folder) for url in urls)
            rows += erase(name, storage_url, outbox_url, Path(folder), seeded)
    if not quick:
        try:
            with postgres_url() as url, tempfile.TemporaryDirectory() as folder:
                rows += erase("postgresql", url, url, Path(folder), seeded)
        except Skipped as reason:
            notes = (*NOTES, f"PostgreSQL was not measured: {reason}.")
    return Measurement("Erasure: what is left of a user", rows, notes=notes)


if __name__ == "__main__":
    run_standalone(measure)
