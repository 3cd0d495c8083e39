"""How much two sentences about one person say the same."""

from __future__ import annotations

import pytest
from cpu_time import cpu_seconds, takes_less
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.similarity import Profile, SimilarityIndex, sentence_similarity

WORDS = "lives in Oslo sister no longer likes tea 2 两 妹妹 不 喜欢 茶 , . Rita"
SENTENCES = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS.split(" ")), max_size=12).map(" ".join))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Lisbon.", "The user is based in Lisbon."),
        ("Allergic to peanuts.", "Has a peanut allergy."),
        ("Doesn't like meetings before ten.", "Dislikes meetings before 10."),
        ("Manages a team of eight people.", "Leads a team of 8 people."),
        ("住在上海。", "家在上海。"),
        ("不喜欢十点前开会。", "讨厌在十点之前开会。"),
    ],
)
def test_paraphrases_are_alike(one: str, other: str) -> None:
    assert sentence_similarity(one, other) >= 0.7


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea.", "Dislikes tea."),
        ("Likes tea.", "No longer likes tea."),
        ("Lives in Oslo.", "Sister lives in Oslo."),
        ("Lives in Oslo.", "Lived in Oslo."),
        ("Lives in Oslo.", "Plans to live in Oslo."),
        ("Owns 2 bikes.", "Owns 3 bikes."),
        ("Went hiking in the Alps with Rita.", "Went hiking in the Alps with Tom."),
        ("Uses pnpm, not npm.", "Uses npm, not pnpm."),
        ("Swims every Tuesday.", "Swims every Thursday."),
        ("喜欢喝茶。", "不喜欢喝茶。"),
        ("住在上海。", "妹妹住在上海。"),
        ("周二游泳。", "周四游泳。"),
    ],
)
def test_sentences_that_differ_in_what_matters_are_not_alike(one: str, other: str) -> None:
    """However many words they share: denial, time, person, number, name and weekday."""
    assert sentence_similarity(one, other) < 0.5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers tea to coffee.", "Prefers coffee to tea."),
        ("Manager is called Priya.", "Is manager of Priya."),
        ("Was promoted to team lead.", "The team lead was promoted."),
        ("Noor teaches Farid to sail.", "Farid teaches Noor to sail."),
        ("Reports to Yusuf.", "Is reported to by Yusuf."),
        ("Works from 9 to 5.", "Works from 5 to 9."),
        ("Lives at 3 Oak Road, flat 3.", "Lives at 3 Oak Road, flat 13."),
        ("Is taller than the boss.", "The boss is taller."),
        ("小明管着小红。", "小红管着小明。"),
        ("经理叫小芳。", "是小芳的经理。"),
        ("升职为主管。", "主管升职了。"),
        ("向老尤汇报工作。", "老尤向用户汇报工作。"),
    ],
)
def test_words_that_change_places_change_the_meaning(one: str, other: str) -> None:
    assert sentence_similarity(one, other) < 0.5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Moved from Lagos to Porto in 2022.", "In 2022 the user moved to Porto from Lagos."),
        ("Sold the flat in Madrid in March.", "In March, the flat in Madrid was sold."),
        ("Boss is called Carol.", "Carol is the user's boss."),
        ("Likes to bake scones.", "Bakes scones."),
        ("妹妹住在北京。", "用户的妹妹在北京住。"),
    ],
)
def test_another_order_of_the_same_relations_is_alike(one: str, other: str) -> None:
    assert sentence_similarity(one, other) >= 0.7


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Drives an old Volvo.", "Drives an old Skoda."),
        ("Plays the theorbo in a trio.", "Plays the sackbut in a trio."),
        ("Feeds the hens once a day.", "Feeds the hens twice a day."),
        ("Backs up the server before the deploy.", "Backs up the server after the deploy."),
        ("在华为做测试工程师。", "在小米做测试工程师。"),
        ("公司的测试由他做。", "公司的主管由他做。"),
        ("房租每月四千。", "房贷每月四千。"),
    ],
)
def test_another_word_in_the_place_of_one_is_another_value(one: str, other: str) -> None:
    """Unless the lexicon knows both as synonyms."""
    assert sentence_similarity(one, other) < 0.5


def test_other_values_of_one_slot_are_not_alike() -> None:
    assert (
        sentence_similarity("Works at Acme Corp as a lead engineer.", "Works at Acme Labs as a lead engineer.") == 0.0
    )


@given(SENTENCES, SENTENCES)
def test_similarity_is_symmetric_and_a_share(one: str, other: str) -> None:
    assert 0 <= sentence_similarity(one, other) == sentence_similarity(other, one) <= 1


@given(SENTENCES)
def test_a_text_is_like_itself_in_any_case_and_spacing(text: str) -> None:
    assert sentence_similarity(text, f"  {text} ") == 1


@given(st.lists(SENTENCES, max_size=8), SENTENCES)
def test_an_index_finds_what_a_comparison_of_each_text_finds(texts: list[str], text: str) -> None:
    found = {alike.position: alike.similarity for alike in SimilarityIndex(texts).find(text, 0.7)}

    for position, value in found.items():
        assert value == sentence_similarity(text, texts[position])


def test_an_index_finds_synonyms_that_share_no_letters() -> None:
    texts = [*(f"Collects stamp number {number}." for number in range(2, 100)), "The user is based in Lisbon."]

    assert [alike.position for alike in SimilarityIndex(texts).find("Lives in Lisbon.", 0.7)] == [98]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Saves money for a canoe.", "Is saving for a canoe."),
        ("Wakes up at six.", "Gets up at 6."),
        ("Strongly dislikes coriander.", "Hates coriander."),
        ("Hates queues.", "Can't stand queues."),
        ("父亲在2019年去世了。", "爸爸2019年去世。"),
        ("妻子名叫静怡。", "老婆叫静怡。"),
    ],
)
def test_an_index_finds_the_same_in_other_words(text: str, same: str) -> None:
    """A word may be found by another form, a phrase, a denial or a relative: it counts before a text is read."""
    assert [alike.position for alike in SimilarityIndex(["Plays the cello.", same]).find(text, 0.7)] == [1]


def test_pairs_are_those_that_a_comparison_finds() -> None:
    texts = ["Lives in Lisbon.", "Plays the cello.", "Is based in Lisbon.", "Practises the cello."]

    assert [(one, other) for one, other, _ in SimilarityIndex(texts).pairs(0.7)] == [(0, 2), (1, 3)]


def test_a_search_does_not_compare_a_text_with_each_of_two_thousand() -> None:
    text = "Collects old maps of Lisbon."
    texts = [f"Met {name} {number} at the market to buy old maps." for number in range(500) for name in "ABCD"]

    def compare_each() -> None:
        for other in texts:
            sentence_similarity(text, other)

    compare_each()  # reads the words from their files
    assert takes_less(lambda: SimilarityIndex(texts).find(text, 0.7), lambda: cpu_seconds(compare_each) / 4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Said item-b3494e1b-1.", "Said item-b3494e1b-2."),
        ("在用b1组件", "在用b2组件"),
        ("Is user 1 and said 5.", "Is user 1 and said 1."),
    ],
)
def test_codes_that_differ_in_one_character_are_different(one: str, other: str) -> None:
    assert sentence_similarity(one, other) == 0


@given(SENTENCES, SENTENCES)
def test_the_overlap_is_a_share_and_the_same_from_both_sides(one: str, other: str) -> None:
    first, second = Profile(one), Profile(other)

    assert 0 <= first.overlap(second) == second.overlap(first) <= 1
