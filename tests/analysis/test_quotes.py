"""Quotes are found in what the user wrote, whatever the model did to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.episodes import episodes_of, find_episode
from memgraph.analysis.provenance import with_provenance
from memgraph.analysis.quotes import MAX_QUOTE_CHARS, FoundQuote, QuoteFinder, find_quote, sentences_of
from memgraph.models import Turn
from memgraph.policy import Policy

SAID = "Well, I’ve moved to “Oslo” … in  May!\n我在杭州 工作，喜欢喝茶。"


def locate(quote: str, number: int | None, turns: dict[int, Turn]) -> FoundQuote | None:
    """Find a quote, first in the turn that the model named."""
    return QuoteFinder(turns.values()).find(quote, first=turns.get(number) if number is not None else None)


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ('I\'ve moved to "Oslo"', "I’ve moved to “Oslo"),
        ("i’VE moved", "I’ve moved"),
        ("moved to Oslo in May.", None),
        ("'moved to 'Oslo'... in May.'", "moved to “Oslo” … in  May"),
        ("Well ... in May", "Well, I’ve moved to “Oslo” … in  May"),
        ("in May ... Well", None),
        ("我在杭州工作", "我在杭州 工作"),
        ("Ｏｓｌｏ", "Oslo"),
        ("喜欢喝茶!", "喜欢喝茶"),
        ("ove", None),
        ("May", "May"),
        ("a", None),
        ("...", None),
        ("", None),
    ],
)
def test_marks_case_width_and_spacing_do_not_matter(quote: str, words: str | None) -> None:
    """Words do, whole and in their order."""
    assert find_quote(quote, SAID) == words


@given(st.text(), st.text(alphabet="abc xyz", min_size=3), st.text())
def test_what_was_copied_exactly_is_found(before: str, quote: str, after: str) -> None:
    """As words of the text."""
    found = find_quote(quote, f"{before} {quote} {after}")

    assert found is not None or len("".join(quote.split())) < 2


@given(st.text(), st.text())
def test_what_is_found_stands_in_the_text(quote: str, text: str) -> None:
    """It is never the model's wording."""
    found = find_quote(quote, text)

    assert found is None or (found in text and len(found) <= MAX_QUOTE_CHARS)


def test_a_long_quote_is_cut() -> None:
    """Evidence is a pointer, not a copy."""
    assert len(find_quote("word " * 200, "word " * 200) or "") == MAX_QUOTE_CHARS - 1


def test_the_named_turn_is_searched_first_then_the_latest() -> None:
    """The same words may occur twice."""
    turns = {n: Turn(id=f"m{n}", role="human", text="I like tea.") for n in (1, 2, 3)}

    assert [found.turn.id for n in (2, None, 9) if (found := locate("I like tea", n, turns))] == [
        "m2",
        "m3",
        "m3",
    ]


def test_words_that_the_user_quotes_are_not_theirs() -> None:
    turns = {1: with_provenance(Turn(id="m1", role="human", text='Bob wrote: "I like tea." I like rain.'))}

    assert locate("I like tea", 1, turns) is None


def test_a_quote_around_words_of_others_leaves_them_out() -> None:
    """So the episode, which leaves them out, too, has the quote."""
    turn = with_provenance(Turn(id="m1", role="human", text="I like tea.\n> I like cake.\nI like rain."))

    found = locate("I like tea ... I like rain", 1, {1: turn})

    assert found
    assert found.words == "I like tea.\n\nI like rain"
    assert find_episode(episodes_of([turn], thread="t1", policy=Policy()), found.words)


def shown(text: str, role: str = "human") -> Turn:
    return Turn.model_validate({"id": text, "role": role, "text": text})


@pytest.mark.parametrize(
    ("quote", "text", "words"),
    [
        ("我今天去了西湖", "今天我去了西湖，很美", "今天我去了西湖"),
        ("I want to realy learn Polish", "Well, I want to really learn Polish.", "want to really learn Polish"),
        ("I do like the green tea", "I do not like the green tea", None),
        ("I would like to have some tea", "tea", None),
        ("I like it", "I liked it", None),
    ],
)
def test_a_quote_may_differ_by_a_slip(quote: str, text: str, words: str | None) -> None:
    """Not by a negation, nor if it is short."""
    found = QuoteFinder([shown(text)]).find(quote)

    assert (found and found.words) == words


def test_a_secret_is_not_quoted() -> None:
    """Also if the quote is not exact."""
    text = "my password is hunter2hunter2 since May"

    assert QuoteFinder([shown(text)]).find(text) is None
    assert QuoteFinder([shown(text)]).find("my pasword is hunter2hunter2 since May") is None


def test_the_latest_turn_of_the_assistant_is_found() -> None:
    """Only in its own words."""
    turns = [shown("I use tabs.", "ai"), shown("I use tabs."), shown("I use tabs. Still.", "ai")]

    found = QuoteFinder(turns).find_assistants("i use tabs")

    assert found is turns[2]


def test_the_sentences_of_a_quote_are_all_that_it_touches() -> None:
    text = "Hi! I like tea. Do you? I do."

    assert sentences_of("tea. Do", text) == ("Hi! ", ("I like tea. ", "Do you? "))
    assert sentences_of("Hi", text) == ("", ("Hi! ",))
    assert sentences_of("coffee", text).touched == ()


def completed(text: str, content: str, words: str) -> tuple[str, str] | None:
    found = FoundQuote(with_provenance(Turn(id="m1", role="human", text=text)), words).completed(content)
    return found and (found.content, found.quoted.words)


def test_a_title_completes_a_fact_and_its_quote() -> None:
    found = completed("I am reading “To Live” these days.", "Is reading.", "I am reading")

    assert found == ("Is reading “To Live”", "I am reading “To Live”")


@pytest.mark.parametrize(
    "text",
    [
        "I am reading a lot.",
        'I am reading "To Live',
        'I am reading "To\nLive"',
        f'I am reading "{"very " * 20}long"',
        'I am reading "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"',
    ],
    ids=["none", "open", "two lines", "long", "a secret"],
)
def test_what_is_no_title_completes_nothing(text: str) -> None:
    assert completed(text, "Is reading.", "I am reading") is None


def test_words_of_others_complete_nothing() -> None:
    assert completed('My boss said: "Work more!"', "Their boss said", "My boss said") is None


@given(st.text(), st.text(alphabet='ab "“”\n', max_size=30))
def test_a_completed_quote_stands_in_the_text(before: str, after: str) -> None:
    text = f"{before} I read{after}"
    found = completed(text, "Read", "I read")

    assert found is None or found[1] in text


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Is reading a book called ", ' "To Live"'),
        ("Is reading a book called.", ""),
        ("Is reading a Book Called", ""),
        ("Is reading a book named", ""),
        ("Is reading a song", ""),
        ("", ""),
    ],
    ids=["cut", "has an end", "a name", "another word", "two titles", "empty"],
)
def test_the_title_after_the_last_word_is_found_if_it_is_the_only_one(content: str, title: str) -> None:
    said = ('I read a book called "To Live".', 'I sang a song "Hey", then the song "Ho".')
    turns = [Turn(id=f"m{number}", role="human", text=text) for number, text in enumerate(said)]

    assert QuoteFinder(turns).title_after(content) == title


def test_titles_of_others_are_not_found() -> None:
    turns = [Turn(id="m1", role="ai", text='Read the book called "To Live".')]

    assert QuoteFinder(turns).title_after("Is reading a book called") == ""
