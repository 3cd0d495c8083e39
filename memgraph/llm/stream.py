"""Streams an answer. Silence is limited, not the time of a slow model; the connection of a call given up is closed.

An answer that repeats itself is given up, too: what came before is the answer, as if it had reached its length limit.
"""

from __future__ import annotations

import asyncio
import queue
import re
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage

from memgraph._concurrency import run_in_thread
from memgraph.errors import ModelError
from memgraph.policy import Policy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from langchain_core.runnables import Runnable, RunnableConfig

BYTES_READ = 2_000
"""Bytes of a prompt, about 500 tokens, that a slow model reads in `model_timeout_seconds`."""

CHECK_CHARS = 200
"""Characters of an answer after which it is searched for repetitions again."""

CLIENT_MARGIN_SECONDS = 2.0
"""How much longer a client waits on a silent connection. A call that was given up may stay open for it."""

# keeps the tokens of the memory's own calls out of the stream of the agent around it
CONFIG: RunnableConfig = {"run_name": "memory_agent", "tags": ["nostream"]}


class DeadlineError(Exception):
    """The whole answer took too long. It is not retried, since the next one would take as long."""


class CallLimits(NamedTuple):
    """The time limits of one call, in seconds."""

    first: float
    """Before the first chunk: reading a long prompt is silent."""
    silence: float
    """Between two chunks."""
    deadline: float
    """For the whole answer."""

    @property
    def client(self) -> float:
        """The client's own limit of silence on the connection: longer, so that the other limits decide."""
        return self.first + CLIENT_MARGIN_SECONDS


def make_limits(prompt: Sequence[AnyMessage], policy: Policy) -> CallLimits:
    """Return the limits of *policy* for a call with *prompt*."""
    size = sum(len(message.text.encode()) for message in prompt)
    first = policy.model_timeout_seconds * -(-max(size, 1) // BYTES_READ)
    deadline = policy.model_deadline_seconds
    return CallLimits(min(first, deadline), min(policy.model_timeout_seconds, deadline), deadline)


class _Clock:
    """The time left for the next chunk of one call."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._ends_at = time.monotonic() + limits.deadline
        self._has_chunk = False

    def next_wait(self) -> float:
        """Return the maximum seconds until the next chunk."""
        wait = self._limits.silence if self._has_chunk else self._limits.first
        self._has_chunk = True
        return max(0.0, min(wait, self._ends_at - time.monotonic()))

    def timeout_error(self) -> Exception:
        """Return the error for a chunk that did not come."""
        if time.monotonic() >= self._ends_at:
            return DeadlineError(f"the answer took longer than {self._limits.deadline:g} s")
        return TimeoutError(f"no chunk for {self._limits.silence:g} s")


class _Chunks:
    """The chunks of an answer, until it ends or begins to repeat itself."""

    def __init__(self) -> None:
        self._received: list[AIMessage] = []
        self._texts: list[str] = []
        self._size = 0
        self._checked = 0
        self._repeats_from: int | None = None

    def add(self, chunk: AIMessage) -> None:
        """Append *chunk*; every CHECK_CHARS characters the answer is searched for repetitions."""
        self._received.append(chunk)
        calls = chunk.tool_call_chunks if isinstance(chunk, AIMessageChunk) else []
        text = "".join([chunk.text, *(call["args"] or "" for call in calls)])
        self._texts.append(text)
        self._size += len(text)
        if self._size - self._checked >= CHECK_CHARS:
            self._checked = self._size
            self._repeats_from = repetition_start("".join(self._texts))

    @property
    def repeats(self) -> bool:
        """Whether the answer repeats itself: what follows is worth nothing."""
        return self._repeats_from is not None

    def join(self) -> AIMessage:
        """Return the whole answer; one that repeats itself ends before that, as if it had reached its length limit."""
        answer = _join(self._received)
        if self._repeats_from is None:
            return answer
        content = "".join(self._texts)[: self._repeats_from] if answer.text else answer.content
        return answer.model_copy(update={"content": content, "response_metadata": {"finish_reason": "length"}})


def stream(
    model: Runnable[Any, Any], prompt: Sequence[AnyMessage], limits: CallLimits, options: dict[str, Any]
) -> AIMessage:
    """Return the whole answer, which is read on a daemon thread.

    The connection of a call that is given up is closed with the next chunk, or when its read times out: *options*
    hold the timeout of clients that have one for a call. The thread of another client may go on; nothing waits for it.

    Raises:
        TimeoutError: If there was silence for too long.
        DeadlineError: If the answer takes too long.
    """
    chunks: queue.SimpleQueue[AIMessage | None] = queue.SimpleQueue()
    given_up = threading.Event()

    def read() -> None:
        # a model's stream is a generator: closing it closes its connection
        with closing(cast("Generator[AIMessage]", model.stream(list(prompt), CONFIG, **options))) as answer:
            for chunk in answer:
                if given_up.is_set():
                    return
                chunks.put(chunk)

    reading = run_in_thread(partial(copy_context().run, read), "memgraph-model-call")
    reading.add_done_callback(lambda _: chunks.put(None))
    clock, received = _Clock(limits), _Chunks()
    try:
        while not received.repeats:
            try:
                chunk = chunks.get(timeout=clock.next_wait())
            except queue.Empty:
                raise clock.timeout_error() from None
            if chunk is None:  # the answer has ended
                reading.result()
                break
            received.add(chunk)
    finally:
        given_up.set()
    return received.join()


async def astream(
    model: Runnable[Any, Any], prompt: Sequence[AnyMessage], limits: CallLimits, options: dict[str, Any]
) -> AIMessage:
    """Return the whole answer without blocking a thread, see `stream`. The connection is closed at once."""
    clock, received = _Clock(limits), _Chunks()
    task = cast("asyncio.Task[object]", asyncio.current_task())
    cancellations = task.cancelling()
    answer = cast("AsyncGenerator[AIMessage]", model.astream(list(prompt), CONFIG, **options))
    has_ended = False
    try:
        while not (has_ended or received.repeats):
            try:
                async with asyncio.timeout(clock.next_wait()):
                    received.add(await anext(answer))
            except StopAsyncIteration:
                has_ended = True
            except TimeoutError as error:
                raise clock.timeout_error() from error
            # asyncio.wait_for of Python 3.11, which clients use, drops a cancellation that comes with a chunk
            if task.cancelling() > cancellations:
                raise asyncio.CancelledError
    finally:
        await answer.aclose()
    return received.join()


def _join(chunks: Sequence[object]) -> AIMessage:
    """Return the message that *chunks* are parts of; a model that cannot stream has one."""
    other = next((chunk for chunk in chunks if not isinstance(chunk, AIMessage)), None)
    if other is not None:
        raise ModelError(f"the model returned a {type(other).__name__} instead of an AIMessage")
    first, *rest = cast("Sequence[AIMessage]", chunks) or [AIMessage("")]
    return cast("AIMessage", first + rest) if rest and isinstance(first, AIMessageChunk) else first


MIN_TIMES = 4
"""Times that the end of a text has to be repeated."""
MIN_CHARS = 400
"""Characters of these repetitions."""
MAX_CHARS = 8_000
"""Characters at the end of a text that are searched."""
PROBE_CHARS = 40
"""Characters by which an earlier occurrence of the end is found."""
MAX_PROBES = 40
"""Earlier occurrences that are tried: a part that is repeated may contain its own end more than once."""

_DIGIT = re.compile(r"\d")


def repetition_start(text: str) -> int | None:
    """Return where the first repetition of what *text* ends with begins; None if it does not repeat itself.

    Repetitions may differ in their digits, since a small model counts the turns or the days while it repeats itself.
    Takes linear time.
    """
    end = _DIGIT.sub("0", text[-MAX_CHARS:])
    period = _period(end)
    if period is None:
        return None
    same = len(end) - period
    while same and end[same - 1] == end[same - 1 + period]:
        same -= 1
    return len(text) - len(end) + same + period


def _period(end: str) -> int | None:
    """Return the length of the part that *end* repeats at its end."""
    probe = end[-PROBE_CHARS:]
    at = len(end) - len(probe)
    for _ in range(MAX_PROBES):
        at = end.rfind(probe, 0, at + len(probe) - 1)
        period = len(end) - len(probe) - at
        if at < 0 or period * MIN_TIMES > len(end):
            return None
        times = max(MIN_TIMES, -(-MIN_CHARS // period))
        if end.endswith(end[-period:] * times):
            return period
    return None
