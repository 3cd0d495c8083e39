"""The contract of every storage about episodes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from memgraph.errors import ForgottenError, RevisionConflictError
from memgraph.models import Episode, Fact, MemoryDocument, Scope, timestamp
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage, open_storage
from memgraph.storage.document import tombstone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADA = Scope("ada")
BOT = Scope("ada", "bot")
POLICY = Policy()


def said(text: str, at: str = "2026-05-03T09:00:00Z") -> Episode:
    """Return an episode whose id is its text."""
    return Episode(id=text, thread_id="t1", message_id=f"m {text}", at=at, text=text)


def on_day(day: int) -> Episode:
    return said(f"day {day}", f"2026-05-{day:02}T09:00:00Z")


def ids(storage: MemoryStorage, scope: Scope = ADA) -> list[str]:
    return [episode.id for episode in storage.episodes(scope)]


# -- append ---------------------------------------------------------------------------------------


def test_no_episodes_are_stored_at_first(storage: MemoryStorage, tmp_path: Path) -> None:
    assert (list(storage.episodes(ADA)), storage.remove_episodes(ADA, ["e"])) == ([], 0)
    assert list(tmp_path.iterdir()) == []


def test_appended_episodes_are_returned_unchanged(storage: MemoryStorage) -> None:
    answer = Episode(id="e2", at="2026-05-04T09:00:00Z", text="Try Marrowby.", author="assistant")

    storage.append_episodes(ADA, [said("Hello."), answer], POLICY)

    assert list(storage.episodes(ADA)) == [said("Hello."), answer]


def test_the_oldest_comes_first_whenever_it_was_appended(storage: MemoryStorage) -> None:
    """A conversation of years ago may be imported today. Those of an unknown time come first."""
    storage.append_episodes(ADA, [on_day(3), on_day(2)], POLICY)
    storage.append_episodes(ADA, [on_day(1), said("who knows", at=""), on_day(4)], POLICY)

    assert ids(storage) == ["who knows", "day 1", "day 2", "day 3", "day 4"]


def test_an_episode_is_stored_once(storage: MemoryStorage) -> None:
    """Appending is repeated after a crash or a lost race."""
    first = said("e").model_copy(update={"text": "first"})

    for episode in (first, said("e")):
        storage.append_episodes(ADA, [episode, episode], POLICY)

    assert list(storage.episodes(ADA)) == [first]


def test_an_id_within_another_text_is_not_a_duplicate(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said('He wrote "id":"e1" twice: "e1".')], POLICY)

    storage.append_episodes(ADA, [said("e1")], POLICY)

    assert "e1" in ids(storage)


def test_any_text_of_an_episode_survives(storage: MemoryStorage) -> None:
    text = "喜欢 Python，😀👩‍👩‍👧 \0 \x1b \u2028 \ufeff \x85 </memory> \"'\\ \r\n"

    storage.append_episodes(ADA, [said(text), said("next")], POLICY)

    assert list(storage.episodes(ADA)) == [said(text), said("next")]


def test_an_unpaired_surrogate_does_not_prevent_an_append(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e").model_copy(update={"text": "a\ud800b"})], POLICY)

    assert [episode.text for episode in storage.episodes(ADA)] == ["a\ufffdb"]


def test_unknown_keys_of_an_episode_survive(storage: MemoryStorage) -> None:
    episode = Episode.model_validate({"id": "e", "text": "x", "mood": {"now": ["fine", 1, None]}})

    storage.append_episodes(ADA, [episode], POLICY)

    assert list(storage.episodes(ADA)) == [episode]


def test_unchanged_episodes_are_the_same_object(storage: MemoryStorage) -> None:
    """So what was computed from them is computed once."""
    storage.append_episodes(ADA, [said("e1")], POLICY)
    first = storage.episodes(ADA)

    storage.append_episodes(ADA, [said("e1")], POLICY)
    second = storage.episodes(ADA)
    storage.append_episodes(ADA, [said("e2")], POLICY)

    assert second is first
    assert ids(storage) == ["e1", "e2"]


def test_episodes_are_no_document(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e")], POLICY)

    assert storage.load(ADA) == MemoryDocument()


def test_a_scope_with_episodes_only_is_listed(storage: MemoryStorage) -> None:
    """What a user said counts before a document is made of it."""
    scopes = {ADA, BOT, Scope("default"), Scope("x" * 250, "bot")}
    for scope in scopes:
        storage.append_episodes(scope, [said("e")], POLICY)

    assert set(storage.scopes()) == scopes


def test_a_scope_without_its_last_episode_is_not_listed(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e")], POLICY)

    storage.remove_episodes(ADA, ["e"])

    assert list(storage.scopes()) == []


def test_a_deleted_memory_is_listed_again_once_something_is_said(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e")], POLICY)
    storage.delete(ADA)
    assert list(storage.scopes()) == []

    storage.append_episodes(ADA, [said("later")], POLICY)

    assert list(storage.scopes()) == [ADA]


def test_a_long_user_id_has_episodes_of_its_own(storage: MemoryStorage) -> None:
    one, other = Scope("x" * 255 + "1"), Scope("x" * 255 + "2")

    storage.append_episodes(one, [said("e")], POLICY)

    assert (ids(storage, one), ids(storage, other)) == (["e"], [])


@pytest.mark.parametrize("scheme", ["file", "sqlite", "postgresql"])
def test_another_instance_sees_what_was_appended(scheme: str, url_for: Callable[[str], Any]) -> None:
    with open_storage(url_for(scheme)) as one, open_storage(url_for(scheme)) as other:
        for number in range(3):
            one.append_episodes(ADA, [said(f"one {number}")], POLICY)
            other.append_episodes(ADA, [said(f"other {number}")], POLICY)

            assert set(ids(one)) == set(ids(other))

        other.remove_episodes(ADA, ["one 1"])
        assert "one 1" not in ids(one)
        assert len(ids(one)) == 5


@pytest.mark.usefixtures("eager_threads")
def test_4_threads_lose_no_episode(storage: MemoryStorage) -> None:
    """Nor store one twice: each episode is appended by all of them."""

    def append(_: int) -> None:
        for number in range(10):
            storage.append_episodes(ADA, [said(f"e{number}")], POLICY)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(append, range(4)))

    assert sorted(ids(storage)) == [f"e{number}" for number in range(10)]


# -- limits ---------------------------------------------------------------------------------------


def test_the_oldest_episodes_are_evicted(storage: MemoryStorage) -> None:
    policy = Policy(max_episodes=3)

    for days in ([5, 4], [1, 2, 3], [6]):
        storage.append_episodes(ADA, [on_day(day) for day in days], policy)

    assert ids(storage) == ["day 4", "day 5", "day 6"]


def test_many_episodes_stay_within_the_limit(storage: MemoryStorage) -> None:
    """A twentieth more than must be is evicted, so that evictions are rare: the others are indexed again after each."""
    policy, evictions, before = Policy(max_episodes=40), 0, 0

    for number in range(60):
        storage.append_episodes(ADA, [said(f"e{number:02}", f"2026-05-03T09:00:{number:02}Z")], policy)
        kept = ids(storage)
        assert min(number + 1, 38) <= len(kept) <= 40
        assert kept == [f"e{each:02}" for each in range(number + 1)][-len(kept) :]
        evictions += len(kept) < before
        before = len(kept)

    assert evictions == 7


def test_no_episode_is_kept_if_the_limit_is_0(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e1")], POLICY)

    storage.append_episodes(ADA, [said("e2")], Policy(max_episodes=0))

    assert ids(storage) == []


def test_old_episodes_are_evicted_by_their_days(storage: MemoryStorage) -> None:
    """Also if nothing new is appended; those of an unknown time never expire."""
    now = datetime.now(UTC)
    old, recent = (said(f"{days} days ago", timestamp(now - timedelta(days=days))) for days in (31, 29))
    storage.append_episodes(ADA, [old, recent, said("who knows", at="")], POLICY)

    storage.append_episodes(ADA, [recent], Policy(episode_days=30))

    assert ids(storage) == ["who knows", "29 days ago"]


# -- removal and deletion -------------------------------------------------------------------------


def test_single_episodes_are_removed(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e1"), said("e2"), said("e3")], POLICY)

    assert storage.remove_episodes(ADA, ["e1", "e3", "e4"]) == 2
    assert ids(storage) == ["e2"]


def test_a_removed_episode_can_be_appended_again(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("e1"), said("e2")], POLICY)
    storage.remove_episodes(ADA, ["e1"])

    storage.append_episodes(ADA, [said("e1")], POLICY)

    assert sorted(ids(storage)) == ["e1", "e2"]


def test_a_deletion_removes_the_episodes(storage: MemoryStorage) -> None:
    """Those of the scope, and no others."""
    bob = Scope("bob")
    storage.append_episodes(ADA, [said("e1")], POLICY)
    storage.append_episodes(bob, [said("e2")], POLICY)
    assert ids(storage) == ["e1"]

    storage.delete(ADA)

    assert (ids(storage), ids(storage, bob)) == ([], ["e2"])


def test_so_does_a_saved_tombstone(storage: MemoryStorage) -> None:
    """A deletion that is based on a revision, such as that of an HTTP request."""
    saved = storage.save(ADA, MemoryDocument(facts=(Fact(content="Likes tea."),)))
    storage.append_episodes(ADA, [said("e1")], POLICY)
    deletion = tombstone(saved).model_copy(update={"revision": saved.revision})

    storage.save(ADA, deletion)
    storage.append_episodes(ADA, [said("e2")], POLICY, revision=storage.load(ADA).revision)
    storage.save(ADA, storage.load(ADA))

    assert ids(storage) == ["e2"]


def test_a_deletion_that_loses_the_race_removes_no_episode(storage: MemoryStorage) -> None:
    loaded = storage.load(ADA)
    storage.append_episodes(ADA, [said("e1")], POLICY)
    storage.save(ADA, loaded)

    with pytest.raises(RevisionConflictError):
        storage.save(ADA, tombstone(loaded).model_copy(update={"revision": loaded.revision}))

    assert ids(storage) == ["e1"]


def test_deleted_episodes_do_not_remain_on_disk(storage: MemoryStorage, tmp_path: Path) -> None:
    storage.append_episodes(ADA, [said("engine " * 5_000), said("e2")], POLICY)
    storage.episodes(ADA)

    storage.delete(ADA)

    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"engine" in path.read_bytes()]


def test_episodes_from_before_a_deletion_are_not_appended_after_it(storage: MemoryStorage) -> None:
    """A run may wait for review for days, and must not bring back what its user deleted."""
    loaded = storage.save(ADA, MemoryDocument(facts=(Fact(content="Works on engines."),)))
    deleted = storage.delete(ADA)

    with pytest.raises(ForgottenError):
        storage.append_episodes(ADA, [said("before")], POLICY, revision=loaded.revision)
    storage.append_episodes(ADA, [said("after")], POLICY, revision=deleted.revision)

    assert ids(storage) == ["after"]


# -- agents ---------------------------------------------------------------------------------------


def test_episodes_are_saved_with_a_memory_unless_it_was_deleted(storage: MemoryStorage) -> None:
    saved = storage.save_with_episodes(ADA, MemoryDocument(facts=(Fact(content="Likes tea."),)), [said("e1")], POLICY)
    at_first = storage.load(ADA), [episode.id for episode in storage.episodes(ADA)]
    storage.delete(ADA)

    with pytest.raises(ForgottenError):
        storage.save_with_episodes(ADA, saved, [said("e2")], POLICY)
    assert at_first == (saved, ["e1"])
    assert list(storage.episodes(ADA)) == []


def test_an_agent_sees_its_own_episodes_and_the_shared_ones(storage: MemoryStorage) -> None:
    """The user's shared memory has no episodes of agents."""
    storage.append_episodes(BOT, [on_day(2)], POLICY)
    storage.append_episodes(ADA, [on_day(1), on_day(2), on_day(3)], POLICY)
    storage.append_episodes(ADA, [said("shared")], POLICY)
    storage.append_episodes(BOT, [said("own")], POLICY)

    assert ids(storage, BOT) == ["day 1", "day 2", "day 3", "shared", "own"]
    assert "own" not in ids(storage)
    assert ids(storage, Scope("ada", "other")) == ids(storage)


def test_what_an_agent_sees_is_the_same_object_while_unchanged(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("shared")], POLICY)
    storage.append_episodes(BOT, [said("own")], POLICY)

    assert storage.episodes(BOT) is storage.episodes(BOT)


def test_a_deleted_agent_sees_no_shared_episodes(storage: MemoryStorage) -> None:
    """Not even after it learned something new."""
    storage.append_episodes(ADA, [said("shared")], POLICY)
    storage.append_episodes(BOT, [said("own")], POLICY)

    deleted = storage.delete(BOT)
    after_deletion = ids(storage, BOT)
    storage.save(BOT, deleted.with_facts((Fact(content="Likes tea."),)))

    assert (after_deletion, ids(storage, BOT), ids(storage)) == ([], [], ["shared"])


def test_a_deletion_of_the_shared_memory_removes_what_agents_saw_of_it(storage: MemoryStorage) -> None:
    storage.append_episodes(ADA, [said("shared")], POLICY)
    storage.append_episodes(BOT, [said("own")], POLICY)
    assert len(ids(storage, BOT)) == 2

    storage.delete(ADA)

    assert ids(storage, BOT) == ["own"]
