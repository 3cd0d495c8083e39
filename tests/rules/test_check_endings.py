"""A fact ends only by words of the user that end it, or by an admitted fact about the same person."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from update_values import addition, draft, fact, turn

from memgraph import Context, MemoryDocument, Policy, Scope, build_graph, open_storage
from memgraph.editing import accept_pending
from memgraph.models import Evidence, Fact, Removal
from memgraph.rules.apply import apply
from memgraph.rules.check_endings import check_endings
from memgraph.rules.draft import Draft, SetAside
from memgraph.storage import MemoryStorage
from memgraph.testing import ScriptedModel

ALLERGY = fact("Allergic to penicillin.", id="f1")
SMALL_TALK = ("Lovely weather today!", "What is 2 + 2?", "Ha, good one.", "Tell me a joke.")


def removing(said: str, quote: str, known: Fact = ALLERGY, **policy: object) -> Draft:
    changes = draft(
        MemoryDocument(facts=(known,)), Policy.model_validate(policy), removals=(Removal(id="f1", quote=quote),)
    )
    return check_endings(replace(changes, turns=(turn("m1", said),)))


def replacing(said: str, content: str, *known: str) -> Draft:
    """What is left of `replaces` of a fact that quotes all that was *said*."""
    facts = tuple(fact(text, id=f"f{number}") for number, text in enumerate(known))
    new = addition(content, replaces=tuple(one.id for one in facts), evidence=(Evidence(quote=said),))
    return check_endings(replace(draft(MemoryDocument(facts=facts), additions=(new,)), turns=(turn("m1", said),)))


def waiting(result: Draft) -> list[str]:
    return [fact_id for item in result.pending for fact_id in item.removes]


def test_of_several_facts_a_claim_kept_as_said_ends_only_what_its_words_are_about() -> None:
    """A model may put any words into the claim."""
    known, said = ("Plays the cello.", "Owns a tortoise.", "Bakes bread."), "Thanks, that bread was nice."
    facts = tuple(fact(text, id=f"f{number}") for number, text in enumerate(known))
    claims = [
        addition(f"No longer: {one.content}", id=f"new-{one.id}", replaces=(one.id,), evidence=(Evidence(quote=said),))
        for one in facts
    ]
    base = replace(draft(MemoryDocument(facts=facts)), turns=(turn("m1", said),))

    result = check_endings(replace(base, as_said=tuple(SetAside(one, "", is_firm=False) for one in claims)))

    assert [one.addition.replaces for one in result.as_said] == [(), (), ("f2",)]
    assert waiting(result) == ["f0", "f1"]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Allergic to penicillin.", "I'm not allergic to penicillin after all."),
        ("Plays the cello.", "I stopped playing the cello in May."),
        ("Sister Rita lives in Berlin.", "My sister no longer lives in Berlin."),
        ("在学大提琴。", "我不再学大提琴了。"),
    ],
)
def test_words_of_the_user_end_a_fact(known: str, said: str) -> None:
    result = removing(said, said, fact(known, id="f1"))

    assert ([one.id for one in result.changes.removals], result.pending) == (["f1"], ())


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("What is 2 + 2?", ""),
        ("What is 2 + 2?", "I'm not allergic to penicillin after all."),
        ("I do not like rain.", "I do not like rain."),
        ("Am I no longer allergic to penicillin?", "Am I no longer allergic to penicillin?"),
        ("My sister is no longer allergic to penicillin.", "My sister is no longer allergic to penicillin."),
        ("I mentioned that I am allergic to penicillin.", "I am allergic to penicillin"),
        ("Tom no longer takes penicillin.", "Tom no longer takes penicillin."),
        ("If I were no longer allergic to penicillin, fine.", "If I were no longer allergic to penicillin, fine."),
        ("I doubt that I am no longer allergic to penicillin.", "I doubt that I am no longer allergic to penicillin."),
        ("Translate: I am no longer allergic to penicillin.", "Translate: I am no longer allergic to penicillin."),
        ("Do not forget I am allergic to penicillin.", "Do not forget I am allergic to penicillin."),
        ("I quit tea, and penicillin is still off limits.", "I quit tea, and penicillin is still off limits."),
        ("请别忘了我对 penicillin 过敏。", "请别忘了我对 penicillin 过敏。"),
    ],
    ids=[
        *("no quote", "invented", "of something else", "a question", "of another person", "no end"),
        *("of a named person", "a condition", "a doubt", "a text to translate"),
        *("to be remembered", "of something else, and it", "to be remembered, Chinese"),
    ],
)
def test_without_such_words_a_removal_waits_for_a_person(said: str, quote: str) -> None:
    """Once, however often it is proposed; accepting it removes the fact."""
    result = removing(said, quote)
    memory = result.memory.with_pending(*result.pending)
    again = check_endings(replace(draft(memory, removals=(Removal(id="f1"),))))

    assert (result.changes.removals, waiting(result)) == ((), ["f1"])
    assert (again.pending, [one.item for one in again.refused]) == ((), ["Allergic to penicillin."])
    assert accept_pending(memory, memory.pending[0].id).facts == ()


def test_a_policy_that_trusts_the_model_needs_no_words() -> None:
    assert removing("What is 2 + 2?", "", grounding="off").pending == ()


@pytest.mark.parametrize(
    ("said", "content", "known"),
    [
        ("My sister takes penicillin every day now.", "Takes penicillin every day.", "Allergic to penicillin."),
        ("My sister takes penicillin now.", "Sister takes penicillin.", "Allergic to penicillin."),
        ("She takes penicillin every day now.", "Takes penicillin every day.", "Allergic to penicillin."),
        ("我妹妹现在每天吃青霉素。", "每天吃青霉素。", "对青霉素过敏。"),
        ("我表妹现在每天吃青霉素。", "每天吃青霉素。", "对青霉素过敏。"),
        ("I moved to Oslo.", "Lives in Oslo.", "Mother lives in Rome."),
        ("My brother moved to Oslo.", "Brother lives in Oslo.", "Mother lives in Rome."),
        ("Tom takes penicillin every day now.", "Takes penicillin every day.", "Allergic to penicillin."),
        ("The landlord is moving to Ghent.", "Moves to Ghent.", "Lives in Ghent."),
        ("小明现在每天吃青霉素。", "每天吃青霉素。", "对青霉素过敏。"),
        ("Lena is married to Omar.", "Lena is married to Omar.", "Married to Paul."),
        ("A colleague of mine moved to Turin.", "Lives in Turin.", "Lives in Oslo."),
        ("A guy I met moved to Turin.", "Lives in Turin.", "Lives in Oslo."),
        ("One of my cousins moved to Turin.", "Lives in Turin.", "Lives in Oslo."),
        ("我一个同事搬到都灵了。", "住在都灵。", "住在奥斯陆。"),
    ],
)
def test_a_fact_about_another_person_replaces_nothing(said: str, content: str, known: str) -> None:
    """It is added; that the known one ends waits for a person."""
    result = replacing(said, content, known)

    assert ([one.replaces for one in result.changes.additions], waiting(result)) == ([()], ["f0"])


@pytest.mark.parametrize(
    ("said", "content", "known"),
    [
        ("We finally moved, I'm in Porto now.", "Lives in Porto.", "Lives in Lisbon."),
        ("My boyfriend moved out.", "Boyfriend moved out.", "Lives with a boyfriend."),
        ("My doctor took me off penicillin.", "Does not take penicillin.", "Takes penicillin."),
        ("My wife and I eat fish again.", "Eats fish.", "Is vegan."),
        ("He lives in Oslo now.", "Brother lives in Oslo.", "Brother lives in Rome."),
        ("My partner is called Jo now.", "Partner is called Jo.", "Is single."),
        ("Mum passed away.", "Mother died.", "Mother lives in Rome."),
        ("现在每天吃海鲜。", "每天吃海鲜。", "对海鲜过敏。"),
        ("The October trip is Portugal now.", "Plans a trip to Portugal.", "Plans a trip to Japan."),
    ],
)
def test_a_fact_about_the_same_person_replaces_what_the_model_names(said: str, content: str, known: str) -> None:
    """Also without a word in common: the model read both."""
    result = replacing(said, content, known)

    assert ([one.replaces for one in result.changes.additions], waiting(result)) == ([("f0",)], [])


def test_a_fact_that_names_many_replaces_the_two_most_related() -> None:
    """A small model names all that it was shown."""
    known = ("Likes jazz.", "Has a flat in Lisbon.", "Goes to a gym in Lisbon.", "Owns a boat.", "Loves Lisbon.")

    result = replacing("I left Lisbon for Porto.", "Lives in Porto.", *known)

    (one,) = result.changes.additions
    assert (one.replaces, waiting(result)) == (("f1", "f4"), ["f0", "f2", "f3"])


# -- small talk against a memory -------------------------------------------------------------------


def talked(storage: MemoryStorage, said: str, answer: dict[str, object]) -> list[str]:
    """Return what the report of one update says of the changes that were not applied."""
    graph = build_graph(model=ScriptedModel(json.dumps(answer)), storage=storage)
    report = graph.invoke({"messages": [HumanMessage(said)]}, context=Context(user_id="ada", thread_id=said))["report"]
    return [refusal.item for refusal in report.refused]


def replaced_by(said: str, content: str, known: str) -> tuple[MemoryDocument, list[str]]:
    """Return the memory of a fact that a claim names as replaced, after the update, and what was not applied."""
    storage, scope = open_storage("memory:"), Scope("ada")
    storage.save(scope, MemoryDocument(facts=(fact(known, id="fact_00000001"),)))
    refused = talked(storage, said, {"newFacts": [{"content": content, "quote": said, "replaces": ["fact_00000001"]}]})
    return storage.load(scope), refused


@pytest.mark.parametrize("is_admitted", [False, True], ids=["small talk", "with an admitted fact"])
def test_twenty_facts_survive_twenty_updates_whose_model_ends_them_all(is_admitted: bool) -> None:  # noqa: FBT001
    """Neither the removals nor a new fact that has nothing to do with them ends one; each update reports it."""
    storage, scope = open_storage("memory:"), Scope("ada")
    facts = tuple(fact(f"Owns harpsichord {n} by {chr(65 + n)}{n}.", id=f"fact_{n:08x}") for n in range(20))
    storage.save(scope, MemoryDocument(facts=facts))
    ids = [one.id for one in facts]

    for number in range(20):
        said = f"I visited museum {number} in town {number}." if is_admitted else f"{SMALL_TALK[number % 4]} {number}"
        new = {"content": f"Visited museum {number} in town {number}.", "quote": said, "replaces": ids}
        if not is_admitted:
            new |= {"content": "Sold all harpsichords.", "quote": "I sold all harpsichords"}
        facts_of = [new] if is_admitted or number % 2 else []
        assert talked(storage, said, {"newFacts": facts_of, "factsToRemove": ids})

    memory = storage.load(scope)
    assert len(frozenset(ids) & {one.id for one in memory.facts}) == 20
    assert len(memory.facts) == (40 if is_admitted else 20)
    assert [set(item.removes) for item in memory.pending] == [set(ids)]


def test_facts_survive_small_talk_that_replaces_two_unrelated_ones_at_a_time() -> None:
    """A model that names several facts which the words have nothing to do with repeats what it was shown."""
    storage, scope = open_storage("memory:"), Scope("ada")
    contents = ("Allergic to penicillin.", "Lives in Porto.", "Plays the cello.", "Drives a Volvo.")
    facts = tuple(fact(content, id=f"fact_{n:08x}") for n, content in enumerate(contents))
    storage.save(scope, MemoryDocument(facts=facts))

    for first, said in ((0, "I bought new shoes."), (2, "I went for a walk.")):
        named = [one.id for one in facts[first : first + 2]]
        new = [{"content": said, "quote": said, "replaces": [old]} for old in named]
        new[1] |= {"content": f"User said: {said}"}
        talked(storage, said, {"newFacts": new})

    assert {one.content for one in storage.load(scope).facts} >= set(contents)


def test_an_addition_that_a_person_wrote_replaces_what_it_names() -> None:
    written = addition("Prefers tea.", replaces=("f0", "f1", "f2"), edited_by_user=True)
    known = MemoryDocument(facts=tuple(fact(f"Fact {n}.", id=f"f{n}") for n in range(3)))

    assert apply(draft(known, additions=(written,)).changes, known, Policy()).memory.facts[0].content == "Prefers tea."


@pytest.mark.parametrize(
    ("known", "said", "content"),
    [
        ("Is a bachelor.", "Ines asked me at the harbour and I said yes.", "Is engaged to Ines."),
        ("Has a tortoise called Gladys.", "We buried Gladys under the fig tree.", "Tortoise Gladys has died."),
        ("Is pregnant.", "女儿昨天凌晨出生了。", "刚生了一个女儿。"),
        ("在银行上班。", "我上周递了辞呈。", "已经辞职。"),
        ("Rents a flat.", "We got the keys to our own place on Friday.", "Owns a house."),
        ("Has long hair.", "Shaved it all off for charity on Sunday.", "Has a shaved head."),
    ],
)
def test_a_fact_that_may_last_ends_the_one_that_the_model_names(known: str, said: str, content: str) -> None:
    """It needs no word in common with it."""
    result = replacing(said, content, known)

    assert (result.changes.additions[0].replaces, waiting(result)) == (("f0",), [])


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Ben takes penicillin daily.", "Takes penicillin daily."),
        ("Everyone at the office uses a Mac.", "Uses a Mac."),
        ("阿强当了外卖骑手，一天跑十四个小时。", "是外卖骑手，一天跑十四个小时。"),
        ("我老板家里有四个姐姐，他最小。", "有四个姐姐，排行最小。"),
        ("隔壁的王奶奶上周刚过完九十大寿。", "今年九十岁。"),
    ],
)
def test_a_claim_without_its_subject_ends_no_fact_of_the_user(said: str, content: str) -> None:
    result = replacing(said, content, "Is healthy.")

    assert (result.changes.additions[0].replaces, waiting(result)) == ((), ["f0"])


def test_a_person_is_named_by_a_word_and_not_by_a_part_of_one() -> None:
    """There is a "he" in "the", and an "Ann" in "planned"."""
    result = replacing("I moved to the hills, as planned.", "Lives in the hills.", "Ann has a flat in Rome.")

    assert (result.changes.additions[0].replaces, waiting(result)) == ((), ["f0"])


@pytest.mark.parametrize(
    ("said", "content", "ends"),
    [
        ("我转正了，下个月起在儿科坐诊。", "已转正，下个月起在儿科坐诊。", True),
        ("I plan to move to Lyon.", "Plans to move to Lyon.", False),
    ],
)
def test_a_plan_ends_nothing_and_the_report_says_so(said: str, content: str, *, ends: bool) -> None:
    """Beside a plan, what has happened ends what the model names."""
    memory, refused = replaced_by(said, content, "Trains on a ward.")

    assert (memory.fact("fact_00000001") is None, refused) == (ends, [] if ends else ["Trains on a ward."])


@pytest.mark.parametrize(
    "said", ["I had soup for lunch.", "I saw a rainbow.", "I bought red shoes.", "Traffic was awful, I was late."]
)
def test_small_talk_ends_no_fact_that_it_has_nothing_to_do_with(said: str) -> None:
    """Not even a single one: what a model repeats by mistake is nothing that the user said."""
    result = replacing(said, said, "Lives in Porto.")

    assert (result.changes.additions[0].replaces, waiting(result)) == ((), ["f0"])


@pytest.mark.parametrize(
    ("question", "answer", "content", "known"),
    [
        ("Are you still with Kai?", "No, we broke up.", "Separated from Kai.", "Is in a relationship with Kai."),
        ("你还抽雪茄吗？", "戒了。", "不再抽雪茄。", "抽雪茄。"),
    ],
)
def test_an_answer_ends_what_its_question_names(question: str, answer: str, content: str, known: str) -> None:
    storage, scope = open_storage("memory:"), Scope("ada")
    storage.save(scope, MemoryDocument(facts=(fact(known, id="f1"),)))
    model = ScriptedModel(json.dumps({"newFacts": [{"content": content, "quote": answer, "replaces": ["f1"]}]}))
    talk = {"messages": [AIMessage(question), HumanMessage(answer)]}

    build_graph().invoke(talk, context=Context(user_id="ada", thread_id="t", storage=storage, model=model))

    assert storage.load(scope).fact("f1") is None


@pytest.mark.parametrize("said", ["I peeled some potatoes.", "我把碗洗了。"])
def test_a_claim_without_a_word_of_its_quote_is_no_fact_and_ends_none(said: str) -> None:
    """The words of the fact that it names are not the user's."""
    memory, _ = replaced_by(said, "Got divorced from Kai.", "Is married to Kai.")

    assert ([one.content for one in memory.facts], len(memory.pending)) == (["Is married to Kai."], 1)


def test_what_ends_a_role_may_end_the_employer() -> None:
    """They share no word: without work there is neither."""
    known = fact("Works at Acme.", id="f1").model_copy(update={"slot": "employer"})
    said = "I got laid off last week."
    new = addition("Got laid off.", slot="role", replaces=("f1",), evidence=(Evidence(quote=said),))

    result = check_endings(replace(draft(MemoryDocument(facts=(known,)), additions=(new,)), turns=(turn("m1", said),)))

    assert result.changes.additions[0].replaces == ("f1",)


def test_what_was_a_joke_ends_nothing() -> None:
    storage, new = open_storage("memory:"), {"content": "Got fired.", "quote": "I got fired", "replaces": ["f1"]}
    storage.save(Scope("ada"), MemoryDocument(facts=(fact("Works at Acme.", id="f1"),)))

    talked(storage, "I got fired... just kidding", {"newFacts": [new]})

    assert [one.content for one in storage.load(Scope("ada")).facts] == ["Works at Acme."]
