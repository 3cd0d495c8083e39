"""The memory text for a prompt."""

from __future__ import annotations

import inspect
import logging
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import Fact, IndexCache, MemoryDocument, ScoredFact, Section, Settings, rank_facts, recall
from memgraph.analysis.tokens import count_tokens
from memgraph.errors import ConfigError
from memgraph.models import REVIEW_ASKED, Episode, Evidence, PendingChange, Watermark, timestamp
from memgraph.retrieval.budget import fit_summaries
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.query import Query, build_query
from memgraph.retrieval.recall import make_recall_pipeline
from memgraph.retrieval.render import day_heading

TITLES = {
    "workContext": "Work",
    "personalContext": "Personal",
    "topOfMind": "Current Focus",
    "recentMonths": "Recent",
    "earlierContext": "Earlier",
    "longTermBackground": "Background",
}


def memory_of(*facts: Fact, **summaries: str) -> MemoryDocument:
    user = {name: {"summary": text} for name, text in summaries.items()}
    return MemoryDocument.model_validate({"user": user, "history": user}).with_facts(facts)


def recalled(memory: MemoryDocument, *messages: Any, **options: Any) -> list[str]:
    """The facts in the text, the best first."""
    text = recall(memory, messages, **options)
    facts = [entry.fact.content for entry in RecallPipeline(**options).recall(memory, messages).facts]
    assert all(fact in text for fact in facts)
    return facts


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
def test_facts_that_match_the_conversation_come_first(category: str | None) -> None:
    """Earlier turns count, and so does a word in the other language."""
    facts = [Fact(content=text, category=category or own, confidence=0.9) for text, own in SKILLS.items()]

    assert recalled(memory_of(*facts), *PROJECT)[-1] == "Uses Docker for containerization"


def test_a_match_outranks_confidence_also_with_answers_in_between() -> None:
    facts = [Fact(content=text, confidence=0.95 if "Docker" in text else 0.8) for text in SKILLS]
    conversation = [part for question in PROJECT for part in (question, AIMessage("好的，明白了，我们继续吧。"))][:-1]

    assert recalled(memory_of(*facts), *conversation)[-1] == "Uses Docker for containerization"


def test_the_block_reads_well() -> None:
    memory = memory_of(
        Fact(content="Joined a choir.", confidence=0.7, said_at="2026-05-03T10:00:00Z"),
        Fact(content="Moved to Oslo.", confidence=0.9, said_at="2026-05-01T10:00:00Z"),
        Fact(content="Likes tea.", category="preference", confidence=0.8),
        Fact(content="Use Polars.", category="correction", confidence=1, source_error="pandas"),
        **{name: f"{title} text." for name, title in TITLES.items()},
    )

    said = [Episode(id="e", text="Choir was fun!", at="2026-05-03T20:00:00Z")]

    assert recall(memory, ["How is choir?"], episodes=said).splitlines()[3:] == [
        "User Context:",
        "- Work: Work text.",
        "- Personal: Personal text.",
        "- Current Focus: Current Focus text.",
        "History:",
        "- Recent: Recent text.",
        "- Earlier: Earlier text.",
        "- Background: Background text.",
        "Preferences:",
        "- Likes tea.",
        "Corrections:",
        "- Use Polars. (avoid: pandas)",
        "2026-05-01:",
        "- Moved to Oslo.",
        "2026-05-03:",
        "- Joined a choir. (uncertain)",
        "In the user's words:",
        "2026-05-03:",
        "- Choir was fun!",
        "</memory>",
    ]


def test_it_is_framed_as_data() -> None:
    opening = recall(memory_of(Fact(content="x"))).splitlines()[:2]

    assert opening[0] == "<memory>"
    assert "data" in opening[1]
    assert "instruction" in opening[1]


def test_the_frame_has_the_date_of_the_users_day() -> None:
    midnight = datetime(2026, 5, 3, 23, 30, tzinfo=UTC)

    def today(timezone: str) -> str:
        return recall(memory_of(Fact(content="x")), now=midnight, timezone=timezone).splitlines()[2]

    assert today("UTC") == "Today is 2026-05-03."
    assert today("Asia/Shanghai") == "Today is 2026-05-04."


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd"])
def test_an_unknown_time_zone_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(ConfigError, match="IANA"):
        recall(MemoryDocument(), timezone=name)


@pytest.mark.parametrize(
    "memory", [MemoryDocument(), memory_of(Fact(content=" "), Fact(content="\x00\u200b")), memory_of(topOfMind="\n")]
)
def test_an_empty_memory_has_no_text(memory: MemoryDocument) -> None:
    """An empty frame would cost tokens for nothing."""
    assert recall(memory, ["hello"]) == ""


def test_without_messages_the_most_confident_come_first() -> None:
    facts = [Fact(content=str(confidence), confidence=confidence) for confidence in (0.7, 0.95, 0.8)]

    assert recalled(memory_of(*facts)) == ["0.95", "0.8", "0.7"]


def test_no_context_turns_ranks_by_confidence_alone() -> None:
    facts = [Fact(content="Likes tea", confidence=0.7), Fact(content="Plays chess", confidence=0.9)]

    assert recalled(memory_of(*facts), "tea", max_context_turns=0)[0] == "Plays chess"


@pytest.mark.parametrize(("similarity", "confidence", "first"), [(1.0, 0.0, "Likes tea"), (0.0, 1.0, "Plays chess")])
def test_the_weights_decide_between_fit_and_confidence(similarity: float, confidence: float, first: str) -> None:
    facts = [Fact(content="Likes tea", confidence=0.7), Fact(content="Plays chess", confidence=0.9)]
    weights = {"similarity_weight": similarity, "confidence_weight": confidence}

    assert recalled(memory_of(*facts), "tea", **weights)[0] == first


def test_superseded_facts_are_left_out() -> None:
    old, new = Fact(id="old", content="Lives in Rome"), Fact(content="Moved to Oslo", replaces=("old",))

    assert recalled(memory_of(old, new), "Rome") == ["Moved to Oslo"]


def test_a_long_fact_blocks_no_other() -> None:
    long = Fact(content="tea " * 500, confidence=1)

    assert recalled(memory_of(long, Fact(content="Likes tea")), "tea", max_tokens=100) == ["Likes tea"]


def test_corrections_and_preferences_have_a_guaranteed_share() -> None:
    """They matter to every answer."""
    many = [Fact(content=f"Went to Kyoto, visit number {n}", confidence=0.9) for n in range(100)]
    guaranteed = [
        Fact(content="Wants short answers", category="preference"),
        Fact(content="No pandas", category="correction"),
    ]

    found = recalled(memory_of(*many, *guaranteed), "Kyoto", max_tokens=300)

    assert {"Wants short answers", "No pandas"} < set(found)
    assert len(found) > 10


def test_the_guaranteed_share_is_limited() -> None:
    """The rest is for the best matches of any category."""
    many = [Fact(content=f"Likes tune number {n}", category="preference") for n in range(200)]
    asked = [Fact(content=f"Went to Kyoto, visit {n}", confidence=0.9) for n in range(3)]

    assert {f"Went to Kyoto, visit {n}" for n in range(3)} <= set(
        recalled(memory_of(*many, *asked), "Kyoto", max_tokens=300)
    )


def test_of_the_guaranteed_the_most_relevant_come_first() -> None:
    likes = [Fact(content=f"Likes tune number {n}", category="preference", confidence=0.9) for n in range(200)]
    tea = Fact(content="Likes green tea", category="preference", confidence=0.5)

    assert "Likes green tea" in recalled(memory_of(*likes, tea), "tea", max_tokens=100)


def test_summaries_take_at_most_half() -> None:
    long = "Builds many things at once. " * 400
    memory = memory_of(*(Fact(content=f"Fact {n}") for n in range(300)), **dict.fromkeys(TITLES, long))

    text = recall(memory, max_tokens=1_000)

    assert count_tokens(text.split("Facts:")[0]) <= 500
    assert 950 < count_tokens(text) <= 1_000


def test_the_current_focus_gets_room_before_the_rest() -> None:
    memory = memory_of(**{name: f"{title} is what this says. " * 12 for name, title in TITLES.items()})

    text = recall(memory, max_tokens=300)

    assert "Current Focus:" in text
    assert "Background:" not in text


def test_a_summary_is_cut_at_a_sentence_end() -> None:
    text = recall(memory_of(topOfMind="One thing is said here. " * 100), max_tokens=200)

    assert text.splitlines()[-2].endswith("One thing is said here.")


def test_a_budget_too_small_for_the_frame_gives_no_text() -> None:
    assert recall(memory_of(Fact(content="Likes tea")), max_tokens=10) == ""


def test_a_cache_does_not_change_the_result() -> None:
    memory, cache = memory_of(*(Fact(content=f"Fact number {n}") for n in range(50)), topOfMind="Tea."), IndexCache()

    assert len({recall(memory, ["fact number 7"], cache=each) for each in (None, cache, cache)}) == 1


def test_settings_describe_the_pipeline() -> None:
    settings = Settings(max_injection_tokens=321, max_context_turns=7, ranker="tfidf", guaranteed_share=0.5)

    pipeline = make_recall_pipeline(settings)

    assert (pipeline.max_tokens, pipeline.max_context_turns, pipeline.ranker) == (321, 7, "tfidf")
    assert pipeline.guaranteed_share == 0.5
    assert (pipeline.similarity_weight, pipeline.confidence_weight) == (0.9, 0.1)


def test_arguments_override_settings(letters: Any) -> None:
    cache = IndexCache()
    settings = Settings(max_injection_tokens=321, ranker="tfidf", similarity_weight=0.9, confidence_weight=0.3)

    pipeline = make_recall_pipeline(settings, embeddings=letters, cache=cache, max_tokens=77)

    assert (pipeline.max_tokens, pipeline.ranker, pipeline.embeddings) == (77, "tfidf", letters)
    assert (pipeline.similarity_weight, pipeline.confidence_weight) == (0.9, 0.3)
    assert pipeline.cache is cache


def test_without_an_embedding_the_ranker_is_the_default() -> None:
    pipeline = make_recall_pipeline(Settings())

    assert (pipeline.ranker, pipeline.embeddings) == (None, None)
    assert pipeline.cache is not make_recall_pipeline(Settings()).cache


def test_an_unknown_ranker_is_reported_when_the_pipeline_is_made() -> None:
    with pytest.raises(ConfigError, match="unknown ranker 'nonsense'; use one of lexical, tfidf, hybrid"):
        RecallPipeline(ranker="nonsense")


def test_recall_and_the_pipeline_have_the_same_defaults() -> None:
    parameters = inspect.signature(recall).parameters
    only_of_the_pipeline = {"cache", "waits_for"}
    defaults = {field.name: field.default for field in fields(RecallPipeline) if field.name not in only_of_the_pipeline}

    assert defaults == {name: parameters[name].default for name in defaults}
    assert defaults == {
        "max_tokens": 2_000,
        "max_context_turns": 3,
        "similarity_weight": 0.9,
        "confidence_weight": 0.1,
        "guaranteed_share": 0.25,
        "ranker": None,
        "embeddings": None,
        "timezone": "UTC",
    }


def test_every_argument_of_recall_reaches_the_pipeline(monkeypatch: pytest.MonkeyPatch, letters: Any) -> None:
    made = list[RecallPipeline]()
    monkeypatch.setattr(RecallPipeline, "__call__", lambda pipeline, *_, **__: made.append(pipeline) or "")
    options = {
        "max_tokens": 1,
        "max_context_turns": 2,
        "similarity_weight": 0.1,
        "confidence_weight": 0.2,
        "guaranteed_share": 0.3,
        "ranker": "tfidf",
        "embeddings": letters,
        "timezone": "Asia/Tokyo",
        "cache": IndexCache(),
    }

    recall(MemoryDocument(), **options)

    assert {name: getattr(made[0], name) for name in options} == options


def test_with_an_embedding_the_ranker_is_hybrid(letters: Any) -> None:
    assert make_recall_pipeline(Settings(), embeddings=letters).ranker == "hybrid"


# -- the budget -----------------------------------------------------------------------------------


def line_tokens(memory: MemoryDocument) -> int:
    """The tokens of the whole memory, counted line by line."""
    index = IndexCache().facts(memory.facts)
    lines = [line for line in map(index.line, range(len(memory.facts))) if line]
    headings = {heading for line in lines for heading in (line.group, day_heading(line.day))}
    return fit_summaries(memory, 10**6).tokens + sum(map(count_tokens, [*headings, *(line.text for line in lines)]))


def test_what_fits_exactly_is_in_the_text() -> None:
    memory = memory_of(Fact(content="Likes tea", confidence=0.9), Fact(content="Plays chess", confidence=0.8))
    needed = line_tokens(memory)

    assert recalled(memory, max_tokens=needed) == ["Likes tea", "Plays chess"]
    assert count_tokens(recall(memory, max_tokens=needed)) == needed
    assert recalled(memory, max_tokens=needed - 1) == ["Likes tea"]


def test_unbroken_text_is_counted_again_as_a_whole() -> None:
    """Such a text is counted in pieces, so the tokens of its lines do not add up: here they are one too few."""
    memory = memory_of(Fact(content="=" * 3_990, confidence=0.9), Fact(content="=" * 10, confidence=0.8))
    needed = line_tokens(memory)
    everything = count_tokens(recall(memory, max_tokens=10_000))

    text = recall(memory, max_tokens=needed)

    assert everything == needed + 1
    assert "=" * 3_990 in text
    assert text.count("\n- ") == 1
    assert count_tokens(text) <= needed
    assert recall(memory, max_tokens=everything).count("\n- ") == 2


def test_unbroken_summaries_are_counted_again_too() -> None:
    """The facts fill what is left to the last token, and have no unbroken text of their own."""
    contents = ["tea", "tea cat", "tea cat dog", "a b c d e", "one two three four five six", "q"] * 10
    memory = memory_of(*(Fact(content=content, confidence=0.9) for content in contents))
    memory = memory.with_section("top_of_mind", Section(summary="=" * 9_000))

    texts = {limit: recall(memory, max_tokens=limit) for limit in range(180, 240)}

    assert [limit for limit, text in texts.items() if count_tokens(text) > limit] == []


def test_summaries_have_half_of_the_budget() -> None:
    """Rounded down."""
    long = "Builds many things at once. " * 400
    memory = memory_of(topOfMind=long)

    assert recall(memory, max_tokens=201) == recall(memory, max_tokens=200)
    assert count_tokens(recall(memory, max_tokens=200)) <= 100


# -- the steps ------------------------------------------------------------------------------------

SKILL_FACTS = tuple(Fact(content=content, category=category) for content, category in SKILLS.items())


def test_rank_facts_ranks_by_similarity_alone_by_default() -> None:
    ranked = rank_facts([Fact(content="tea", confidence=0.1), Fact(content="x", confidence=1)], "tea")

    assert [(entry.fact.content, entry.score, entry.similarity) for entry in ranked] == [("tea", 1, 1), ("x", 0, 0)]


def test_rank_facts_accepts_a_query_of_several_texts() -> None:
    query = Query(parts=(("chess", 0.25), ("tea", 1.0)))

    ranked = rank_facts([Fact(content="chess"), Fact(content="tea")], query)

    assert [entry.similarity for entry in ranked] == [1, 0.25]
    assert isinstance(ranked[0], ScoredFact)


def test_rank_facts_uses_the_cache() -> None:
    cache = IndexCache()

    rank_facts(SKILL_FACTS, "tests", cache=cache)
    rank_facts(SKILL_FACTS, "tests", cache=cache, ranker="tfidf")

    assert len(cache._facts) == 2


def test_recall_is_its_steps() -> None:
    memory, pipeline = memory_of(*SKILL_FACTS, topOfMind="Tests."), RecallPipeline(max_tokens=100, max_context_turns=1)

    query = pipeline.query(PROJECT)
    fitted = pipeline.fit(memory, pipeline.rank(memory, (), query))

    assert query.parts == (("怎么写测试?", 1.0),)
    assert fitted.summaries.texts == {"top_of_mind": "Tests."}
    assert [SKILL_FACTS[position].content for position in fitted.facts] == recalled(
        memory, *PROJECT, max_tokens=100, max_context_turns=1
    )


@pytest.mark.parametrize("is_there", [True, False])
def test_if_the_embedding_fails_facts_are_ranked_by_words(
    down: Any, caplog: pytest.LogCaptureFixture, *, is_there: bool
) -> None:
    with caplog.at_level(logging.ERROR, logger="memgraph.recall"):
        text = recall(
            MemoryDocument(facts=SKILL_FACTS), ["pytest"], ranker="hybrid", embeddings=down if is_there else None
        )

    assert text == recall(MemoryDocument(facts=SKILL_FACTS), ["pytest"])
    assert "by words alone" in caplog.text


# -- episodes -------------------------------------------------------------------------------------

SAID = tuple(
    Episode(id=f"e{day}", thread_id="t", text=text, at=f"2026-05-{day:02}T10:00:00Z")
    for day, text in enumerate(["Any news of the harbour?", "I sold the boat to Bob", "Tea, please"], 1)
)


def test_what_the_user_said_is_recalled_by_its_words() -> None:
    result = RecallPipeline().recall(MemoryDocument(), ["Who has the boat?"], episodes=SAID)

    assert result.episodes[0].episode == SAID[1]
    assert (
        "In the user's words:\n2026-05-01:\n- Any news of the harbour?\n2026-05-02:\n- I sold the boat" in result.text
    )


def test_what_the_user_said_is_recalled_by_its_date() -> None:
    result = RecallPipeline().recall(MemoryDocument(), ["What did I say on May 3, 2026?"], episodes=SAID)

    assert result.episodes[0].episode == SAID[2]


LEARNED = {"t": Watermark(last_message_id="m3")}
MANY = tuple(
    Episode(
        id=f"e{n}", thread_id="t", message_id=f"m{n}", text=f"On day {n} I repaired the {n}th clock", at="2026-05-01"
    )
    for n in range(400)
)


@pytest.mark.parametrize("question", ["Suggest a snack.", "jazz", ""])
def test_a_memory_that_fits_is_shown_as_a_whole(question: str) -> None:
    """Which words a question needs is a guess; there is no need to guess if there is room for all."""
    text = recall(MemoryDocument(facts=(Fact(content="Plays chess."),), threads=LEARNED), [question], episodes=SAID)

    assert all(line in text for line in ("Plays chess.", "I sold the boat to Bob", "Tea, please"))


@pytest.mark.parametrize(
    ("reason", "day", "shown"), [(REVIEW_ASKED, 3, True), (REVIEW_ASKED, 9, False), ("an order", 3, False)]
)
def test_words_of_which_a_fact_waits_for_a_review_count_as_not_learned(reason: str, day: int, *, shown: bool) -> None:
    """For a week; not those of what a rule held back."""
    at = timestamp(datetime.now(UTC) - timedelta(days=day))
    fact = Fact(content="Vegetarian.", evidence=(Evidence(episode=MANY[20].id, quote=MANY[20].text),))
    waits = PendingChange(id="c1", reason=reason, at=at, facts=(fact,))
    memory = MemoryDocument(threads={"t": Watermark(last_message_id="m399")}, pending=(waits,))

    assert (MANY[20].text in recall(memory, ["Suggest a snack."], episodes=MANY)) is shown


def test_what_does_not_match_is_not_recalled_if_not_everything_fits() -> None:
    """Of the user's words, which may be thousands; facts fill what is left."""
    memory = MemoryDocument(threads={"t": Watermark(last_message_id="m399")})

    assert recall(memory, ["jazz"], episodes=MANY) == ""
    assert recall(memory, [], episodes=MANY) == ""


@pytest.mark.parametrize("question", ["Suggest a snack.", "What do you know about me?", ""])
def test_words_that_no_update_has_learned_are_recalled_whatever_the_question_is(question: str) -> None:
    """Between a conversation and its update the user's words are all that is known."""
    said = Episode(id="new", thread_id="t", message_id="new", text="I never eat fennel.", at="2026-05-02")
    memory = MemoryDocument(threads={"t": Watermark(last_message_id="m399")})

    assert "I never eat fennel." in recall(memory, [question], episodes=(*MANY, said))


def test_of_words_that_no_update_has_learned_standing_needs_come_first() -> None:
    """Newer words may take all of their share of the budget."""
    said = Episode(id="old", thread_id="u", message_id="old", text="I'm allergic to kiwi.", at="2026-04-30")

    assert "I'm allergic to kiwi." in recall(MemoryDocument(), ["Suggest a clock."], episodes=(said, *MANY))


@pytest.mark.parametrize(
    ("content", "category"),
    [
        ("Is allergic to peanuts.", "context"),
        ("Please reply in Italian.", "preference"),
        ("Is Bo, not Bob.", "correction"),
        ("对青霉素过敏。", "context"),
        ("以后回答简短一些。", "preference"),
    ],
)
def test_standing_needs_and_wishes_for_answers_are_shown_beside_hundreds_of_preferences(
    content: str, category: str
) -> None:
    """Whatever the question is, however many tastes are newer, and though nothing matches."""
    wanted = Fact(content=content, category=category, created_at="2026-01-01", evidence=(Evidence(quote=content),))
    likes = [f"I like trail {n}." for n in range(300)]
    tastes = [Fact(content=text, category="preference", evidence=(Evidence(quote=text),)) for text in likes]

    assert content in recall(MemoryDocument(facts=(wanted, *tastes)), ["Suggest a clock."], max_tokens=600)


def test_words_of_a_thread_whose_watermark_was_evicted_count_as_learned() -> None:
    """A memory keeps the watermarks of a limited number of threads, the newest."""
    marks = {f"t{n}": Watermark(last_message_id="m", at="2026-06-01T00:00:00Z") for n in range(1_000)}

    assert recall(MemoryDocument(threads=marks), ["jazz"], episodes=MANY) == ""


def test_words_in_the_request_are_not_recalled() -> None:
    """The model sees them anyway; a message is known by its id, or by its text."""
    asked = [HumanMessage("I sold the boat to Bob"), HumanMessage("Well?", id="tea")]
    said = tuple(each.model_copy(update={"message_id": "tea"} if each.id == "e3" else {}) for each in SAID)

    text = recall(MemoryDocument(), asked, episodes=said)

    assert "harbour" in text
    assert "boat" not in text
    assert "Tea, please" not in text


@pytest.mark.parametrize(
    ("words", "is_shown"),
    [
        ("What shall I cook?", False),
        ("我今晚吃什么？", False),
        ("I'm vegetarian, what shall I cook?", True),
        ("在写第三本小说呢。", True),
    ],
)
def test_a_question_is_recalled_only_if_it_states_something_about_the_user(words: str, is_shown: bool) -> None:  # noqa: FBT001
    """Words that only ask tell a later conversation nothing."""
    said = Episode(id="e1", thread_id="t", text=words, at="2026-05-01")

    assert (words in recall(MemoryDocument(), ["Plan dinner"], episodes=(*SAID, said))) is is_shown


def test_an_episode_is_left_out_if_the_line_of_its_fact_says_all_of_it() -> None:
    """The quote of a fact is not in its line, so it does not count."""
    quote = (Evidence(episode="e2", quote="I sold the boat to Bob"),)
    brief, whole = Fact(content="Sold the boat", evidence=quote), Fact(content="Sold the boat to Bob", evidence=quote)

    texts = [recall(memory_of(fact), ["Who has the boat?"], episodes=SAID) for fact in (brief, whole)]

    assert ["I sold the boat to Bob" in text for text in texts] == [True, False]


def test_the_result_tells_why_each_fact_and_episode_is_in_it() -> None:
    facts = (Fact(id="f1", content="Plays chess", confidence=0.8), Fact(id="f2", content="Sells boats", confidence=0.9))

    result = RecallPipeline().recall(MemoryDocument(facts=facts), ["Who bought the boat?"], episodes=SAID)

    (boats, chess), said = result.facts, result.episodes[0]
    assert (said.episode.id, said.similarity, said.matched) == ("e2", 1, ("boat",))
    assert (boats.fact.id, boats.matched) == ("f2", ("boats",))
    assert (chess.fact.id, chess.similarity, chess.matched) == ("f1", 0, ())
    assert boats.score == pytest.approx(0.9 * boats.similarity + 0.1 * 0.9)
    assert result.tokens == count_tokens(result.text)
    assert result.text == recall(MemoryDocument(facts=facts), ["Who bought the boat?"], episodes=SAID)


def test_appended_episodes_are_recalled_from_a_cache() -> None:
    cache = IndexCache()
    recall(MemoryDocument(), ["tea"], episodes=SAID[:2], cache=cache)

    assert "Tea, please" in recall(MemoryDocument(), ["tea"], episodes=SAID, cache=cache)


def test_if_the_embedding_fails_episodes_are_ranked_by_words(down: Any) -> None:
    text = recall(MemoryDocument(), ["boat"], episodes=SAID, ranker="hybrid", embeddings=down)

    assert text == recall(MemoryDocument(), ["boat"], episodes=SAID) != ""


EPISODE = Episode(
    id="e1",
    thread_id="t1",
    message_id="m1",
    at="2026-05-03T10:00:00Z",
    text="The cello lessons with Ines went well. We moved on to the second suite, and I have to practise the bowing.",
)
"""A message of which one sentence was learned."""


@pytest.mark.parametrize(
    ("content", "quote", "is_first"),
    [
        ("The cello lessons with Ines went well.", "The cello lessons with Ines went well.", False),
        ("Takes cello lessons from a teacher called Ines.", "The cello lessons with Ines went well.", True),
        (EPISODE.text, EPISODE.text, True),
    ],
    ids=["an excerpt", "another wording", "all of it"],
)
def test_an_excerpt_of_a_message_ranks_below_the_message(content: str, quote: str, is_first: bool) -> None:  # noqa: FBT001
    """Above it both would be shown; what adds a wording of its own, or has all of the message, is above it."""
    learned = Fact(id="f1", content=content, confidence=1.0, evidence=(Evidence(episode="e1", quote=quote),))
    pipeline = RecallPipeline()

    ranked = pipeline.rank(MemoryDocument(facts=(learned,)), [EPISODE], pipeline.query(["Cello lessons from Ines?"]))

    assert bool(ranked.fact_ranking.scores[0] >= ranked.episode_ranking.scores[0]) is is_first


def test_an_excerpt_is_shown_where_its_message_has_no_room() -> None:
    fact = Fact(content="I play the cello.", evidence=(Evidence(episode="e1", quote="I play the cello."),))
    long = EPISODE.model_copy(update={"text": "I play the cello. " + "And the weather was fine in every town. " * 40})

    text = recall(MemoryDocument(facts=(fact,)), ["Which cello?"], episodes=[long], max_tokens=120)

    assert "I play the cello." in text
    assert "weather" not in text


def test_who_asks_what_is_known_gets_what_the_budget_holds() -> None:
    """A memory beyond the budget is silent only about what it does not know."""
    facts = tuple(Fact(id=f"f{number}", content=f"Has read the novel number {number}.") for number in range(300))
    memory = MemoryDocument(facts=facts)

    general, other = (recall(memory, [asked], max_tokens=500) for asked in ("What do you know about me?", "Any snack?"))

    assert (general.count("novel") > 20, other.count("novel")) == (True, 0)


def test_words_said_twice_on_a_day_are_one_line() -> None:
    said = [Episode(id=f"e{n}", thread_id=f"t{n}", at="2026-05-03T10:00:00Z", text="I keep two goats.") for n in (1, 2)]

    assert recall(MemoryDocument(), ["Any goats?"], episodes=said).count("I keep two goats.") == 1


# -- areas of life --------------------------------------------------------------------------------

OYSTERS = Fact(content="Oysters make the stomach turn.")
TRIPS = tuple(Fact(content=f"Took the train to town {n} and slept in a tent.") for n in range(300))
OLD_TRIP = Fact(content="Took the train and slept in a tent.", created_at="2020-01-01T00:00:00Z")
NOTES = tuple(Fact(content=f"Number {n} is prime.", created_at="2026-01-01T00:00:00Z") for n in range(300))


@pytest.mark.parametrize("question", ["Suggest a snack.", "Cook me some dinner!", "晚饭吃什么好？"])
def test_what_is_about_the_area_of_a_question_is_found_without_a_word_of_it(question: str) -> None:
    memory = memory_of(Fact(content="Eats no cheese, only bread"), *TRIPS)

    assert recalled(memory, question)[0] == "Eats no cheese, only bread"


def test_words_come_before_areas() -> None:
    memory = memory_of(OYSTERS, Fact(content="Bakes bread every day"), *TRIPS)

    assert recalled(memory, "Who likes oysters for dinner?")[0] == OYSTERS.content


def test_what_has_the_rare_word_of_a_long_question_stays_first() -> None:
    dinners = (Fact(content=f"Cooks dinner {n} for the neighbours: rice and fish.") for n in range(100))
    memory = memory_of(*NOTES, *dinners, Fact(content="Marek dislikes oysters."))

    question = "I would like to cook a lovely dinner on the balcony for Marek and six of his colleagues, with rice"
    assert recalled(memory, question)[0] == "Marek dislikes oysters."


def test_areas_do_not_count_if_the_words_answer() -> None:
    memory = memory_of(*TRIPS, Fact(content="Keeps the red luggage in the attic."), *NOTES)

    assert recalled(memory, "Where is the red luggage?") == ["Keeps the red luggage in the attic."]


@pytest.mark.parametrize("when", ["this week", "this month", "this year", "since May", "today"])
def test_a_question_about_a_time_that_lasts_is_about_its_area(when: str) -> None:
    assert build_query(f"What shall I cook {when}?", today=date(2026, 12, 1)).areas


def test_what_only_is_about_the_area_takes_no_more_than_noise_does() -> None:
    lines = recall(memory_of(*TRIPS), ["Which luggage shall I pack?"]).splitlines(keepends=True)

    assert 0 < sum(count_tokens(line) for line in lines if "town" in line) <= 0.1 * 2_000


@pytest.mark.parametrize(
    ("question", "over"),
    [
        ("Which luggage shall I pack?", "Which luggage did I pack in May 2024?"),
        ("我该带什么行李？", "2024年5月我带了什么行李？"),
    ],
)
def test_a_question_about_a_time_that_is_over_is_not_about_an_area(question: str, over: str) -> None:
    memory = memory_of(*NOTES, OLD_TRIP)

    assert recalled(memory, question)[0] == OLD_TRIP.content
    assert recalled(memory, over)[:1] != [OLD_TRIP.content]
