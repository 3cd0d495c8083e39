"""A server with authentication: runs use the memory of the authenticated user, whatever they claim.

The memories are in the server's own store, which has routes of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from langchain_core.messages import HumanMessage
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import APIStatusError

from memgraph import Scope
from memgraph.background.server_invoker import ServerInvoker
from memgraph.settings import Settings

pytestmark = pytest.mark.xdist_group("server")

LISBON: Any = {"messages": [{"role": "user", "content": "I live in Lisbon.", "id": "m1"}]}
WHERE: Any = {"messages": [{"role": "user", "content": "Where do I live?", "id": "m1"}]}


class Caller:
    """An authenticated user, on a server where another user has a memory."""

    def __init__(self, server: Any, name: str) -> None:
        self.server = server
        self.name = name
        self.victim = f"{name}-victim"
        self.save(self.victim, "Lives in Oslo.")
        self.client = get_sync_client(url=server.url, api_key=f"key-{name}")

    def run(self, graph: str, conversation: Any, thread: str | None = None, **options: Any) -> Any:
        """Run *graph*, claiming to be the victim."""
        context: Any = {"user_id": self.victim, **options.pop("context", {})}
        return self.client.runs.wait(thread, graph, input=conversation, context=context, raise_error=False, **options)  # type: ignore[call-overload]

    def save(self, name: str, content: str) -> None:
        """Add a fact to the memory of a user, as the administrator."""
        self._as_admin("POST", name, json={"content": content})

    def facts(self, name: str) -> list[str]:
        return [fact["content"] for fact in self._as_admin("GET", name)["facts"]]

    @property
    def victim_is_untouched(self) -> bool:
        return self._as_admin("GET", self.victim)["revision"] == 1

    def _as_admin(self, method: str, name: str, **options: Any) -> Any:
        headers = {"x-api-key": "key-admin", "Authorization": f"Bearer {self.server.token}"}
        url = f"{self.server.url}/memory/facts"
        response = httpx.request(method, url, headers=headers, params={"user_id": name}, timeout=60, **options)
        return response.raise_for_status().json()


@pytest.fixture
def caller(auth_server: Any) -> Iterator[Caller]:
    caller = Caller(auth_server, f"eve{uuid.uuid4().hex[:8]}")
    with caller.client:
        yield caller


def test_update_learns_into_the_callers_memory(caller: Caller) -> None:
    """It does not learn into the memory of the claimed user."""
    result = caller.run("memory_update", LISBON)

    assert result["outcome"] == "learned"
    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert caller.victim_is_untouched


def test_both_headers_authenticate_the_same_user(caller: Caller) -> None:
    """Clients use one or the other."""
    headers = {"Authorization": f"Bearer key-{caller.name}"}
    with get_sync_client(url=caller.server.url, api_key=None, headers=headers) as client:
        client.runs.wait(None, "memory_update", input=LISBON, context={"user_id": caller.victim})  # type: ignore[arg-type]

    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert caller.victim_is_untouched


def test_recall_reads_the_callers_memory(caller: Caller) -> None:
    """Another user's memory must not be readable either."""
    caller.save(caller.name, "Lives in Ghent.")

    recalled = caller.run("memory_recall", WHERE)["recalled"]["text"]

    assert "Lives in Ghent" in recalled
    assert "Oslo" not in recalled


def test_lead_agent_uses_the_callers_memory(caller: Caller) -> None:
    """Its context is of another type, and claims the same."""
    caller.run("lead_agent", LISBON)
    answer = caller.run("lead_agent", WHERE)["messages"][-1]["content"]

    assert "Lives in Lisbon" in answer
    assert "Oslo" not in answer
    assert caller.victim_is_untouched


@pytest.mark.parametrize("graph", ["memory_update", "memory_recall"])
def test_caller_cannot_choose_the_storage(caller: Caller, graph: str) -> None:
    """In another storage they could have any identity."""
    result = caller.run(graph, LISBON, context={"storage": "sqlite:elsewhere.db"})

    assert result["__error__"]["error"] == "IdentityError"
    assert "cannot choose the storage" in result["__error__"]["message"]
    assert not (caller.server.folder / "elsewhere.db").exists()


def test_edited_scope_of_another_user_is_rejected(caller: Caller) -> None:
    """The scope of a run is part of its thread's state, which clients can edit."""
    thread = caller.client.threads.create()["thread_id"]
    caller.run("memory_update", LISBON, thread, interrupt_before=["load_memory"])
    state: Any = caller.client.threads.get_state(thread)["values"]
    origin = {**state["origin"], "scope": {"user_id": caller.victim, "agent_name": None}}

    with pytest.raises(APIStatusError):
        caller.client.threads.update_state(thread, {"origin": origin})

    caller.run("memory_update", None, thread)
    assert "Oslo" not in str(caller.client.threads.get_history(thread))
    assert caller.victim_is_untouched


def test_thread_is_private_to_its_caller(caller: Caller) -> None:
    """The server's own authorization applies."""
    thread = caller.client.threads.create()["thread_id"]

    with get_sync_client(url=caller.server.url, api_key="key-somebody") as other, pytest.raises(APIStatusError):
        other.threads.get_state(thread)


def test_no_route_of_the_store_reaches_a_memory(caller: Caller) -> None:
    """The server's own routes know nothing of scopes: neither the victim's memory nor the list of users is theirs."""
    caller.run("memory_update", LISBON)
    victim = ["memgraph", caller.victim, "=shared"]
    store = caller.client.store
    attempts: list[Callable[[], object]] = [
        lambda: store.get_item(victim, "memory"),
        lambda: store.get_item([*victim, "history"], "0"),
        lambda: store.put_item(victim, "memory", {"document": "{}"}),
        lambda: store.delete_item(victim, "memory"),
        *(
            partial(store.search_items, prefix)
            for prefix in ([], victim[:1], victim[:2], ["mem"], ["MEM%"], ["_emgraph"])
        ),
        *(partial(store.list_namespaces, prefix=prefix) for prefix in (None, [], victim[:1], ["*", caller.victim])),
        partial(store.list_namespaces, suffix=["history"]),
    ]

    for attempt in attempts:
        with pytest.raises(APIStatusError) as refused:
            attempt()
        assert refused.value.response.status_code == 403
    store.put_item(["memgraph2", caller.name], "notes", {"text": "own"})
    own = store.search_items(["memgraph2", caller.name])["items"]

    assert [item["value"] for item in own] == [{"text": "own"}]
    assert caller.victim_is_untouched
    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert "protect_store" not in caller.server.log


@pytest.mark.parametrize("key", [None, "wrong"])
def test_unauthenticated_run_is_rejected(caller: Caller, key: str | None) -> None:
    """Nothing is written."""
    with (
        get_sync_client(url=caller.server.url, api_key=key) as client,
        pytest.raises(httpx.HTTPStatusError) as rejected,
    ):
        client.runs.wait(None, "memory_update", input=LISBON, context={"user_id": caller.victim})  # type: ignore[arg-type]

    assert rejected.value.response.status_code == 401
    assert caller.victim_is_untouched


def test_http_api_is_limited_to_the_callers_memory(caller: Caller) -> None:
    """An authenticated user needs no token, and has access to the own memory only."""
    caller.save(caller.name, "Lives in Ghent.")
    headers = {"x-api-key": f"key-{caller.name}"}
    url = f"{caller.server.url}/memory/facts"

    own = httpx.get(url, headers=headers)
    of_another = httpx.get(url, headers=headers, params={"user_id": caller.victim})
    of_nobody = httpx.get(url)

    assert "Lives in Ghent." in own.text
    assert of_another.status_code == 403
    assert of_nobody.status_code == 401


def test_server_invoker_learns_into_the_callers_memory(caller: Caller) -> None:
    """The scope of a submission is a claim like that of any client."""
    with ServerInvoker(caller.client, settings=Settings(debounce_seconds=0)) as invoker:
        invoker.submit([HumanMessage("I live in Lisbon.")], Scope(caller.victim), "t1")
        flushed = invoker.flush(120)

    assert flushed
    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert caller.victim_is_untouched


def test_interrupted_run_is_edited_and_resumed_after_a_restart(caller: Caller) -> None:
    """A review may take longer than the process lives; it still has to be the same caller."""
    thread = caller.client.threads.create()["thread_id"]
    caller.run("memory_update", LISBON, thread, interrupt_before=["save_memory"])
    caller.server.stop()
    caller.server.start()
    state: Any = caller.client.threads.get_state(thread)
    memory = state["values"]["scrubbed"]
    memory["facts"][0]["content"] = "Lives in Porto."
    caller.client.threads.update_state(thread, {"scrubbed": memory})

    result = caller.run("memory_update", None, thread)

    assert state["next"] == ["save_memory"]
    assert result["outcome"] == "learned"
    assert caller.facts(caller.name) == ["Lives in Porto."]
    assert caller.victim_is_untouched
