"""Words that mean much the same."""

from __future__ import annotations

from importlib.resources import files

from memgraph.analysis.terms import extract_terms
from memgraph.retrieval.terms import SynonymMap, build_synonym_map, load_synonyms


def expand(text: str, synonyms: SynonymMap | None = None) -> frozenset[str]:
    return (load_synonyms() if synonyms is None else synonyms).expand(text, extract_terms(text))


def test_a_chinese_word_has_english_synonyms() -> None:
    assert "test" in expand("怎么写测试?")


def test_an_english_word_has_chinese_synonyms() -> None:
    assert "数据" in expand("Which dataset?")


def test_any_form_of_a_word_will_do() -> None:
    """The question's grammar is not the fact's."""
    assert expand("deploying") == expand("deployed") >= {"部署", "上线"}


def test_a_word_of_the_text_is_not_its_synonym_too() -> None:
    """It would count twice."""
    assert "test" not in expand("测试 tests")


def test_synonyms_are_those_of_every_word() -> None:
    synonyms = build_synonym_map([["tea", "茶叶", "chai"], ["cat", "猫咪"], ["dog", "狗"]])

    assert expand("tea and cats", synonyms) == {"茶叶", "chai", "猫咪"}
    assert expand("茶叶和猫咪", synonyms) == {"tea", "chai", "cat"}
    assert expand("milk 牛奶", synonyms) == frozenset()


def test_a_word_may_be_in_several_groups() -> None:
    synonyms = build_synonym_map([["bank", "银行"], ["bank", "河岸"]])

    assert expand("banks", synonyms) == {"银行", "河岸"}


def test_a_chinese_word_is_found_by_its_last_pair() -> None:
    """One term stands for it; all of them would find its parts too."""
    assert expand("database", build_synonym_map([["database", "数据库"]])) == {"据库"}


def test_traditional_characters_are_found_too() -> None:
    assert expand("錯誤", build_synonym_map([["error", "错误"]])) == {"error"}


def test_the_longest_chinese_word_is_found() -> None:
    synonyms = build_synonym_map([["data", "数据"], ["database", "数据库"]])

    assert expand("数据库", synonyms) == {"databas"}
    assert expand("数据", synonyms) == {"data"}


def test_marks_in_a_chinese_word_stand_for_themselves() -> None:
    """The words become one regular expression."""
    assert expand("我用日本(东)", build_synonym_map([["tokyo", "日本(东)"]])) == {"tokyo"}


def test_without_groups_there_are_no_synonyms() -> None:
    assert expand("测试 test", build_synonym_map([])) == frozenset()


def test_the_packaged_synonyms_stay_few() -> None:
    """A small general help, not a dictionary."""
    lines = files("memgraph.retrieval").joinpath("synonyms.txt").read_text("utf-8").splitlines()

    assert 50 < len([line for line in lines if line and not line.startswith("#")]) < 150
    assert "#" not in load_synonyms().by_term
    assert load_synonyms() is load_synonyms()
