"""RunProtocol: the requests to LangGraph Server that submit and merge runs, so that no turn is ever lost.

ServerClient sends them by the SDK, synchronous or asynchronous.

A new run is created first, and the runs that it replaces are rolled back afterwards: the server's own strategy
"rollback" would also remove runs that another client submitted in the meantime. So two clients that submit at once
leave two runs, which the server runs one after the other, and a client that dies in between leaves one run too many.
Neither does harm: the watermark of the memory shows which turns were learned, also if a run is rolled back after it
saved.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient, get_sync_client
from langgraph_sdk.errors import APIStatusError, NotFoundError

from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.planning import merge_all
from memgraph.background.schedule import MAX_ATTEMPTS, DebouncePolicy, retry_delay
from memgraph.background.serialization import Raw
from memgraph.errors import ConfigError, OutboxClosedError, OutboxError
from memgraph.models import UNKNOWN_THREAD, Scope

Send = Callable[..., Any]
"""See `ServerClient.send`."""

_LOGGER = logging.getLogger(__name__)
_PAGE = 100
RUN_FIELDS = ["run_id", "status", "metadata", "created_at"]  # without the conversations

NAMESPACE = uuid.UUID("6f0a8d5e-3c0b-5b61-9d0e-3a51f3f0c7d4")
"""Must never change: every client derives the same server thread from the same conversation."""

METADATA_KEY = "memgraph"
"""The key of memgraph's part in the metadata of threads and runs."""

TIMEOUT_SECONDS = 30.0
"""Time limit of one request."""

FAILED = ("error", "timeout")
"""The statuses of a failed run."""


# -- runs ------------------------------------------------------------------------------------------


def server_thread_id(assistant: str, key: ConversationKey) -> str:
    """Return the id of the server thread that runs the updates of *key*."""
    name = [assistant, key.scope.user_id, key.scope.agent_name or "", key.thread_id or ""]
    return str(uuid.uuid5(NAMESPACE, json.dumps(name)))


def thread_metadata(assistant: str, key: ConversationKey) -> dict[str, Any]:
    """Return the metadata of a thread, which is searched by user, agent and thread."""
    return {**search_metadata(assistant, key.scope), "thread_id": key.thread_id or ""}


def search_metadata(assistant: str, scope: Scope | None = None, thread_id: str | None = None) -> dict[str, str]:
    """Return the metadata that the threads of *scope* and *thread_id* share; None is all scopes, or all threads."""
    owner = {"user_id": scope.user_id, "agent_name": scope.agent_name or ""} if scope else {}
    thread = {"thread_id": thread_id} if thread_id else {}
    return {"assistant": assistant, **owner, **thread}


def run_context(key: ConversationKey) -> dict[str, str]:
    """Return the context of a run. It always has a thread_id, else the server's own id would be used."""
    agent = {"agent_name": key.scope.agent_name} if key.scope.agent_name else {}
    return {"user_id": key.scope.user_id, "thread_id": key.thread_id or UNKNOWN_THREAD, **agent}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRun(Job):
    """A run of the server as a job, without submissions if another application started it on the thread."""

    run_id: str
    """Ids of later runs are higher: the server derives them from the time."""
    status: str

    @property
    def is_ours(self) -> bool:
        """Whether memgraph created it; runs of other applications are never changed."""
        return self.submissions > 0

    @property
    def is_open(self) -> bool:
        return self.status in {"pending", "running"}


def read_run(run: Mapping[str, Any]) -> ServerRun:
    """Parse a run of one of our threads."""
    metadata: Mapping[str, Any] = run["metadata"].get(METADATA_KEY) or {}
    run_id, status, number = run["run_id"], run["status"], uuid.UUID(run["run_id"]).int
    due = datetime.fromisoformat(run["created_at"]).timestamp()  # the server adds the delay to it
    return ServerRun(
        id=number,
        # a run of another application may have no owner, and is ignored anyway
        key=ConversationKey(
            Scope(metadata.get("user_id", "default"), metadata.get("agent_name")), metadata.get("thread_id") or None
        ),
        submissions=metadata.get("submissions", 0),
        first_number=number,
        last_number=number,
        first_at=metadata.get("first_at", due),
        last_at=metadata.get("last_at", due),
        due_at=due,
        attempts=metadata.get("tries", 0) + (status in FAILED),
        error="",
        running=status == "running",
        run_id=run_id,
        status=status,
    )


def last_ended(runs: Sequence[ServerRun]) -> ServerRun | None:
    """Return the last of *runs* that ended: also one that waits for an answer has the status "success"."""
    return next((run for run in reversed(runs) if run.is_ours and run.status == "success"), None)


def mergeable(
    runs: Sequence[ServerRun], timing: DebouncePolicy, now: float, asked: ServerRun | None = None
) -> list[ServerRun]:
    """Return the *runs* of a thread that a new submission is merged with.

    These are open runs, and runs that were interrupted and not resumed. A run that has waited for the maximum time is
    left alone, or an active conversation would roll it back forever.

    Args:
        runs: The runs of one thread, the earliest first.
        timing: When they are due.
        now: Seconds since 1970.
        asked: The run that waits for an answer; its waiting time restarts now.
    """
    done = max((run.id for run in runs if run.status == "success"), default=0)
    return [
        replace(run, first_at=now) if run is asked else run
        for run in runs
        if (run.is_ours and run.is_open and now < run.first_at + timing.max_wait)
        or (run.is_ours and run.status == "interrupted" and run.id > done)
        or run is asked
    ]


def retryable(runs: Iterable[ServerRun]) -> list[ServerRun]:
    """Return the failed *runs* of a thread that have attempts left."""
    return [run for run in runs if run.is_ours and run.status in FAILED and run.attempts < MAX_ATTEMPTS]


def expeditable(runs: Iterable[ServerRun], now: float) -> list[ServerRun]:
    """Return the *runs* of a thread that are not due yet."""
    return [run for run in runs if run.is_ours and run.status == "pending" and run.due_at > now]


def run_metadata(
    assistant: str,
    key: ConversationKey,
    merged: Sequence[ServerRun],
    *,
    now: float,
    submitted: int = 0,
    attempts: int | None = None,
) -> dict[str, Any]:
    """Return the metadata of a run of *merged* and of *submitted* new submissions."""
    return {
        **thread_metadata(assistant, key),
        "submissions": sum(run.submissions for run in merged) + submitted,
        "first_at": min((run.first_at for run in merged), default=now),
        "last_at": now if submitted else max((run.last_at for run in merged), default=now),
        "tries": max((run.attempts for run in merged), default=0) if attempts is None else attempts,
    }


def start_delay(timing: DebouncePolicy, first: float, now: float) -> int:
    """Return the seconds until a run starts whose first submission came at *first*; the server takes whole seconds."""
    return max(0, math.ceil(timing.due(first, now) - now))


# -- requests --------------------------------------------------------------------------------------


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


# -- the client ------------------------------------------------------------------------------------


class NotOnServerError(OutboxError):
    """The server has no such thread, run or assistant."""


class ServerClient:
    """A client of a server. Thread-safe.

    Args:
        server: Its URL, or a client of the SDK, which is not closed here.

    Raises:
        ConfigError: If it is neither.
    """

    def __init__(self, server: str | SyncLangGraphClient | LangGraphClient) -> None:
        self._async = server if isinstance(server, LangGraphClient) else None
        self._owns_sync = not isinstance(server, SyncLangGraphClient)
        self._sync = server if isinstance(server, SyncLangGraphClient) else _make_sync_client(server)
        self._closed = False

    @property
    def name(self) -> str:
        """The server's URL without credentials and query."""
        url = self._sync.http.client.base_url
        return str(url.copy_with(userinfo=b"", query=None)).rstrip("/")

    def send(self, method: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - each has a response of its own
        """Send a request by a *method* of the SDK's client, such as `runs.list`, and return the response.

        Raises:
            OutboxError: If the server cannot be reached, or rejects the request.
        """
        with self._wrap_errors():
            return attrgetter(method)(self._sync)(*arguments, **options)

    def sender(self, loop: asyncio.AbstractEventLoop) -> Send:
        """Return `send` for another thread than that of *loop*, on which an asynchronous client has to run."""
        client = self._async
        if client is None:
            return self.send

        def send(method: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - as above
            with self._wrap_errors():
                response = attrgetter(method)(client)(*arguments, **options)
                return asyncio.run_coroutine_threadsafe(response, loop).result()

        return send

    def close(self) -> None:
        """Close the client that was created here."""
        self._closed = True
        if self._owns_sync:
            self._sync.close()

    @contextmanager
    def _wrap_errors(self) -> Generator[None]:
        if self._closed:
            raise OutboxClosedError("this ServerInvoker is closed")
        try:
            yield
        except APIStatusError as error:
            kind = NotOnServerError if isinstance(error, NotFoundError) else OutboxError
            raise kind(f"{self.name} refused with status {error.status_code}: {_reason(error)}") from error
        except httpx.HTTPError as error:
            raise OutboxError(f"{self.name} cannot be reached: {str(error) or type(error).__name__}") from error
        except json.JSONDecodeError as error:
            raise OutboxError(f"{self.name} did not answer like a LangGraph Server: {error}") from error


def _make_sync_client(server: str | LangGraphClient) -> SyncLangGraphClient:
    if isinstance(server, LangGraphClient):
        client = server.http.client
        return SyncLangGraphClient(
            httpx.Client(base_url=client.base_url, headers=client.headers, auth=client.auth, timeout=client.timeout)
        )
    try:
        url = httpx.URL(server)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"{server!r} is not the URL of a LangGraph Server: {error}") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"{server!r} is not the URL of a LangGraph Server, such as http://127.0.0.1:2024")
    return get_sync_client(url=server, timeout=TIMEOUT_SECONDS)


def _reason(error: APIStatusError) -> str:
    """Return the server's explanation, truncated to one line."""
    body: Any = error.body
    detail = body.get("detail") if isinstance(body, dict) else body  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(detail or error.message)[:300]  # pyright: ignore[reportUnknownArgumentType]
