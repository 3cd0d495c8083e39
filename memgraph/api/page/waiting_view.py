"""What waits: conversations to learn from, failures, and proposals that need a person's decision; live."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Mapping
from typing import Annotated

from fastapi import Form, Path, Query, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from memgraph.api.page.access import ChangeDep, Visit, VisitDep
from memgraph.api.page.rendering import HEADERS, render
from memgraph.api.page.route import page_router
from memgraph.api.preconditions import etag_of, require_if_match
from memgraph.api.routes.conversations import jobs_of
from memgraph.api.routes.reviews import pending_reviews
from memgraph.editing import accept_quarantined, reject_quarantined, update_memory
from memgraph.errors import EditError, NotInReviewError
from memgraph.models import MemoryDocument
from memgraph.review import Decision, Proposal
from memgraph.review.models import Verdict

router = page_router()

POLL_SECONDS = 1.0
"""How often the queue is compared with what the browser has seen."""


@router.get("/page/waiting")
def show_waiting(visit: VisitDep) -> Response:
    """Show the jobs, the reviews and the quarantine of the chosen memory."""
    values = _values(visit)
    return render(visit.request, "waiting.html", {**visit.values(), **values, "seen": _digest(values)})


@router.get("/page/waiting/list")
def list_waiting(visit: VisitDep) -> Response:
    """Show the lists alone."""
    return render(visit.request, "waiting_list.html", {**visit.values(), **_values(visit)})


@router.get("/page/waiting/events")
async def watch(visit: VisitDep, seen: Annotated[str, Query(max_length=64)] = "") -> Response:
    """Send an event whenever what waits is not what the browser has *seen*, until it closes the page."""
    return StreamingResponse(_events(visit, seen), media_type="text/event-stream", headers=HEADERS)


@router.post("/page/waiting/learn", dependencies=[ChangeDep])
def learn_now(visit: VisitDep, thread_id: Annotated[str, Query(max_length=256)] = "") -> Response:
    """Learn at once from what waits or failed in a thread; the empty one is that of conversations without a thread."""
    invoker = visit.services.invoker
    invoker.retry(visit.chosen, thread_id)
    invoker.flush_nowait(visit.chosen, thread_id)
    return list_waiting(visit)


@router.post("/page/reviews/{review_id}", dependencies=[ChangeDep])
async def decide(review_id: Annotated[str, Path(max_length=200)], visit: VisitDep) -> Response:
    """Decide on each item of a proposal: the form has a verdict, and perhaps another wording, for each."""
    form = await visit.request.form()
    return await run_in_threadpool(_decide, visit, review_id, form)


@router.post("/page/quarantine/{change_id}", dependencies=[ChangeDep])
def decide_quarantined(
    change_id: Annotated[str, Path(max_length=200)],
    visit: VisitDep,
    verdict: Annotated[Verdict, Form()],
    etag: Annotated[str, Form(max_length=200)],
) -> Response:
    """Accept or reject a change in quarantine."""

    def change(memory: MemoryDocument) -> MemoryDocument:
        return accept_quarantined(memory, change_id) if verdict == "accept" else reject_quarantined(memory, change_id)

    policy = visit.services.settings.policy
    update_memory(visit.services.storage, visit.chosen, require_if_match(etag, change), policy=policy)
    return list_waiting(visit)


def read_decision(form: Mapping[str, object], proposal: Proposal) -> dict[str, object]:
    """Return the decision of a form as `memgraph.review.parse_decision` takes it.

    The form has for each item `verdict:KEY`, "accept" or "reject", and perhaps `text:KEY` with another wording.

    Raises:
        EditError: If an item has no verdict.
    """
    items: dict[str, object] = {}
    for item in proposal.items:
        verdict, text = form.get(f"verdict:{item.key}"), form.get(f"text:{item.key}", item.after)
        if verdict not in ("accept", "reject"):
            raise EditError("each item needs a decision: accept or reject")
        items[item.key] = {"after": text} if verdict == "accept" and text != item.after else verdict
    return {"items": items}


def _decide(visit: Visit, review_id: str, form: Mapping[str, object]) -> Response:
    proposals = {review.id: review.proposal for review in pending_reviews(visit.services, visit.chosen)}
    if review_id not in proposals:
        raise NotInReviewError(review_id)
    decision = Decision.model_validate(read_decision(form, proposals[review_id]))
    visit.services.invoker.decide(review_id, decision)
    return list_waiting(visit)


def _values(visit: Visit) -> dict[str, object]:
    memory, jobs = visit.services.storage.load(visit.chosen), jobs_of(visit.services, visit.chosen)
    return {
        "pending": jobs.pending,
        "failed": jobs.failed,
        "reviews": jobs.in_review,
        "quarantine": memory.quarantine,
        "etag": etag_of(memory),
    }


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
