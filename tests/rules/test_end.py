"""What an addition replaces is past; what else such a fact states stays, as a fact of its own."""

from __future__ import annotations

import pytest
from update_values import addition, fact, update

from memgraph import Fact, MemoryDocument, Policy
from memgraph.analysis.parts import parts_of
from memgraph.models import Evidence, MemoryUpdate
from memgraph.rules.apply import ApplyResult, apply


def replacing(known: Fact, content: str, quote: str = "") -> ApplyResult:
    """What an update leaves whose only addition replaces *known*."""
    said = (Evidence(quote=quote or content),)
    new = addition(content, id="new", replaces=(known.id,), evidence=said)
    changes: MemoryUpdate = update(additions=(new,))
    return apply(changes, MemoryDocument(facts=(known,)), Policy(grounding="off"))


def contents(result: ApplyResult) -> list[str]:
    return [one.content for one in result.memory.facts]


def test_the_other_half_of_a_fact_stays() -> None:
    """With its own words and its date; the whole is past."""
    said = Evidence(quote="I live in Turku and I repair church organs.")
    known = fact("Lives in Turku and repairs church organs.", id="f1", evidence=(said,), said_at="2026-03-02T09:00:00Z")

    result = replacing(known, "Lives in Naantali.")

    new, rest = result.memory.facts
    assert (new.content, rest.content) == ("Lives in Naantali.", "Repairs church organs.")
    assert (rest.evidence, rest.said_at) == ((Evidence(quote="I repair church organs"),), known.said_at)
    assert [one.content for one in result.memory.past] == [known.content]
    assert "it still holds: Repairs church organs." in result.removed[0].why


@pytest.mark.parametrize(
    ("known", "content", "fields", "why"),
    [
        ("Plays chess.", "Plays go.", {}, "the model named it"),
        ("Plays chess.", "Plays go.", {"checked": "yes", "ends": ("f1",)}, "the check found that it ends"),
        ("Lives in Turku.", "Lives in Naantali.", {"slot": "home"}, "there is one home at a time"),
        ("Plays chess.", "Plays go.", {"edited_by_user": True}, "a person decided it"),
    ],
)
def test_a_past_fact_tells_what_decided_its_end(known: str, content: str, fields: dict[str, object], why: str) -> None:
    """The update's report, too."""
    changes = update(additions=(addition(content, replaces=("f1",), **fields),))

    result = apply(
        changes, MemoryDocument(facts=(fact(known, id="f1", slot=fields.get("slot")),)), Policy(grounding="off")
    )

    assert [past.why for past in result.memory.past] == [why]
    assert result.removed[0].why.endswith(why)


def test_the_words_of_the_user_tell_which_half_ends() -> None:
    known = fact("Keeps forty rabbits and teaches chemistry.", id="f1")

    assert contents(replacing(known, "Sold all animals.", quote="Sold the last of the rabbits.")) == [
        "Sold all animals.",
        "Teaches chemistry.",
    ]


@pytest.mark.parametrize(
    ("known", "new", "rest"),
    [
        ("Has a dog named Rex and a cat named Mimi.", "The dog Rex has died.", "Has a cat named Mimi."),
        ("Speaks Danish and Polish.", "Has forgotten all Danish.", "Speaks Polish."),
        ("在县城开五金店，每天傍晚跳广场舞。", "把五金店转让了。", "每天傍晚跳广场舞。"),
        ("喜欢爬山和游泳。", "不再爬山了。", "喜欢游泳。"),
        ("在县城开五金店，每天傍晚跳广场舞", "把五金店转让了", "每天傍晚跳广场舞"),
        ("Lives in Porto with the dog Rex.", "Rex has died.", "Lives in Porto."),
        ("Lives in Porto with the dog Rex.", "Has left Porto.", "Lives with the dog Rex."),
    ],
)
def test_a_half_is_a_sentence_of_its_own(known: str, new: str, rest: str) -> None:
    assert contents(replacing(fact(known, id="f1"), new)) == [new, rest]


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Lives in Turku and repairs church organs.", "Emigrated to Japan as a monk."),
        ("Lives with a wife and two kids.", "Lives with two kids."),
        ("养了一只猫，叫豆包。", "猫去世了。"),
        ("Is a nurse.", "Is a doctor."),
    ],
    ids=["nothing tells which half", "one statement", "the second is about the first", "one word"],
)
def test_else_the_whole_ends(known: str, new: str) -> None:
    assert contents(replacing(fact(known, id="f1"), new)) == [new]


@pytest.mark.parametrize(
    ("known", "new", "rest"),
    [
        ("Wife works at a bakery and sings in a choir.", "Wife left the bakery.", "Wife sings in a choir."),
        ("我弟弟在银行上班，每天踢足球。", "我弟弟从银行辞职了。", "我弟弟每天踢足球。"),
    ],
)
def test_a_half_about_another_person_stays_about_that_person(known: str, new: str, rest: str) -> None:
    assert contents(replacing(fact(known, id="f1"), new)) == [new, rest]


@pytest.mark.parametrize(
    ("known", "new", "rest"),
    [
        ("Is vegan and allergic to soy.", "Eats fish again.", "Is allergic to soy."),
        ("Is a vegetarian and has coeliac disease.", "Eats beef at last.", "Has coeliac disease."),
        ("吃素，对大豆过敏。", "又开始吃牛肉了。", "对大豆过敏。"),
    ],
)
def test_an_allergy_that_nobody_named_holds(known: str, new: str, rest: str) -> None:
    """Whatever ends the other half."""
    assert contents(replacing(fact(known, id="f1"), new)) == [new, rest]


def test_what_the_addition_states_again_is_no_fact_of_its_own() -> None:
    known = fact("Lives in Turku and repairs church organs.", id="f1")

    assert contents(replacing(known, "Lives in Naantali and repairs church organs.")) == [
        "Lives in Naantali and repairs church organs."
    ]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("Plays oboe, harp and lute.", ("Plays oboe.", "Plays harp.", "Plays lute.")),
        (
            "Is allergic to soy, kiwi and latex.",
            ("Is allergic to soy.", "Is allergic to kiwi.", "Is allergic to latex."),
        ),
        ("会弹钢琴、吉他和琵琶", ("会弹钢琴、吉他和琵琶",)),
        ("会说粤语、日语和德语", ("会说粤语。", "会说日语。", "会说德语。")),
        ("Lives in Graz, Austria and sells maps.", ("Lives in Graz, Austria.", "Sells maps.")),
        ("Has a shy, quiet and old cat.", ("Has a shy, quiet and old cat.",)),
        ("I live in Turku and I repair organs.", ("I live in Turku.", "I repair organs.")),
        ("I weld in Hull and milk upsets my stomach.", ("I weld in Hull.", "Milk upsets my stomach.")),
        ("Lives in Porto with a dog.", ("Lives in Porto.", "Lives with a dog.")),
        ("Is in love with Ana.", ("Is in love with Ana.",)),
        ("Has trouble with stairs.", ("Has trouble with stairs.",)),
    ],
)
def test_each_item_of_a_list_is_a_statement(content: str, parts: tuple[str, ...]) -> None:
    """One of them may end; what cannot be taken apart stays whole."""
    assert parts_of(content) == parts


def test_a_noun_of_the_users_words_is_no_statement() -> None:
    """In the first person its verb would have no "s"."""
    assert parts_of("Grows roses and tomatoes in pots.", ["I grow roses and tomatoes in pots."]) == (
        "Grows roses and tomatoes in pots.",
    )
    assert parts_of("Grows roses and sells pots.", ["I grow roses and sell pots."]) == ("Grows roses.", "Sells pots.")
