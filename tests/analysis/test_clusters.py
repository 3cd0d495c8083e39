"""Words with a similar meaning are in one cluster, so that a classifier reads words that it was not trained on."""

from __future__ import annotations

from importlib.resources import files

import pytest

from memgraph.analysis.clusters import clusters, split_words, vocabulary


@pytest.mark.parametrize(
    ("word", "like", "other"),
    [
        ("nurse", "doctor", "violin"),
        ("violin", "cello", "nurse"),
        ("护士", "医生", "小提琴"),
        ("护士", "nurse", "violin"),
    ],
)
def test_words_with_a_similar_meaning_share_a_cluster_in_both_languages(word: str, like: str, other: str) -> None:
    known = clusters()

    assert known[word] == known[like]
    assert known[word] != known[other]


def test_a_cluster_is_not_named_like_a_word() -> None:
    assert all(name.startswith("~") for name in clusters().values())


@pytest.mark.parametrize(
    ("text", "words"),
    [("我是护士", ["我是", "护士"]), ("我养猫", ["我", "养", "猫"]), ("我住在哈尔滨", ["我", "住在", "哈尔滨"])],
)
def test_chinese_is_split_into_its_longest_known_words(text: str, words: list[str]) -> None:
    assert list(split_words(list(text), "zh", vocabulary())) == words


def test_english_words_stay_as_they_are() -> None:
    assert split_words(["i", "am", "a", "nurse"], "en", vocabulary()) == ["i", "am", "a", "nurse"]


def test_the_clusters_take_less_than_300_kilobytes() -> None:
    assert len(files("memgraph.analysis").joinpath("clusters.txt.gz").read_bytes()) < 300_000
