"""The terms that texts are compared by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memgraph.analysis.normalize import MIN_STEM_CHARS, _english_stem, stem
from memgraph.analysis.terms import MAX_TERM_CHARS, extract_terms, unigrams_and_bigrams


@pytest.mark.parametrize("word", ["test", "tests", "testing", "tested"])
def test_inflections_of_a_word_are_one_term(word: str) -> None:
    assert stem(word) == "test"


@pytest.mark.parametrize("word", ["k8s", "vue3", "ios", "проекты", "été"])
def test_only_english_words_are_stemmed(word: str) -> None:
    """English endings mean nothing elsewhere."""
    assert stem(word) == word


def test_threads_may_stem_at_once() -> None:
    """The library's stemmer keeps its current word, so threads must not share one."""
    words = [f"{start}{middle}ing" for start in "bcdfgk" for middle in ("and", "est", "ill", "omp", "urn") * 20]
    _english_stem.cache_clear()

    with ThreadPoolExecutor(8) as pool:
        stems = list(pool.map(stem, words))

    assert stems == [word.removesuffix("ing") for word in words]


def test_stop_words_are_not_terms() -> None:
    assert extract_terms("What is the user going to do with the tests?") == ("user", "go", "test")


def test_chinese_becomes_characters_and_pairs() -> None:
    """No dictionary knows all words; pairs find most of them."""
    assert extract_terms("测试覆盖") == ("测", "试", "覆", "盖", "测试", "试覆", "覆盖")


def test_chinese_stop_characters_are_not_terms() -> None:
    assert extract_terms("他的也是我的") == ()


def test_mixed_text_gives_terms_of_both() -> None:
    assert extract_terms("使用 FastAPI写测试") == ("使", "用", "使用", "fastapi", "写", "测", "试", "写测", "测试")


@pytest.mark.parametrize(("text", "term"), [("C++ and C#", "c++"), ("C++ and C#", "c#"), ("Python 3.11", "11")])
def test_names_of_languages_and_versions_are_terms(text: str, term: str) -> None:
    assert term in extract_terms(text)


@pytest.mark.parametrize(("one", "other"), [("ＰＹＴＨＯＮ", "python"), ("計劃", "计划"), ("Zürich", "zurich")])
def test_case_width_accents_and_traditional_forms_do_not_matter(one: str, other: str) -> None:
    assert extract_terms(one) == extract_terms(other)


@pytest.mark.parametrize("text", ["พูดภาษาไทย", "한국어를 배운다", "日本語を勉強", "Привет мир", "مرحبا بالعالم"])
def test_every_script_has_terms(text: str) -> None:
    assert len(extract_terms(text)) > 1


@pytest.mark.parametrize("text", ["", "   ", "!?", "\0\x1b", "🙂", "\ud800"])
def test_text_without_words_has_no_terms(text: str) -> None:
    assert extract_terms(text) == ()


def test_a_long_word_is_cut() -> None:
    """A pasted key of a thousand letters does not become one huge term."""
    assert max(map(len, extract_terms("a1" * 1_000))) == MAX_TERM_CHARS


def test_a_long_word_is_cut_after_forty_characters() -> None:
    assert extract_terms("a1" * 20 + "b") == ("a1" * 20,)
    assert extract_terms("a1" * 20) == ("a1" * 20,)


@pytest.mark.parametrize(("word", "expected"), [("uses", "use"), ("use", "use"), ("ads", "ads"), ("ties", "tie")])
def test_words_from_four_letters_are_stemmed(word: str, expected: str) -> None:
    assert MIN_STEM_CHARS == 4
    assert stem(word) == expected


@pytest.mark.parametrize(("word", "form"), [("fly", "flies"), ("try", "tried"), ("day", "days"), ("buy", "buys")])
def test_a_short_word_that_ends_in_y_has_the_stem_of_its_forms(word: str, form: str) -> None:
    assert stem(word) == stem(form)


def test_repetitions_stay_in_order() -> None:
    """How often a term occurs is what BM25 counts."""
    assert extract_terms("tea cats tea 测 tea") == ("tea", "cat", "tea", "测", "tea")


def test_pairs_of_stop_characters_only_are_not_terms() -> None:
    """A pair with one other character is: "的茶" may be part of a name."""
    assert unigrams_and_bigrams("我的茶") == ["茶", "的茶"]
    assert unigrams_and_bigrams("茶") == ["茶"]


def test_scripts_without_spaces_end_where_others_begin() -> None:
    assert extract_terms("tea茶tea_tea") == ("tea", "茶", "tea", "tea")


def test_no_text_is_kept_for_the_life_of_the_process() -> None:
    """Single English words are, since stemming them takes most of the time."""
    _english_stem.cache_clear()

    extract_terms("Likes walking with Zaphod, 555-1234 and sk4f9a")

    assert _english_stem.cache_info().currsize == len({"likes", "walking", "zaphod"})
