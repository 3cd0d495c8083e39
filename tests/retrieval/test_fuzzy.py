"""Words that are spelled alike."""

from __future__ import annotations

from itertools import product

import pytest

from memgraph.retrieval.fuzzy import MAX_MATCHES, MIN_SIMILARITY, Vocabulary
from memgraph.retrieval.terms import MIN_NGRAMS, MIN_WORD_CHARS, character_ngrams


def query_ngrams(words: list[str]) -> list[tuple[str, frozenset[str]]]:
    return [(word, character_ngrams(word)) for word in words]


def similar(words: list[str], *known: str) -> list[tuple[str, str, float]]:
    return [(word, match, round(value, 4)) for word, match, value in Vocabulary(known).similar(query_ngrams(words))]


def test_bounds_are_those_that_were_measured() -> None:
    assert (MIN_SIMILARITY, MIN_WORD_CHARS, MAX_MATCHES) == (0.4, 4, 100)


def test_ngrams_include_the_edges_of_a_word() -> None:
    assert character_ngrams("test") == {" te", "tes", "est", "st ", " tes", "test", "est "}


@pytest.mark.parametrize(("word", "count"), [("", 0), ("abc", 0), ("abcd", 7)])
def test_short_words_have_no_ngrams(word: str, count: int) -> None:
    assert len(character_ngrams(word)) == count


def test_similarity_is_dice_over_ngrams() -> None:
    """The words have 7 and 11 n-grams, and share tes, est, "st ", test and "est "."""
    assert similar(["test"], "pytest") == [("test", "pytest", round(2 * 5 / (7 + 11), 4))]


@pytest.mark.parametrize(("word", "known"), [("databse", "database"), ("kubernetes", "kubernetess")])
def test_typing_errors_are_similar(word: str, known: str) -> None:
    assert [match[1] for match in similar([word], known)] == [known]


def test_a_word_is_not_similar_to_itself() -> None:
    """It is found as it is."""
    assert similar(["test", "tests"], "test", "rust") == [("tests", "test", round(2 * 5 / (7 + 9), 4))]


@pytest.mark.parametrize(
    ("known", "shared", "similarity"),
    [
        ("abcxxcd", {" ab", "abc", " abc", "cd "}, 2 * 4 / (7 + 13)),  # exactly at the threshold
        ("abcdxyzvut", {" ab", "abc", " abc", "bcd", "abcd"}, 2 * 5 / (7 + 19)),
    ],
)
def test_similarity_from_the_threshold_counts(known: str, shared: set[str], similarity: float) -> None:
    found = similar(["abcd"], known)

    assert character_ngrams("abcd") & character_ngrams(known) == shared
    assert found == ([("abcd", known, 0.4)] if similarity >= 0.4 else [])


def test_the_most_similar_come_first_and_equals_in_order() -> None:
    found = similar(["testing"], "testy", "testings", "resting", "vesting")

    assert [match[1] for match in found] == ["testings", "resting", "vesting", "testy"]
    assert found[1][2] == found[2][2]


def test_each_word_of_the_query_is_compared() -> None:
    assert [(word, known) for word, known, _ in similar(["databse", "pytst"], "pytest", "tea", "database")] == [
        ("databse", "database"),
        ("pytst", "pytest"),
    ]


def test_matches_are_bounded() -> None:
    known = [f"database{number:03}" for number in range(MAX_MATCHES + 5)]

    assert [match[1] for match in similar(["database"], *known)] == known[:MAX_MATCHES]


def test_all_matches_are_found_without_a_limit() -> None:
    known = [f"database{number:03}" for number in range(MAX_MATCHES + 5)]

    assert len(Vocabulary(known).similar(query_ngrams(["database"]), limit=None)) == len(known)


@pytest.mark.parametrize("words", [[], ["a"], ["zzzzz"]])
def test_nothing_shared_is_nothing_similar(words: list[str]) -> None:
    assert similar(words, "database", "a") == []
    assert similar(words) == []


def test_a_word_with_ngrams_has_at_least_six() -> None:
    """So words that share fewer than three need not be compared; few letters repeat the same n-grams."""
    counts = {len(character_ngrams("".join(letters))) for size in range(9) for letters in product("ab", repeat=size)}

    assert min(counts - {0}) == MIN_NGRAMS


def test_no_similar_word_is_missed() -> None:
    """The shortest words are the ones that share the fewest n-grams."""
    words = ["".join(letters) for size in (4, 5) for letters in product("abc", repeat=size)]
    asked = "abca"
    ngrams = character_ngrams(asked)
    dice = {word: 2 * len(ngrams & character_ngrams(word)) for word in words}
    alike = {
        word
        for word, shared in dice.items()
        if word != asked and shared / (len(ngrams) + len(character_ngrams(word))) >= MIN_SIMILARITY
    }

    found = Vocabulary(words).similar(query_ngrams([asked]), limit=None)

    assert {known for _, known, _ in found} == alike
