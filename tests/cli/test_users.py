"""memgraph users lists who has a memory, and a misspelt user is an error that names them."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph import MemoryDocument, Policy, Scope
from memgraph.cli.command import MAX_NAMED, UnknownUserError, load_existing
from memgraph.config import load_settings, make_storage
from memgraph.models import Episode
from memgraph.storage.memory import InMemoryStorage


@pytest.fixture
def with_users(memgraph: Any) -> Any:
    """Memories of ada and bob, and one that an agent has of bob."""
    memgraph("fact", "add", "Likes tea.", "-u", "bob")
    memgraph("fact", "add", "Uses Vim.", "-u", "bob", "--agent", "coder")
    memgraph("fact", "add", "Likes tea.", "-u", "ada")
    return memgraph


def first_words(out: str) -> list[str]:
    """Each line up to the size of the memory."""
    return [line.rsplit(": ", 1)[0] for line in out.splitlines()]


def test_users_are_listed_with_their_agents(with_users: Any) -> None:
    listed = with_users("users", "--json").json["users"]

    assert first_words(with_users("users").out) == ["ada", "bob (agents: coder)"]
    assert [(user["user_id"], user["agents"]) for user in listed] == [("ada", []), ("bob", ["coder"])]


def test_users_are_listed_with_the_size_of_their_memories_and_their_last_change(with_users: Any) -> None:
    changed = make_storage(load_settings()).load(Scope("ada")).last_updated

    assert with_users("users").out.splitlines()[0] == f"ada: 1 fact, 0 episodes, last changed {changed}"


def test_agents_lists_each_memory_of_a_user(with_users: Any) -> None:
    found = with_users("agents", "-u", "bob", "--json").json["memories"]

    assert first_words(with_users("agents", "-u", "bob").out) == ["shared by all agents", "coder"]
    assert [(memory["agent_name"], memory["facts"], memory["revision"]) for memory in found] == [
        (None, 1, 1),
        ("coder", 2, 1),
    ]


def test_an_empty_storage_has_no_users(memgraph: Any) -> None:
    result = memgraph("users")

    assert (result.code, result.out.split(" in ")[0]) == (0, "No memories")


@pytest.mark.parametrize(
    "command",
    [
        *("show", "export", "audit", "recall Tea?", "agents", "history", "diff 1 2", "undo 1"),
        *("why fact_1", "fact edit fact_1 --content Tea.", "fact remove fact_1", "review", "review --ask-again goal"),
    ],
)
def test_an_unknown_user_is_an_error_that_names_the_known_ones(with_users: Any, command: str) -> None:
    """Nothing looks like an empty memory because of a typing mistake."""
    result = with_users(*command.split(), "--user", "typo")

    assert (result.code, result.out) == (1, "")
    assert result.err == "Error: No memory for user 'typo'. Known users: ada, bob.\n"


def test_a_user_who_only_said_something_is_listed_and_named(with_users: Any) -> None:
    """Facts follow later, or never."""
    make_storage(load_settings()).append_episodes(Scope("eve"), [Episode(id="e", text="Hello.")], Policy())

    assert first_words(with_users("users").out) == ["ada", "bob (agents: coder)", "eve"]
    assert with_users("show", "-u", "typo").err.endswith(" Known users: ada, bob, eve.\n")
    assert with_users("recall", "Hello?", "-u", "eve").code == 0


def test_a_deleted_memory_is_unknown(with_users: Any) -> None:
    with_users("forget", "-u", "ada", "--yes")

    assert with_users("show", "-u", "ada").err == "Error: No memory for user 'ada'. Known users: bob.\n"


def test_a_memory_whose_last_fact_was_removed_is_known(memgraph: Any) -> None:
    """Only what was never there is a typing mistake."""
    fact = memgraph("fact", "add", "Likes tea.", "-u", "ada", "--json").json["fact"]["id"]
    memgraph("fact", "remove", fact, "-u", "ada")

    result = memgraph("show", "-u", "ada")

    assert result.code == 0
    assert result.out.startswith("Nothing is known about ada in ")


def test_an_agent_without_a_memory_of_its_own_shows_the_shared_one(with_users: Any) -> None:
    assert "Likes tea." in with_users("show", "-u", "ada", "--agent", "planner").out


def test_an_error_names_a_few_of_many_users() -> None:
    storage = InMemoryStorage()
    for number in range(MAX_NAMED + 5):
        storage.save(Scope(f"user-{number:02}"), MemoryDocument())

    with pytest.raises(UnknownUserError, match=r"user-08, user-09 and 5 more \(see `memgraph users`\)\.$"):
        load_existing(storage, Scope("typo"))
