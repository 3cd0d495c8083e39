"""The memory update on the real server, driven by its own client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import SyncLangGraphClient

from memgraph import Scope

pytestmark = pytest.mark.xdist_group("server")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"thread_id": "t1"}, "no user_id: name the user by context="),
    ({"user_id": "run\nada"}, "contains a control character"),
    ({"user_id": "u" * 300}, "has 300 characters; 256 are allowed"),
    ({"user_id": ["bea"]}, "user_id must be a valid string"),
    ({"user_id": "run-bea", "agent_name": "no/slash"}, "agent_name 'no/slash' is invalid"),
    ({"user_id": "run-bea", "polcy": {}}, "polcy is unknown; did you mean policy?"),
    ({"user_id": "run-bea", "policy": {"max_facts": 3}}, "policy.max_facts must be greater than or equal to 10, not 3"),
    ({"user_id": "run-bea", "max_facts": "few"}, "policy.max_facts must be a valid integer"),
    ({"user_id": "run-bea", "structured_output": "perhaps"}, "structured_output must be 'none'"),
    ({"user_id": "run-bea", "enabled": "perhaps"}, "enabled must be a valid boolean"),
    ({"user_id": "run-bea", "prompt": "Be brief."}, "prompt does not describe the answer"),
    ({"user_id": "run-bea", "review": "always"}, "build_graph(review='always')"),
    ({"user_id": "run-bea", "model": "gpt"}, "'gpt' names no model"),
    ({"user_id": "run-bea", "model": "nobody:gpt"}, "'nobody:gpt' cannot be used"),
    ({"user_id": "run-bea", "storage": "cloud:x"}, "unknown storage scheme 'cloud'"),
    ({"user_id": "run-bea", "storage": "sqlite:/proc/none/memory.db"}, "/proc/none"),
]
"""What a run may say wrongly, and what it is told."""


@pytest.fixture(scope="module")
def refusals(server: Any) -> list[str]:
    """What is said of each of BAD, asked all at once."""

    async def ask_all() -> list[Any]:
        asked: Any = {"messages": [{"role": "user", "content": "I live in Lisbon.", "id": "m1"}]}
        async with get_client(url=server.url) as client:
            runs = [
                client.runs.wait(None, "memory_update", input=asked, context=context, raise_error=False)
                for context, _ in BAD
            ]
            return await asyncio.gather(*runs)

    return [result["__error__"]["message"] for result in asyncio.run(ask_all())]


def _run(client: SyncLangGraphClient, context: dict[str, Any], text: str = "I live in Lisbon.") -> Any:
    thread = client.threads.create()
    asked: Any = {"messages": [{"role": "user", "content": text, "id": "m1"}]}
    return client.runs.wait(thread["thread_id"], "memory_update", input=asked, context=context, raise_error=False)


def test_a_run_with_a_context_learns_into_the_storage(server: Any, client: SyncLangGraphClient) -> None:
    """Over HTTP all that is needed is who it is about."""
    result = _run(client, {"user_id": "run-ada", "agent_name": "coach", "thread_id": "t1"})

    assert result["outcome"] == "learned"
    assert [fact.content for fact in server.storage.load(Scope("run-ada", "coach")).facts] == ["Lives in Lisbon."]


@pytest.mark.parametrize(("place", "said"), [(place, said) for place, (_, said) in enumerate(BAD)])
def test_a_bad_context_is_an_error_that_says_what_is_wrong(refusals: list[str], place: int, said: str) -> None:
    """In words for whoever filled in the form."""
    assert said in refusals[place]


@pytest.mark.usefixtures("refusals")
def test_with_a_bad_context_nothing_is_written(server: Any) -> None:
    """Not even to another storage than was meant."""
    assert server.storage.load(Scope("run-bea")).revision == 0
    assert not (server.folder / "cloud:x").exists()


def test_a_bad_context_is_refused_before_any_node_runs(client: SyncLangGraphClient) -> None:
    """So that nothing is paid for a run that cannot end well."""
    thread = client.threads.create()["thread_id"]
    asked: Any = {"messages": [{"role": "user", "content": "I live in Lisbon."}]}

    client.runs.wait(thread, "memory_update", input=asked, context={"user": "run-eli"}, raise_error=False)  # type: ignore[arg-type]

    assert client.threads.get_history(thread) == []


def test_a_run_without_messages_learns_nothing(server: Any, client: SyncLangGraphClient) -> None:
    """The server drops a key it does not know from the input; what was said before on the thread is known already."""
    thread = client.threads.create()["thread_id"]
    context: Any = {"user_id": "run-fay", "thread_id": "t1"}
    asked: Any = {"messages": [{"role": "user", "content": "I live in Lisbon."}]}
    client.runs.wait(thread, "memory_update", input=asked, context=context)

    result: Any = client.runs.wait(thread, "memory_update", input={"mesages": asked["messages"]}, context=context)

    assert result["outcome"] == "nothing_new"
    assert server.storage.load(Scope("run-fay")).revision == 1


def test_a_second_run_of_a_thread_starts_afresh(server: Any, client: SyncLangGraphClient) -> None:
    """What the first left in the thread's state comes back as plain JSON, and steers nothing."""
    thread = client.threads.create()
    context: Any = {"user_id": "run-cem", "thread_id": "t1"}
    outcomes: list[str] = []
    for number, text in enumerate(["I live in Lisbon.", "I live in Lisbon.", "I work at Acme."]):
        asked: Any = {"messages": [{"role": "user", "content": text, "id": f"m{max(number, 1)}"}]}
        result: Any = client.runs.wait(thread["thread_id"], "memory_update", input=asked, context=context)
        outcomes.append(result["outcome"])

    assert outcomes == ["learned", "nothing_new", "learned"]
    assert len(server.storage.load(Scope("run-cem")).facts) == 2


def test_the_server_finds_no_blocking_call(server: Any, client: SyncLangGraphClient) -> None:
    """Of its event loop: it would make everybody wait."""
    _run(client, {"user_id": "run-dan", "thread_id": "t1"})

    assert "Blocking" not in server.log
