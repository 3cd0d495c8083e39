"""The history over HTTP: list revisions, undo one, show an earlier document, explain a fact."""

from __future__ import annotations

import pytest
from api_tokens import BOB, ApiCall

from memgraph import Fact, MemoryDocument, MemoryStorage, Policy, Scope
from memgraph.api.preconditions import etag_of
from memgraph.models import Episode

ME = Scope("ada")
TEA = Fact(id="tea", content="Likes tea.")
DOG = Fact(id="dog/1", content="Has a dog.")


@pytest.fixture
def saved(storage: MemoryStorage) -> MemoryDocument:
    """Two revisions of ada's memory."""
    return storage.save(ME, storage.save(ME, MemoryDocument(facts=(TEA,))).with_facts((TEA, DOG)))


@pytest.mark.usefixtures("saved")
def test_revisions_are_listed_in_pages_the_newest_first(call: ApiCall) -> None:
    first = call("GET", "history", user_id="ada", limit="1").json()
    second = call("GET", "history", user_id="ada", limit="2", before=str(first["next_before"])).json()

    assert ([entry["revision"] for entry in first["revisions"]], first["next_before"]) == ([2], 2)
    assert ([entry["revision"] for entry in second["revisions"]], second["next_before"]) == ([1], None)
    assert second["revisions"][0]["changes"]["facts"][0]["after"]["content"] == "Likes tea."


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "history"),
        ("GET", "history/1/document"),
        ("GET", "history/1/diff/2"),
        ("GET", "history/facts/tea"),
        ("POST", "history/1/undo"),
    ],
)
def test_the_history_of_others_is_forbidden(call: ApiCall, method: str, path: str) -> None:
    assert call(method, path, user_id="ada", token=BOB).status_code == 403


@pytest.mark.usefixtures("saved")
def test_an_earlier_document_is_shown(call: ApiCall) -> None:
    document = call("GET", "history/1/document", user_id="ada").json()

    assert (document["revision"], [fact["id"] for fact in document["facts"]]) == (1, ["tea"])


def test_a_revision_is_undone(call: ApiCall, storage: MemoryStorage, saved: MemoryDocument) -> None:
    response = call("POST", "history/1/undo", user_id="ada", if_match=etag_of(saved))

    assert response.json() == {"revision": 3, "outcome": "undone", "conflicts": []}
    assert response.headers["ETag"] == etag_of(storage.load(ME))
    assert storage.load(ME).facts == (DOG,)


@pytest.mark.parametrize(("if_match", "status"), [(None, 428), ('"1-0"', 412)])
def test_an_undo_needs_the_state_that_was_read(
    call: ApiCall, storage: MemoryStorage, saved: MemoryDocument, if_match: str | None, status: int
) -> None:
    options = {"if_match": if_match} if if_match else {}

    assert call("POST", "history/1/undo", user_id="ada", **options).status_code == status
    assert storage.load(ME) == saved


def test_conflicts_are_reported_and_nothing_is_changed(
    call: ApiCall, storage: MemoryStorage, saved: MemoryDocument
) -> None:
    storage.save(ME, saved.with_facts((TEA.model_copy(update={"content": "Likes green tea."}), DOG)))

    answer = call("POST", "history/1/undo", user_id="ada", if_match="*").json()

    assert (answer["outcome"], answer["revision"]) == ("conflicts", 3)
    assert answer["conflicts"] == [{"kind": "fact", "key": "tea", "reason": "it was changed since"}]


@pytest.mark.usefixtures("saved")
def test_a_fact_is_explained(call: ApiCall) -> None:
    """Its id may contain a slash."""
    answer = call("GET", "history/facts/dog/1", user_id="ada").json()

    assert (answer["fact"]["content"], answer["state"]) == ("Has a dog.", "current")
    assert [entry["revision"] for entry in answer["revisions"]] == [2]


def test_a_revert_of_a_memory_that_changed_since_is_refused(call: ApiCall, saved: MemoryDocument) -> None:
    """The client has read another revision than the one it would change."""
    outdated = etag_of(saved.model_copy(update={"revision": saved.revision - 1}))

    answer = call("POST", "history/revert", user_id="ada", thread_id="unknown", if_match=outdated)

    assert answer.status_code == 412


def test_an_import_that_replaced_a_memory_is_undone(
    call: ApiCall, storage: MemoryStorage, saved: MemoryDocument
) -> None:
    document = {"facts": [{"content": "Plays the cello."}]}
    call("POST", "import", user_id="ada", mode="replace", json=document, if_match=etag_of(saved))
    replaced = storage.load(ME)
    entry = call("GET", "history", user_id="ada").json()["revisions"][0]

    call("POST", f"history/{entry['revision']}/undo", user_id="ada", if_match=etag_of(replaced))

    assert ([fact.content for fact in replaced.facts], entry["by"]) == (["Plays the cello."], "import")
    assert storage.load(ME).facts == saved.facts


def test_the_calls_of_a_rebuild_are_known_before_it_starts(call: ApiCall, storage: MemoryStorage) -> None:
    """They are as many as the words need, more than `max_calls` allows for a message."""
    said = Episode(id="e1", thread_id="t1", message_id="m1", text="I live in Lisbon. " * 6_000)
    storage.append_episodes(ME, [said], Policy())

    answer = call("GET", "rebuild", user_id="ada").json()

    assert answer == {"calls": 11}
    assert storage.load(ME) == MemoryDocument()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_memory_is_rebuilt_from_what_was_said(call: ApiCall, storage: MemoryStorage, *, dry_run: bool) -> None:
    """A dry run shows the difference only."""
    said = Episode(id="e1", thread_id="t1", message_id="m1", at="2026-05-01T10:00:00Z", text="I live in Lisbon.")
    storage.append_episodes(ME, [said], Policy())

    answer = call("POST", "rebuild", user_id="ada", dry_run=str(dry_run).lower()).json()

    assert (answer["replaced"], answer["episodes"]) == (not dry_run, 1)
    assert [change["after"]["content"] for change in answer["changes"]["facts"]] == ["Lives in Lisbon."]
    assert [fact.content for fact in storage.load(ME).facts] == ([] if dry_run else ["Lives in Lisbon."])
