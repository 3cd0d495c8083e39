"""What is said to LangGraph Server, step by step, so that no turn is lost whatever happens in between.

A run is created first, and what it carries is rolled back after: the server's own strategy "rollback" would also take
away what another client submitted since we looked. So two that submit at once leave two runs, which the
server runs one after the other, and who dies in between leaves a run too many. Neither does harm: a turn that was
learned is known by the memory's thread marks, as it is after the rollback of a run that had already saved.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx
from langgraph_sdk.errors import ConflictError, NotFoundError

from memgraph.background.langgraph_client import Request, RequestFlow
from memgraph.background.langgraph_runs import (
    NOTES,
    InterruptedThread,
    ServerRun,
    context_of,
    delay,
    expeditable,
    mergeable,
    read_run,
    read_waiting,
    retryable,
    reviewed_run,
    run_metadata,
    thread_metadata,
    thread_of,
)
from memgraph.background.merge import merged
from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.reviews import PendingReview
from memgraph.background.schedule import DebouncePolicy, retry_wait
from memgraph.background.serialization import Raw
from memgraph.errors import NotInReviewError

_LOGGER = logging.getLogger(__name__)
_PAGE = 100
_OF_REVIEWS = ["thread_id", "metadata", "interrupts", "updated_at"]
_FIELDS = ["run_id", "status", "metadata", "created_at"]  # without the conversations


class RunProtocol:
    """Knows which assistant learns, and how long a conversation has to be quiet.

    Args:
        assistant: Name or id of the assistant.
        timing: When a run is due.
    """

    def __init__(self, assistant: str, timing: DebouncePolicy) -> None:
        self.assistant = assistant
        self._timing = timing

    def submit(self, key: ConversationKey, new: Sequence[Raw], now: float) -> RequestFlow[None]:
        """Create a run that carries *new* and what the runs of *key* carry that have not ended; roll these back."""
        thread = thread_of(self.assistant, key)
        runs = yield from self.runs(thread)
        if runs is None:
            yield from self._make_thread(thread, key)
        is_in_review = reviewed_run(runs or ()) is not None and bool((yield from self._questions(thread)))
        old = mergeable(runs or (), self._timing, now, is_in_review=is_in_review)
        yield from self._renew(thread, key, old, now=now, new=new)
        for failed in retryable(runs or ()):
            wait = retry_wait(failed.tries + 1, random.random())  # noqa: S311 - no secret
            yield from self._renew(thread, key, [failed], now=now, after=round(wait), tries=failed.tries + 1)

    def expedite(self, thread: str, now: float) -> RequestFlow[None]:
        """Start what waits on *thread* at once."""
        waiting = expeditable((yield from self.runs(thread)) or (), now)
        if waiting:
            yield from self._renew(thread, waiting[0].key, waiting, now=now, after=0)

    def retry(self, thread: str, failed: ServerRun, now: float) -> RequestFlow[None]:
        """Start *failed* once more, as if it had never failed.

        It runs by itself: merged with something newer, it might be taken for learned.
        """
        yield from self._renew(thread, failed.key, [failed], now=now, after=0, tries=0)

    def cancel(self, thread: str) -> RequestFlow[list[tuple[ConversationKey, list[Raw]]]]:
        """Roll back what waits or runs on *thread*, delete what failed, and return what these carried.

        What is in review goes with the thread.
        """
        every = (yield from self.runs(thread)) or ()
        runs = [run for run in every if run.is_ours and run.status != "success"]
        reviewed = reviewed_run(every) if (yield from self._questions(thread)) else None
        carried = yield from self._carried(thread, [*runs, *((reviewed,) if reviewed else ())])
        yield from self._remove(thread, runs)
        return [(run.key, messages) for run, messages in carried]

    def in_review(self, notes: Mapping[str, Any]) -> RequestFlow[list[InterruptedThread]]:
        """What waits for a person on the threads that *notes* describe, the earliest first."""
        found: list[InterruptedThread] = []
        while len(found) % 1_000 == 0:
            offset = len(found)
            page = yield lambda client, offset=offset: client.threads.search(
                metadata={NOTES: dict(notes)}, status="interrupted", limit=1_000, offset=offset, select=_OF_REVIEWS
            )
            if not page:
                break
            found += map(read_waiting, page)
        return sorted((each for each in found if each.asked), key=lambda each: each.at)

    def decide(
        self, waiting: InterruptedThread, review: PendingReview, answer: object, now: float
    ) -> RequestFlow[None]:
        """Let the run that stopped for *review* go on with *answer*.

        The answer is of this question alone: where another is asked by now, the server leaves that open.

        Raises:
            NotInReviewError: If something runs on the thread, such as what somebody else decided.
        """
        reviewed = reviewed_run((yield from self.runs(waiting.thread)) or ())
        runs = [reviewed] if reviewed else []
        notes = run_metadata(self.assistant, review.key, runs, now=now, tries=0)
        stopped = (reviewed.decides or reviewed.id) if reviewed else ""
        try:
            yield lambda client: client.runs.create(
                waiting.thread,
                self.assistant,
                command={"resume": {review.id: answer}},
                context=context_of(review.key),
                metadata={NOTES: {**notes, "decides": stopped}},
                multitask_strategy="reject",
                durability="exit",
            )
        except ConflictError:
            raise NotInReviewError(review.id) from None

    def clear(self, thread: str) -> RequestFlow[None]:
        """Delete *thread*, which holds conversations, unless something was submitted to it meanwhile."""
        if not any(run.is_open for run in (yield from self.runs(thread)) or ()):
            yield from _unless_gone(lambda client: client.threads.delete(thread))

    def runs(self, thread: str) -> RequestFlow[list[ServerRun] | None]:
        """The last runs of *thread*, the earliest first; None where there is no such thread."""
        try:
            found = yield lambda client: client.runs.list(thread, limit=_PAGE, select=_FIELDS)
        except NotFoundError:
            return None
        return sorted((read_run(run) for run in found), key=lambda run: run.id)

    def threads(self, notes: Mapping[str, Any], statuses: Iterable[str | None]) -> RequestFlow[list[str]]:
        """Ids of the threads that *notes* describe and that are in one of *statuses*; None stands for any."""
        found: list[str] = []
        for status in statuses:
            offset = 0
            while offset % 1_000 == 0:
                page = yield lambda client, status=status, offset=offset: client.threads.search(
                    metadata={NOTES: dict(notes)}, status=status, limit=1_000, offset=offset, select=["thread_id"]
                )
                found += [thread["thread_id"] for thread in page]
                offset += len(page) or 1
        return list(dict.fromkeys(found))

    def failed(self, thread: str) -> RequestFlow[list[ServerRun]]:
        """Which runs of *thread* failed, however long ago, the earliest first."""
        found: list[Any] = []
        for status in ("error", "timeout"):
            found += yield lambda client, status=status: client.runs.list(
                thread, limit=_PAGE, status=status, select=_FIELDS
            )
        return sorted((run for run in map(read_run, found) if run.is_ours), key=lambda run: run.id)

    def jobs(self, thread: str) -> RequestFlow[list[Job]]:
        """Those of `failed` with their errors, of which the server keeps that of the last run of a thread."""
        failed = yield from self.failed(thread)
        if not failed:
            return []
        state = yield lambda client: client.threads.get(thread)
        error: Any = state.get("error") if state["status"] == "error" else None
        said = f"{error.get('error')}: {error.get('message')}" if isinstance(error, dict) else None  # pyright: ignore[reportUnknownMemberType]
        return [run.job(said if said and run is failed[-1] else run.status) for run in failed]

    def _renew(
        self,
        thread: str,
        key: ConversationKey,
        old: Sequence[ServerRun],
        *,
        now: float,
        new: Sequence[Raw] = (),
        after: int | None = None,
        tries: int | None = None,
    ) -> RequestFlow[None]:
        """Create a run that carries *old* and *new*; then, when it is safe with the server, remove *old*."""
        carried = yield from self._carried(thread, old)
        taken = [run for run, _ in carried]
        conversation = merged([*(messages for _, messages in carried), *([new] if new else ())])
        if not conversation:  # somebody else was quicker
            return
        notes = run_metadata(self.assistant, key, taken, now=now, submitted=bool(new), tries=tries)
        yield lambda client: client.runs.create(
            thread,
            self.assistant,
            input={"messages": conversation},
            context=context_of(key),
            metadata={NOTES: notes},
            multitask_strategy="enqueue",
            if_not_exists="create",
            after_seconds=delay(self._timing, notes["first_at"], now) if after is None else after,
            durability="exit",
        )
        try:
            yield from self._remove(thread, taken)
        except httpx.HTTPError as error:  # the new one is safe
            _LOGGER.warning("runs that were merged could not be rolled back, and will run too: %s", error)

    def _questions(self, thread: str) -> RequestFlow[tuple[PendingReview, ...]]:
        """What was asked last on *thread* and not answered, also where something else waits to run on it by now."""
        try:
            return read_waiting((yield lambda client: client.threads.get(thread))).asked
        except NotFoundError:
            return ()

    def _make_thread(self, thread: str, key: ConversationKey) -> RequestFlow[None]:
        notes = thread_metadata(self.assistant, key)
        yield lambda client: client.threads.create(thread_id=thread, metadata={NOTES: notes}, if_exists="do_nothing")

    def _carried(self, thread: str, runs: Iterable[ServerRun]) -> RequestFlow[list[tuple[ServerRun, list[Raw]]]]:
        """Each of *runs* with its conversation, less those that were rolled back: theirs is in another run."""
        carried: list[tuple[ServerRun, list[Raw]]] = []
        for run in runs:
            try:
                found = yield lambda client, run=run: client.runs.get(thread, run.decides or run.id)
            except NotFoundError:
                continue
            carried.append((run, found["kwargs"]["input"]["messages"]))
        return carried

    def _remove(self, thread: str, runs: Sequence[ServerRun]) -> RequestFlow[None]:
        """Roll back those that wait or run, delete those that stopped; what succeeded stays as it is."""
        open_ids = [run.id for run in runs if run.is_open]
        if open_ids:
            yield from _unless_gone(
                lambda client: client.runs.cancel_many(thread_id=thread, run_ids=open_ids, action="rollback")
            )
        for run in runs:
            if not run.is_open and run.status != "success":
                yield from _unless_gone(lambda client, stopped=run.id: client.runs.delete(thread, stopped))


def _unless_gone(question: Request) -> RequestFlow[None]:
    try:
        yield question
    except NotFoundError:
        return
