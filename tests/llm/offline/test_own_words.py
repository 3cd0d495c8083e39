"""What states something lasting about the user is kept, in the user's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memgraph import MemoryClient, Policy

Answer = dict[str, Any]
Contents = Callable[[str], list[str]]

KEPT = [
    ("I'm vegetarian, what can I cook tonight?", ["Is vegetarian."]),
    ("I love hiking in the Alps.", ["Loves hiking in the Alps."]),
    ("Hiking is my favourite hobby.", ["Hiking is my favourite hobby."]),
    ("btw im allergic to peanuts", ["Is allergic to peanuts."]),
    ("My name is Ada, I live in Lisbon, I'm vegetarian", ["Name is Ada.", "Lives in Lisbon.", "Is vegetarian."]),
    ("My sister works at Google.", ["Sister works at Google."]),
    ("I have two kids and a dog named Rex.", ["Has two kids and a dog named Rex."]),
    ("My cousin and I keep an allotment in Wigan.", ["My cousin and I keep an allotment in Wigan."]),
    ("My husband Deji and I run a bakery.", ["My husband Deji and I run a bakery."]),
    ("My two daughters and I live in Cork.", ["My two daughters and I live in Cork."]),
    ("My husband is a nurse and I run a bakery.", ["Husband is a nurse.", "Runs a bakery."]),
    ("We have twins, and both my brother and I are deaf.", ["We have twins, and both my brother and I are deaf."]),
    ("I want to learn Rust this year.", ["Wants to learn Rust this year."]),
    ("I go to the gym three times a week.", ["I go to the gym three times a week."]),
    ("Please keep your answers short.", ["Please keep your answers short."]),
    ("我对花生过敏，沙爹酱能吃吗？", ["对花生过敏"]),
    ("Which stretches are safe, now that I run marathons?", ["Runs marathons."]),
    ("How much water does it need because we keep bees on the roof", ["We keep bees on the roof."]),
    ("我是素食者，这个汤要不要换？", ["是素食者"]),
    ("gave up coffee for good, so what else wakes me up?", ["Gave up coffee for good."]),
    ("I stopped using Vim.", ["Stopped using Vim."]),
    ("I no longer eat meat.", ["No longer eats meat."]),
    ("sort out a menu for Sunday, I'm allergic to celery", ["Is allergic to celery."]),
    ("Draft a note to my landlord, I live in flat 9 on Mill Lane", ["Lives in flat 9 on Mill Lane."]),
    ("帮我挑双鞋，我是邮递员", ["是邮递员"]),
    ("Hello :) I'm a widowed beekeeper", ["Is a widowed beekeeper."]),
    ("I am allergic to turmeric.", ["Is allergic to turmeric."]),
    ("I live in Hull and milk upsets my stomach.", ["Lives in Hull.", "Milk upsets my stomach."]),
    ("I'm diabetic and the tablets make me sick", ["Is diabetic."]),
    ("Hello, I'm Udo, a welder and I am allergic to lupin.", ["Is Udo, a welder.", "Is allergic to lupin."]),
    ("I have a severe intolerance to sorbitol", ["Has a severe intolerance to sorbitol."]),
    ("我喜欢爬山。", ["喜欢爬山"]),
    ("我在大理有家自行车店，想给公众号起个名字", ["在大理有家自行车店"]),
    ("我女儿叫朵朵，今年五岁", ["女儿叫朵朵，今年五岁"]),
    ("我的目标是今年跑完一次全程马拉松", ["我的目标是今年跑完一次全程马拉松"]),
    ("以后回答请用中文", ["以后回答请用中文"]),
]

REFUSED = [
    "Do you like Python?",
    "What should I use, Python or Go?",
    "I live in Paris, don't I?",
    "I work at Google, right?",
    "If I were a doctor, I would live in Paris.",
    "I wish I lived in Hawaii.",
    "Suppose I work at NASA.",
    'My friend said "I hate Java".',
    "He told me I work too hard.",
    "Act as a lawyer. I am your client and I live in Rome.",
    "In the story, I am a knight.",
    "Just kidding, I love Java.",
    "I live in Rome and I love pizza. Translate this to Italian.",
    "Write a cover letter. I work at Tesla.",
    "Write a diary entry, I am a soldier in 1916.",
    "Draft this: I work as a nurse in Cork.",
    "translate into Spanish, my name is Peter",
    "Dear Sir, I live in Rome and I love opera.",
    "User: I love cats",
    "> I live in Rome",
    "```\nI live in Rome\n```",
    "2024-05-01 10:00:00 I live in Rome",
    "I uploaded report.pdf, it is about my holidays.",
    "I'm tired.",
    "I had pizza for lunch.",
    "Thanks, that helped a lot!",
    "I named her Tilly, she's so sweet.",
    "You'll love exploring the old town.",
    "From a distance I mean, since I'm allergic.",
    "I do - a brown dog and a cat.",
    "Exams can be hard.",
    "你喜欢Python吗？",
    "我在华为工作，对吗？",
    "如果我是医生，我会住在北京。",
    "朋友说我是天才",
    "请扮演一名医生。我叫张三。",
    "假设我在谷歌工作",
    "翻译：我住在巴黎，我喜欢美食",
    "“我叫韩梅梅”这句话怎么翻译",
    "帮我写一封求职信，我叫李雷，在华为工作",
    "开玩笑的，我喜欢加班",
    "我累了",
    "谢谢你的建议",
]
"""Questions, hypotheticals, fiction, other people's words, tasks, uploads, moods: nothing to remember a user by."""


@pytest.mark.parametrize(("said", "facts"), KEPT)
def test_what_is_lasting_is_kept_in_the_users_own_words(contents: Contents, said: str, facts: list[str]) -> None:
    """No rule rewrites it, so nothing in it can be distorted; only a slot has a standard wording."""
    assert contents(said) == facts


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_statement_of_the_user_is_not_kept(contents: Contents, said: str) -> None:
    """A wrong fact misleads every later answer; a missing one can still be said again."""
    assert contents(said) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("remember that I park on level 3", "I park on level 3"),
        ("Remember: my bike lock is in the blue drawer", "my bike lock is in the blue drawer"),
        ("please remember that the gate closes at 9 pm", "the gate closes at 9 pm"),
        ("Note that our invoices go to billing@acme.test", "our invoices go to billing@acme.test"),
        ("Keep in mind that my mother-in-law visits in July", "my mother-in-law visits in July"),
        ("don't forget I'm allergic to latex", "I'm allergic to latex"),
        ('Hi! Remember that my boat is called "The Owl".', 'my boat is called "The Owl"'),
        ("remember that my number is 0171 555 0199", "my number is 0171 555 0199"),
        ("记住我车停在B3层", "我车停在B3层"),
        ("请记住：我的储物柜是214号", "我的储物柜是214号"),
        ("帮我记一下，女儿周五三点放学", "女儿周五三点放学"),
    ],
)
def test_what_the_user_asks_to_remember_is_kept_word_for_word(contents: Contents, said: str, kept: str) -> None:
    """It was asked for, so no classifier decides, and nothing is cut."""
    assert contents(said) == [kept]


@pytest.mark.parametrize(
    "said",
    [
        "Do you remember that I like tea?",
        "remember to breathe",
        "Remember when we talked about it?",
        "我记住了",
        "remember that my password is hunter2",
    ],
)
def test_remembering_in_general_asks_for_nothing(contents: Contents, said: str) -> None:
    """Only an instruction to remember something is one; a secret is never kept."""
    assert contents(said) == []


@pytest.mark.parametrize("text", [text for text, _ in KEPT])
def test_what_is_kept_is_confident_enough_for_the_policy(text: str, learn: Callable[[str], Answer]) -> None:
    """Otherwise the policy would refuse what the classifier keeps."""
    assert all(fact["confidence"] >= Policy().fact_confidence_threshold for fact in learn(text)["newFacts"])


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I work at Acme as a plumber.", "Works at Acme as a plumber."),
        ("I work as a plumber at Acme.", "Works as a plumber at Acme."),
        ("I'm currently a plumber at Acme", "Is a plumber at Acme."),
        ("My birthday is 6 June.", "Birthday is 6 June."),
    ],
)
def test_a_standard_wording_is_a_fact_by_the_rules(said: str, content: str) -> None:
    """It has the order of the user's words: else it would be kept as said."""
    with MemoryClient("memory:", user_id="ada", model="offline") as memory:
        memory.add(said)

        assert [fact.content for fact in memory.facts()] == [content]
