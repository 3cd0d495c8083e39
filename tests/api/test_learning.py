"""Conversations are handed over, learned from, decided on, and forgotten with their memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api_tokens import ADA, BOB
from starlette.testclient import TestClient

from memgraph import MemoryStorage, QueueFullError, Scope, Settings
from memgraph.api import create_app
from memgraph.api.app import MountedApp

ME = Scope("ada")
SAID = {"messages": [{"role": "user", "content": "I live in Paris."}, {"role": "assistant", "content": "Nice."}]}
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


def updates(client: TestClient, **given: Any) -> dict[str, list[dict[str, Any]]]:
    return client.get("updates", **given).json()


def test_what_was_handed_over_is_learned(ada: TestClient, app: MountedApp, storage: MemoryStorage) -> None:
    accepted = ada.post("conversations", json={**SAID, "thread_id": "t1"})
    waiting = updates(ada)["pending"]

    app.desk.invoker.flush()

    assert (accepted.status_code, accepted.json()) == (202, {"messages": 2, "thread_id": "t1"})
    assert [(job["thread_id"], job["running"]) for job in waiting] == [("t1", False)]
    assert updates(ada)["pending"] == []
    assert "Paris" in storage.load(ME).facts[0].content


def test_what_waits_is_seen_by_its_user_alone(ada: TestClient) -> None:
    ada.post("conversations", json=SAID)

    assert updates(ada, headers=OTHER) == {"pending": [], "failed": [], "in_review": []}


def test_no_conversation_is_handed_over_by_halves(ada: TestClient) -> None:
    bad = {"messages": [*SAID["messages"], {"role": "tool", "content": "x"}]}

    answer = ada.post("conversations", json=bad)

    assert answer.status_code == 422
    assert "messages[2] is not a message" in answer.json()["detail"]
    assert updates(ada)["pending"] == []


def test_what_waits_goes_with_its_memory(ada: TestClient, app: MountedApp, storage: MemoryStorage) -> None:
    """What was said before is not learned after."""
    ada.post("conversations", json={**SAID, "thread_id": "t1"})

    ada.delete("document", headers={"If-Match": "*"})
    app.desk.invoker.flush()

    assert updates(ada)["pending"] == []
    assert storage.load(ME).is_empty


def test_a_full_queue_says_when_to_come_back(ada: TestClient, app: MountedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise QueueFullError("the outbox", 1)

    monkeypatch.setattr(app.desk.invoker, "submit", refuse)

    answer = ada.post("conversations", json=SAID)

    assert (answer.status_code, answer.json()["error"]) == (503, "QueueFullError")
    assert int(answer.headers["Retry-After"]) > 0


def test_what_failed_is_shown_and_put_back(settings: Settings, storage: MemoryStorage) -> None:
    broken = settings.model_copy(update={"model_name": "no-such-provider:x"})
    app = create_app(broken, storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers=OWN) as client:
        client.post("conversations", json={**SAID, "thread_id": "t1"})
        app.desk.invoker.flush()
        failed = [job for jobs in updates(client).values() for job in jobs]

        put_back = client.post("updates/retry", params={"thread_id": "t2"}).json()

    assert [(job["thread_id"], job["tries"] > 0) for job in failed] == [("t1", True)]
    assert "no-such-provider" in failed[0]["error"]
    assert put_back == {"put_back": 0}


@pytest.fixture
def reviewed(settings: Settings, storage: MemoryStorage) -> Iterator[tuple[TestClient, MountedApp]]:
    """Ada's client of an app where a person has to agree, with something to agree to."""
    app = create_app(settings.model_copy(update={"review": "always"}), storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers=OWN) as client:
        client.post("conversations", json={**SAID, "thread_id": "t1"})
        app.desk.invoker.flush()
        yield client, app


def test_a_proposal_waits_and_is_decided(reviewed: tuple[TestClient, MountedApp], storage: MemoryStorage) -> None:
    """Nothing is learned before a person says so, and who comes second is told."""
    client, app = reviewed
    (review,) = client.get("reviews").json()["reviews"]
    before = storage.load(ME).facts

    answers = [client.post(f"reviews/{review['id']}", json="accept").status_code for _ in range(2)]
    app.desk.invoker.flush()

    assert review["proposal"]["items"][0]["kind"] == "add"
    assert updates(client)["in_review"] == []
    assert (before, answers) == ((), [202, 404])
    assert "Paris" in storage.load(ME).facts[0].content


def test_a_proposal_is_nobody_elses(reviewed: tuple[TestClient, MountedApp]) -> None:
    client, _ = reviewed
    (review,) = client.get("reviews").json()["reviews"]

    answer = client.post(f"reviews/{review['id']}", json="reject", headers=OTHER)

    assert client.get("reviews", headers=OTHER).json() == {"reviews": []}
    assert answer.status_code == 404
    assert len(client.get("reviews").json()["reviews"]) == 1


@pytest.mark.parametrize("answer", ["perhaps", {"items": {"nothing": "accept"}}, {"items": {}}, {"itms": {}}, 7])
def test_an_answer_that_is_none_leaves_it_waiting(reviewed: tuple[TestClient, MountedApp], answer: object) -> None:
    client, _ = reviewed
    (review,) = client.get("reviews").json()["reviews"]

    refused = client.post(f"reviews/{review['id']}", json=answer)

    assert refused.status_code == 422
    assert client.get("reviews").json()["reviews"] == [review]


def test_a_proposal_goes_with_its_memory(reviewed: tuple[TestClient, MountedApp], storage: MemoryStorage) -> None:
    """It quotes what its user wants forgotten."""
    client, app = reviewed

    client.delete("document", headers={"If-Match": "*"})
    app.desk.invoker.flush()

    assert client.get("reviews").json() == {"reviews": []}
    assert storage.load(ME).is_empty
