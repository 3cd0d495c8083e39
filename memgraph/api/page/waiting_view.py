"""What waits: conversations to learn from, failures, and changes that need a person's decision; live."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Form, Path, Query, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from memgraph.api.page.access import ChangeDep, Visit, VisitDep, page_router
from memgraph.api.page.rendering import HEADERS
from memgraph.operations.results import JobInfo
from memgraph.review import PendingVerdict
from memgraph.rules.decide import ended_by

router = page_router()

POLL_SECONDS = 1.0
"""How often the queue is compared with what the browser has seen."""


@router.get("/page/waiting")
def show_waiting(visit: VisitDep) -> Response:
    """Show the jobs and the pending changes of the chosen memory."""
    values = _values(visit)
    return visit.render("waiting.html", **values, seen=_digest(values))


@router.get("/page/waiting/list")
def list_waiting(visit: VisitDep) -> Response:
    """Show the lists alone."""
    return visit.render("waiting_list.html", **_values(visit))


@router.get("/page/waiting/events")
async def watch(visit: VisitDep, seen: Annotated[str, Query(max_length=64)] = "") -> Response:
    """Send an event whenever what waits is not what the browser has *seen*, until it closes the page."""
    return StreamingResponse(_events(visit, seen), media_type="text/event-stream", headers=HEADERS)


@router.post("/page/waiting/learn", dependencies=[ChangeDep])
def learn_now(visit: VisitDep, thread_id: Annotated[str, Query(max_length=256)] = "") -> Response:
    """Learn at once from what waits or failed in a thread; the empty one is that of conversations without a thread."""
    invoker = visit.services.memory.invoker
    invoker.retry(visit.chosen, thread_id)
    invoker.flush_nowait(visit.chosen, thread_id)
    return list_waiting(visit)


@router.post("/page/reviews/{change_id}", dependencies=[ChangeDep])
def decide(
    change_id: Annotated[str, Path(max_length=200)],
    visit: VisitDep,
    verdict: Annotated[PendingVerdict, Form()],
    text: Annotated[str | None, Form(max_length=10_000)] = None,
    was: Annotated[str | None, Form(max_length=10_000)] = None,
) -> Response:
    """Accept a pending change, with the *text* if it is not what it *was*, or reject it."""
    edited = text if verdict == "accept" and text != was else None
    visit.operations().decide(change_id, verdict, text=edited)
    return list_waiting(visit)


@router.post("/page/accepted/{category}", dependencies=[ChangeDep])
def ask_again(category: Annotated[str, Path(max_length=100)], visit: VisitDep) -> Response:
    """Let new facts of a category wait for a review again."""
    visit.operations().ask_again(category)
    return list_waiting(visit)


def _values(visit: Visit) -> dict[str, object]:
    session = visit.operations()
    memory, jobs = session.get(), session.jobs()
    pending, failed = (list(map(JobInfo.model_validate, found)) for found in jobs)
    known = {fact.id: fact.content for fact in memory.facts}
    ended = {change.id: sorted(ended_by(memory, change)) for change in memory.pending}
    reviews = {"reviews": memory.pending, "known": known, "ended": ended, "accepted": memory.accepted_kinds}
    return {"pending": pending, "failed": failed, **reviews}


def _digest(values: dict[str, object]) -> str:
    return hashlib.sha256(repr(values).encode("utf-8", "replace")).hexdigest()


async def _events(visit: Visit, seen: str) -> AsyncGenerator[str]:
    while not await visit.request.is_disconnected():
        state = _digest(await run_in_threadpool(_values, visit))
        if state != seen:
            yield "event: waiting-changed\ndata: \n\n"
        else:
            yield ": \n\n"  # a closed connection is noticed when something is sent
        seen = state
        await asyncio.sleep(POLL_SECONDS)
