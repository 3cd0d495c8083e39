"""GET /memory/episodes, and episodes in exports, imports, backups and deletions."""

from __future__ import annotations

from typing import Any

import pytest
from api_tokens import ADA, BOB, ApiCall

from memgraph import MemoryStorage, Scope
from memgraph.models import Episode, Evidence, Fact, MemoryDocument
from memgraph.policy import Policy

ME = Scope("ada")


@pytest.fixture(autouse=True)
def said(storage: MemoryStorage) -> None:
    """Five episodes of ada, one a day."""
    storage.append_episodes(
        ME,
        [
            Episode(id=f"e{day}", thread_id=f"t{day % 2}", at=f"2026-05-0{day}T09:00:00Z", text=f"Day {day}.")
            for day in range(1, 6)
        ],
        Policy(),
    )


def ids(page: Any) -> list[str]:
    return [episode["id"] for episode in page["episodes"]]


def test_episodes_are_listed_in_pages(call: ApiCall) -> None:
    first = call("GET", "episodes", user_id="ada", limit=2, thread_id="t1").json()
    rest = call("GET", "episodes", user_id="ada", limit=2, thread_id="t1", offset=first["next_offset"]).json()

    assert (ids(first), ids(rest)) == (["e1", "e3"], ["e5"])
    assert (first["total"], rest["next_offset"]) == (3, None)
    assert first["episodes"][0] == {
        "id": "e1",
        "threadId": "t1",
        "messageId": "",
        "at": "2026-05-01T09:00:00Z",
        "text": "Day 1.",
    }


@pytest.mark.parametrize(("query", "left"), [({}, 4), ({"keep_words": True}, 5)])
def test_a_deleted_fact_takes_its_words_with_it(
    call: ApiCall, storage: MemoryStorage, query: dict[str, Any], left: int
) -> None:
    """Unless they are to stay."""
    fact = Fact(id="f1", content="Likes day 1.", evidence=(Evidence(episode="e1", quote="Day 1"),))
    storage.save(ME, MemoryDocument(facts=(fact,)))

    assert call("DELETE", "facts/f1", if_match="*", user_id="ada", **query).status_code == 200
    assert call("GET", "episodes", user_id="ada").json()["total"] == left


def test_episodes_are_selected_by_date(call: ApiCall) -> None:
    assert ids(call("GET", "episodes", user_id="ada", since="2026-05-04").json()) == ["e4", "e5"]
    assert ids(call("GET", "episodes", user_id="ada", since="2026").json()) == ["e1", "e2", "e3", "e4", "e5"]


def test_unchanged_episodes_are_not_sent_again(call: ApiCall, storage: MemoryStorage) -> None:
    etag = call("GET", "episodes", user_id="ada").headers["ETag"]
    unchanged = call("GET", "episodes", user_id="ada", if_none_match=etag)
    storage.append_episodes(ME, [Episode(id="e6", text="Day 6.")], Policy())

    changed = call("GET", "episodes", user_id="ada", if_none_match=etag)

    assert (unchanged.status_code, unchanged.content, changed.status_code) == (304, b"", 200)
    assert changed.headers["ETag"] != etag


def test_a_users_token_reads_its_own_episodes_only(call: ApiCall) -> None:
    assert call("GET", "episodes", token=ADA).json()["total"] == 5
    assert call("GET", "episodes", token=BOB).json()["total"] == 0
    assert call("GET", "episodes", token=BOB, user_id="ada").status_code == 403


def test_an_export_brings_the_episodes_to_another_memory_once(call: ApiCall, storage: MemoryStorage) -> None:
    exported = call("GET", "export", user_id="ada").content

    counts = [call("POST", "import", content=exported, user_id="bob").json()["counts"]["episodes"] for _ in range(2)]

    assert counts == [5, 0]
    assert storage.episodes(Scope("bob")) == storage.episodes(ME)
    assert "episodes" not in call("GET", "document", user_id="bob").json()


def test_the_etag_of_an_export_is_that_of_the_memory(call: ApiCall) -> None:
    """A client may send it with If-Match."""
    assert (
        call("GET", "export", user_id="ada").headers["ETag"] == call("GET", "document", user_id="ada").headers["ETag"]
    )


def test_a_backup_holds_the_episodes(call: ApiCall, storage: MemoryStorage, tea: str) -> None:
    name = call("POST", "import", json={"facts": ["Knows Go."]}, if_match="*", mode="replace", user_id="ada").json()[
        "backup"
    ]
    backup = call("GET", f"backups/{name}", user_id="ada").content
    storage.delete(ME)

    call("POST", "import", content=backup, if_match="*", mode="replace", trusted="true", user_id="ada")

    assert len(storage.episodes(ME)) == 5


def test_a_refused_import_adds_no_episode(call: ApiCall, storage: MemoryStorage) -> None:
    document = {"facts": ["Knows Go."], "episodes": [{"id": "e9", "text": "Hello."}]}

    response = call("POST", "import", json=document, if_match='"0-0000"', mode="replace", user_id="ada")

    assert response.status_code == 412
    assert len(storage.episodes(ME)) == 5


def test_deleting_a_memory_deletes_its_episodes(call: ApiCall, storage: MemoryStorage) -> None:
    call("DELETE", "document", if_match="*", user_id="ada")

    assert list(storage.episodes(ME)) == []
