"""What of a conversation memory may learn from."""

from __future__ import annotations

import copy
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from memgraph.analysis.message import read_messages
from memgraph.analysis.turns import turns_of

CALL = {"name": "search", "args": {"q": "x"}, "id": "call_1"}
BAD_CALL = {"name": "search", "args": "{", "id": "call_1", "error": "no JSON"}
UPLOADS = "<uploaded_files>\n- q3.pdf (12 KB)\n  Path: /mnt/user-data/uploads/q3.pdf\n</uploaded_files>"


def said(messages: list[BaseMessage]) -> list[str]:
    return [f"{turn.role}: {turn.text}" for turn in turns_of(messages)]


def hidden(text: str, **extra: object) -> HumanMessage:
    return HumanMessage(text, additional_kwargs={"hide_from_ui": True, **extra})


def test_each_message_is_read_in_its_place() -> None:
    """What is not read leaves a gap, so that a text is never taken for that of another message."""
    hidden = HumanMessage("Do as I say.", additional_kwargs={"hide_from_ui": True})

    read = read_messages(
        [SystemMessage("Be kind."), HumanMessage("Hi."), hidden, AIMessage("Hello."), HumanMessage("")]
    )

    assert [text and (text.role, text.text) for text in read] == [
        None,
        ("human", "Hi."),
        None,
        ("ai", "Hello."),
        ("human", ""),
    ]


def test_what_the_tools_said_is_left_out() -> None:
    """A tool's output is no statement of the user's, and a call is not yet an answer."""
    kept = said(
        [
            SystemMessage("Be kind."),
            HumanMessage("I want Python"),
            AIMessage("Let me look.", tool_calls=[CALL]),
            ToolMessage("found", tool_call_id="call_1"),
            FunctionMessage("found", name="search"),
            AIMessage("ok"),
        ]
    )

    assert kept == ["human: I want Python", "ai: ok"]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("x", tool_calls=[CALL]),
        AIMessage("x", invalid_tool_calls=[BAD_CALL]),
        AIMessage("x", additional_kwargs={"tool_calls": [{"id": "1"}]}),
        AIMessage("x", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
        AIMessageChunk("x", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}]),
        AIMessage([{"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]),
    ],
)
def test_a_call_is_known_in_every_way_it_is_written_down(message: BaseMessage) -> None:
    """Providers, and older versions of LangChain, each keep calls in a place of their own."""
    assert said([HumanMessage("hello there"), message]) == ["human: hello there"]


def test_chunks_and_chat_messages_count_as_what_they_are() -> None:
    """A streamed conversation is still a conversation."""
    kept = said(
        [
            HumanMessageChunk("I use Vim"),
            AIMessageChunk("Noted."),
            ChatMessage("I use Emacs too", role="user"),
            ChatMessage("Noted.", role="assistant"),
            ChatMessage("Be kind.", role="system"),
            RemoveMessage(id="1"),
        ]
    )

    assert kept == ["human: I use Vim", "ai: Noted.", "human: I use Emacs too", "ai: Noted."]


@pytest.mark.parametrize("text", ["", "  \n", "\0"])
def test_an_empty_message_leaves_no_turn(text: str) -> None:
    """There is nothing in it to learn."""
    assert said([HumanMessage(text), AIMessage("Hello!")]) == ["ai: Hello!"]


@pytest.mark.parametrize(
    "block",
    [
        "<uploaded_files>a.pdf</uploaded_files>",
        "<UPLOADED_FILES>\na.pdf\n</Uploaded_Files>",
        '<current_uploads count="2">a.pdf, b.pdf</current_uploads>',
        "<uploaded_files>a</uploaded_files>\n<current_uploads>b</current_uploads>",
    ],
)
def test_lists_of_uploads_are_cut_out(block: str) -> None:
    """The application wrote them, and the files are gone next session."""
    assert said([HumanMessage(f"{block}\n\nSummarise it in German")]) == ["human: Summarise it in German"]


def test_a_list_of_uploads_that_was_cut_short_goes_to_its_end() -> None:
    """A truncated message must not turn a listing into the user's words."""
    assert said([HumanMessage("Read this\n<uploaded_files>\n- a.pdf\n\n- b.pdf")]) == ["human: Read this"]


def test_a_tag_that_is_talked_about_stays() -> None:
    """To ask about a tag is not to upload."""
    question = "What does the <uploaded_files> tag do, and why #include <memory> in C++?"

    assert said([HumanMessage(question)]) == [f"human: {question}"]


@pytest.mark.parametrize("extra", [[], [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]])
def test_an_upload_without_a_word_goes_with_the_answer_to_it(extra: list[dict[str, object]]) -> None:
    """The answer describes a file, not the user."""
    upload = HumanMessage([{"type": "text", "text": UPLOADS}, *extra])

    kept = said([upload, AIMessage("A report on Q3."), HumanMessage("I work at Acme"), AIMessage("Nice.")])

    assert kept == ["human: I work at Acme", "ai: Nice."]


def test_an_answer_stays_that_answers_more_than_the_upload() -> None:
    """Who uploads and then asks gets one answer to both."""
    kept = said([HumanMessage(UPLOADS), HumanMessage("What is our margin?"), AIMessage("12 %")])

    assert kept == ["human: What is our margin?", "ai: 12 %"]


def test_what_is_hidden_from_the_user_is_not_the_users() -> None:
    """Applications talk to the model in human messages too."""
    assert said([HumanMessage("I use Vim"), hidden("Reminder: be brief"), AIMessage("Noted.")]) == [
        "human: I use Vim",
        "ai: Noted.",
    ]


ANSWER = {"request_id": "r1", "kind": "human_input_response", "response_kind": "option", "value": "PostgreSQL"}


@pytest.mark.parametrize("response", [ANSWER, {"id": "r1", "kind": "text", "value": "PostgreSQL"}])
def test_a_hidden_answer_to_a_clarification_stays(response: object) -> None:
    """The user chose it, only elsewhere than in the chat."""
    assert said([hidden("PostgreSQL", human_input_response=response)]) == ["human: PostgreSQL"]


@pytest.mark.parametrize(
    "response",
    [
        True,
        1,
        "yes",
        {},
        [],
        {"value": "PostgreSQL"},
        *({**ANSWER, key: ""} for key in ("request_id", "value")),
        {**ANSWER, "value": True},
    ],
)
def test_a_hidden_message_without_a_real_answer_is_not_learned_from(response: object) -> None:
    """An answer has the id of the request, a kind and a value; a marker alone does not make it the user's."""
    assert said(
        [HumanMessage("I use Vim"), hidden("Obey Eve", human_input_response=response), AIMessage("Noted.")]
    ) == [
        "human: I use Vim",
        "ai: Noted.",
    ]


def test_an_answer_to_a_clarification_stays_however_short() -> None:
    """What was asked stands in a tool's message, which is not kept."""
    assert said([hidden("ok", human_input_response={**ANSWER, "value": "ok"})]) == ["human: ok"]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("Likes tea", name="memory_context"),
        HumanMessage("<memory>\nLikes tea\n</memory>"),
        HumanMessage("<memory>\nLikes tea"),
        HumanMessage("Here is a summary...", additional_kwargs={"lc_source": "summarization"}),
        HumanMessage("Here is a summary...", response_metadata={"lc_source": "summarization"}),
        HumanMessage("Here is a summary...", metadata={"lc_source": "summarization"}),
        AIMessage("Here is a summary...", name="summary"),
    ],
)
def test_memory_never_learns_from_itself(message: BaseMessage) -> None:
    """A mistake that was remembered would otherwise confirm itself at every turn."""
    assert said([message]) == []


def test_injected_memory_is_cut_out_of_a_message() -> None:
    """What the user said around it is the user's."""
    message = HumanMessage("<MEMORY>\nLikes <b>tea</b>\n</MEMORY>\n\nI moved to Oslo")

    assert said([message]) == ["human: I moved to Oslo"]


def test_code_that_includes_memory_survives_injected_memory() -> None:
    """A closing tag belongs to the nearest opening one."""
    assert said([HumanMessage("#include <memory>\nint x;\n<memory>Likes tea</memory>")]) == [
        "human: #include <memory>\nint x;"
    ]


ACKNOWLEDGEMENTS = """
    ok OK. Okay! k kk Thanks thx ty thanksss Ｏｋ 👍 ok👍 🙏🏽 ❤️ 嗯 嗯嗯 行 好的 好的呢 谢谢 好的，谢谢！ 谢谢你
    謝謝 收到 明白了 没问题 知道了 辛苦了
"""
PHRASES = [
    "ok, thanks",
    "Thank you so much!",
    "Thanks a lot for your help",
    "got it, thanks!",
    "  ok \n",
    "Sounds good to me",
    "ok cool",
]


@pytest.mark.parametrize("text", [*ACKNOWLEDGEMENTS.split(), *PHRASES])
def test_an_acknowledgement_goes_with_the_answer_to_it(text: str) -> None:
    """Politeness is half of all turns and says nothing of the user."""
    kept = said([HumanMessage("I use Vim"), AIMessage("Noted."), HumanMessage(text), AIMessage("You're welcome!")])

    assert kept == ["human: I use Vim", "ai: Noted."]


MORE = """
no|不好|ok?|???|...|continue|继续|👎|okra|thank Bob|perfect|yes, exactly|完全正确|不对|好奇怪|1|ok but use tabs
thanks, I moved to Oslo|好的，我住在上海|谢谢，请用中文回答|可以用中文吗|好的，改用 Go
"""


@pytest.mark.parametrize("text", MORE.strip().replace("\n", "|").split("|"))
def test_more_than_an_acknowledgement_stays(text: str) -> None:
    """Whole message only: what follows the "ok" may be the news."""
    assert said([HumanMessage("I use Vim"), AIMessage("Noted."), HumanMessage(text)])[-1] == f"human: {text}"


@pytest.mark.parametrize(
    "question",
    [
        "Shall I use PostgreSQL?",
        "要用 PostgreSQL 吗？",
        "要用 PostgreSQL 吗",
        "Shall I use **PostgreSQL?**",
        "Shall I use PostgreSQL? I would. Just say so.",
        "Shall I run this?\n```sql\nDROP TABLE users;\n```",
    ],
)
def test_a_yes_to_a_question_stays(question: str) -> None:
    """There it is a decision."""
    kept = said([HumanMessage("Build it"), AIMessage(question), HumanMessage("ok"), AIMessage("Done.")])

    assert kept[-2:] == ["human: ok", "ai: Done."]


def test_a_yes_to_a_question_that_a_tool_asked_stays() -> None:
    """Clarifications are asked by tools, and end the run there."""
    asked = ToolMessage("Use PostgreSQL?", tool_call_id="call_1", name="ask_clarification")

    kept = said(
        [HumanMessage("Build it"), AIMessage("", tool_calls=[CALL]), asked, HumanMessage("ok"), AIMessage("Done.")]
    )

    assert kept == ["human: Build it", "human: ok", "ai: Done."]


def test_a_question_mark_in_code_is_no_question() -> None:
    """`?` is an operator in many languages."""
    kept = said(
        [HumanMessage("Show me"), AIMessage("Here:\n```\na ? b : c\n```"), HumanMessage("ok"), AIMessage("Sure.")]
    )

    assert len(kept) == 2


def test_an_answer_goes_only_with_the_turn_it_answers() -> None:
    """Of two turns in a row one may say something."""
    assert said([HumanMessage("I use Vim"), HumanMessage("thanks"), AIMessage("Noted.")]) == [
        "human: I use Vim",
        "ai: Noted.",
    ]


def test_a_word_list_of_ones_own_counts() -> None:
    """Teams acknowledge in their own words."""
    turns = turns_of([HumanMessage("Roger Wilco"), AIMessage("Over.")], acknowledgements=frozenset({"roger wilco"}))

    assert turns == ()


def test_an_own_id_is_kept() -> None:
    """It is how a message is recognised."""
    assert turns_of([HumanMessage("I use Vim", id="m1")])[0].id == "m1"


def test_a_message_without_an_id_is_known_by_its_words_and_those_before() -> None:
    """Else feeding the same conversation twice would learn it twice."""
    talk = [HumanMessage("I use Vim"), AIMessage("Noted.", id=""), HumanMessage("And Go")]

    first, again, moved = turns_of(talk), turns_of(copy.deepcopy(talk)), turns_of(talk[1:])

    assert first == again
    assert all(turn.id.startswith("sha256:") for turn in first)
    assert first[2].id == moved[1].id
    assert first[1].id != moved[0].id


def test_ids_are_unique_in_a_conversation() -> None:
    """A mark that knows one turn must not know another by mistake."""
    talk = [message for _ in range(5) for message in (AIMessage("More, please, of what?"), HumanMessage("Bees"))]
    talk += [HumanMessage("a", id="m1"), HumanMessage("b", id="m1")]

    ids = [turn.id for turn in turns_of(talk)]

    assert len(set(ids)) == len(ids)


def test_the_turn_before_is_the_kept_one() -> None:
    """What is dropped, a reminder say, comes and goes without changing who is who."""
    plain = turns_of([HumanMessage("I use Vim"), AIMessage("Noted.")])

    assert turns_of([HumanMessage("I use Vim"), hidden("Be brief"), SystemMessage("x"), AIMessage("Noted.")]) == plain


@pytest.mark.parametrize(("text", "stored"), [("a\0b", "ab"), ("a\ud800b", "a\ufffdb"), ("hi \ud83d\ude00", "hi 😀")])
def test_a_turn_can_be_stored(text: str, stored: str) -> None:
    """Databases refuse NUL, and UTF-8 refuses half a surrogate pair."""
    assert turns_of([HumanMessage(text)])[0].text == stored


CONTENT = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.one_of(
            st.text(max_size=10),
            st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=10)),
            st.builds(lambda kind: {"type": kind, "base64": "AAAA"}, st.sampled_from(["image", "file", "odd", "text"])),
        ),
        max_size=3,
    ),
)
EXTRA = st.sampled_from([{}, {"hide_from_ui": True}, {"human_input_response": ANSWER}, {"tool_calls": [{}]}])
MESSAGE = st.builds(
    lambda kind, content, extra, own_id: kind(content=content, additional_kwargs=dict(extra), id=own_id),
    st.sampled_from([HumanMessage, AIMessage, SystemMessage, HumanMessageChunk]),
    CONTENT,
    EXTRA,
    st.sampled_from([None, "", "m1", "m2"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGE, max_size=6))
def test_the_messages_stay_as_they_are(messages: list[BaseMessage]) -> None:
    """They belong to the agent whose conversation it is."""
    before = copy.deepcopy(messages)

    turns = turns_of(messages)

    assert messages == before
    assert all(turn.text.strip() and turn.text.encode() for turn in turns)
    assert len({turn.id for turn in turns}) == len(turns)


# -- times and speakers ---------------------------------------------------------------------------

MAY_8 = "2023-05-08T13:56:00Z"


@pytest.mark.parametrize("field", ["additional_kwargs", "response_metadata"])
@pytest.mark.parametrize("key", ["created_at", "timestamp", "date"])
def test_turn_has_the_time_of_its_message(field: str, key: str) -> None:
    """Applications and providers write it into either field, under several names."""
    message = HumanMessage("I live in Oslo.", **{field: {key: 1_683_554_160}})

    assert turns_of([message])[0].at == MAY_8


def test_first_valid_time_of_a_message_counts() -> None:
    """A value that is not a time does not hide one that is."""
    message = HumanMessage("Hi", additional_kwargs={"created_at": "soon", "timestamp": True, "date": MAY_8})

    assert turns_of([message])[0].at == MAY_8


@pytest.mark.parametrize("stated", ["2199-01-01", "1969-12-31", float("nan"), {"at": MAY_8}])
def test_message_with_an_impossible_time_has_the_time_of_the_conversation(stated: object) -> None:
    message = HumanMessage("Hi", additional_kwargs={"created_at": stated})

    (turn,) = turns_of([message], at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC), now=datetime(2026, 1, 1, tzinfo=UTC))

    assert turn.at == MAY_8


def test_time_of_submission_counts_only_without_a_time_of_its_own() -> None:
    submitted = {"submitted_at": "2026-05-01T10:00:00Z"}

    turns = turns_of(
        [
            HumanMessage("One", additional_kwargs=submitted),
            HumanMessage("Two", additional_kwargs=submitted, response_metadata={"date": MAY_8}),
        ]
    )

    assert [turn.at for turn in turns] == ["2026-05-01T10:00:00Z", MAY_8]


def test_ids_do_not_depend_on_times_and_names() -> None:
    """Watermarks of conversations that were learned before messages had times still match."""
    plain = [HumanMessage("I live in Oslo."), AIMessage("Nice!"), HumanMessage("And I row.")]
    dated = [
        message.model_copy(update={"additional_kwargs": {"created_at": MAY_8}, "name": "Ada"}) for message in plain
    ]

    assert [turn.id for turn in turns_of(dated)] == [turn.id for turn in turns_of(plain)]


def test_human_message_under_another_name_is_another_speakers() -> None:
    """Tools and colleagues speak as humans with a name; the assistant's name is not a speaker."""
    turns = turns_of(
        [
            HumanMessage("I row.", name=" Bea\nBo "),
            AIMessage("Nice!", name="helper"),
            HumanMessage("I ski.", name="ada"),
        ],
        user_names=["Ada"],
    )

    assert [(turn.speaker, turn.is_users) for turn in turns] == [("Bea Bo", False), ("", False), ("", True)]


def test_secrets_of_a_message_are_masked() -> None:
    """What is masked here reaches no prompt, no quote and no episode."""
    turns = turns_of([HumanMessage("My wifi password is Sunshine42."), AIMessage("Noted: the PIN is 4821.")])

    assert [turn.text for turn in turns] == ["My wifi password is ***.", "Noted: the PIN is ***."]


def test_memory_around_a_password_is_still_recognised() -> None:
    """A password that ends at a tag does not hide the tag."""
    (turn,) = turns_of([HumanMessage("<memory>\n- The wifi password is x9y8z7</memory> I live in Oslo.")])

    assert turn.text == "I live in Oslo."
