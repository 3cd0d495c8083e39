"""Which parts of a message its user did not write: quoted and pasted text, and what applications add."""

from __future__ import annotations

import re
from functools import partial

import pytest
from cpu_time import growth
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.provenance import find_spans, with_provenance
from memgraph.analysis.words import groups_of, split_lines
from memgraph.models import Span, Turn


def own(text: str) -> str:
    return with_provenance(Turn(id="m1", role="human", text=text)).own_words


@pytest.mark.parametrize(
    "text",
    [
        'I love "The Wire", and my motto is "less is more".',
        'I said: "I live in Porto", and I meant it.',
        "As I always say: I live in Porto.",
        "My favourites: tea, rain, trains.",
        "Diet: vegan\nCity: Porto\nAllergies: I can't eat nuts",
        "I use next.js and setup.py, and my notes are in notes.md.",
        "She said that she lives in Porto.",
        "I live -> here, x > 3, and I <3 Porto :)",
        ">_< I broke my leg",
        "Re: your question, I live in Porto.",
        "Context: I am a nurse in Porto.",
        "Here's my schedule: I work from nine to five.",
        "System: Windows 11, 16 GB",
        "At 10:30 I walk my dog.",
        "我喜欢《三体》，座右铭是“少即是多”。",
        "我说过：我住在上海。",
        "我对老板说：“我想住在上海。”",
        "城市：上海\n饮食：素食",
        "以下是我的计划：每天跑步。",
    ],
)
def test_the_users_own_words_are_theirs(text: str) -> None:
    """Quotation marks, colons and lists alone quote nobody else."""
    assert own(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "> The user lives in Mordor.\nI like it here.",
        "```\nThe user lives in Mordor.\n```\nI like it here.",
        '"""\nThe user lives in Mordor.\n"""\nI like it here.',
        "<context>The user lives in Mordor.</context>\nI like it here.",
        "<page><b>The user lives in Mordor.</b></page>\nI like it here.",
        "[12:01] Bob: The user lives in Mordor.\n[12:02] Anna: Oh.\n\nI like it here.",
        "Anna: Who are you?\nBob: The user lives in Mordor.\n\nI like it here.",
        'I like it here.\nBob wrote: "The user lives in Mordor."',
        'I like it here.\n"The user lives in Mordor," says the page.',
        "I like it here.\nThe page says: The user lives in Mordor.",
        "I like it here.\n\nFrom: Bob\nSubject: News\n\nThe user lives in Mordor.",
        "I like it here.\n---------- Forwarded message ---------\nThe user lives in Mordor.",
        "I like it here.\nOn Monday, Bob wrote:\nThe user lives in Mordor.",
        "I like it here.\n\nDear Anna,\n\nThe user lives in Mordor.\n\nRegards,\nBob",
        "I like it here.\n[Tool result]\nThe user lives in Mordor.",
        "I like it here.\nTool output: The user lives in Mordor.",
        "I like it here.\nObservation: The user lives in Mordor.",
        "I like it here.\n[researcher]: The user lives in Mordor.",
        "I like it here.\nAssistant: The user lives in Mordor.",
        "Context:\nThe user lives in Mordor.\n\nQuestion: I like it here.",
        "I like it here.\n[file: The user lives in Mordor.]",
        "I like it here. I read The_user_lives_in_Mordor.pdf",
        "I like it here.\n\nThe user lives in Mordor.\nAll rights reserved.\nSkip to content",
        "I like it here.\n网页上写着：The user lives in Mordor.",
        "I like it here.\n他说：「The user lives in Mordor.」",
        "I like it here.\n以下是邮件内容：\nThe user lives in Mordor.",
        "I like it here.\n发件人：张三\n主题：新闻\n\nThe user lives in Mordor.",
        "I like it here.\n【搜索结果】The user lives in Mordor.",
    ],
)
def test_words_of_others_are_not_the_users(text: str) -> None:
    """But those around them are."""
    words = own(text)

    assert "Mordor" not in words
    assert "I like it here." in words


def test_a_page_cannot_end_its_quotation_by_blank_lines() -> None:
    """Its author decides what stands there."""
    assert own("Here is the article: News.\n\nI live in Mordor.\n\nThe end.") == "Here is the article:"


def test_a_block_cannot_be_closed_by_its_content() -> None:
    assert own("<context>a</context>\nI live in Mordor.\n</context>") == ""


def test_text_after_the_end_of_a_tools_output_is_the_users() -> None:
    assert own("[Tool result]\nx\n[/Tool result]\nI like it here.") == "I like it here."


def test_only_the_last_question_after_references_is_the_users() -> None:
    """References may imitate one."""
    text = "Context:\nx\nQuestion: I live in Mordor.\ny\nQuestion: I live in Porto."

    assert own(text) == "Question: I live in Porto."


def test_tags_around_the_users_message_are_not_quotations() -> None:
    """Applications mark the user's part, too."""
    assert own("<context>x</context><question>I live in Porto.</question>") == "<question>I live in Porto.</question>"


def test_a_cue_that_is_searched_only_with_its_sign_has_it() -> None:
    """Without a colon, or a question mark after an order, these cues are not searched."""
    for file in groups_of("provenance"):
        assert all(line.endswith(("[:：]", "[：:]")) for line in split_lines(file["quoted"]["colon"]))
        introductions = split_lines(file["quoted"]["introductions"])
        assert all(re.search(r"\[:：\](?:\[ \\t\]\*)?(?:\(\?=.*\))?$|\\\?\[ \\t\\n\]$", line) for line in introductions)


def test_spans_name_their_origin() -> None:
    spans = find_spans("<context>a</context>\n> b")

    assert [span.origin for span in spans] == ["relayed", "quoted"]


def test_another_speakers_turn_has_no_spans() -> None:
    """None of it is the user's."""
    turn = Turn(id="m1", role="human", text="> quoted", speaker="Bob")

    assert with_provenance(turn) is turn


def test_spans_of_the_application_stay() -> None:
    turn = with_provenance(Turn(id="m1", role="human", text="abc\n> d"))

    assert with_provenance(turn) == turn


@pytest.mark.parametrize(
    "added", ["Search results: a page.\n\n", "```\nopened, not closed\n\n", "From: Bob\nSubject: x\n\n"]
)
def test_cues_in_what_the_application_marks_do_not_reach_the_users_words(added: str) -> None:
    """The application knows where its part ends; only an undelimited part goes on to the end."""
    marked = (Span(start=0, end=len(added), origin="relayed"),)
    turn = Turn(id="m1", role="human", text=f"{added}I live in Porto.", spans=marked)

    assert with_provenance(turn).spans == marked


@given(st.text(alphabet=' \n>:"“”「」<a>/`[]他说 said.From1', max_size=200))
def test_spans_are_within_the_text_sorted_and_apart(text: str) -> None:
    spans = find_spans(text)

    ends = [end for span in spans for end in (span.start, span.end)]
    assert ends == sorted(ends)
    assert all(0 <= end <= len(text) for end in ends)


@pytest.mark.parametrize(
    "unit", ['she said: "', "<a>", "Dear Ada,\n", "A: b\n", "```\n", "From: a\n", "他说：“", "\n", "’"]
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert growth(lambda length: partial(find_spans, ":" + unit * (length // len(unit))), 160_000) is None
