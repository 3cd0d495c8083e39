"""What does not answer the question takes no room: recall and search stay silent instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from memgraph import Fact, MemoryClient, MemoryDocument, Scope, Settings, open_storage
from memgraph.analysis.tokens import count_tokens
from memgraph.models import AsSaid, Evidence
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.split import split

TOWNS = tuple(
    Fact(id=f"t{n}", content=f"Took the train to town {n} to make a film about its bridges.") for n in range(300)
)
NAMED = Fact(id="ferry", content="Is afraid of the ferry to Kvaløya.")
NEEDS = (
    Fact(id="short", content="Wants short sentences.", category="preference"),
    Fact(id="wrong", content="The surname has two t.", category="correction"),
    Fact(id="nuts", content="Allergic to hazelnuts."),
    Fact(id="sugar", content="有糖尿病"),
    Fact(id="pork", content="Doesn't eat pork."),
    Fact(id="milk", content="不喝牛奶"),
)
SAID = AsSaid(
    id="said", content="Wants no emoji", category="preference", evidence=(Evidence(quote="maybe leave the emoji out"),)
)
ANSWERED_BY_NOTHING = ("How do bees make honey?", "What is the boiling point of ethanol?", "水的沸点是多少？")


@pytest.fixture
def client() -> Iterator[MemoryClient]:
    """The memory of Ada, which does not fit its budget."""
    storage = open_storage("memory:")
    storage.save(Scope("ada"), MemoryDocument(facts=(NAMED, *TOWNS, *NEEDS), as_said=(SAID,)))
    with MemoryClient(storage, user_id="ada", model="offline", settings=Settings()) as opened:
        yield opened


def found(client: MemoryClient, query: str) -> list[str]:
    return [each.fact.id for each in client.search(query)]  # type: ignore[union-attr]


@pytest.mark.parametrize("question", ANSWERED_BY_NOTHING)
def test_what_does_not_answer_takes_a_tenth_of_the_budget_at_most(client: MemoryClient, question: str) -> None:
    lines = client.context(question).splitlines(keepends=True)

    assert sum(count_tokens(line) for line in lines if "town" in line) <= 0.1 * 2_000


@pytest.mark.parametrize("question", ANSWERED_BY_NOTHING)
def test_standing_needs_preferences_and_corrections_are_shown_whatever_the_question_is(
    client: MemoryClient, question: str
) -> None:
    text = client.context(question)

    assert all(fact.content in text for fact in NEEDS)
    assert "maybe leave the emoji out" in text


@pytest.mark.parametrize(
    ("need", "known"),
    [
        ("Daughter Liv is allergic to hay.", ""),
        ("Liv is allergic to hay.", "Has a daughter called Liv."),
        ("Bjarne is vegan.", "First name is Bjarne."),
        ("Cat allergy.", ""),
        ("Kitchen is kosher.", ""),
        ("Stress has worsened the migraines.", ""),
        ("Latex Allergy.", ""),
        ("Codeine is out of the question because of asthma.", ""),
        ("He is diabetic.", ""),
        ("妻子对坚果过敏", ""),
        ("猫毛过敏", ""),
    ],
)
def test_a_need_of_the_user_or_their_family_is_always_shown(need: str, known: str) -> None:
    """So is what may be theirs."""
    slot = "name" if known.startswith("First") else None
    memory = MemoryDocument(facts=(*TOWNS, Fact(content=need), *([Fact(content=known, slot=slot)] if known else [])))

    for text in (RecallPipeline()(memory, ["Plan a trip."]), stable(memory)):
        assert need in text


def test_a_preference_in_the_users_words_is_shown_where_there_is_room() -> None:
    """Lines that answer the question come first."""
    said = "Reply in rhymes, please."
    memory = MemoryDocument(facts=(*TOWNS, Fact(content=said, category="preference", evidence=(Evidence(quote=said),))))

    assert said in RecallPipeline()(memory, ["How do tides work?"])
    assert said not in RecallPipeline()(memory, ["Which bridges did I film?"])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("我住哪儿", "住在青岛栈桥附近"),
        ("我在哪儿学琴呀", "周三在第七中学学琴"),
        ("我弟弟叫啥", "弟弟叫宋远航"),
        ("我对啥过敏来着", "对螃蟹过敏"),
        ("我家乌龟几岁了", "乌龟今年八岁"),
        ("我开啥船", "开一艘旧帆船"),
        ("我儿子多大", "儿子刚满六岁"),
    ],
)
def test_a_colloquial_chinese_question_finds_its_answer(question: str, answer: str) -> None:
    """Its question words and pronouns are in no answer."""
    others = tuple(Fact(content=f"第{n}次坐火车去拍桥的照片") for n in range(300))

    found = RecallPipeline().search(MemoryDocument(facts=(*others, Fact(content=answer))), question)

    assert [each.fact.content for each in found][:1] == [answer]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "question", ["水的沸点是多少", "谁发明了望远镜", "为啥海水是咸的", "鲸怎么睡觉", "月亮离我们多远"]
)
def test_a_chinese_question_about_nothing_known_finds_nothing(question: str) -> None:
    others = tuple(Fact(content=f"第{n}次坐火车去拍桥的照片") for n in range(300))

    assert RecallPipeline().search(MemoryDocument(facts=others), question) == []


def stable(memory: MemoryDocument) -> str:
    """Return the block of *memory* that no question changes."""
    return split(RecallPipeline(), memory, [HumanMessage("Plan a trip.")], base=memory).stable


def test_a_memory_that_grows_beyond_the_budget_is_not_forgotten_at_once() -> None:
    """A few more facts take at most a quarter of the budget away; twice as many as fit leave what is guaranteed."""
    sizes = [count_tokens(stable(MemoryDocument(facts=(NAMED, *TOWNS[:n], *NEEDS)))) for n in range(80, 240, 5)]

    assert max(sizes) > 0.95 * 2_000
    assert max(one - following for one, following in pairwise(sizes)) <= 0.3 * 2_000
    assert sizes[-1] < 0.1 * 2_000


def test_of_a_memory_above_the_budget_the_newest_facts_are_always_shown() -> None:
    text = stable(MemoryDocument(facts=TOWNS[:130]))

    assert "town 0 " not in text
    assert "town 129 " in text


def test_nothing_that_shares_no_word_fills_the_budget(client: MemoryClient) -> None:
    assert "town" not in client.context("What is the boiling point of ethanol?")


def test_a_question_that_many_lines_answer_has_the_whole_budget(client: MemoryClient) -> None:
    assert count_tokens(client.context("Which bridges did I film?", max_tokens=2_000)) > 1_900


def test_a_memory_that_fits_is_shown_whatever_the_question_is() -> None:
    pipeline = RecallPipeline()

    assert "Kvaløya" in pipeline(MemoryDocument(facts=(NAMED,)), ["How do bees make honey?"])


@pytest.mark.parametrize("question", ["Tell me about Ines.", "How often did I meet Ines?", "我和Ines见了多少次？"])
def test_a_name_finds_its_lines_also_if_there_are_many(question: str) -> None:
    """The other words of the question may be in no line."""
    walks = tuple(Fact(id=f"w{n}", content=f"Walked along canal number {n} with Ines.") for n in range(40))
    with MemoryClient("memory:", user_id="ada", model="offline", settings=Settings(outbox="memory:")) as client:
        client.storage.save(Scope("ada"), MemoryDocument(facts=(*TOWNS, *walks)))

        assert len(found(client, question)) == 10
        assert client.context(question).count("Ines") == 40


def test_a_name_that_memory_is_full_of_is_no_answer_by_itself() -> None:
    """It is what the user talks about all the time: a request that names it needs little of that."""
    code = tuple(Fact(id=f"p{n}", content=f"Wrote Python module {n} for a client.") for n in range(150))
    other = tuple(Fact(id=f"c{n}", content=f"Baked loaf {n} on a stone.") for n in range(150))

    text = RecallPipeline()(MemoryDocument(facts=(*code, *other)), ["Write a Python function that sorts numbers."])

    assert count_tokens(text) <= 0.1 * 2_000


def test_a_question_about_two_people_is_answered_for_both() -> None:
    """However much rarer one name is than the other."""
    ines = tuple(Fact(id=f"i{n}", content=f"Swam in lake {n} with Ines.") for n in range(20))
    olaf = tuple(Fact(id=f"o{n}", content=f"Swam in lake {n} with Olaf.") for n in range(120))

    text = RecallPipeline(max_tokens=200)(MemoryDocument(facts=(*ines, *olaf)), ["Compare Ines with Olaf."])

    assert min(text.count("Ines"), text.count("Olaf")) > 3


def test_a_rare_word_finds_its_line(client: MemoryClient) -> None:
    """One word of several, but no other line has it."""
    assert "Kvaløya" in client.context("Is the weather on Kvaløya good in spring for hikers?")
    assert found(client, "Is the weather on Kvaløya good in spring for hikers?") == ["ferry"]


@pytest.mark.parametrize("query", [*ANSWERED_BY_NOTHING, "", " "])
def test_a_search_that_nothing_answers_finds_nothing(client: MemoryClient, query: str) -> None:
    """A word that a third of the memory has, such as "make", answers nothing."""
    assert client.search(query) == []


def test_a_search_leaves_out_what_is_half_as_good_as_the_best(client: MemoryClient) -> None:
    """Other lines share the word "train"."""
    assert found(client, "the train to town 17") == ["t17"]


def test_a_character_inside_another_word_is_not_found() -> None:
    """住 is in the word for "remember" as it is in the one for "live"."""
    memory = MemoryDocument(
        facts=tuple(Fact(content=text) for text in ("请记住发票要寄两份", "喜欢喝乌龙茶", "养了一只黑猫"))
    )

    assert RecallPipeline().search(memory, "我住在哪里？") == []


def test_a_recall_says_so_if_nothing_is_found(tmp_path: Path) -> None:
    """Over HTTP and in the JSON of the CLI, too."""
    pipeline, memory = RecallPipeline(), MemoryDocument(facts=TOWNS)

    assert pipeline.recall(memory, ["What is the boiling point of ethanol?"]).note == "Nothing found."
    assert pipeline.recall(memory, ["When was I in town 17?"]).note == ""


def recalled(facts: Sequence[Fact], question: str) -> str:
    memory = MemoryDocument(facts=tuple(facts))
    return split(RecallPipeline(), memory, [HumanMessage(question)], base=memory).recalled


def test_a_turn_of_a_conversation_gets_the_lines_that_answer_it_best() -> None:
    """Each turn pays for its block anew, so that one weak match of a long message is not worth it."""
    text = recalled((*TOWNS, NAMED), "I have to get to Kvaløya by ferry or train on Sunday, what do you suggest?")

    assert "Kvaløya" in text
    assert text.count("town") <= 0.1 * 2_000 / count_tokens(TOWNS[17].content)


def test_what_the_stable_block_has_room_for_is_not_in_the_other_one() -> None:
    """Older preferences than fit there are found by the question only."""
    likes = [Fact(content=f"Likes hotel number {n} best.", category="preference") for n in range(200)]

    assert "Likes hotel" not in recalled([*likes, *TOWNS], "What is the boiling point of ethanol?")
    assert "Likes hotel number 3 best." in recalled([*likes, *TOWNS], "Did I like hotel number 3?")
