"""ETags and conditional requests: two clients never overwrite each other's changes."""

from __future__ import annotations

import pytest
from api_tokens import ApiCall
from hypothesis import given
from hypothesis import strategies as st

from memgraph import MemoryDocument, MemoryStorage, Scope
from memgraph.api.preconditions import etag_of, guard_of, matches_if_none_match
from memgraph.api.problems import ProblemError
from memgraph.editing import add_fact, update_memory

ADA = Scope("ada")
OVERWRITING = [
    ("PATCH", "facts/{tea}", {"content": "Likes coffee."}),
    ("DELETE", "facts/{tea}", None),
    ("PUT", "summaries/workContext", {"summary": "Pilot."}),
    ("POST", "import?mode=replace", {"facts": ["Likes coffee."]}),
    ("DELETE", "document", None),
]


@pytest.mark.parametrize("request_", OVERWRITING)
def test_the_second_of_two_clients_is_refused(
    call: ApiCall, storage: MemoryStorage, tea: str, request_: tuple[str, str, object]
) -> None:
    """Both read the same state; after the first saved, the second gets the new ETag and changes nothing."""
    method, path, body = request_
    etag = call("GET", "document", user_id="ada").headers["ETag"]
    call("POST", "facts", json={"content": "Has a cat."}, user_id="ada")
    before = storage.load(ADA)

    response = call(method, path.format(tea=tea), if_match=etag, json=body, user_id="ada")

    assert (response.status_code, response.json()["error"]) == (412, "PreconditionFailed")
    assert storage.load(ADA) == before
    assert response.headers["ETag"] == etag_of(before)


@pytest.mark.parametrize(("method", "path", "body"), OVERWRITING)
def test_a_request_that_overwrites_needs_if_match(
    call: ApiCall, tea: str, method: str, path: str, body: object
) -> None:
    response = call(method, path.format(tea=tea), json=body, user_id="ada")

    assert (response.status_code, response.json()["error"]) == (428, "PreconditionRequired")


@pytest.mark.parametrize(("method", "path", "body"), OVERWRITING)
def test_a_request_with_the_current_etag_is_executed(
    call: ApiCall, tea: str, method: str, path: str, body: object
) -> None:
    """Its response has the new ETag."""
    etag = call("GET", "document", user_id="ada").headers["ETag"]

    response = call(method, path.format(tea=tea), if_match=f'"another", {etag}', json=body, user_id="ada")

    assert response.status_code == 200
    assert response.headers["ETag"] == call("GET", "document", user_id="ada").headers["ETag"] != etag


def test_a_memory_that_learned_something_has_another_etag(call: ApiCall, storage: MemoryStorage, tea: str) -> None:
    """Learned facts must not be overwritten unseen either."""
    etag = call("GET", f"facts/{tea}", user_id="ada").headers["ETag"]
    update_memory(storage, ADA, lambda memory: add_fact(memory, "Has a cat."))

    response = call("DELETE", f"facts/{tea}", if_match=etag, user_id="ada")

    assert response.status_code == 412


def test_if_match_is_checked_again_after_a_conflict(
    call: ApiCall, storage: MemoryStorage, tea: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another client saves between the check and the save."""
    etag = call("GET", "document", user_id="ada").headers["ETag"]
    load = storage.load

    def load_and_save_elsewhere(scope: Scope) -> MemoryDocument:
        loaded = load(scope)
        monkeypatch.setattr(storage, "load", load)
        update_memory(storage, scope, lambda memory: add_fact(memory, "Has a cat."))
        return loaded

    monkeypatch.setattr(storage, "load", load_and_save_elsewhere)
    response = call("DELETE", "document", if_match=etag, user_id="ada")

    assert response.status_code == 412
    assert [fact.content for fact in storage.load(ADA).facts] == ["Likes tea.", "Has a cat."]


def test_adding_a_fact_needs_no_if_match(call: ApiCall, tea: str) -> None:
    response = call("POST", "facts", json={"content": "Has a cat."}, user_id="ada")

    assert response.status_code == 201
    assert response.headers["Location"].startswith("/memory/facts/fact_")
    assert response.headers["ETag"] == call("GET", "facts", user_id="ada").headers["ETag"]


def test_if_match_is_checked_when_adding_a_fact(call: ApiCall, tea: str) -> None:
    response = call("POST", "facts", json={"content": "Has a cat."}, if_match='"0-0"', user_id="ada")

    assert response.status_code == 412


def test_an_unchanged_memory_is_not_sent_again(call: ApiCall, tea: str) -> None:
    etag = call("GET", "document", user_id="ada").headers["ETag"]

    responses = [call("GET", path, user_id="ada", if_none_match=etag) for path in ("document", "facts", f"facts/{tea}")]

    assert [(response.status_code, response.text, response.headers["ETag"]) for response in responses] == [
        (304, "", etag)
    ] * 3


def test_the_etag_of_an_agent_that_reads_the_shared_memory_changes_with_it(call: ApiCall, tea: str) -> None:
    """The agent has no document of its own, so its revision stays 0."""
    before = call("GET", "document", user_id="ada", agent_name="x")
    call("POST", "facts", json={"content": "Has a cat."}, user_id="ada")

    after = call("GET", "document", user_id="ada", agent_name="x")

    assert before.json()["revision"] == after.json()["revision"] == 0
    assert before.headers["ETag"] != after.headers["ETag"]


@given(st.text(st.characters(codec="latin-1")))
def test_any_if_match_header_is_parsed(header: str) -> None:
    """A header that contains the ETag is accepted, any other one refused."""
    memory = MemoryDocument(revision=3)
    expected = etag_of(memory) in header.split(", ") or header.strip() == "*"
    try:
        guard_of(header)(lambda memory: memory)(memory)
        accepted = True
    except ProblemError as error:
        accepted = error.http_status != 412

    assert accepted == expected


@given(st.lists(st.sampled_from(['"1-a"', 'W/"2-b"', '""', "x", ","])), st.booleans())
def test_a_weak_etag_matches_for_reading_only(others: list[str], weak: bool) -> None:  # noqa: FBT001
    memory = MemoryDocument(revision=3)
    header = ", ".join([*others, f"W/{etag_of(memory)}" if weak else etag_of(memory)])

    assert matches_if_none_match(memory, header)
    if weak:
        with pytest.raises(ProblemError):
            guard_of(header)(lambda memory: memory)(memory)
