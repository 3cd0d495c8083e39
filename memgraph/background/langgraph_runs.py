"""Runs and threads of LangGraph Server: their metadata, and which runs to merge, retry or expedite."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient, get_sync_client
from langgraph_sdk.errors import APIStatusError, NotFoundError

from memgraph.background.outbox import ConversationKey, Job
from memgraph.background.schedule import MAX_ATTEMPTS, DebouncePolicy
from memgraph.errors import ConfigError, OutboxClosedError, OutboxError
from memgraph.models import UNKNOWN_THREAD, Scope

NAMESPACE = uuid.UUID("6f0a8d5e-3c0b-5b61-9d0e-3a51f3f0c7d4")
"""Must never change: every client derives the same server thread from the same conversation."""

METADATA_KEY = "memgraph"
"""The key of memgraph's part in the metadata of threads and runs."""

FAILED = ("error", "timeout")
"""The statuses of a failed run."""


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

    @property
    def has_failed(self) -> bool:
        return self.status in FAILED


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


def last_ended(runs: Iterable[ServerRun]) -> ServerRun | None:
    """Return the last of *runs* that ended: also one that waits for an answer has the status "success"."""
    return max((run for run in runs if run.is_ours and run.status == "success"), key=lambda run: run.id, default=None)


def mergeable(
    runs: Iterable[ServerRun], timing: DebouncePolicy, now: float, asked: ServerRun | None = None
) -> list[ServerRun]:
    """Return the *runs* of a thread that a new submission is merged with, the earliest first.

    These are open runs, and runs that were interrupted and not resumed. A run that has waited for the maximum time is
    left alone, or an active conversation would roll it back forever.

    Args:
        runs: The runs of one thread.
        timing: When they are due.
        now: Seconds since 1970.
        asked: The run that waits for an answer; its waiting time restarts now.
    """
    runs = sorted((run for run in runs if run.is_ours or run.status == "success"), key=lambda run: run.id)
    done = max((run.id for run in runs if run.status == "success"), default=0)
    return [
        replace(run, first_at=now) if run is asked else run
        for run in runs
        if (run.is_open and now < run.first_at + timing.max_wait)
        or (run.status == "interrupted" and run.id > done)
        or run is asked
    ]


def retryable(runs: Iterable[ServerRun]) -> list[ServerRun]:
    """Return the failed *runs* of a thread that have attempts left."""
    failed = (run for run in runs if run.is_ours and run.has_failed and run.attempts < MAX_ATTEMPTS)
    return sorted(failed, key=lambda run: run.id)


def expeditable(runs: Iterable[ServerRun], now: float) -> list[ServerRun]:
    """Return the *runs* of a thread that are not due yet."""
    return sorted(
        (run for run in runs if run.is_ours and run.status == "pending" and run.due_at > now), key=lambda run: run.id
    )


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


# -- the client -------------------------------------------------------------------------------------

Send = Callable[..., Any]
"""See `ServerClient.send`."""

TIMEOUT_SECONDS = 30.0
"""Time limit of one request."""


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
