"""BM25, and the default ranker over it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memgraph import Fact, IndexCache, ScoredFact, rank_facts
from memgraph.analysis.terms import extract_terms
from memgraph.retrieval import terms
from memgraph.retrieval.lexical import (
    DATE_WEIGHT,
    MIN_SEGMENT,
    NEIGHBOUR_WEIGHT,
    LexicalIndex,
    matched_words,
    reusable_segments,
)
from memgraph.retrieval.query import SYNONYM_WEIGHT, Document, Query, build_query
from memgraph.retrieval.terms import K1, B

CHINESE_SET = json.loads((Path(__file__).parents[2] / "benchmarks/chinese_recall.json").read_text())
FACTS = [
    Fact(content="Uses Docker for containerization", confidence=0.95),
    Fact(content="Prefers pytest for testing", confidence=0.9),
    Fact(content="Has a cat named Dumpling", confidence=0.8),
]


def contents(ranked: list[ScoredFact]) -> list[str]:
    return [entry.fact.content for entry in ranked]


def scores(query: Query | str, *texts: str) -> list[float]:
    """The scores of documents without a thread."""
    query = build_query(query) if isinstance(query, str) else query
    return LexicalIndex([Document(text) for text in texts]).scores(query).tolist()


def bm25(query: str, texts: list[str], **options: float) -> list[float]:
    return terms.bm25(extract_terms(query), [*map(extract_terms, texts)], **options)


def idf(documents: int, containing: int) -> float:
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


# -- the formula ----------------------------------------------------------------------------------


def test_bm25_is_the_formula() -> None:
    """Three texts of 2, 4 and 0 terms; "tea" is in two of them, twice in the second."""
    tea, cat = idf(3, 2), idf(3, 1)

    found = bm25("tea cat", ["tea milk", "tea tea cat milk", "!"], k1=1.2, b=0.75)

    assert found == pytest.approx(
        [
            tea * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2)),
            tea * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 2)) + cat * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / 2)),
            0,
        ]
    )
    assert found == bm25("tea cat", ["tea milk", "tea tea cat milk", "!"])


@pytest.mark.parametrize(("query", "texts"), [("", ["tea"]), ("tea", []), ("tea", ["", "!"]), ("milk", ["tea"])])
def test_bm25_without_a_common_term_is_zero(query: str, texts: list[str]) -> None:
    assert bm25(query, texts) == [0] * len(texts)


def test_k1_of_zero_counts_presence_and_b_of_zero_ignores_length() -> None:
    once, often = bm25("tea", ["tea milk", "tea tea tea"], k1=0)
    short, long = bm25("tea", ["tea", "tea milk sugar"], b=0)

    assert once == often == pytest.approx(idf(2, 2))
    assert short == long


def test_a_repeated_query_term_counts_once() -> None:
    assert bm25("tea tea tea", ["tea", "cat"]) == bm25("tea", ["tea", "cat"])


# -- the ranker -----------------------------------------------------------------------------------


def test_constants_are_those_that_were_measured() -> None:
    assert (K1, B, SYNONYM_WEIGHT, DATE_WEIGHT) == (1.2, 0.75, 0.5, 3.0)


def test_the_ranker_scores_by_the_same_formula() -> None:
    """Words that have no synonyms in the memory."""
    texts = ["milk jazz", "milk milk opal jazz", "!"]

    assert scores("milk opal", *texts) == pytest.approx(bm25("milk opal", texts))


def test_short_facts_are_not_rewarded_beyond_one_term() -> None:
    """The mean length counts as at least 1, so that a memory of signs does not divide by zero."""
    tea = idf(4, 1) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 1))

    assert scores("jazz", "jazz", "!", "!", "!") == pytest.approx([tea, 0, 0, 0])


def test_a_term_weighs_as_in_the_turn_in_which_it_weighs_most() -> None:
    """Whatever the order of the turns."""
    jazz = scores("jazz", "jazz", "opal")[0]

    for parts in ((("jazz", 0.5), ("jazz opal", 0.25)), (("jazz opal", 0.25), ("jazz", 0.5))):
        assert scores(Query(parts=parts), "jazz", "opal") == pytest.approx([jazz * 0.5, jazz * 0.25])


def test_a_synonym_weighs_half() -> None:
    """The words "container" and "docker" are synonyms."""
    found = scores(Query(parts=(("docker", 0.5),)), "container", "jazz")

    assert found == pytest.approx([scores("container", "container", "jazz")[0] * 0.5 * 0.5, 0])


def test_a_synonym_weighs_as_in_the_turn_in_which_it_weighs_most() -> None:
    docker = scores("docker", "container", "jazz")[0]

    for parts in ((("docker", 0.5), ("docker jazz", 0.25)), (("docker jazz", 0.25), ("docker", 0.5))):
        assert scores(Query(parts=parts), "container", "opal") == pytest.approx([docker * 0.5, 0])


def test_documents_of_a_thread_support_each_other() -> None:
    """What was said near a match is more likely to matter than what was said elsewhere."""
    documents = [Document("jazz", thread="t"), Document("opal", thread="t"), Document("milk")]
    match = scores("jazz", "jazz", "opal", "milk")[0]

    found = LexicalIndex(documents).scores(build_query("jazz")).tolist()

    assert found == pytest.approx([match, NEIGHBOUR_WEIGHT * match, 0])


def test_a_word_of_the_context_counts_as_one_of_the_text() -> None:
    documents = [Document("opal", ("jazz",)), Document("milk")]

    assert LexicalIndex(documents).scores(build_query("jazz")).tolist() == scores("jazz", "opal jazz", "milk")


def test_a_document_of_a_date_in_the_question_scores_more() -> None:
    """By the rarity of the date, also if no word matches."""
    documents = [Document("opal", dates=("2026-05-03T10:00:00Z",)), Document("opal", dates=("2026-06-01",))]

    assert LexicalIndex(documents).scores(Query(dates=("2026-05",))).tolist() == pytest.approx([3 * idf(2, 1), 0])


def test_a_document_of_a_day_in_an_interval_of_the_question_scores_more() -> None:
    days = ("2025-02-28", "2025-04-10", "2025-06-01", "2025-07-01")
    index = LexicalIndex([Document("opal", dates=(day,)) for day in days])

    assert [score > 0 for score in index.scores(Query(dates=("2025-03/2025-06",)))] == [False, True, True, False]


# -- segments -------------------------------------------------------------------------------------

MANY = [Document(f"opal{number % 7} jazz {number % 13} k{number}", thread=f"t{number // 9}") for number in range(700)]


def test_documents_may_be_appended() -> None:
    """The scores are those of an index of all of them."""
    query = build_query("opal3 jazz k77 k9")
    grown = LexicalIndex(MANY[:1])

    for size in (100, 130, 131, 400, 699, 700):
        grown = LexicalIndex(MANY[:size], base=grown)

    assert len(grown.segments) > 1
    assert grown.scores(query).tolist() == pytest.approx(LexicalIndex(MANY).scores(query).tolist())
    assert grown.coverage(query) == pytest.approx(LexicalIndex(MANY).coverage(query))


def test_appending_a_document_analyses_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed = list[str]()
    extract: Any = lambda text: analysed.append(text) or ("x",)  # noqa: E731
    monkeypatch.setattr("memgraph.retrieval.query.extract_terms", extract)
    grown = LexicalIndex([*map(replace, MANY[:600])])
    analysed.clear()

    for size in range(601, 701):
        grown = LexicalIndex([*map(replace, MANY[:size])], base=grown)

    assert len(analysed) <= 100 * MIN_SEGMENT


def test_segments_are_few() -> None:
    sizes = list[int]()
    segments: list[Any] = []
    for size in range(1, 3_000):
        segments = list(reusable_segments(segments, size))
        kept = sum(segment.size for segment in segments)
        segments.append(SimpleNamespace(size=size - kept))
        sizes.append(len(segments))

    assert max(sizes) <= 5
    assert sum(segment.size for segment in segments) == 2_999


def test_an_index_of_the_same_documents_keeps_every_segment() -> None:
    index = LexicalIndex(MANY[:10])

    assert LexicalIndex(MANY[:10], base=index).segments == index.segments


# -- coverage -------------------------------------------------------------------------------------


def coverage(query: str, *texts: str) -> float:
    return LexicalIndex([Document(text) for text in texts]).coverage(build_query(query))


def test_a_document_with_all_words_covers_the_question() -> None:
    assert coverage("opal jazz", "opal jazz milk", "tea") == 1


def test_coverage_is_the_share_of_the_idf_that_the_best_document_has() -> None:
    """A word that is nowhere counts as the rarest."""
    assert coverage("opal jazz", "opal milk", "opal", "jazz") == pytest.approx(idf(3, 1) / (idf(3, 1) + idf(3, 2)))
    assert coverage("opal unheard", "opal", "tea") == pytest.approx(idf(2, 1) / (idf(2, 1) + idf(2, 0)))


def test_the_date_of_a_question_is_covered_by_a_document_of_that_day() -> None:
    """Else a question that has a date and no word of the memory would be answered by the meaning alone."""
    documents = [Document("tea", dates=("2026-05-03",)), Document("milk", dates=("2026-05-04",))]

    assert LexicalIndex(documents).coverage(build_query("2026-05-03")) > 0.1
    assert LexicalIndex(documents).coverage(build_query("2026-05-07")) == 0


@pytest.mark.parametrize(("query", "texts"), [("", ["opal"]), ("opal", []), ("opal", ["tea"])])
def test_nothing_in_common_covers_nothing(query: str, texts: list[str]) -> None:
    assert coverage(query, *texts) == 0


# -- why a document was found ---------------------------------------------------------------------


def test_the_words_that_match_are_those_of_the_document() -> None:
    """In order, each once: equal stems and synonyms count."""
    document = Document("Containers and tests, containers", ("I use databases daily",))

    assert matched_words(build_query("docker database testing"), [document]) == [("containers", "tests", "databases")]


def test_chinese_matches_by_characters_and_pairs() -> None:
    assert matched_words(build_query("花生"), [Document("对花生过敏")]) == [("花", "生", "花生")]


def test_each_document_has_its_own_words() -> None:
    """In the order of the documents."""
    documents = [Document("jazz"), Document("opal"), Document("tea and jazz")]

    assert matched_words(build_query("jazz tea"), documents) == [("jazz",), (), ("tea", "jazz")]


def test_nothing_matches_nothing() -> None:
    assert matched_words(build_query("jazz"), [Document("opal")]) == [()]
    assert matched_words(Query(), [Document("opal")]) == [()]


def test_no_documents_have_no_scores() -> None:
    assert scores("jazz") == []


# -- what it is for -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("How does he test?", "Prefers pytest for testing"),
        ("怎么写测试?", "Prefers pytest for testing"),
        ("how to deploy containers", "Uses Docker for containerization"),
        ("她养了猫吗", "Has a cat named Dumpling"),
    ],
)
def test_forms_and_languages_do_not_matter(asked: str, found: str) -> None:
    assert contents(rank_facts(FACTS, asked))[0] == found


def test_chinese_is_found_by_its_characters() -> None:
    facts = [Fact(content="对花生过敏"), Fact(content="最喜欢喝龙井茶"), Fact(content="在杭州当老师")]

    assert contents(rank_facts(facts, "能吃花生吗？"))[0] == "对花生过敏"


def test_what_went_wrong_is_searched_too() -> None:
    facts = [*FACTS, Fact(content="Use Polars", category="correction", source_error="suggested pandas")]

    assert contents(rank_facts(facts, "Can pandas do this?"))[0] == "Use Polars"


def test_facts_of_one_conversation_help_each_other() -> None:
    """What was said beside a match is more likely to matter than what was said elsewhere."""
    trip = [Fact(content=content, source="t1") for content in ("Flew to Kyoto in April", "Stayed in a small inn")]
    other = [Fact(content="Plays chess", source="t2"), Fact(content="Works nights", source="t2")]

    assert contents(rank_facts([*other, *trip], "Where in Kyoto?"))[:2] == [fact.content for fact in trip]


def test_what_people_wrote_is_of_no_conversation() -> None:
    manual = [Fact(content="Flew to Kyoto", source="manual"), Fact(content="Plays chess", source="manual")]

    assert rank_facts(manual, "Kyoto")[1].similarity == 0


def test_the_chinese_set_is_found() -> None:
    """The right fact is the first in 80 % of the questions, and among the first five in 95 %."""
    facts = [Fact.model_validate(fact) for fact in CHINESE_SET["facts"]]
    cache, positions = IndexCache(), list[int]()

    for item in CHINESE_SET["questions"]:
        ranked = [entry.fact for entry in rank_facts(facts, item["question"], cache=cache)]
        positions.append(ranked.index(facts[item["fact"]]))

    assert len(facts) >= 60
    assert len(positions) >= 40
    assert sum(position == 0 for position in positions) >= 0.8 * len(positions)
    assert sum(position < 5 for position in positions) >= 0.95 * len(positions)
