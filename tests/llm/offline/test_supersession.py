"""What is known already: repeated, replaced, ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memgraph.models import Fact

Learn = Callable[..., dict[str, Any]]


def known(content: str, category: str = "context", slot: str | None = None) -> Fact:
    return Fact(id="fact_00000001", content=content, category=category, confidence=0.9, slot=slot)


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Lives in Oslo.", "I moved to Lisbon in May.", "Lives in Lisbon."),
        ("Works at Acme as a data engineer.", "I work at Initech.", "Works at Initech."),
        ("Name is Adam.", "My name is Ada.", "Name is Ada."),
        ("Is a junior developer.", "I'm a senior developer.", "Is a senior developer."),
        ("用户住在北京", "我搬到了上海", "用户住在上海"),
        ("在字节跳动担任后端开发工程师", "我在腾讯工作", "用户在腾讯工作"),
        ("用户住在北京", "I live in Shanghai.", "Lives in Shanghai."),
    ],
)
def test_the_new_answer_takes_the_place_of_the_old(learn: Learn, old: str, said: str, new: str) -> None:
    """Nobody lives in two places at once; a fact in a standard wording is understood without a slot."""
    answer = learn(said, known=[known(old)])

    assert [(fact["content"], fact["replaces"]) for fact in answer["newFacts"]] == [(new, ["fact_00000001"])]


@pytest.mark.parametrize(
    ("old", "slot", "said"),
    [
        ("The user lives in Oslo", "home", "I live in Lisbon now."),
        ("Moved from Leeds to York in May.", "home", "I live in Lisbon."),
        ("The user is a data engineer at Acme.", "employer", "I work at Initech."),
        ("用户姓名为张三", "name", "我叫张山"),
        ("跳槽到了美团。", "employer", "我在腾讯工作"),
    ],
)
def test_the_slot_of_another_model_is_understood(learn: Learn, old: str, slot: str, said: str) -> None:
    (fact,) = learn(said, known=[known(old, slot=slot)])["newFacts"]

    assert (fact["slot"], fact["replaces"]) == (slot, ["fact_00000001"])


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Is a vegetarian.", "I'm a nurse."),
        ("Is a student.", "I'm a barista."),
        ("Lives in constant fear of layoffs.", "I live in Lisbon."),
        ("Likes tea.", "I like coffee a lot."),
        ("Favorite food is ramen.", "My favorite color is green."),
        ("The user's sister works at Google.", "I work at Acme."),
        ("用户喜欢茶", "我喜欢咖啡"),
        ("用户在腾讯工作", "我在上海工作"),
    ],
)
def test_facts_that_can_both_be_true_stay(learn: Learn, old: str, said: str) -> None:
    """Removing what was not contradicted loses a memory for nothing."""
    answer = learn(said, known=[known(old)])

    assert answer["factsToRemove"] == []
    assert [fact["replaces"] for fact in answer["newFacts"]] == [[]]


def test_saying_less_repeats_the_known_fact_word_for_word(learn: Learn) -> None:
    """A repetition counts as a confirmation; a poorer twin would only be noise."""
    answer = learn("I work at Acme.", known=[known("Works at Acme as a data engineer.")])

    assert [fact["content"] for fact in answer["newFacts"]] == ["Works at Acme as a data engineer."]
    assert answer["factsToRemove"] == []


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Works at Acme.", "I work at Acme as a welder."),
        ("Works at Acme.", "I work as a welder at Acme."),
        ("Works as a welder at Acme.", "I work at Acme as a foreman."),
        ("用户在腾讯工作", "我在腾讯担任产品经理"),
    ],
)
def test_a_role_at_a_known_employer_replaces_what_has_none_or_another(learn: Learn, old: str, said: str) -> None:
    (fact,) = learn(said, known=[known(old)])["newFacts"]

    assert fact["replaces"] == ["fact_00000001"]


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Works at Acme as a data engineer.", "I no longer work at Acme."),
        ("用户在百度工作", "我从百度离职了"),
        ("Uses Docker.", "I quit Docker."),
        ("Has a beagle called Biscuit.", "Biscuit passed away last Thursday."),
        ("Drives an old Skoda Fabia.", "Sold the Fabia to my cousin."),
    ],
)
def test_what_the_user_says_is_over_ends_and_these_words_take_its_place(learn: Learn, old: str, said: str) -> None:
    (fact,) = learn(said, known=[known(old)])["newFacts"]

    assert (fact["replaces"], fact["quote"]) == (["fact_00000001"], said.strip("."))


@pytest.mark.parametrize(
    ("old", "said", "end"),
    [
        ("Works at a bakery.", "Handed in my notice. ", "Friday is my last day at the bakery"),
        ("用户在学吉他", "手指太疼。", "吉他不学了"),
    ],
)
def test_what_takes_several_sentences_ends_by_the_most_telling_one(learn: Learn, old: str, said: str, end: str) -> None:
    facts = learn(f"{said}{end}", known=[known(old)])["newFacts"]

    assert [fact["quote"] for fact in facts if fact["replaces"] == ["fact_00000001"]] == [end]


@pytest.mark.parametrize(
    "said",
    [
        "Biscuit likes the new garden.",
        "If Biscuit passed away, what would I do?",
        "My neighbour's dog passed away last Thursday.",
        "Has Biscuit passed away?",
        "Biscuit didn't eat his dinner.",
    ],
)
def test_only_words_that_announce_an_end_and_name_a_fact_end_it(learn: Learn, said: str) -> None:
    answer = learn(said, known=[known("Has a beagle called Biscuit.")])

    assert all(fact["replaces"] == [] for fact in answer["newFacts"])


@pytest.mark.parametrize("said", ["I stopped eating peanuts.", "I didn't eat any peanuts today.", "我不再吃花生了"])
def test_what_a_person_avoids_ends_no_allergy(learn: Learn, said: str) -> None:
    facts = learn(said, known=[known("Is allergic to peanuts."), known("对花生过敏")])["newFacts"]

    assert all(fact["replaces"] == [] for fact in facts)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Lives in Aachen.", "We used to live in Ghent."),
        ("用户住在长沙", "我以前住在兰州"),
        ("Takes thyroxine every evening.", "I didn't take my thyroxine yesterday evening."),
        ("Sings in a choir on Tuesdays.", "I stopped singing in a choir on Sundays."),
        pytest.param(
            "Has a pony.", "Sold the pony saddle.", marks=pytest.mark.xfail(reason="shares a word", strict=True)
        ),
    ],
)
def test_what_was_once_or_is_a_part_ends_nothing(learn: Learn, old: str, said: str) -> None:
    facts = learn(said, known=[known(old)])["newFacts"]

    assert all(fact["replaces"] == [] for fact in facts)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Lives in Zadar.", "We used to live in Graz."),
        ("Lives in Zadar.", "I used to live in Graz. Do you know a museum there?"),
        ("Plays the oboe.", "I used to play squash."),
        ("用户在青岛教书", "我以前在烟台教书"),
    ],
)
def test_what_is_only_past_ends_nothing_of_another_value(learn: Learn, old: str, said: str) -> None:
    facts = learn(said, known=[known(old)])["newFacts"]

    assert all(fact["replaces"] == [] for fact in facts)


@pytest.mark.parametrize(
    ("old", "said"), [("Lives in Ghent.", "I used to live in Ghent."), ("Sings.", "I used to sing.")]
)
def test_what_was_so_before_has_ended_if_all_of_it_is_named(learn: Learn, old: str, said: str) -> None:
    (fact,) = learn(said, known=[known(old)])["newFacts"]

    assert fact["replaces"] == ["fact_00000001"]


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Lives in Bristol.", "Actually it's Bath, not Bristol.", "Lives in Bath."),
        ("Is allergic to cashews.", "No, walnuts, not cashews.", "Is allergic to walnuts."),
        ("用户住在南京", "不是南京，是南昌。", "用户住在南昌"),
    ],
)
def test_a_corrected_part_gives_the_whole_fact(learn: Learn, old: str, said: str, new: str) -> None:
    """The correction alone could not be understood later."""
    (fact,) = learn(said, known=[known(old), known("Has a cat.")])["newFacts"]

    assert (fact["content"], fact["replaces"]) == (new, ["fact_00000001"])


@pytest.mark.parametrize(
    ("old", "said", "content"),
    [
        ("Is a nurse.", "I'm retired now.", "Is retired."),
        ("Works at Acme.", "I got laid off last week.", "Got laid off last week."),
        ("Works at Acme.", "I quit my job.", "I quit my job."),
        ("Is unemployed.", "I'm a nurse again.", "Is a nurse."),
        ("Is married.", "I'm single again.", "Is single."),
        ("Is engaged.", "We got married on Sunday!", "Is married."),
        ("Is 34 years old.", "I turned 35 yesterday.", "Is 35 years old."),
        ("用户34岁", "我35岁了", "用户35岁"),
        ("用户在腾讯工作", "我被裁了", "用户被裁了"),
        ("用户结婚", "我离婚了", "用户离婚"),
    ],
)
def test_without_work_or_with_another_marital_status_or_age_the_old_one_ends(
    learn: Learn, old: str, said: str, content: str
) -> None:
    (fact,) = learn(said, known=[known(old)])["newFacts"]

    assert (fact["content"], fact["replaces"]) == (content, ["fact_00000001"])


def test_another_birthday_replaces_the_known_one(learn: Learn) -> None:
    """May is a month there, and no doubt."""
    (fact,) = learn("My birthday is 21 May.", known=[known("Birthday is 12 May.", slot="birthday")])["newFacts"]

    assert (fact["slot"], fact["replaces"]) == ("birthday", ["fact_00000001"])


@pytest.mark.parametrize("said", ["I'm tired.", "I'm fired up.", "My sister got divorced.", "我累了"])
def test_what_only_sounds_so_ends_neither(learn: Learn, said: str) -> None:
    answer = learn(said, known=[known("Works at Acme."), known("Is married.")])

    assert all(fact["replaces"] == [] for fact in answer["newFacts"])


@pytest.mark.parametrize("said", ["Correction: I live in Lyon.", "Update: I live in Lyon now.", "更正一下：我住在里昂"])
def test_what_is_announced_as_a_correction_is_learned(learn: Learn, said: str) -> None:
    (fact,) = learn(said, known=[known("Lives in Nice.")])["newFacts"]

    assert fact["replaces"] == ["fact_00000001"]


def test_of_two_answers_in_one_conversation_the_last_counts(learn: Learn) -> None:
    """People correct themselves."""
    answer = learn("I live in Rome.", "Nice.", "I live in Milan.")

    assert [fact["content"] for fact in answer["newFacts"]] == ["Lives in Milan."]


KNOWN = (
    "Name is Ada.", "Goes by Addy.", "Lives in Oslo.", "Works at Acme.", "Is a data engineer.", "Is 34 years old.",
    "Birthday is May 5.", "Time zone is CET.", "Uses Docker.",
)  # fmt: skip
KNOWN_ZH = (
    "用户名叫张三", "用户也被称为小张", "用户住在北京", "用户在腾讯工作", "用户是工程师", "用户34岁",
    "用户的生日是5月5日",
)  # fmt: skip


def all_known(contents: tuple[str, ...]) -> list[Fact]:
    return [
        Fact(id=f"fact_{number:08x}", content=content, category="context", confidence=0.9)
        for number, content in enumerate(contents)
    ]


@pytest.mark.parametrize(
    "said",
    [
        "I haven't opened Vim since I moved to Zed.",
        "I moved to Zed last month.",
        "I've moved to Linear.",
        "I moved to Team Blue.",
        "I moved to Sales.",
        "I relocated to Desk 5.",
        "I am moving to Zed.",
        "I basically live in Zed.",
        "I live in Zed all day.",
        "I am living in Postman this week.",
        "I live in Fear.",
        "my dog. This is Max.",
        "Hi! This is my dog. This is Max.",
        "Hi, this is Bob from accounting.",
        "Hi, I am Team Lead.",
        "Hi, I'm Gemini.",
        "Hi, I'm Groot.",
        "my name is taken",
        "My name is missing.",
        "Call me Anytime.",
        "I go by Train.",
        pytest.param("My time zone is wrong.", marks=pytest.mark.xfail(reason="read as a correction", strict=True)),
        "My birthday is in 3 days.",
        "My birthday is 2 weeks away.",
        "My company is German.",
        "My company is Agile.",
        "I joined Twitter last year.",
        "I just joined Mastodon.",
        "I started at Chapter One.",
        "I work at Starbucks most mornings.",
        "I am 5 years old at heart.",
        "I'm a doctor in this game.",
    ],
)
def test_words_that_may_mean_something_else_neither_remove_nor_contradict_a_fact(learn: Learn, said: str) -> None:
    """People move to editors, introduce dogs and quit programs; a wrong guess must not cost a stored fact."""
    answer = learn(said, known=all_known(KNOWN))

    assert answer["factsToRemove"] == []
    assert all(fact["replaces"] == [] and "slot" not in fact for fact in answer["newFacts"])


@pytest.mark.parametrize(
    "said",
    [
        "我从Vim搬到了Zed",
        "我搬到了Zed",
        "我搬到Notion了",
        "我已经搬到了云上",
        "我搬到了隔壁",
        "我搬到了办公区",
        "你好，这里是武汉",
        "你好，我是高兴",
        "你好，我是金牛座",
        "我叫滴滴",
        "我叫苦连天",
        "我叫小明起床",
        "大家叫我帮忙",
        "朋友叫我吃饭",
        "我加入了微信群",
        "我加入了健身房",
        "我加入了读书会",
        "我的生日是3天后",
        "我在新项目工作",
        "我住在代码里",
        "我做过老师",
    ],
)
def test_chinese_words_that_may_mean_something_else_neither_remove_nor_contradict_a_fact(
    learn: Learn, said: str
) -> None:
    answer = learn(said, known=all_known(KNOWN_ZH))

    assert answer["factsToRemove"] == []
    assert all(fact["replaces"] == [] and "slot" not in fact for fact in answer["newFacts"])


@pytest.mark.parametrize(
    "said",
    [
        "My sister lives in Oslo.",
        "My wife works at Google.",
        "My husband is a pilot.",
        "我姐姐住在上海",
        "我老婆在腾讯工作",
        "我有个哥哥，是医生",
        "我有一个女儿，今年5岁",
    ],
)
def test_facts_about_other_people_fill_no_slot_of_the_user(learn: Learn, said: str) -> None:
    """The user does not move because the sister does."""
    answer = learn(said, known=all_known((*KNOWN, *KNOWN_ZH)))

    assert answer["factsToRemove"] == []
    assert all("slot" not in fact for fact in answer["newFacts"])


@pytest.mark.parametrize("said", ["I am a former teacher.", "I'm a retired nurse.", "I'm an aspiring actor."])
def test_a_profession_that_is_not_practised_replaces_none(learn: Learn, said: str) -> None:
    """It is true beside the present one."""
    assert learn(said, known=all_known(KNOWN))["factsToRemove"] == []


@pytest.mark.parametrize(
    "said",
    [
        "I moved to Bergen.",
        "I moved to Lisbon last year.",
        "I moved from Oslo to Lisbon.",
        "I moved to Voss with my wife.",
        "I moved to Voss to be closer to my parents.",
        "I live in Voss.",
        "I live in a small flat in Voss with two cats.",
        "我刚搬到珠海",
    ],
)
def test_a_move_counts_if_something_shows_that_the_name_is_a_place(learn: Learn, said: str) -> None:
    """A well-known name, or the family that moves too."""
    answer = learn(said, known=[known("Lives in Oslo.")])

    assert [(fact["slot"], fact["replaces"]) for fact in answer["newFacts"]] == [("home", ["fact_00000001"])]


@pytest.mark.parametrize("said", ["I no longer work at Siemens.", "我已经不在西门子工作了"])
def test_an_end_of_what_was_not_known_is_a_fact(learn: Learn, said: str) -> None:
    """Nothing is removed, so what was said would be lost."""
    assert len(learn(said, known=all_known(KNOWN))["newFacts"]) == 1


def test_a_greeting_names_the_user_only_if_no_name_is_known(learn: Learn) -> None:
    """It may be a joke, as in "Hi, I'm Batman", so it never replaces the name that the user stated."""
    assert [fact["content"] for fact in learn("Hi, I'm Grace.")["newFacts"]] == ["Name is Grace."]
    assert learn("Hi, I'm Grace.", known=[known("Name is Ada.")])["newFacts"] == []
    assert [fact["content"] for fact in learn("My name is Ada.", "Hi.", "Hi, I'm Grace.")["newFacts"]] == [
        "Name is Ada."
    ]
