"""The memory update on a real server, called by its own client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import SyncLangGraphClient

from memgraph import Scope

pytestmark = pytest.mark.xdist_group("server")


INVALID_CONTEXTS: list[tuple[dict[str, Any], str]] = [
    ({"thread_id": "t1"}, "no user_id: name the user by context="),
    ({"user_id": "run\nada"}, "contains a control character"),
    ({"user_id": "u" * 300}, "has 300 characters; at most 256 are allowed"),
    ({"user_id": ["bea"]}, "user_id must be a valid string"),
    ({"user_id": "run-bea", "agent_name": "no/slash"}, "agent_name 'no/slash' is invalid"),
    ({"user_id": "run-bea", "polcy": {}}, "polcy is unknown; did you mean policy?"),
    ({"user_id": "run-bea", "policy": {"max_facts": 3}}, "policy.max_facts must be greater than or equal to 10, not 3"),
    ({"user_id": "run-bea", "max_facts": "few"}, "policy.max_facts must be a valid integer"),
    ({"user_id": "run-bea", "structured_output": "perhaps"}, "structured_output must be 'auto'"),
    ({"user_id": "run-bea", "enabled": "perhaps"}, "enabled must be a valid boolean"),
    ({"user_id": "run-bea", "prompt": "Be brief."}, "prompt 'Be brief.' is not allowed in a run over HTTP"),
    ({"user_id": "run-bea", "model": "openai:gpt"}, "model 'openai:gpt' is not allowed in a run over HTTP"),
    ({"user_id": "run-bea", "storage": "sqlite:elsewhere.db"}, "storage is not allowed in a run over HTTP"),
    ({"user_id": "run-bea", "storage": "os.system"}, "storage is not allowed in a run over HTTP"),
    ({"user_id": "run-bea", "model": "gpt"}, "'gpt' is not a model name"),
    ({"user_id": "run-bea", "model": "nobody:gpt"}, "'nobody:gpt' cannot be used"),
    ({"user_id": "run-bea", "storage": "unknown"}, "unknown storage scheme 'cloud'"),
    ({"user_id": "run-bea", "storage": "unreachable"}, "/proc/none"),
]
"""Contexts, and the expected error of each."""


@pytest.fixture(scope="module")
def errors(server: Any) -> list[str]:
    """The errors of INVALID_CONTEXTS, run concurrently."""

    async def run_all() -> list[Any]:
        conversation: Any = {"messages": [{"role": "user", "content": "I live in Lisbon.", "id": "m1"}]}
        async with get_client(url=server.url) as client:
            runs = [
                client.runs.wait(None, "memory_update", input=conversation, context=context, raise_error=False)
                for context, _ in INVALID_CONTEXTS
            ]
            return await asyncio.gather(*runs)

    return [result["__error__"]["message"] for result in asyncio.run(run_all())]


def _run(client: SyncLangGraphClient, context: dict[str, Any], text: str = "I live in Lisbon.") -> Any:
    thread = client.threads.create()
    conversation: Any = {"messages": [{"role": "user", "content": text, "id": "m1"}]}
    return client.runs.wait(
        thread["thread_id"], "memory_update", input=conversation, context=context, raise_error=False
    )


def test_run_with_context_is_learned(server: Any, client: SyncLangGraphClient) -> None:
    """The user is the only required setting."""
    result = _run(client, {"user_id": "run-ada", "agent_name": "coach", "thread_id": "t1"})

    assert result["outcome"] == "learned"
    assert [fact.content for fact in server.storage.load(Scope("run-ada", "coach")).facts] == ["Lives in Lisbon."]


@pytest.mark.parametrize(
    ("index", "message"), [(index, message) for index, (_, message) in enumerate(INVALID_CONTEXTS)]
)
def test_invalid_context_error_names_the_problem(errors: list[str], index: int, message: str) -> None:
    """The client shows it to the person who filled in the form."""
    assert message in errors[index]


@pytest.mark.usefixtures("errors")
def test_invalid_context_writes_nothing(server: Any) -> None:
    """Not even to the storage that was named."""
    assert server.storage.load(Scope("run-bea")).revision == 0
    assert not (server.folder / "cloud:x").exists()
    assert not (server.folder / "elsewhere.db").exists()


def test_invalid_context_is_rejected_before_any_node(client: SyncLangGraphClient) -> None:
    """No model call is paid for a run that cannot succeed."""
    thread = client.threads.create()["thread_id"]
    conversation: Any = {"messages": [{"role": "user", "content": "I live in Lisbon."}]}

    client.runs.wait(thread, "memory_update", input=conversation, context={"user": "run-eli"}, raise_error=False)  # type: ignore[arg-type]

    assert client.threads.get_history(thread) == []


def test_run_without_messages_learns_nothing(server: Any, client: SyncLangGraphClient) -> None:
    """The server drops unknown input keys; the earlier messages of the thread are learned already."""
    thread = client.threads.create()["thread_id"]
    context: Any = {"user_id": "run-fay", "thread_id": "t1"}
    conversation: Any = {"messages": [{"role": "user", "content": "I live in Lisbon."}]}
    client.runs.wait(thread, "memory_update", input=conversation, context=context)

    result: Any = client.runs.wait(
        thread, "memory_update", input={"mesages": conversation["messages"]}, context=context
    )

    assert result["outcome"] == "nothing_new"
    assert server.storage.load(Scope("run-fay")).revision == 1


def test_second_run_of_a_thread_ignores_the_state_of_the_first(server: Any, client: SyncLangGraphClient) -> None:
    """The state of the first run comes back as plain JSON, and must have no effect."""
    thread = client.threads.create()
    context: Any = {"user_id": "run-cem", "thread_id": "t1"}
    outcomes: list[str] = []
    for number, text in enumerate(["I live in Lisbon.", "I live in Lisbon.", "I work at Acme."]):
        conversation: Any = {"messages": [{"role": "user", "content": text, "id": f"m{max(number, 1)}"}]}
        result: Any = client.runs.wait(thread["thread_id"], "memory_update", input=conversation, context=context)
        outcomes.append(result["outcome"])

    assert outcomes == ["learned", "nothing_new", "learned"]
    assert len(server.storage.load(Scope("run-cem")).facts) == 2


def test_server_detects_no_blocking_call(server: Any, client: SyncLangGraphClient) -> None:
    """It would block the event loop for all users."""
    _run(client, {"user_id": "run-dan", "thread_id": "t1"})

    assert "Blocking" not in server.log
