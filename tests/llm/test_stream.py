"""A slow answer is waited for; a call that is given up is closed on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from streaming_server import Connection, Script, StreamingServer, answer, serving

from memgraph import Policy
from memgraph.llm.call import read_answer, read_usage
from memgraph.llm.stream import CallLimits, DeadlineError, astream, make_limits, stream
from memgraph.testing import ScriptedModel

HELLO = [HumanMessage("Hello.")]
PATIENT = CallLimits(60, 60, 60)

both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def openai(server: StreamingServer) -> ChatOpenAI:
    """The client of a server."""
    return ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("none"), max_retries=0, stream_usage=True)


def run(model: Any, limits: CallLimits, is_async: bool) -> AIMessage:  # noqa: FBT001
    """Stream an answer."""
    options = {"timeout": limits.client} if isinstance(model, ChatOpenAI) else {}
    if is_async:
        return asyncio.run(astream(model, HELLO, limits, options))
    return stream(model, HELLO, limits, options)


def silent(connection: Connection) -> None:
    """Say nothing."""
    connection.wait_until_closed()


def silent_after_a_chunk(connection: Connection) -> None:
    """Begin an answer."""
    connection.send('{"newFacts')
    connection.wait_until_closed()


def endless(connection: Connection) -> None:
    """Go on until the client closes the connection."""
    connection.send("x")
    while not connection.wait_until_closed(0.05):
        connection.send("x")


def slow(connection: Connection) -> None:
    """Take longer for the answer than a client would be silent for."""
    for _ in range(8):
        connection.send("x")
        connection.wait_until_closed(0.2)
    connection.finish()


def repeating(connection: Connection) -> None:
    """Repeat a fact until the client closes the connection."""
    connection.send('{"newFacts":[')
    while not connection.wait_until_closed(0.001):
        connection.send('{"content":"Likes tea."},')


@both_ways
def test_an_answer_that_repeats_itself_is_closed_and_ends_before_that(is_async: bool) -> None:  # noqa: FBT001
    with serving(repeating) as server:
        message = run(openai(server), PATIENT, is_async)

        assert server.closed.acquire(timeout=60)
    answer = read_answer(message)
    assert (answer.text, answer.cut_off) == ('{"newFacts":[{"content":"Likes tea."},', True)


@both_ways
def test_the_chunks_are_joined_with_their_usage_and_their_end(is_async: bool) -> None:  # noqa: FBT001
    """As if the answer had come whole."""
    with serving(answer('{"newFacts"', ":[]}", reason="length")) as server:
        message = run(openai(server), PATIENT, is_async)

    assert read_answer(message).model_dump() == {"text": '{"newFacts":[]}', "cut_off": True, "refused": False}
    assert read_usage(message).model_dump() == {"calls": 1, "input_tokens": 11, "output_tokens": 7}


@both_ways
def test_a_slow_answer_is_not_a_dead_one(is_async: bool) -> None:  # noqa: FBT001
    """Only the silence between two chunks is limited: 1.6 seconds of answer, none of them silent for 1."""
    with serving(slow) as server:
        assert run(openai(server), CallLimits(60, 1, 60), is_async).text == "x" * 8


@both_ways
def test_the_first_chunk_may_take_longer(is_async: bool) -> None:  # noqa: FBT001
    """The model reads the prompt meanwhile."""

    def late(connection: Connection) -> None:
        connection.wait_until_closed(0.6)
        connection.send("Hi.")
        connection.finish()

    with serving(late) as server:
        assert run(openai(server), CallLimits(60, 0.3, 60), is_async).text == "Hi."


@both_ways
@pytest.mark.parametrize("script", [silent, silent_after_a_chunk])
def test_silence_ends_the_call_and_closes_the_connection(script: Script, is_async: bool) -> None:  # noqa: FBT001
    """A server would go on computing an answer that nobody reads."""
    with serving(script) as server:
        with pytest.raises(TimeoutError):
            run(openai(server), CallLimits(0.3, 0.3, 60), is_async)

        assert server.closed.acquire(timeout=60)


@both_ways
def test_the_deadline_ends_an_endless_answer_and_closes_the_connection(is_async: bool) -> None:  # noqa: FBT001
    """Although it is never silent."""
    with serving(endless) as server:
        with pytest.raises(DeadlineError):
            run(openai(server), CallLimits(5, 5, 0.5), is_async)

        assert server.closed.acquire(timeout=60)


def test_a_cancelled_call_closes_the_connection() -> None:
    """As when the run around it is cancelled."""

    async def cancel(server: StreamingServer) -> None:
        task = asyncio.create_task(astream(openai(server), HELLO, PATIENT, {}))
        await asyncio.to_thread(server.requested.acquire, timeout=60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serving(silent_after_a_chunk) as server:
        asyncio.run(cancel(server))

        assert server.closed.acquire(timeout=60)


@pytest.mark.parametrize("chunks", [["Hi."], []], ids=["a chunk", "the end"])
def test_a_cancellation_that_the_client_drops_still_ends_the_call(chunks: list[str]) -> None:
    """As asyncio.wait_for of Python 3.11 drops one that arrives together with its result."""
    waiting = asyncio.Event()

    class Dropping(ScriptedModel):
        async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
            yield ChatGenerationChunk(message=AIMessageChunk("Well."))
            waiting.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            for text in chunks:
                yield ChatGenerationChunk(message=AIMessageChunk(text))

    async def cancel() -> None:
        task = asyncio.create_task(astream(Dropping(), HELLO, PATIENT, {}))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


@both_ways
@pytest.mark.parametrize(
    "model",
    [ScriptedModel("Hi."), FakeListChatModel(responses=["Hi."]), GenericFakeChatModel(messages=iter(["Hi."]))],
    ids=["whole", "by character", "by word"],
)
def test_any_model_is_read(model: Any, is_async: bool) -> None:  # noqa: FBT001
    """One that cannot stream has one chunk."""
    if isinstance(model, GenericFakeChatModel):
        model = GenericFakeChatModel(messages=iter(["Hi."]))

    assert run(model, PATIENT, is_async).text == "Hi."


@both_ways
def test_an_error_in_the_stream_is_raised(is_async: bool) -> None:  # noqa: FBT001
    """After the chunks before it."""

    class Broken(ScriptedModel):
        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            yield ChatGenerationChunk(message=AIMessageChunk("Hi."))
            raise ConnectionError("reset")

    with pytest.raises(ConnectionError, match="reset"):
        run(Broken(), PATIENT, is_async)


@pytest.mark.parametrize(
    ("size", "limits"),
    [(1, (60, 60, 600)), (2_000, (60, 60, 600)), (2_001, (120, 60, 600)), (1_000_000, (600, 60, 600))],
)
def test_the_first_chunk_has_time_for_the_prompt(size: int, limits: tuple[float, ...]) -> None:
    """By the defaults, a model may read 8 tokens a second; the whole call never takes longer than the deadline."""
    assert make_limits([HumanMessage("x" * size)], Policy()) == limits
