"""Users over HTTP: the administrator lists them, and a user is erased with a receipt."""

from __future__ import annotations

from api_tokens import ADA, ApiCall

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope

TEA = Fact(content="Likes jasmine tea with honey.")


def test_the_administrator_lists_the_users_in_pages(call: ApiCall, storage: MemoryStorage) -> None:
    for scope in (Scope("ada"), Scope("bob"), Scope("bob", "coder")):
        storage.save(scope, MemoryDocument(facts=(TEA,)))

    page = call("GET", "users", limit="1", offset="1").json()

    assert page["total"] == 2
    assert [user["user_id"] for user in page["users"]] == ["bob"]
    assert [(each["agent_name"], each["facts"], each["revision"]) for each in page["users"][0]["memories"]] == [
        (None, 1, 1),
        ("coder", 1, 1),
    ]


def test_a_user_may_not_list_the_users(call: ApiCall) -> None:
    assert call("GET", "users", token=ADA).status_code == 403


def test_users_erase_themselves_and_get_a_receipt(call: ApiCall, storage: MemoryStorage) -> None:
    storage.save(Scope("ada"), MemoryDocument(facts=(TEA,)))
    storage.save(Scope("bob"), MemoryDocument(facts=(TEA,)))

    receipt = call("POST", "erase", token=ADA).json()

    assert receipt["places"][0]["removed"] == {"memories": 1, "facts": 1, "revisions": 1}
    assert receipt["places"][0]["remaining"] == 0
    assert (storage.load(Scope("ada")).facts, storage.load(Scope("bob")).facts) == ((), (TEA,))


def test_erasing_twice_finds_nothing(call: ApiCall, storage: MemoryStorage) -> None:
    storage.save(Scope("ada"), MemoryDocument(facts=(TEA,)))
    call("POST", "erase", user_id="ada")

    again = call("POST", "erase", user_id="ada").json()

    assert [place["removed"] for place in again["places"]] == [{}] * len(again["places"])
