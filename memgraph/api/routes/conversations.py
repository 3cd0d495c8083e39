"""/conversations, /updates: what is to be learned."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.answers import told
from memgraph.api.asked import Conversation, Retrying, Whose
from memgraph.api.messages import messages_of
from memgraph.api.problems import described
from memgraph.api.refused import Refused
from memgraph.api.routes.reviews import reviews_of
from memgraph.api.told import Accepted, JobTold, PutBack, Updates
from memgraph.api.wanted import TheCaller, TheDesk
from memgraph.models import timestamp

if TYPE_CHECKING:
    from memgraph.invokers.outbox import Job

router = APIRouter(tags=["learning"])


@router.post(
    "/conversations",
    status_code=HTTPStatus.ACCEPTED,
    response_model=Accepted,
    responses=described(HTTPStatus.CONFLICT),
)
def submit(body: Conversation, query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller) -> Response:
    """Hand a conversation over, to be learned from when it has been quiet for a while.

    Once this is answered it will be learned from, also if the process dies.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    messages = messages_of(body.messages)
    if not desk.settings.enabled:
        raise Refused(HTTPStatus.CONFLICT, "MemoryOff", "memory is off (enabled: false), so nothing is learned")
    desk.invoker.submit(messages, scope, body.thread_id)
    return told(Accepted(messages=len(messages), thread_id=body.thread_id or None), status=HTTPStatus.ACCEPTED)


@router.get("/updates", response_model=Updates)
def list_updates(query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller) -> Response:
    """Tell which conversations wait to be learned from, which failed, and which a person has to decide on."""
    scope = caller.scope(query.user_id, query.agent_name)
    updates = Updates(
        pending=[_told(job) for job in desk.invoker.pending() if job.key.scope == scope],
        failed=[_told(job) for job in desk.invoker.failed() if job.key.scope == scope],
        in_review=reviews_of(desk, scope),
    )
    return told(updates)


@router.post("/updates/retry", response_model=PutBack)
def retry(query: Annotated[Retrying, Query()], desk: TheDesk, caller: TheCaller) -> Response:
    """Put back what was set aside because it failed; it runs at once."""
    scope = caller.scope(query.user_id, query.agent_name)
    return told(PutBack(put_back=desk.invoker.retry(scope, query.thread_id or None)))


def _told(job: Job) -> JobTold:
    return JobTold(
        thread_id=job.key.thread_id,
        submissions=job.submissions,
        first_at=_time(job.first_at),
        last_at=_time(job.last_at),
        due_at=_time(job.due_at),
        running=job.running,
        tries=job.tries,
        error=job.error,
    )


def _time(seconds: float) -> str:
    return timestamp(datetime.fromtimestamp(seconds, UTC))
