"""A memory as the custom store of a server with authentication: in runs, and through the server's own routes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import APIStatusError

pytestmark = pytest.mark.xdist_group("server")

FILE = Path(__file__).with_name("memory_store.py")
ADA = ["memories", "ada"]
BOB = ["memories", "bob"]


@pytest.fixture(scope="module")
def store_server(new_server: Callable[..., Any]) -> Iterator[Any]:
    server = new_server(auth=True)
    path = server.folder / "langgraph.json"
    deployment = json.loads(path.read_text())
    deployment["store"] = {"path": f"{FILE}:store"}
    deployment["graphs"] = {"put": f"{FILE}:graph"}
    path.write_text(json.dumps(deployment))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def ada(store_server: Any) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=store_server.url, api_key="key-ada") as client:
        yield client


@pytest.fixture
def bob(store_server: Any) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=store_server.url, api_key="key-bob") as client:
        yield client


def run(client: SyncLangGraphClient, text: str) -> str:
    state: Any = client.runs.wait(None, "put", input={"messages": [{"role": "user", "content": text}]})
    return state["messages"][-1]["content"]


def test_a_run_reaches_the_memory_of_its_user_only(ada: SyncLangGraphClient) -> None:
    assert run(ada, "ada: Likes green tea.") == "Likes green tea."
    assert "does not name the caller" in run(ada, "bob: Likes coffee.")


def test_a_client_reaches_the_memory_of_its_user_only(ada: SyncLangGraphClient, bob: SyncLangGraphClient) -> None:
    """Through the server's routes below /store, without a rule of one's own."""
    bob.store.put_item(BOB, "dog", {"content": "Has a dog called Rex."})
    calls: list[Callable[[], object]] = [
        *(partial(ada.store.search_items, prefix) for prefix in (BOB, ["memories"], [])),
        *(partial(ada.store.list_namespaces, prefix=prefix) for prefix in (BOB, ["memories"], [])),
        *(partial(call, BOB, "dog") for call in (ada.store.get_item, ada.store.delete_item)),
        partial(ada.store.put_item, BOB, "dog", {"content": "Has a cat."}),
    ]

    for call in calls:
        with pytest.raises(APIStatusError):
            call()

    assert [item["key"] for item in bob.store.search_items(BOB)["items"]] == ["dog"]
    assert ada.store.list_namespaces(prefix=ADA)["namespaces"] in ([], [ADA])
