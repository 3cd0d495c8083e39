"""Each way of a text through the package takes time in proportion to its length, whatever the text.

A kind of text is tried alone: in a mixture, each part is short. test_hostile_text tries the functions one by one.
"""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from cpu_time import TRIES, cpu_limit, cpu_seconds
from hostile_values import documents_of
from langchain_core.messages import AIMessage, HumanMessage
from mcp import Client
from starlette.testclient import TestClient

from memgraph import (
    Context,
    EditError,
    Fact,
    MemoryClient,
    MemoryDocument,
    MemoryStorage,
    Policy,
    Scope,
    Settings,
    build_graph,
    open_storage,
)
from memgraph.api import create_app
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.simple import SimpleConfig, SimpleMemory
from memgraph.attachments.store import Interaction, SearchQuery
from memgraph.editing import merge_memory, read_document
from memgraph.importers import READERS
from memgraph.mcp import create_server
from memgraph.models import Episode
from memgraph.testing import ScriptedModel, update_answer

SHORT, LONG = 20_000, 200_000
"""Bytes of a text."""
MAX_GROWTH = 15
MAX_SECONDS = 0.5
LIMIT_SECONDS = 60
QUOTE_CHARS = 40_000
TOKEN = "a-token-of-the-administrator"  # noqa: S105 - of a test
PAGES = ("?", "/facts?", "/episodes?", "/page/facts?", "/page/episodes?", "/page/recall/result?q=Oslo&")

UNITS = {
    "letters": "a",
    "digits": "1",
    "emoji": "👩\u200d👧😀",
    "Chinese": "我喜欢北京的生活",
    "Chinese sentences": "我喜欢北京的生活。",
    "prose": "I moved to Lisbon in spring because my sister works there. On Sundays I cook for friends. ",
    "dates": "2026-05-01, last Friday, in 3 days; ",
    "quotes": '"',
    "quotations": '"I like tea", ',
    "brackets": "[({<",
    "JSON": '{"a": [1, "b"], "c": {"d": "e"}}, ',
    "base64": b64encode(random.Random(1).randbytes(LONG)).decode(),  # noqa: S311 - not for secrets
    "line breaks": "\n",
}


def text_of(kind: str, size: int) -> str:
    """Return *size* bytes of a kind of text."""
    unit = UNITS[kind].encode()
    return (unit * (size // len(unit) + 1))[:size].decode(errors="ignore")


# -- the ways ---------------------------------------------------------------------------------------

Call = Callable[[], object]
OSLO = Fact(id="f1", content="Lives in Oslo.")


def storage_of(*facts: Fact, episode: str = "I live in Oslo.") -> MemoryStorage:
    storage, ada = open_storage("memory:"), Scope("ada")
    storage.save(ada, MemoryDocument(facts=(OSLO, *facts)))
    storage.append_episodes(ada, [Episode(id="e1", text=episode, at="2026-01-01T10:00:00Z")], Policy())
    return storage


def client_of(storage: MemoryStorage) -> MemoryClient:
    return MemoryClient(storage, settings=Settings(model_name="offline", outbox="memory:"), user_id="ada")


def update(text: str, before: str = "Nice.", model: ScriptedModel | None = None, policy: Policy | None = None) -> Call:
    """Learn from *text*, which follows *before*, by default with the built-in model."""
    said = [HumanMessage("I live in Oslo.", id="m1"), AIMessage(before, id="m2"), HumanMessage(text, id="m3")]
    graph = build_graph(storage="memory:", model=model, policy=policy)
    return partial(graph.invoke, {"messages": said}, context=Context(user_id="ada"))


def update_with_long_quotes(text: str) -> Call:
    """Learn from *text* with a model whose facts and quotes are long parts of it, exact or nearly so."""
    third, length = len(text) // 3, min(len(text) // 5, QUOTE_CHARS)
    parts = (text[:length], text[third : third + length], f"{text[third : third + 150]}zq")
    facts = ({"content": "Likes tea.", "quote": part, "confidence": 0.9} for part in parts)
    answer = update_answer(*facts, {"content": parts[0], "quote": text[:150], "confidence": 0.9})
    return update(text, text, ScriptedModel(answer), Policy(max_calls=3))


def recall_by(text: str) -> Call:
    """Ask and search with *text*."""
    client = client_of(storage_of())
    return lambda: (client.context(text), client.search(text))


def recall_of(text: str) -> Call:
    """Ask about a memory whose fact and episode are *text*."""
    client = client_of(storage_of(Fact(id="f2", content=text), episode=text))
    return lambda: (client.context(f"Where do I live? {text[:50]}"), client.search("Oslo tea"))


def remember(text: str) -> Call:
    """Write *text* as a fact, next to one like it."""
    client = client_of(storage_of(Fact(id="f2", content=f"Lives in {text}")))
    return partial(client.remember, text)


def import_document(text: str) -> Call:
    document = json.dumps({"facts": [{"id": "f", "content": text}], "user": {"workContext": {"summary": text}}})
    return lambda: merge_memory(MemoryDocument(facts=(OSLO,)), read_document(document.encode(), "x"), trusted=False)


def import_export(text: str) -> Call:
    """Read *text* in the exports of other systems."""
    documents = documents_of(text)

    def read() -> None:
        for reader in READERS.values():
            with suppress(EditError):
                reader(documents, None)

    return read


def show(text: str) -> Call:
    """Request the memory and its page over HTTP, with a fact and an episode that are *text*."""
    storage = storage_of(Fact(id="f2", content=text), episode=text)
    settings = Settings(model_name="offline", outbox="memory:", api_token=TOKEN)  # pyright: ignore[reportArgumentType]
    app = create_app(settings, storage=storage)

    def request() -> None:
        with TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            for path in PAGES:
                assert client.get(f"/memory{path}user_id=ada").is_success

    return request


def attach(text: str) -> Call:
    """Keep *text* in an attachable memory, in the exchange of a node, and search with it."""
    store = SimpleMemory("notes", SimpleConfig(max_content_length=100_000))
    said = take_snapshot(text)

    def use() -> None:
        store.update(Interaction(take_snapshot("Which database?"), take_snapshot("PostgreSQL."), "writer"))
        store.update(Interaction(said, said, "writer"))
        store.retrieve(SearchQuery(text), top_k=3, threshold=-1)

    return use


def call_tools(text: str) -> Call:
    """Search for *text* and add it over MCP."""
    server = create_server(client_of(storage_of()), lambda _: Scope("ada"))

    async def talk() -> None:
        async with Client(server) as client:
            await client.call_tool("memory_search", {"query": text})
            await client.call_tool("memory_add", {"content": text, "quote": text})

    return lambda: asyncio.run(talk())


WAYS = (
    update,
    update_with_long_quotes,
    recall_by,
    recall_of,
    remember,
    import_document,
    import_export,
    show,
    attach,
    call_tools,
)


def growths(prepare: Callable[[int], Call]) -> Iterator[tuple[float, float]]:
    """Yield the seconds of the short and of the long text, measured TRIES times."""
    for _ in range(TRIES):
        long = cpu_seconds(prepare(LONG))
        yield (cpu_seconds(prepare(SHORT)) if long >= MAX_SECONDS else 0, long)


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_ten_times_the_text_takes_hardly_more_than_ten_times_as_long(way: Callable[[str], Call], kind: str) -> None:
    def prepare(size: int) -> Call:
        call = way(text_of(kind, size))
        return partial(refusing, call)

    with cpu_limit(LIMIT_SECONDS):
        prepare(100)()

        assert any(long < max(MAX_SECONDS, MAX_GROWTH * short) for short, long in growths(prepare))


def refusing(call: Call) -> Any:
    """Run *call*, which may refuse a text that is too long."""
    with suppress(EditError):
        return call()
