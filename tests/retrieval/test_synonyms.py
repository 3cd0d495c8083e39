"""Words that mean much the same."""

from __future__ import annotations

from importlib.resources import files

from memgraph.retrieval.synonyms import build_synonym_map, load_synonyms
from memgraph.retrieval.terms import extract_terms


def test_a_chinese_word_means_an_english_one() -> None:
    assert "test" in load_synonyms().expand("怎么写测试?", extract_terms("怎么写测试?"))


def test_an_english_word_means_a_chinese_one() -> None:
    assert "数据" in load_synonyms().expand("Which dataset?", extract_terms("Which dataset?"))


def test_any_form_of_a_word_will_do() -> None:
    """The question's grammar is not the fact's."""
    assert load_synonyms().expand("deploying", extract_terms("deploying")) == load_synonyms().expand(
        "deployed", extract_terms("deployed")
    )


def test_what_was_said_itself_is_not_meant_besides() -> None:
    """It would count twice."""
    assert "test" not in load_synonyms().expand("测试 tests", extract_terms("测试 tests"))


def test_the_longest_chinese_word_is_found() -> None:
    bridge = build_synonym_map([["data", "数据"], ["database", "数据库"]])

    assert bridge.expand("数据库", extract_terms("数据库")) == {"databas"}


def test_a_bridge_without_words_means_nothing() -> None:
    assert build_synonym_map([]).expand("测试 test", extract_terms("测试 test")) == frozenset()


def test_the_packaged_words_stay_few() -> None:
    """A small general help, no dictionary."""
    lines = files("memgraph.retrieval").joinpath("synonyms.txt").read_text("utf-8").splitlines()

    assert len([line for line in lines if not line.startswith("#")]) < 150
