"""Whatever a model says, its update is found or refused, at little cost."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from memgraph.models import Answer, Fact, Memory, MemoryUpdate, Section
from memgraph.prompts.parse import UnreadableError, is_incomplete, parse_answer
from memgraph.testing import update_answer

TEA = update_answer("Likes tea.")


def read(answer: str | Answer, memory: Memory | None = None) -> MemoryUpdate:
    """Read an answer to a conversation of thread t1."""
    ids = (f"fact_{n:08x}" for n in itertools.count(1))
    return parse_answer(
        Answer(text=answer) if isinstance(answer, str) else answer,
        memory or Memory(),
        at="2026-05-01T10:00:00Z",
        thread="t1",
        message_ids=("m1",),
        make_id=lambda: next(ids),
    )


def contents(changes: MemoryUpdate) -> list[str]:
    return [addition.content for addition in changes.additions]


@pytest.mark.parametrize(
    "answer",
    [
        TEA,
        f"Here it is:\n```json\n{TEA}\n```\nAnything else?",
        f"<think>The user {{probably}} drinks {{'tea': 1}}.</think>{TEA}",
        f'{{"note": "first"}} {TEA} {update_answer("Likes coffee.")}',
        TEA.replace("}]", "},]"),
        TEA[:-1] + ",}",
        TEA.replace('"', "'"),
        TEA.replace('{"user"', '{ // what is new\n"user"'),
        TEA.replace("false", "False").replace('"newFacts"', "newFacts"),
        TEA.partition(', "factsToRemove"')[0],
        TEA.partition("}], ")[0],
        '{"newFacts": [{"content": "Likes tea.", "confidence": 0.9}]}',
    ],
    ids=[
        "plain", "fenced", "after thinking", "first of several", "trailing comma in a list", "trailing comma",
        "single quotes", "comment", "python words and bare keys", "cut off between keys", "cut off in a fact",
        "facts alone",
    ],
)  # fmt: skip
def test_the_update_is_found_whatever_surrounds_it(answer: str) -> None:
    """Small models wrap, decorate and truncate what they were asked for."""
    assert contents(read(answer)) == ["Likes tea."]


def test_an_object_with_all_three_keys_goes_before_one_with_facts_alone() -> None:
    """The latter may be a draft in a thinking trace."""
    assert contents(read('{"newFacts": ["A draft."]} ' + TEA)) == ["Likes tea."]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "the answer is empty"),
        ("I cannot help with that.", "there is none in it"),
        ('{"facts": []}', "there is none in it"),
        ('{"newFacts": "none"}', "there is none in it"),
        (Answer(text=TEA, refused=True), "the model refused"),
        (Answer(text='{"user": {', cut_off=True), "cut off"),
    ],
)
def test_an_answer_without_an_update_is_told_what_is_wrong(answer: str | Answer, why: str) -> None:
    """The model is asked again with these words."""
    with pytest.raises(UnreadableError, match=why):
        read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "{" * 100_000,
        "{" * 100_000 + '"newFacts"',
        '{"newFacts": ' + "[" * 10_000,
        '{"a": ' * 10_000 + '"newFacts"',
        '{"newFacts": ' + '{"a": ' * 10_000,
        ('{"newFacts": "x' + "y" * 300) * 5_000,
        '{"user": {' + '"' * 250_000 + "newFacts",
        "x" * 5_000_000 + TEA,
        '{"newFacts": [' + "9" * 100_000 + "]}",
        '{"newFacts": ["' + '\\"' * 15_000,
        '{"newFacts": [' + 'word" ' * 5_000,
        '{"newFacts": {a "' + 'x "y" ' * 5_000,
    ],
    ids=[
        "braces", "braces before the key", "lists", "nested", "nested facts", "many openings", "quotes", "5 MB",
        "huge number", "escaped quotes", "stray quotes", "quotes in pairs",
    ],
)  # fmt: skip
def test_hostile_text_is_refused_or_read_and_never_crashes(answer: str) -> None:
    """A model may say anything at all."""
    try:
        changes = read(answer)
    except UnreadableError:
        return
    assert contents(changes) == []


@pytest.mark.parametrize(("value", "read_as"), [(0.8, 0.8), ("0.8", 0.8), (1.7, 1.0), (-3, 0.0), (1, 1.0), (None, 0.5)])
def test_a_confidence_is_read_and_clamped(value: object, read_as: float) -> None:
    """Numeric strings are numbers."""
    (addition,) = read(update_answer({"content": "Likes tea.", "confidence": value})).additions

    assert addition.confidence == read_as


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "high", [0.9], {}])
def test_one_malformed_number_costs_one_item(value: object) -> None:
    """Never the batch; and the report says what was dropped."""
    changes = read(update_answer({"content": "Bad.", "confidence": value}, "Likes tea."))

    assert contents(changes) == ["Likes tea."]
    assert len(changes.refused) == 1


@pytest.mark.parametrize("item", [None, 7, [], {}, {"content": ""}, {"content": 3}, {"fact": "x"}])
def test_a_malformed_fact_is_dropped_and_counted(item: object) -> None:
    """Items are judged one by one."""
    answer = json.loads(TEA)
    answer["newFacts"].insert(0, item)

    changes = read(json.dumps(answer))

    assert contents(changes) == ["Likes tea."]
    assert len(changes.refused) == 1


def test_a_bare_sentence_is_a_fact_of_middling_confidence() -> None:
    """Models shorten what they were shown."""
    (addition,) = read('{"newFacts": ["Likes tea."]}').additions

    assert (addition.content, addition.category, addition.confidence) == ("Likes tea.", "context", 0.5)


def test_an_unknown_category_is_context() -> None:
    """Categories are six."""
    (addition,) = read(update_answer({"content": "Likes tea.", "category": "Hobby"})).additions

    assert addition.category == "context"


def test_a_summary_counts_only_when_it_should_update_and_says_something() -> None:
    """The text the model saw goes with it, so that a person's edit meanwhile is noticed."""
    memory = Memory().with_section("work_context", Section(summary="Old."))
    answer = json.loads(update_answer(workContext="New.", topOfMind=""))
    answer["user"]["personalContext"] = {"summary": "Ignored.", "shouldUpdate": False}

    changes = read(json.dumps(answer), memory)

    assert [(rewrite.section, rewrite.summary, rewrite.base) for rewrite in changes.rewrites] == [
        ("work_context", "New.", "Old.")
    ]


def test_removals_are_ids_or_ids_with_a_reason() -> None:
    """Both shapes are in the field."""
    changes = read('{"newFacts": [], "factsToRemove": ["fact_1", {"id": "fact_2", "reason": "moved"}, 3]}')

    assert [(removal.id, removal.reason) for removal in changes.removals] == [
        ("fact_1", "contradicted"),
        ("fact_2", "moved"),
    ]


@pytest.mark.parametrize(
    "fields",
    [{"confidence": "bad"}, {"content": ""}, {"content": 3}, {"content": "Lives in Quillhaven."}, {}],
    ids=["confidence", "empty", "not a text", "copied from the example", "accepted"],
)
@pytest.mark.parametrize("removed", ["fact_1", {"id": "fact_1", "reason": "moved"}])
def test_a_fact_that_an_addition_replaces_is_removed_by_the_addition_only(
    fields: dict[str, object], removed: object
) -> None:
    """If the addition is dropped, the old fact stays, also if it is listed for removal."""
    replacement = {"content": "Lives in Oslo.", "confidence": 0.9, "replaces": ["fact_1"]} | fields
    answer = Answer(text=json.dumps({"newFacts": [replacement], "factsToRemove": [removed, "fact_2"]}))

    changes = parse_answer(
        answer, Memory(), at="", thread="t1", message_ids=("m1",), example_words=frozenset({"quillhaven"})
    )

    assert [removal.id for removal in changes.removals] == ["fact_2"]
    assert len(changes.additions) == (0 if fields else 1)


ANSWER = update_answer(
    "Likes tea.", {"content": "Has a {big} dog.", "replaces": ["f1"]}, remove=["f2"], topOfMind="Jam."
)


def cut(text: str) -> Answer:
    return Answer(text=text, cut_off=True)


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("prefix", ["", "Here it is:\n```json\n"])
def test_of_an_answer_that_was_cut_off_only_closed_items_are_used(quote: str, prefix: str) -> None:
    """Wherever it ends: an item is there as a whole, or not at all."""
    text = ANSWER.replace('"', quote)
    closed = [text.index("}", text.index("tea.")) + 1, text.index("}", text.index("f1")) + 1]
    for end in range(text.index("newFacts") + 12, len(text)):
        changes = read(cut(prefix + text[:end]))

        assert contents(changes) == ["Likes tea.", "Has a {big} dog."][: sum(end >= each for each in closed)]
        assert [rewrite.summary for rewrite in changes.rewrites] == ["Jam."]
        assert all(removal.id == "f2" for removal in changes.removals)


def test_closed_sentences_of_a_list_are_used() -> None:
    """Small models shorten facts to sentences."""
    assert contents(read(cut('{"newFacts": ["Likes tea.", "Has a \\"big\\" dog.", "Lives in Os'))) == [
        "Likes tea.",
        'Has a "big" dog.',
    ]
    assert contents(read(cut('{"newFacts": ["Likes tea."'))) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (cut(TEA), False),
        (cut(TEA + " And more"), False),
        (cut(TEA[:-1]), True),
        (cut("Sure! Here"), True),
        (cut(""), True),
        (Answer(text=TEA[:-1]), False),
    ],
    ids=["whole", "followed by text", "last brace missing", "text only", "empty", "not cut off"],
)
def test_an_answer_is_incomplete_if_its_update_was_cut_off(answer: Answer, expected: bool) -> None:  # noqa: FBT001
    """Not if only the text after it was."""
    assert is_incomplete(answer) is expected


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>{update_answer('A draft.')}</think>{TEA}",
        f"{update_answer('A draft.')}</think>{TEA}",
        f"<think>{update_answer('A draft.')}</think> no, <think>{update_answer('Another.')}</think>\n```json\n{TEA}```",
    ],
    ids=["block", "without the opening tag", "two blocks"],
)
def test_only_what_follows_the_reasoning_is_read(answer: str) -> None:
    """A draft has the form of an answer."""
    assert contents(read(answer)) == ["Likes tea."]


@pytest.mark.parametrize(
    "answer", [f"<think>{TEA}", f"<think>{TEA}</think>", f"<think>{TEA}</think>I cannot help with that."]
)
def test_reasoning_without_an_answer_is_unreadable(answer: str) -> None:
    """The model is asked again."""
    with pytest.raises(UnreadableError):
        read(answer)


def test_a_fact_may_mention_the_tag_of_reasoning() -> None:
    """It is a part of the answer there."""
    assert contents(read(update_answer("Writes a parser for </think>."))) == ["Writes a parser for </think>."]


def test_new_ids_are_drawn_once_and_never_one_that_is_taken() -> None:
    """Applying the same change set again gives the same facts."""
    memory = Memory(facts=(Fact(id="fact_00000001", content="Has a dog."),))

    changes = read(update_answer("Likes tea.", "Likes jam."), memory)

    assert [addition.id for addition in changes.additions] == ["fact_00000002", "fact_00000003"]


def test_what_cannot_be_stored_is_replaced() -> None:
    """NUL and halves of surrogate pairs are in no document."""
    changes = read('{"newFacts": ["Likes\\u0000 tea \\ud800."]}')

    assert contents(changes) == ["Likes tea \ufffd."]
