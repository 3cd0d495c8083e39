"""RunProtocol: the requests to LangGraph Server that submit and merge runs, so that no turn is ever lost.

A new run is created first, and the runs that it replaces are rolled back afterwards: the server's own strategy
"rollback" would also remove runs that another client submitted in the meantime. So two clients that submit at once
leave two runs, which the server runs one after the other, and a client that dies in between leaves one run too many.
Neither does harm: the watermark of the memory shows which turns were learned, also if a run is rolled back after it
saved.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from memgraph.background.langgraph_runs import (
    FAILED,
    METADATA_KEY,
    NotOnServerError,
    Send,
    ServerRun,
    expeditable,
    last_ended,
    mergeable,
    read_run,
    retryable,
    run_context,
    run_metadata,
    search_metadata,
    server_thread_id,
    start_delay,
    thread_metadata,
)
from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.planning import merge_all
from memgraph.background.schedule import DebouncePolicy, retry_delay
from memgraph.background.serialization import Raw
from memgraph.errors import OutboxError
from memgraph.models import Scope

_LOGGER = logging.getLogger(__name__)
_PAGE = 100
RUN_FIELDS = ["run_id", "status", "metadata", "created_at"]  # without the conversations


@dataclass(frozen=True, slots=True)
class RunProtocol:
    """The requests for one assistant. Each method raises OutboxError if the server cannot be reached, or refuses."""

    assistant: str
    """Name or id of the assistant that learns."""
    timing: DebouncePolicy
    """When a run is due."""
    send: Send
    """See `ServerClient.send`."""

    def submit(self, key: ConversationKey, new: Sequence[Raw], now: float) -> None:
        """Create a run of *new* and of the unfinished runs of *key*, and roll those back."""
        thread = server_thread_id(self.assistant, key)
        runs = self.runs(thread)
        if not runs:
            metadata = {METADATA_KEY: thread_metadata(self.assistant, key)}
            self.send("threads.create", thread_id=thread, metadata=metadata, if_exists="do_nothing")
        old = mergeable(runs, self.timing, now, self._asked(thread, runs))
        self._replace_runs(thread, key, old, now=now, new=new)
        for failed in retryable(runs):
            wait = retry_delay(failed.attempts, random.random())  # noqa: S311 - not a secret
            self._replace_runs(thread, key, [failed], now=now, after=round(wait))

    def expedite(self, thread: str, now: float) -> None:
        """Start the pending runs of *thread* now."""
        pending = expeditable(self.runs(thread), now)
        if pending:
            self._replace_runs(thread, pending[0].key, pending, now=now, after=0)

    def retry(self, thread: str, failed: ServerRun, now: float) -> None:
        """Start *failed* again, as if it had never failed.

        It is not merged with newer runs, or the watermark might count it as learned.
        """
        self._replace_runs(thread, failed.key, [failed], now=now, after=0, attempts=0)

    def cancel(self, thread: str) -> list[tuple[ConversationKey, list[Raw]]]:
        """Roll back the open runs of *thread*, delete the failed ones, and return their conversations.

        One that waits for an answer is deleted together with the thread, see `clear`.
        """
        all_runs = self.runs(thread)
        runs = [run for run in all_runs if run.is_ours and run.status != "success"]
        asked = self._asked(thread, all_runs)
        loaded = self._load_conversations(thread, [*runs, *((asked,) if asked else ())])
        self._remove_runs(thread, runs)
        return [(run.key, messages) for run, messages in loaded]

    def clear(self, thread: str) -> None:
        """Delete *thread*, which contains conversations, unless something was submitted to it in the meantime."""
        if not any(run.is_open for run in self.runs(thread)):
            with suppress(NotOnServerError):
                self.send("threads.delete", thread)

    def runs(self, thread: str) -> list[ServerRun]:
        """Return the last runs of *thread*, the earliest first; none if the thread does not exist."""
        try:
            found = self.send("runs.list", thread, limit=_PAGE, select=RUN_FIELDS)
        except NotOnServerError:
            return []
        return sorted((read_run(run) for run in found), key=lambda run: run.id)

    def threads(self, scope: Scope | None, thread_id: str | None, status: str | None) -> list[str]:
        """Return the ids of the threads of *scope*, *thread_id* and *status*; None stands for any."""
        metadata, found, offset = search_metadata(self.assistant, scope, thread_id), list[str](), 0
        while offset % 1_000 == 0:
            page = self.send(
                "threads.search",
                metadata={METADATA_KEY: metadata},
                status=status,
                limit=1_000,
                offset=offset,
                select=["thread_id"],
            )
            found += [thread["thread_id"] for thread in page]
            offset += len(page) or 1
        return list(dict.fromkeys(found))

    def failed(self, thread: str) -> list[ServerRun]:
        """Return all failed runs of *thread*, the earliest first."""
        found: list[Any] = []
        for status in FAILED:
            found += self.send("runs.list", thread, limit=_PAGE, status=status, select=RUN_FIELDS)
        return sorted((run for run in map(read_run, found) if run.is_ours), key=lambda run: run.id)

    def jobs(self, thread: str) -> list[Job]:
        """Return the failed runs as jobs; the server keeps the error message of a thread's last run only."""
        failed = self.failed(thread)
        if not failed:
            return []
        state = self.send("threads.get", thread)
        error: Any = state.get("error") if state["status"] == "error" else None
        message = f"{error.get('error')}: {error.get('message')}" if isinstance(error, dict) else None  # pyright: ignore[reportUnknownMemberType]
        return [replace(run, error=message if message and run is failed[-1] else run.status) for run in failed]

    def _replace_runs(
        self,
        thread: str,
        key: ConversationKey,
        old: Sequence[ServerRun],
        *,
        now: float,
        new: Sequence[Raw] = (),
        after: int | None = None,
        attempts: int | None = None,
    ) -> None:
        """Create a run of *old* and *new*; then, once the server has it, remove *old*."""
        loaded = self._load_conversations(thread, old)
        merged = [run for run, _ in loaded]
        conversation = merge_all([*(messages for _, messages in loaded), *([new] if new else ())])
        if not conversation:  # another client has replaced them
            return
        metadata = run_metadata(self.assistant, key, merged, now=now, submitted=bool(new), attempts=attempts)
        self.send(
            "runs.create",
            thread,
            self.assistant,
            input={"messages": conversation},
            context=run_context(key),
            metadata={METADATA_KEY: metadata},
            multitask_strategy="enqueue",
            if_not_exists="create",
            after_seconds=start_delay(self.timing, metadata["first_at"], now) if after is None else after,
            durability="exit",
        )
        try:
            self._remove_runs(thread, merged)
        except OutboxError as error:  # the new run exists, so nothing is lost
            _LOGGER.warning("could not roll back merged runs, so they will run too: %s", error)

    def _asked(self, thread: str, runs: Sequence[ServerRun]) -> ServerRun | None:
        """Return the run that waits for an answer, since its graph reviews by interrupts, as earlier releases did."""
        last = last_ended(runs)
        if last is None or not self.send("threads.get", thread)["interrupts"]:
            return None
        return last

    def _load_conversations(self, thread: str, runs: Iterable[ServerRun]) -> list[tuple[ServerRun, list[Raw]]]:
        """Return *runs* with their conversations, without runs that were rolled back: another run has theirs."""
        loaded: list[tuple[ServerRun, list[Raw]]] = []
        for run in runs:
            try:
                found = self.send("runs.get", thread, run.run_id)
            except NotOnServerError:
                continue
            loaded.append((run, found["kwargs"]["input"]["messages"]))
        return loaded

    def _remove_runs(self, thread: str, runs: Sequence[ServerRun]) -> None:
        """Roll back open runs and delete ended ones, except those that succeeded."""
        open_ids = [run.run_id for run in runs if run.is_open]
        if open_ids:
            with suppress(NotOnServerError):
                self.send("runs.cancel_many", thread_id=thread, run_ids=open_ids, action="rollback")
        for run in runs:
            if not run.is_open and run.status != "success":
                with suppress(NotOnServerError):
                    self.send("runs.delete", thread, run.run_id)
