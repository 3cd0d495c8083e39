"""The caches of the package."""

from __future__ import annotations

import threading
import weakref

import pytest

from memgraph._cache import LRUCache, ResourceCache, word_cache
from memgraph.erasure import erase_user


def fail() -> str:
    raise AssertionError("a kept value must not be made again")


def measured(max_bytes: int, max_entries: int | None = None) -> LRUCache[str, str]:
    """A cache whose entries are as large as their values are long."""
    return LRUCache(max_entries, max_bytes=max_bytes, size_of=lambda _, value: len(value))


# -- values ---------------------------------------------------------------------------------------


def test_a_value_is_made_once() -> None:
    cache: LRUCache[str, str] = LRUCache(2)

    assert cache.get("a", lambda: "made") == "made"
    assert cache.get("a", fail) == "made"


def test_a_missing_value_is_none_without_make() -> None:
    cache: LRUCache[str, str] = LRUCache(2)

    assert cache.get("a") is None
    assert len(cache) == 0


def test_none_is_a_value_too() -> None:
    cache: LRUCache[str, str | None] = LRUCache(2)
    cache.put("a", None)

    assert cache.get("a", fail) is None


def test_the_least_recently_used_entry_is_evicted() -> None:
    """A read counts as a use, and so does a new value of the same key."""
    cache: LRUCache[str, str] = LRUCache(3)
    for key in ("a", "b", "c"):
        cache.put(key, key)
    cache.get("a")
    cache.put("b", "new")

    cache.put("d", "d")
    cache.put("e", "e")

    assert [cache.get(key) for key in "abcde"] == [None, "new", None, "d", "e"]
    assert len(cache) == 3


def test_without_bounds_everything_is_kept() -> None:
    cache: LRUCache[int, int] = LRUCache()

    for number in range(1_000):
        cache.put(number, number)

    assert len(cache) == 1_000
    assert cache._bytes == 0


def test_pop_removes_one_entry() -> None:
    cache = measured(10)
    cache.put("a", "aaa")
    cache.put("b", "bb")

    cache.pop("a")
    cache.pop("unknown")

    assert cache.get("a") is None
    assert (len(cache), cache._bytes) == (1, 2)


def test_clear_removes_everything() -> None:
    """Nothing of it stays in memory, and the room is free again."""

    class Value:
        pass

    cache: LRUCache[str, Value] = LRUCache(max_bytes=3, size_of=lambda _, __: 1)
    value = Value()
    is_alive = weakref.ref(value)
    cache.put("a", value)
    del value

    cache.clear()

    assert is_alive() is None
    assert (len(cache), cache._bytes) == (0, 0)


def test_a_failure_is_not_kept() -> None:
    cache: LRUCache[str, str] = LRUCache(2)
    with pytest.raises(AssertionError):
        cache.get("a", fail)

    assert cache.get("a", lambda: "made") == "made"


# -- bytes ----------------------------------------------------------------------------------------


def test_bytes_are_bounded() -> None:
    cache = measured(6)
    for key in ("a", "b", "c"):
        cache.put(key, "xx")
    at_the_bound = (len(cache), cache._bytes)

    cache.put("d", "x")

    assert at_the_bound == (3, 6)
    assert [cache.get(key) for key in "abcd"] == [None, "xx", "xx", "x"]
    assert cache._bytes == 5


def test_one_large_entry_may_evict_several() -> None:
    cache = measured(6)
    for key in ("a", "b", "c"):
        cache.put(key, "xx")

    cache.put("d", "xxxx")

    assert [cache.get(key) for key in "abcd"] == [None, None, "xx", "xxxx"]


def test_an_entry_larger_than_the_cache_evicts_no_other() -> None:
    """It is returned all the same."""
    cache = measured(6)
    cache.put("a", "xx")

    assert cache.get("b", lambda: "x" * 7) == "x" * 7
    assert cache.get("a") == "xx"
    assert cache.get("b") is None
    assert (len(cache), cache._bytes) == (1, 2)


def test_an_entry_as_large_as_the_cache_is_kept() -> None:
    cache = measured(6)

    cache.put("a", "x" * 6)

    assert cache.get("a") == "x" * 6


def test_a_new_value_replaces_the_size_of_the_old_one() -> None:
    cache = measured(6)
    cache.put("a", "xxxx")
    cache.put("b", "x")

    cache.put("a", "xx")

    assert (len(cache), cache._bytes) == (2, 3)


def test_a_value_that_grew_too_large_is_removed() -> None:
    """The old value would be wrong."""
    cache = measured(6)
    cache.put("a", "x")

    cache.put("a", "x" * 7)

    assert cache.get("a") is None
    assert cache._bytes == 0


def test_entries_and_bytes_may_both_be_bounded() -> None:
    cache = measured(6, max_entries=2)
    for key in ("a", "b", "c"):
        cache.put(key, "x")

    assert [cache.get(key) for key in "abc"] == [None, "x", "x"]
    assert cache._bytes == 2


def test_a_bound_in_bytes_needs_a_measure() -> None:
    with pytest.raises(ValueError, match="size_of"):
        LRUCache[str, str](max_bytes=6)
    with pytest.raises(ValueError, match="max_bytes"):
        LRUCache[str, str](2, size_of=lambda _, __: 1)


# -- threads --------------------------------------------------------------------------------------


def test_a_slow_value_delays_no_other() -> None:
    """No lock is held while a value is made."""
    cache: LRUCache[str, str] = LRUCache(2)
    is_making, may_end = threading.Event(), threading.Event()

    def slow() -> str:
        is_making.set()
        assert may_end.wait(60)
        return "slow"

    thread = threading.Thread(target=cache.get, args=("a", slow))
    thread.start()
    assert is_making.wait(60)

    other = cache.get("b", lambda: "other")

    may_end.set()
    thread.join(60)
    assert (other, cache.get("a")) == ("other", "slow")


def test_many_threads_keep_the_bounds() -> None:
    cache = measured(100, max_entries=8)

    def work(thread: int) -> None:
        for number in range(300):
            key = f"{thread * number % 17}"
            assert cache.get(key, lambda key=key: key) == key
            if not number % 50:
                cache.clear()

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(cache) <= 8
    assert cache._bytes == sum(len(key) for key in map(str, range(17)) if cache.get(key))


# -- opened objects -------------------------------------------------------------------------------


def test_opened_objects_are_bounded() -> None:
    """A client may name any number of them; the most recently used ones stay."""
    opened: list[str] = []
    cache = ResourceCache(lambda name: opened.append(name) or name.upper(), max_entries=2)

    for name in ("a", "b", "a", "c", "a", "b"):
        assert cache(name) == name.upper()

    assert opened == ["a", "b", "c", "b"]


def test_sixteen_objects_are_kept_by_default() -> None:
    opened: list[str] = []
    cache = ResourceCache(lambda name: opened.append(name) or name.upper())

    for number in (*range(17), *range(1, 17)):
        cache(f"{number}")
    assert len(opened) == 17
    cache("0")

    assert opened[17:] == ["0"]


def test_an_evicted_object_is_freed_with_its_last_user() -> None:
    """Its connections close with the last run that uses it, and not before."""

    class Pool:
        pass

    cache = ResourceCache(lambda _: Pool(), max_entries=1)
    in_use = cache("a")
    is_alive = weakref.ref(in_use)
    cache("b")
    while_in_use = is_alive()
    assert while_in_use is in_use

    del in_use, while_in_use

    assert is_alive() is None


def test_many_threads_open_one_object() -> None:
    """Nodes run in threads of their own."""
    opened: list[str] = []
    cache = ResourceCache(lambda name: opened.append(name) or object())
    threads = [threading.Thread(target=cache, args=("a",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opened == ["a"]


def test_an_erasure_clears_what_is_kept_of_single_words() -> None:
    """One of them may be the name of the user's employer."""
    made: list[str] = []
    length = word_cache(10)(lambda word: made.append(word) or len(word))

    for word in ("Zwickelhuber", "Zwickelhuber"):
        length(word)
    erase_user("ada", ())
    length("Zwickelhuber")

    assert made == ["Zwickelhuber"] * 2
