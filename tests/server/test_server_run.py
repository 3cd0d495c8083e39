"""The memory update on the real server, driven by its own client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from memgraph import Scope

pytestmark = pytest.mark.xdist_group("server")


@pytest.fixture
def client(server: Any) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=server.url) as client:
        yield client


def _run(client: SyncLangGraphClient, context: dict[str, Any], text: str = "I live in Lisbon.") -> Any:
    thread = client.threads.create()
    asked: Any = {"messages": [{"role": "user", "content": text, "id": "m1"}]}
    return client.runs.wait(thread["thread_id"], "memory_update", input=asked, context=context, raise_error=False)


def test_a_run_with_a_context_learns_into_the_storage(server: Any, client: SyncLangGraphClient) -> None:
    """Over HTTP all that is needed is who it is about."""
    result = _run(client, {"user_id": "run-ada", "agent_name": "coach", "thread_id": "t1"})

    assert result["outcome"] == "learned"
    assert [fact.content for fact in server.storage.load(Scope("run-ada", "coach")).facts] == ["Lives in Lisbon."]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"thread_id": "t1"}, "no user_id: say whose memory this is"),
        ({"user_id": "run\nada"}, "holds a control character"),
        ({"user_id": "run-bea", "agent_name": "no/slash"}, "agent_name 'no/slash' may hold letters"),
        ({"user_id": "run-bea", "policy": {"max_facts": 3}}, "policy.max_facts"),
        ({"user_id": "run-bea", "structured_output": "perhaps"}, "structured_output"),
    ],
)
def test_a_bad_context_is_an_error_that_says_what_is_wrong(
    server: Any, client: SyncLangGraphClient, context: dict[str, Any], said: str
) -> None:
    """And nothing is written."""
    result = _run(client, context)

    assert said in result["__error__"]["message"]
    assert server.storage.load(Scope("run-bea")).revision == 0


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
