"""The upkeep over HTTP: what it changes, what a dry run shows, and when it does not run."""

from __future__ import annotations

from typing import Any

import pytest
from api_tokens import ADMIN, ApiCall
from starlette.testclient import TestClient

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope, Settings
from memgraph.api import create_app

ME = Scope("ada")
TWICE = MemoryDocument(
    facts=(Fact(id="a", content="Has 2 cats."), Fact(id="b", content="has 2  cats."), Fact(id="c", content="Sails."))
)


def removed(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["fact"]["id"], item["why"]) for item in report["removed"]]


def upkeep_with(settings: Settings, storage: MemoryStorage, **changed: object) -> tuple[int, str]:
    """Return the status and the error of an upkeep with other settings."""
    app = create_app(settings.model_copy(update=changed), storage=storage)
    with TestClient(app, raise_server_exceptions=False) as client:
        headers = {"Authorization": f"Bearer {ADMIN}"}
        response = client.post("/memory/upkeep", params={"user_id": "ada"}, headers=headers)
    return response.status_code, response.json().get("error", "")


def test_what_is_known_twice_is_merged(call: ApiCall, storage: MemoryStorage) -> None:
    storage.save(ME, TWICE)

    answer = call("POST", "upkeep", user_id="ada").json()

    assert (answer["outcome"], answer["revision"], removed(answer["report"])) == (
        "learned",
        2,
        [("b", "merged into a")],
    )
    assert [fact.id for fact in storage.load(ME).facts] == ["a", "c"]


def test_a_dry_run_returns_the_changes_and_saves_nothing(call: ApiCall, storage: MemoryStorage) -> None:
    before = storage.save(ME, TWICE)

    answer = call("POST", "upkeep", user_id="ada", dry_run="true").json()

    assert (answer["revision"], removed(answer["report"])) == (None, [("b", "merged into a")])
    assert storage.load(ME) == before


def test_without_a_memory_there_is_nothing_to_do(call: ApiCall, storage: MemoryStorage) -> None:
    answer = call("POST", "upkeep", user_id="ada").json()

    assert (answer["outcome"], answer["revision"], answer["report"]["usage"]["calls"]) == ("nothing_new", None, 0)
    assert list(storage.scopes()) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({"enabled": False}, (409, "MemoryOff")), ({"model_name": "nobody:nothing"}, (500, "ModelSetupError"))],
)
def test_an_upkeep_that_cannot_run_is_refused(
    settings: Settings, storage: MemoryStorage, changed: dict[str, object], expected: tuple[int, str]
) -> None:
    """Memory is off, or the model is not usable."""
    before = storage.save(ME, TWICE)

    assert upkeep_with(settings, storage, **changed) == expected
    assert storage.load(ME) == before


def test_a_failing_model_is_a_bad_gateway(
    call: ApiCall, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory is intact, and the request can be repeated."""

    def fail(*_: object) -> str:
        raise OSError("no network")

    monkeypatch.setattr("memgraph.llm.offline.model.answer_upkeep", fail)
    before = storage.save(ME, TWICE)

    response = call("POST", "upkeep", user_id="ada")

    assert (response.status_code, response.json()["error"]) == (502, "ModelError")
    assert storage.load(ME) == before
