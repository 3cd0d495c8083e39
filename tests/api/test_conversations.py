"""Conversations are submitted, learned from, reviewed, and discarded with their memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api_tokens import ADA, BOB
from starlette.testclient import TestClient

from memgraph import Fact, MemoryDocument, MemoryStorage, QueueFullError, Scope, Settings
from memgraph.api import create_app
from memgraph.api.app import MountedApp
from memgraph.testing import ScriptedModel, update_answer

ME = Scope("ada")
CONVERSATION = {
    "messages": [{"role": "user", "content": "I live in Paris."}, {"role": "assistant", "content": "Nice."}]
}
OWN = {"Authorization": f"Bearer {ADA}"}
OTHER = {"Authorization": f"Bearer {BOB}"}


@pytest.fixture
def app(settings: Settings, storage: MemoryStorage) -> MountedApp:
    return create_app(settings, storage=storage)


@pytest.fixture
def ada(app: MountedApp) -> Iterator[TestClient]:
    """Ada's client."""
    with TestClient(app, base_url="http://api/memory/", headers=OWN, raise_server_exceptions=False) as client:
        yield client


def list_jobs(client: TestClient, **options: Any) -> dict[str, list[dict[str, Any]]]:
    return client.get("updates", **options).json()


def test_a_submitted_conversation_is_learned(ada: TestClient, app: MountedApp, storage: MemoryStorage) -> None:
    accepted = ada.post("conversations", json={**CONVERSATION, "thread_id": "t1"})
    pending = list_jobs(ada)["pending"]

    app.services.memory.invoker.flush()

    assert (accepted.status_code, accepted.json()) == (202, {"messages": 2, "thread_id": "t1"})
    assert [(job["thread_id"], job["running"]) for job in pending] == [("t1", False)]
    assert list_jobs(ada)["pending"] == []
    assert "Paris" in storage.load(ME).facts[0].content


def test_conversation_is_learned_at_its_own_time(ada: TestClient, app: MountedApp, storage: MemoryStorage) -> None:
    """An application may submit what was said long ago."""
    ada.post("conversations", json={**CONVERSATION, "at": "2023-05-08T13:56:00+02:00"})

    app.services.memory.invoker.flush()

    (fact,) = storage.load(ME).facts
    assert fact.said_at == "2023-05-08T11:56:00Z"
    assert ada.get("facts").json()["facts"][0]["saidAt"] == "2023-05-08T11:56:00Z"


def test_what_the_user_did_not_say_is_not_learned(
    settings: Settings, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the model makes of a conversation: it passes the rules of an update."""
    claim = {"content": "Buys Zorbix.", "quote": "you buy Zorbix"}
    model = ScriptedModel(update_answer(claim, "I live in Paris."))
    monkeypatch.setattr("memgraph.llm.models.CHAT_MODELS", {"scripted": lambda _name, _params: model})
    app = create_app(settings.model_copy(update={"model_name": "scripted:x"}), storage=storage)

    with TestClient(app, base_url="http://api/memory/", headers=OWN) as client:
        messages = [*CONVERSATION["messages"], {"role": "assistant", "content": "The page says you buy Zorbix."}]
        client.post("conversations", json={"messages": messages})
        app.services.memory.invoker.flush()

    assert [fact.content for fact in storage.load(ME).facts] == ["I live in Paris."]


def test_a_fact_of_the_api_is_a_persons(ada: TestClient, storage: MemoryStorage) -> None:
    """Only people's edits pass the rules by, and they are marked as such, also a learned fact that is edited."""
    storage.save(ME, MemoryDocument(facts=(Fact(id="f1", content="Likes tea.", source="t1"),)))

    ada.post("facts", json={"content": "Likes rain."})
    ada.patch("facts/f1", json={"content": "Likes green tea."}, headers={"If-Match": "*"})
    rejected = ada.post("facts", json={"content": "Likes snow.", "source": "t1"})

    assert [(fact.content, fact.is_manual) for fact in storage.load(ME).facts] == [
        ("Likes green tea.", True),
        ("Likes rain.", True),
    ]
    assert rejected.status_code == 422


@pytest.mark.parametrize("at", ["soon", True, -5, "1969-01-01"])
def test_conversation_with_an_impossible_time_is_refused(ada: TestClient, at: object) -> None:
    """The answer names the field."""
    refused = ada.post("conversations", json={**CONVERSATION, "at": at})

    assert refused.status_code == 422
    assert "must be a time since 1970" in refused.text


def test_a_conversation_called_manual_is_learned_as_any_other(
    ada: TestClient, app: MountedApp, storage: MemoryStorage
) -> None:
    """Its client must not pass for the person whose memory it is."""
    ada.post("conversations", json={**CONVERSATION, "thread_id": "manual"})

    app.services.memory.invoker.flush()

    assert [fact.is_manual for fact in storage.load(ME).facts] == [False]


def test_pending_jobs_are_visible_to_their_user_only(ada: TestClient) -> None:
    ada.post("conversations", json=CONVERSATION)

    assert list_jobs(ada, headers=OTHER) == {"pending": [], "failed": []}


def test_a_conversation_with_an_invalid_message_is_refused_as_a_whole(ada: TestClient) -> None:
    bad = {"messages": [*CONVERSATION["messages"], {"role": "tool", "content": "x"}]}

    response = ada.post("conversations", json=bad)

    assert response.status_code == 422
    assert "messages[2] is not a message" in response.json()["detail"]
    assert list_jobs(ada)["pending"] == []


def test_deleting_a_memory_discards_its_pending_jobs(ada: TestClient, app: MountedApp, storage: MemoryStorage) -> None:
    """Messages from before the deletion are not learned."""
    ada.post("conversations", json={**CONVERSATION, "thread_id": "t1"})

    ada.delete("document", headers={"If-Match": "*"})
    app.services.memory.invoker.flush()

    assert list_jobs(ada)["pending"] == []
    assert storage.load(ME).is_empty


def test_a_full_queue_is_a_temporary_problem(ada: TestClient, app: MountedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise QueueFullError("the outbox", 1)

    monkeypatch.setattr(app.services.memory.invoker, "submit", refuse)

    response = ada.post("conversations", json=CONVERSATION)

    assert (response.status_code, response.json()["error"]) == (503, "QueueFullError")
    assert int(response.headers["Retry-After"]) > 0


def test_a_user_with_a_tenth_of_the_queue_waits_and_others_do_not(settings: Settings, storage: MemoryStorage) -> None:
    app = create_app(settings.model_copy(update={"max_queued": 10}), storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers=OWN) as client:
        client.post("conversations", json={**CONVERSATION, "thread_id": "t1"})

        refused = client.post("conversations", json={**CONVERSATION, "thread_id": "t2"})
        other = client.post("conversations", json=CONVERSATION, headers={"Authorization": f"Bearer {BOB}"})

    assert (refused.status_code, refused.json()["error"]) == (429, "UserQueueFullError")
    assert int(refused.headers["Retry-After"]) > 0
    assert other.status_code == 202


def test_failed_jobs_are_listed_and_retried(settings: Settings, storage: MemoryStorage) -> None:
    broken = settings.model_copy(update={"model_name": "no-such-provider:x"})
    app = create_app(broken, storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers=OWN) as client:
        client.post("conversations", json={**CONVERSATION, "thread_id": "t1"})
        app.services.memory.invoker.flush()
        failed = [job for jobs in list_jobs(client).values() for job in jobs]

        put_back = client.post("updates/retry", params={"thread_id": "t2"}).json()

    assert [(job["thread_id"], job["tries"] > 0) for job in failed] == [("t1", True)]
    assert "no-such-provider" in failed[0]["error"]
    assert put_back == {"put_back": 0}


@pytest.fixture
def reviewed(settings: Settings, storage: MemoryStorage) -> Iterator[tuple[TestClient, MountedApp]]:
    """Ada's client of an app with reviews, and one pending review."""
    app = create_app(settings.model_copy(update={"review": "always"}), storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers=OWN) as client:
        client.post("conversations", json={**CONVERSATION, "thread_id": "t1"})
        app.services.memory.invoker.flush()
        yield client, app


def test_a_change_under_review_is_learned_when_it_is_accepted(
    reviewed: tuple[TestClient, MountedApp], storage: MemoryStorage
) -> None:
    """Nothing is learned before the decision, and no job waits for it."""
    client, _ = reviewed
    (change,) = client.get("reviews").json()["reviews"]
    before, jobs = storage.load(ME).facts, list_jobs(client)

    client.post(f"reviews/{change['id']}", json="accept")

    assert (before, jobs) == ((), {"pending": [], "failed": []})
    assert "Paris" in storage.load(ME).facts[0].content


@pytest.mark.parametrize("answer", ["perhaps", {"items": {}}, {"text": ""}, 7])
def test_a_change_stays_pending_after_an_invalid_decision(
    reviewed: tuple[TestClient, MountedApp], answer: object
) -> None:
    client, _ = reviewed
    (change,) = client.get("reviews").json()["reviews"]

    refused = client.post(f"reviews/{change['id']}", json=answer)

    assert refused.status_code == 422
    assert client.get("reviews").json()["reviews"] == [change]
