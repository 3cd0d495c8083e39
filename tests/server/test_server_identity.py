"""A server that knows who is calling: that user's memory is learned and told, whatever a run claims."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain_core.messages import HumanMessage
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import APIStatusError

from memgraph import Fact, Memory, Scope
from memgraph.background.server_invoker import ServerInvoker
from memgraph.settings import Settings

pytestmark = pytest.mark.xdist_group("server")

LISBON: Any = {"messages": [{"role": "user", "content": "I live in Lisbon.", "id": "m1"}]}
WHERE: Any = {"messages": [{"role": "user", "content": "Where do I live?", "id": "m1"}]}


class Caller:
    """Somebody with a key, on a server where another has a memory."""

    def __init__(self, server: Any, name: str) -> None:
        self.server = server
        self.name = name
        self.victim = f"{name}-victim"
        server.storage.save(Scope(self.victim), Memory(facts=(Fact(content="Lives in Oslo."),)))
        self.client = get_sync_client(url=server.url, api_key=f"key-{name}")

    def run(self, graph: str, given: Any, thread: str | None = None, **options: Any) -> Any:
        """Run *graph*, claiming to be the victim."""
        context: Any = {"user_id": self.victim, **options.pop("context", {})}
        return self.client.runs.wait(thread, graph, input=given, context=context, raise_error=False, **options)  # type: ignore[call-overload]

    def facts(self, name: str) -> list[str]:
        return [fact.content for fact in self.server.storage.load(Scope(name)).facts]

    @property
    def victim_is_untouched(self) -> bool:
        return self.server.storage.load(Scope(self.victim)).revision == 1


@pytest.fixture
def caller(guarded: Any) -> Iterator[Caller]:
    caller = Caller(guarded, f"eve{uuid.uuid4().hex[:8]}")
    with caller.client:
        yield caller


def test_the_callers_own_memory_learns(caller: Caller) -> None:
    """Not that of whom they claim to be."""
    result = caller.run("memory_update", LISBON)

    assert result["outcome"] == "learned"
    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert caller.victim_is_untouched


def test_a_key_in_the_other_header_is_the_same_user(caller: Caller) -> None:
    """Clients differ in where they say it."""
    headers = {"Authorization": f"Bearer key-{caller.name}"}
    with get_sync_client(url=caller.server.url, api_key=None, headers=headers) as client:
        client.runs.wait(None, "memory_update", input=LISBON, context={"user_id": caller.victim})  # type: ignore[arg-type]

    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert caller.victim_is_untouched


def test_the_callers_own_memory_is_recalled(caller: Caller) -> None:
    """To read another's would be as bad as to write it."""
    caller.server.storage.save(Scope(caller.name), Memory(facts=(Fact(content="Lives in Ghent."),)))

    recalled = caller.run("memory_recall", WHERE)["recalled"]["text"]

    assert "Lives in Ghent" in recalled
    assert "Oslo" not in recalled


def test_an_agent_is_told_of_the_caller_and_learns_of_the_caller(caller: Caller) -> None:
    """Its own context is of another type, and claims no less."""
    caller.run("lead_agent", LISBON)
    answer = caller.run("lead_agent", WHERE)["messages"][-1]["content"]

    assert "Lives in Lisbon" in answer
    assert "Oslo" not in answer
    assert caller.victim_is_untouched


@pytest.mark.parametrize("graph", ["memory_update", "memory_recall"])
def test_a_caller_cannot_choose_the_storage(caller: Caller, graph: str) -> None:
    """There they could be anybody."""
    result = caller.run(graph, LISBON, context={"storage": "sqlite:elsewhere.db"})

    assert result["__error__"]["error"] == "IdentityError"
    assert "cannot choose the storage" in result["__error__"]["message"]
    assert not (caller.server.folder / "elsewhere.db").exists()


def test_a_state_that_was_edited_to_be_of_another_is_refused(caller: Caller) -> None:
    """The scope that a run works on is in its thread's state, which clients can edit."""
    thread = caller.client.threads.create()["thread_id"]
    caller.run("memory_update", LISBON, thread, interrupt_before=["load_memory"])
    state: Any = caller.client.threads.get_state(thread)["values"]
    origin = {**state["origin"], "scope": {"user_id": caller.victim, "agent_name": None}}
    caller.client.threads.update_state(thread, {"origin": origin})

    result = caller.run("memory_update", None, thread)

    assert "another user's memory" in result["__error__"]["message"]
    assert "Oslo" not in str(caller.client.threads.get_history(thread))
    assert caller.victim_is_untouched


def test_nobody_else_can_use_a_callers_thread(caller: Caller) -> None:
    """As the server's own rules have it."""
    thread = caller.client.threads.create()["thread_id"]

    with get_sync_client(url=caller.server.url, api_key="key-somebody") as other, pytest.raises(APIStatusError):
        other.threads.get_state(thread)


@pytest.mark.parametrize("key", [None, "wrong"])
def test_who_is_not_known_gets_in_nowhere(caller: Caller, key: str | None) -> None:
    """And so nothing is written."""
    with get_sync_client(url=caller.server.url, api_key=key) as client, pytest.raises(httpx.HTTPStatusError) as refused:
        client.runs.wait(None, "memory_update", input=LISBON, context={"user_id": caller.victim})  # type: ignore[arg-type]

    assert refused.value.response.status_code == 401
    assert caller.victim_is_untouched


def test_the_http_api_knows_the_caller_too(caller: Caller) -> None:
    """One who is known needs no token, and reaches their own memory only."""
    caller.server.storage.save(Scope(caller.name), Memory(facts=(Fact(content="Lives in Ghent."),)))
    headers = {"x-api-key": f"key-{caller.name}"}
    url = f"{caller.server.url}/memory/facts"

    own = httpx.get(url, headers=headers)
    of_another = httpx.get(url, headers=headers, params={"user_id": caller.victim})
    of_nobody = httpx.get(url)

    assert "Lives in Ghent." in own.text
    assert of_another.status_code == 403
    assert of_nobody.status_code == 401


def test_what_is_handed_over_later_is_learned_for_the_caller(caller: Caller) -> None:
    """ServerInvoker says whose memory it is as any client does, and is believed no more."""
    with ServerInvoker(caller.client, settings=Settings(debounce_seconds=0)) as invoker:
        invoker.submit([HumanMessage("I live in Lisbon.")], Scope(caller.victim), "t1")
        flushed = invoker.flush(60)

    assert flushed
    assert caller.facts(caller.name) == ["Lives in Lisbon."]
    assert caller.victim_is_untouched


def test_a_stopped_run_is_edited_and_goes_on_in_a_later_process(caller: Caller) -> None:
    """Whoever looks at the changes may take their time; and it still has to be the same caller."""
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
