"""What a prompt is told about the user."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import Fact, IndexCache, Memory, Settings, recall
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.text.tokens import count_tokens

TITLES = {
    "workContext": "Work",
    "personalContext": "Personal",
    "topOfMind": "Current Focus",
    "recentMonths": "Recent",
    "earlierContext": "Earlier",
    "longTermBackground": "Background",
}


def memory_of(*facts: Fact, **summaries: str) -> Memory:
    user = {name: {"summary": text} for name, text in summaries.items()}
    return Memory.model_validate({"user": user, "history": user}).with_facts(facts)


def told(memory: Memory, *said: Any, **options: Any) -> list[str]:
    """The facts that got in, in their order."""
    lines = recall(memory, said, **options).splitlines()
    return [line.split("] ", 1)[1] for line in lines if line.startswith("- [")]


PROJECT = [
    HumanMessage("我在做一个 Python 项目"),
    HumanMessage("使用 FastAPI 和 SQLAlchemy"),
    HumanMessage("怎么写测试?"),
]
SKILLS = {
    "Uses Docker for containerization": "knowledge",
    "Prefers pytest for testing": "preference",
    "Expert in Python and FastAPI": "knowledge",
    "Likes type hints in Python": "preference",
}


@pytest.mark.parametrize("category", [None, "context", "preference", "correction"])
def test_what_fits_the_conversation_stands_above_what_does_not(category: str | None) -> None:
    """Earlier turns count, and so does a word in the other language."""
    facts = [Fact(content=text, category=category or own, confidence=0.9) for text, own in SKILLS.items()]

    assert told(memory_of(*facts), *PROJECT)[-1] == "Uses Docker for containerization"


def test_it_stands_above_also_where_answers_come_between_and_it_is_less_sure() -> None:
    facts = [Fact(content=text, confidence=0.95 if "Docker" in text else 0.8) for text in SKILLS]
    conversation = [part for said in PROJECT for part in (said, AIMessage("好的，明白了，我们继续吧。"))][:-1]

    assert told(memory_of(*facts), *conversation)[-1] == "Uses Docker for containerization"


def test_the_block_reads_well() -> None:
    memory = memory_of(
        Fact(content="Likes tea.", category="preference", confidence=0.8),
        Fact(content="Use Polars.", category="correction", confidence=1, source_error="pandas"),
        **{name: f"{title} text." for name, title in TITLES.items()},
    )

    assert recall(memory).splitlines()[2:] == [
        "User Context:",
        "- Work: Work text.",
        "- Personal: Personal text.",
        "- Current Focus: Current Focus text.",
        "History:",
        "- Recent: Recent text.",
        "- Earlier: Earlier text.",
        "- Background: Background text.",
        "Facts:",
        "- [correction | 1.00] Use Polars. (avoid: pandas)",
        "- [preference | 0.80] Likes tea.",
        "</memory>",
    ]


def test_it_is_framed_as_data() -> None:
    opening = recall(memory_of(Fact(content="x"))).splitlines()[:2]

    assert opening[0] == "<memory>"
    assert "data" in opening[1]
    assert "instruction" in opening[1]


@pytest.mark.parametrize(
    "memory", [Memory(), memory_of(Fact(content=" "), Fact(content="\x00\u200b")), memory_of(topOfMind="\n")]
)
def test_nothing_known_is_nothing_said(memory: Memory) -> None:
    """An empty frame would cost tokens and say nothing."""
    assert recall(memory, ["hello"]) == ""


def test_without_messages_the_surest_come_first() -> None:
    facts = [Fact(content=str(confidence), confidence=confidence) for confidence in (0.7, 0.95, 0.8)]

    assert told(memory_of(*facts)) == ["0.95", "0.8", "0.7"]


def test_no_context_turns_ranks_by_confidence_alone() -> None:
    facts = [Fact(content="Likes tea", confidence=0.7), Fact(content="Plays chess", confidence=0.9)]

    assert told(memory_of(*facts), "tea", max_context_turns=0)[0] == "Plays chess"


@pytest.mark.parametrize(("similarity", "confidence", "first"), [(1.0, 0.0, "Likes tea"), (0.0, 1.0, "Plays chess")])
def test_the_weights_decide_between_fit_and_confidence(similarity: float, confidence: float, first: str) -> None:
    facts = [Fact(content="Likes tea", confidence=0.7), Fact(content="Plays chess", confidence=0.9)]
    weights = {"similarity_weight": similarity, "confidence_weight": confidence}

    assert told(memory_of(*facts), "tea", **weights)[0] == first


def test_what_was_replaced_is_not_told() -> None:
    old, new = Fact(id="old", content="Lives in Rome"), Fact(content="Moved to Oslo", replaces=("old",))

    assert told(memory_of(old, new), "Rome") == ["Moved to Oslo"]


def test_one_long_fact_blocks_no_other() -> None:
    long = Fact(content="tea " * 500, confidence=1)

    assert told(memory_of(long, Fact(content="Likes tea")), "tea", max_tokens=100) == ["Likes tea"]


def test_corrections_and_preferences_have_a_share_of_their_own() -> None:
    """They say how to answer, whatever is asked."""
    many = [Fact(content=f"Went to Kyoto, visit number {n}", confidence=0.9) for n in range(100)]
    sure = [
        Fact(content="Wants short answers", category="preference"),
        Fact(content="No pandas", category="correction"),
    ]

    found = told(memory_of(*many, *sure), "Kyoto", max_tokens=300)

    assert {"Wants short answers", "No pandas"} < set(found)
    assert len(found) > 10


def test_the_share_is_no_more_than_it_says() -> None:
    """The rest is for what fits best, of any category."""
    many = [Fact(content=f"Likes tune number {n}", category="preference") for n in range(200)]
    asked = [Fact(content=f"Went to Kyoto, visit {n}", confidence=0.9) for n in range(3)]

    assert {f"Went to Kyoto, visit {n}" for n in range(3)} <= set(
        told(memory_of(*many, *asked), "Kyoto", max_tokens=300)
    )


def test_of_the_guaranteed_the_most_relevant_come_first() -> None:
    likes = [Fact(content=f"Likes tune number {n}", category="preference", confidence=0.9) for n in range(200)]
    tea = Fact(content="Likes green tea", category="preference", confidence=0.5)

    assert "Likes green tea" in told(memory_of(*likes, tea), "tea", max_tokens=100)


def test_summaries_take_at_most_half() -> None:
    long = "Builds many things at once. " * 400
    memory = memory_of(*(Fact(content=f"Fact {n}") for n in range(300)), **dict.fromkeys(TITLES, long))

    text = recall(memory, max_tokens=1_000)

    assert count_tokens(text.split("Facts:")[0]) <= 500
    assert 950 < count_tokens(text) <= 1_000


def test_what_is_on_the_users_mind_gets_room_before_the_rest() -> None:
    memory = memory_of(**{name: f"{title} is what this says. " * 12 for name, title in TITLES.items()})

    text = recall(memory, max_tokens=300)

    assert "Current Focus:" in text
    assert "Background:" not in text


def test_a_summary_is_cut_at_a_sentence_end() -> None:
    text = recall(memory_of(topOfMind="One thing is said here. " * 100), max_tokens=200)

    assert text.splitlines()[-2].endswith("One thing is said here.")


def test_a_budget_too_small_for_the_frame_says_nothing() -> None:
    assert recall(memory_of(Fact(content="Likes tea")), max_tokens=10) == ""


def test_a_cache_changes_nothing_but_the_price() -> None:
    memory, cache = memory_of(*(Fact(content=f"Fact number {n}") for n in range(50)), topOfMind="Tea."), IndexCache()

    assert len({recall(memory, ["fact number 7"], cache=each) for each in (None, cache, cache)}) == 1


def test_settings_say_how_to_recall() -> None:
    settings = Settings(max_injection_tokens=321, max_context_turns=7, ranker="tfidf", guaranteed_share=0.5)

    recaller = make_recall_pipeline(settings)

    assert (recaller.max_tokens, recaller.max_context_turns, recaller.ranker) == (321, 7, "tfidf")
    assert recaller.guaranteed_share == 0.5


def test_with_an_embedding_words_and_meaning_rank_together(letters: Any) -> None:
    assert make_recall_pipeline(Settings(), embeddings=letters).ranker == "hybrid"
