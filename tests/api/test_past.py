"""The memory of a date, and past facts, over HTTP."""

from __future__ import annotations

import pytest
from api_tokens import ApiCall

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope
from memgraph.models import AsSaid, Evidence, PastFact

ME = Scope("ada")
LISBON = PastFact(
    id="f1",
    content="Lives in Lisbon.",
    created_at="2025-01-10T00:00:00Z",
    ended_at="2026-05-10T00:00:00Z",
    ended_by="f2",
    reason="superseded",
)
PORTO = Fact(id="f2", content="Lives in Porto.", created_at="2026-05-10T00:00:00Z")


@pytest.fixture(autouse=True)
def moved(storage: MemoryStorage) -> None:
    """Ada moved in May."""
    storage.save(ME, MemoryDocument(facts=(PORTO,), past=(LISBON,)))


def test_a_document_is_read_as_it_held_on_a_date(call: ApiCall) -> None:
    now = call("GET", "document", user_id="ada").json()
    then = call("GET", "document", user_id="ada", as_of="2026-03").json()

    assert ([fact["id"] for fact in now["facts"]], [fact["endedBy"] for fact in now["past"]]) == (["f2"], ["f2"])
    assert ([fact["id"] for fact in then["facts"]], then.get("past", [])) == (["f1"], [])


def test_recall_answers_from_the_memory_of_a_date(call: ApiCall) -> None:
    question = {"messages": ["Where do I live?"]}

    text = call("POST", "recall", json=question, user_id="ada", as_of="2026-03").json()["text"]

    assert ("Lisbon" in text, "Porto" in text) == (True, False)


def test_a_question_about_the_past_has_what_held_in_the_result(call: ApiCall) -> None:
    result = call("POST", "recall", json={"messages": ["Where did I live before?"]}, user_id="ada").json()

    assert [(found["fact"]["id"], found["fact"]["reason"]) for found in result["past"]] == [("f1", "superseded")]
    assert "- until 2026-05: Lives in Lisbon." in result["text"]


def test_a_past_fact_is_deleted_for_good(call: ApiCall, storage: MemoryStorage) -> None:
    response = call("DELETE", "facts/f1", user_id="ada", if_match="*")

    assert (response.status_code, response.json()["fact"]["id"]) == (200, "f1")
    assert storage.load(ME).past == ()


def test_claims_that_are_kept_as_said_are_listed_for_those_who_ask_for_all(
    call: ApiCall, storage: MemoryStorage
) -> None:
    """And are read and made facts by their id."""
    claim = AsSaid(id="c1", content="Is a US resident.", evidence=(Evidence(quote="Got my card!"),), reason="in doubt")
    storage.save(ME, storage.load(ME).model_copy(update={"as_said": (claim,)}))

    listed, everything = (call("GET", "facts", user_id="ada", **more).json()["facts"] for more in ({}, {"all": "true"}))

    assert [fact["id"] for fact in listed] == ["f2"]
    assert [(fact["id"], fact.get("reason")) for fact in everything] == [("f2", None), ("c1", "in doubt")]
    assert call("GET", "facts/c1", user_id="ada").json()["fact"]["reason"] == "in doubt"
    edited = call("PATCH", "facts/c1", user_id="ada", json={"content": "Has a card."}, if_match="*")
    assert edited.json()["fact"]["source"] == "manual"
    assert storage.load(ME).as_said == ()
