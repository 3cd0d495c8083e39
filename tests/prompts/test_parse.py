"""Whatever a model says, its update is found or refused, at little cost."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from memgraph.analysis.provenance import with_provenance
from memgraph.models import (
    Addition,
    Answer,
    Evidence,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    Prompt,
    PromptExample,
    Removal,
    Section,
    Turn,
)
from memgraph.prompts.parse import AskedAbout, UnreadableError, is_incomplete, parse_answer
from memgraph.prompts.template import PromptTexts
from memgraph.testing import update_answer

TEA = update_answer("Likes tea.")


def read(answer: str | Answer, memory: MemoryDocument | None = None) -> MemoryUpdate:
    """Read an answer to a conversation of thread t1."""
    ids = (f"fact_{n:08x}" for n in itertools.count(1))
    return parse_answer(
        Answer(text=answer) if isinstance(answer, str) else answer,
        AskedAbout(memory or MemoryDocument()),
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
        f'{{"note": "first"}} {update_answer("Likes coffee.")} {TEA} {{"note": "last"}}',
        TEA.replace("}]", "},]"),
        TEA[:-1] + ",}",
        TEA.replace('"', "'"),
        TEA.replace('{"user"', '{ // what is new\n"user"'),
        TEA.replace("false", "False").replace('"newFacts"', "newFacts"),
        TEA.partition(', "factsToRemove"')[0],
        f"<think>The user drinks tea.\n{TEA}",
        '{"newFacts": [{"content": "Likes tea.", "confidence": 0.9}]}',
        '{"new_facts": [{"fact": "Likes tea."}]}',
        '{"facts": ["Likes tea."]}',
        'Sure: [{"text": "Likes tea."}]',
        '["Likes tea."]',
    ],
    ids=[
        "plain", "fenced", "after thinking", "last of several", "trailing comma in a list", "trailing comma",
        "single quotes", "comment", "python words and bare keys", "cut off between keys", "unended reasoning",
        "facts alone", "new_facts", "facts", "bare list", "bare sentences",
    ],
)  # fmt: skip
def test_the_update_is_found_whatever_surrounds_it(answer: str) -> None:
    """Small models wrap, decorate and truncate what they were asked for."""
    assert contents(read(answer)) == ["Likes tea."]


def test_of_several_whole_objects_the_last_counts() -> None:
    """The others are drafts."""
    assert contents(read(update_answer("A draft.") + ' {"newFacts": ["Likes tea."]}')) == ["Likes tea."]


@pytest.mark.parametrize("answer", ['{"newFacts":[]}', "[]", '{"newFacts": [], "summaries": null}'])
def test_an_empty_list_is_a_whole_answer(answer: str) -> None:
    """Most conversations hold nothing new."""
    assert read(answer).model_dump(exclude={"at", "thread", "message_ids"}) == {
        "rewrites": (), "additions": (), "removals": (), "merges": (), "refused": (), "quarantined": (),
        "asked": None, "decisions": (),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "the answer is empty"),
        ("I cannot help with that.", "there is none in it"),
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


@pytest.mark.parametrize(("value", "read_as"), [(0.8, 0.8), ("0.8", 0.8), (1.7, 1.0), (-3, 0.0), (1, 1.0), (None, 0.8)])
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


@pytest.mark.parametrize("item", [None, 7, [], {}, {"content": ""}, {"content": 3}, {"claim": "x"}])
def test_a_malformed_fact_is_dropped_and_counted(item: object) -> None:
    """Items are judged one by one."""
    answer = json.loads(TEA)
    answer["newFacts"].insert(0, item)

    changes = read(json.dumps(answer))

    assert contents(changes) == ["Likes tea."]
    assert len(changes.refused) == 1


def test_a_fact_without_a_confidence_was_said_outright() -> None:
    """The answer is short if what is usual is left out."""
    (addition,) = read('{"newFacts": ["Likes tea."]}').additions

    assert (addition.content, addition.category, addition.confidence) == ("Likes tea.", "context", 0.8)


def test_hidden_characters_of_an_answer_are_never_content() -> None:
    """A reviewer would not see them."""
    item = {"content": "Drinks\u202e tea.\U000e0061\u200b", "quote": "I drink tea"}

    assert contents(read(json.dumps({"newFacts": [item]}))) == ["Drinks tea."]


def test_an_unknown_category_is_context() -> None:
    """Categories are six."""
    (addition,) = read(update_answer({"content": "Likes tea.", "category": "Hobby"})).additions

    assert addition.category == "context"


def test_a_summary_counts_only_when_it_should_update_and_says_something() -> None:
    """The text the model saw goes with it, so that a person's edit meanwhile is noticed."""
    memory = MemoryDocument().with_section("work_context", Section(summary="Old."))
    answer = json.loads(update_answer(workContext="New.", topOfMind=""))
    answer["user"]["personalContext"] = {"summary": "Ignored.", "shouldUpdate": False}

    changes = read(json.dumps(answer), memory)

    assert [(rewrite.section, rewrite.summary, rewrite.base) for rewrite in changes.rewrites] == [
        ("work_context", "New.", "Old.")
    ]


def test_removals_are_ids_or_ids_with_a_reason_and_a_quote() -> None:
    """All shapes are in the field."""
    item = '{"id": "fact_2", "reason": "moved", "quote": " I moved "}'
    changes = read(f'{{"newFacts": [], "factsToRemove": ["fact_1", {item}, 3]}}')

    assert changes.removals == (
        Removal(id="fact_1", reason="contradicted"),
        Removal(id="fact_2", reason="moved", quote="I moved"),
    )


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
        (Answer(text=f'A draft: {{"newFacts": []}} Better: {TEA[:-9]}'), True),
    ],
    ids=["whole", "followed by text", "last brace missing", "text only", "empty", "not cut off", "after a draft"],
)
def test_an_answer_is_incomplete_if_its_update_was_cut_off(answer: Answer, expected: bool) -> None:  # noqa: FBT001
    """Not if only the text after it was."""
    assert is_incomplete(answer) is expected


@pytest.mark.parametrize("size", range(len(TEA) + 1, len(TEA + ', "user": {"topOfMind": {"summary": "Tea."}}}') - 1))
def test_an_answer_that_ends_between_its_keys_is_incomplete(size: int) -> None:
    """Whatever the provider reports: what would have followed must not be lost without a word."""
    whole = TEA[:-1] + ', "user": {"topOfMind": {"summary": "Tea."}}}'

    assert is_incomplete(Answer(text=whole[: size - 1]))


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
    "answer", [cut(f"<think>{TEA}"), f"<think>{TEA}</think>", f"<think>{TEA}</think>I cannot help with that."]
)
def test_reasoning_without_an_answer_is_unreadable(answer: str | Answer) -> None:
    """The model is asked again."""
    with pytest.raises(UnreadableError):
        read(answer)


def test_a_fact_may_mention_the_tag_of_reasoning() -> None:
    """It is a part of the answer there."""
    assert contents(read(update_answer("Writes a parser for </think>."))) == ["Writes a parser for </think>."]


def test_new_ids_are_drawn_once_and_never_one_that_is_taken() -> None:
    """Applying the same change set again gives the same facts."""
    memory = MemoryDocument(facts=(Fact(id="fact_00000001", content="Has a dog."),))

    changes = read(update_answer("Likes tea.", "Likes jam."), memory)

    assert [addition.id for addition in changes.additions] == ["fact_00000002", "fact_00000003"]


def test_what_cannot_be_stored_is_replaced() -> None:
    """NUL and halves of surrogate pairs are in no document."""
    changes = read('{"newFacts": ["Likes\\u0000 tea \\ud800."]}')

    assert contents(changes) == ["Likes tea \ufffd."]


# -- summaries ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "summaries",
    [
        '"summaries": [{"section": "topOfMind", "text": "Jam."}]',
        '"summaries": [{"section": "top_of_mind", "summary": "Jam."}]',
        '"summaries": {"topOfMind": "Jam.", "workContext": null}',
        '"user": {"topOfMind": "Jam."}, "history": null',
        '"user": {"topOfMind": {"summary": "Jam."}}',
    ],
)
def test_a_summary_is_read_in_any_of_its_forms(summaries: str) -> None:
    """Those of the schema, and those of older prompts."""
    changes = read(f'{{"newFacts": [], {summaries}}}')

    assert [(rewrite.section, rewrite.summary) for rewrite in changes.rewrites] == [("top_of_mind", "Jam.")]
    assert changes.refused == ()


def test_an_unknown_summary_is_refused() -> None:
    """The others count."""
    changes = read('{"newFacts": [], "summaries": {"hobbies": "Jam.", "topOfMind": "Tea."}}')

    assert [rewrite.summary for rewrite in changes.rewrites] == ["Tea."]
    assert [refusal.reason for refusal in changes.refused] == ["it is not the name of a summary"]


# -- when it was said, and in which words ---------------------------------------------------------

TURNS = {
    1: Turn(id="m1", role="human", text="Hi! I moved to “Oslo” in May.", at="2026-05-01T10:00:00Z"),
    2: Turn(id="m2", role="ai", text="You must like tea.", at="2026-05-02T10:00:00Z"),
    3: Turn(id="m3", role="human", text="I like jam.", at="2026-05-03T10:00:00Z"),
    4: Turn(id="m4", role="human", text="I like cake.", at="2026-05-04T10:00:00Z", speaker="Bob"),
}


def read_fact(**fields: object) -> Addition:
    """Read one fact about TURNS."""
    asked = AskedAbout(turns=TURNS, episode_of=lambda turn, words: f"{turn.id}: {words}")
    answer = Answer(text=json.dumps({"newFacts": [{"content": "A fact.", **fields}]}))
    (addition,) = parse_answer(answer, asked, at="", thread="t1", message_ids=("m1",)).additions
    return addition


def test_a_quote_is_kept_in_the_users_words_with_its_episode_and_time() -> None:
    """Whatever the model made of the quotation marks."""
    addition = read_fact(quote="i moved to 'Oslo' in May", turn=1)

    assert addition.evidence == (Evidence(episode="m1: I moved to “Oslo” in May", quote="I moved to “Oslo” in May"),)
    assert addition.said_at == "2026-05-01T10:00:00Z"


@pytest.mark.parametrize("turn", [None, 1, 2, 99, "3", "three", True])
def test_a_quote_finds_its_turn_even_if_the_number_is_wrong(turn: object) -> None:
    """Small models count badly."""
    addition = read_fact(quote="I like jam", turn=turn)

    assert (addition.evidence[0].quote, addition.said_at) == ("I like jam", "2026-05-03T10:00:00Z")


@pytest.mark.parametrize("quote", ["You must like tea.", "I like trains.", "", None, 7])
def test_what_the_user_did_not_say_is_not_evidence(quote: object) -> None:
    """Neither the assistant's words nor words of the model's own."""
    assert read_fact(quote=quote, turn=1).evidence == ()


@pytest.mark.parametrize("fields", [{"turn": 4}, {"quote": "I like cake", "turn": 4}, {"quote": "I like cake"}])
def test_a_fact_from_the_words_of_another_speaker_is_refused(fields: dict[str, object]) -> None:
    """Bob's taste is not the user's."""
    answer = Answer(text=json.dumps({"newFacts": [{"content": "Likes cake.", **fields}]}))

    changes = parse_answer(answer, AskedAbout(turns=TURNS), at="", thread="t1", message_ids=("m1",))

    assert changes.additions == ()
    assert [refusal.reason for refusal in changes.refused] == ["another speaker's words are not the user's"]


def test_a_fact_from_words_that_the_user_quotes_is_refused() -> None:
    """Whoever wrote them, it is not the user."""
    turns = {1: with_provenance(Turn(id="m1", role="human", text='Bob wrote: "I like cake." Nice, is it not?'))}
    answer = Answer(text=json.dumps({"newFacts": [{"content": "Likes cake.", "quote": "I like cake", "turn": 1}]}))

    changes = parse_answer(answer, AskedAbout(turns=turns), at="", thread="t1", message_ids=("m1",))

    assert [refusal.reason for refusal in changes.refused] == ["quoted or added words are not the user's"]


@pytest.mark.parametrize(("turn", "said_at"), [(1, "2026-05-01T10:00:00Z"), (None, "2026-05-03T10:00:00Z")])
def test_without_a_quote_the_named_turn_or_the_users_last_dates_the_fact(turn: int | None, said_at: str) -> None:
    """It was said in one of the turns shown."""
    assert read_fact(turn=turn).said_at == said_at


@pytest.mark.parametrize(
    ("fields", "valid"),
    [
        ({"date": "2026-05-01", "until": "2026-06"}, ("2026-05-01", "2026-06")),
        ({"date": "2026", "until": None}, ("2026", "")),
        ({"date": "2026-05-01T10:00:00Z"}, ("2026-05-01", "")),
        ({"date": "soon", "until": "2026-13"}, ("", "")),
        ({"date": "2026-02-30"}, ("", "")),
        ({"date": "2026-06", "until": "2026-05"}, ("2026-06", "")),
        ({"date": 2026}, ("2026", "")),
    ],
)
def test_dates_are_partial_dates_of_iso_8601(fields: dict[str, object], valid: tuple[str, str]) -> None:
    """Others are left out, and an end before the beginning is."""
    addition = read_fact(**fields)

    assert (addition.valid_from, addition.valid_until) == valid


@pytest.mark.parametrize(
    ("said", "date", "since"),
    [
        ("I've been drawing lately.", "2023-05-03", ""),
        ("我最近在学画画。", "2023-05-03", ""),
        ("I started drawing today.", "2023-05-03", "2023-05-03"),
        ("I started drawing yesterday.", "2023-05-03", "2023-05-02"),
        ("I've been drawing lately.", "2023-04", "2023-04"),
    ],
)
def test_the_day_on_which_something_was_said_is_no_date_of_the_fact_unless_the_words_name_it(
    said: str, date: str, since: str
) -> None:
    """Small models repeat it if they have no other."""
    turns = {1: Turn(id="m1", role="human", text=said, at="2023-05-03T20:00:00Z")}
    answer = json.dumps({"newFacts": [{"quote": said, "content": said, "date": date}]})

    (fact,) = parse_answer(
        Answer(text=answer), AskedAbout(turns=turns), at="", thread="t1", message_ids=("m1",)
    ).additions

    assert fact.valid_from == since
    assert fact.said_at == "2023-05-03T20:00:00Z"


def test_relative_times_become_dates() -> None:
    """Against the day of the turn: the model's own words, and those that it quoted."""
    turns = {1: Turn(id="m1", role="human", text="My dog died two days ago.", at="2023-05-03T20:00:00Z")}
    answer = '{"newFacts": [{"quote": "My dog died two days ago", "content": "The dog died two days ago."}]}'

    (fact,) = parse_answer(
        Answer(text=answer), AskedAbout(turns=turns, timezone="Asia/Tokyo"), at="", thread="t1", message_ids=("m1",)
    ).additions

    assert (fact.content, fact.valid_from) == ("The dog died two days ago (2023-05-02).", "2023-05-02")


def test_a_slot_is_kept_as_it_is() -> None:
    """It is the model's own word."""
    assert (read_fact(slot="home").slot, read_fact(slot=None).slot) == ("home", None)


# -- copies ---------------------------------------------------------------------------------------

COPIES = PromptTexts(
    Prompt(
        system="One sentence that can stand alone.",
        examples=(PromptExample(human="I like the old piano.", ai="Likes the old piano."),),
        human="I play the flute.",
    )
)


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "Lives in Quillhaven."},
        {"content": "Plays the flute.", "quote": "we moved to Quillhaven"},
        {"content": "One sentence that can stand alone"},
        {"content": "Plays.", "quote": "I like the old piano"},
    ],
    ids=["name of an example", "quote with such a name", "a rule", "quote of an example"],
)
def test_what_was_copied_from_the_prompt_is_refused(fields: dict[str, object]) -> None:
    """Small models do that if they find nothing to say."""
    answer = Answer(text=json.dumps({"newFacts": [fields]}))

    changes = parse_answer(answer, AskedAbout(turns=TURNS, texts=COPIES), at="", thread="t1", message_ids=("m1",))

    assert changes.additions == ()
    assert "copied" in changes.refused[0].reason


def test_the_users_own_words_are_not_a_copy() -> None:
    """Even if the prompt has the same sentence."""
    turns = {1: Turn(id="m1", role="human", text="I like the old piano.")}
    answer = Answer(text='{"newFacts": [{"content": "Likes the old piano.", "quote": "I like the old piano"}]}')

    changes = parse_answer(answer, AskedAbout(turns=turns, texts=COPIES), at="", thread="t1", message_ids=("m1",))

    assert contents(changes) == ["Likes the old piano."]


def test_a_copied_summary_is_refused() -> None:
    """A model that fills all six with text of the examples changes nothing."""
    answer = Answer(text=update_answer(workContext="Quillhaven.", topOfMind="Likes the old piano."))

    changes = parse_answer(answer, AskedAbout(texts=COPIES), at="", thread="t1", message_ids=("m1",))

    assert (changes.rewrites, len(changes.refused)) == ((), 2)


TITLES = 'Today I found a novel called "Emma" there. 我昨天读了“红楼梦”。 Then I read "a page, but no more than a line.'


def added_from_titles(content: str, quote: str) -> MemoryUpdate:
    answer = Answer(text=json.dumps({"newFacts": [{"content": content, "quote": quote, "turn": 1}]}))
    turns = {1: Turn(id="m1", role="human", text=TITLES)}
    return parse_answer(answer, AskedAbout(turns=turns), at="", thread="t1", message_ids=("m1",))


@pytest.mark.parametrize(
    ("content", "quote", "completed", "words"),
    [
        (
            "Found a novel called",
            "I found a novel called",
            'Found a novel called "Emma"',
            'I found a novel called "Emma"',
        ),
        ("Found a novel called.", "a novel called", 'Found a novel called "Emma"', 'a novel called "Emma"'),
        ("昨天读了", "我昨天读了", "昨天读了“红楼梦”", "我昨天读了“红楼梦”"),
        ("Found a novel.", "Today I found a novel called", "Found a novel.", "Today I found a novel called"),
        ('Found "Emma".', 'I found a novel called "Emma"', 'Found "Emma".', 'I found a novel called "Emma'),
    ],
)
def test_a_fact_that_ends_where_a_title_begins_gets_the_title(
    content: str, quote: str, completed: str, words: str
) -> None:
    """A JSON schema makes some models end a text with the mark that should begin a title."""
    (addition,) = added_from_titles(content, quote).additions

    assert addition.content == completed
    assert [evidence.quote for evidence in addition.evidence] == [words]


def test_a_fact_gets_the_title_also_if_it_quotes_other_words() -> None:
    """Its quote stays."""
    (addition,) = added_from_titles("Is reading a novel called", "there").additions

    assert addition.content == 'Is reading a novel called "Emma"'
    assert [evidence.quote for evidence in addition.evidence] == ["there"]


def test_a_fact_that_ends_where_another_quotation_begins_is_refused() -> None:
    """Nobody knows where it ends."""
    changes = added_from_titles("Then read", "Then I read")

    assert changes.additions == ()
    assert changes.refused[0].reason == "it ends where a quotation begins"
