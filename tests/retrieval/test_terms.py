"""The terms that texts are compared by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memgraph.retrieval.terms import MAX_TERM_CHARS, _english_stem, extract_terms, stem


@pytest.mark.parametrize("word", ["test", "tests", "testing", "tested"])
def test_forms_of_a_word_are_one_term(word: str) -> None:
    assert stem(word) == "test"


@pytest.mark.parametrize("word", ["k8s", "vue3", "ios", "проекты", "été"])
def test_only_english_words_are_stemmed(word: str) -> None:
    """English endings mean nothing elsewhere."""
    assert stem(word) == word


def test_threads_may_stem_at_once() -> None:
    """The library's stemmer keeps the word it is at, so one of them must not be shared."""
    words = [f"{start}{middle}ing" for start in "bcdfgk" for middle in ("and", "est", "ill", "omp", "urn") * 20]
    _english_stem.cache_clear()

    with ThreadPoolExecutor(8) as pool:
        stems = list(pool.map(stem, words))

    assert stems == [word.removesuffix("ing") for word in words]


def test_words_that_only_grammar_needs_are_no_terms() -> None:
    assert extract_terms("What is the user going to do with the tests?") == ("user", "go", "test")


def test_chinese_is_cut_into_characters_and_pairs() -> None:
    """No dictionary knows all words; pairs find most of them."""
    assert extract_terms("测试覆盖") == ("测", "试", "覆", "盖", "测试", "试覆", "覆盖")


def test_chinese_grammar_is_no_term() -> None:
    assert extract_terms("我的是什么") == ()


def test_mixed_text_gives_terms_of_both() -> None:
    assert extract_terms("使用 FastAPI写测试") == ("使", "用", "使用", "fastapi", "写", "测", "试", "写测", "测试")


@pytest.mark.parametrize(("text", "term"), [("C++ and C#", "c++"), ("C++ and C#", "c#"), ("Python 3.11", "11")])
def test_names_of_languages_and_versions_are_terms(text: str, term: str) -> None:
    assert term in extract_terms(text)


@pytest.mark.parametrize(("one", "other"), [("ＰＹＴＨＯＮ", "python"), ("計劃", "计划"), ("Ünïcode", "ünïcode")])
def test_case_width_and_traditional_forms_do_not_matter(one: str, other: str) -> None:
    assert extract_terms(one) == extract_terms(other)


@pytest.mark.parametrize("text", ["พูดภาษาไทย", "한국어를 배운다", "日本語を勉強", "Привет мир", "مرحبا بالعالم"])
def test_every_script_has_terms(text: str) -> None:
    assert len(extract_terms(text)) > 1


@pytest.mark.parametrize("text", ["", "   ", "!?", "\0\x1b", "🙂", "\ud800"])
def test_what_has_no_words_has_no_terms(text: str) -> None:
    assert extract_terms(text) == ()


def test_a_key_is_known_by_its_beginning() -> None:
    """A pasted key of a thousand letters makes no giant term."""
    assert max(map(len, extract_terms("a1" * 1_000))) == MAX_TERM_CHARS
