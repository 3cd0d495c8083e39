"""/conversations, /updates: what is to be learned."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.messages import to_messages
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import json_response
from memgraph.api.routes.reviews import reviews_of
from memgraph.api.schemas import (
    ConversationCreate,
    JobInfo,
    JobsResponse,
    RetryQuery,
    RetryResponse,
    ScopeQuery,
    SubmissionAccepted,
)
from memgraph.models import timestamp

if TYPE_CHECKING:
    from memgraph.background.outbox import Job

router = APIRouter(tags=["learning"])


@router.post(
    "/conversations",
    status_code=HTTPStatus.ACCEPTED,
    response_model=SubmissionAccepted,
    responses=problem_docs(HTTPStatus.CONFLICT),
)
def submit(
    body: ConversationCreate, query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep
) -> Response:
    """Hand a conversation over, to be learned from when it has been quiet for a while.

    Once this is answered it will be learned from, also if the process dies.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    messages = to_messages(body.messages)
    if not desk.settings.enabled:
        raise ProblemError(HTTPStatus.CONFLICT, "MemoryOff", "memory is off (enabled: false), so nothing is learned")
    desk.invoker.submit(messages, scope, body.thread_id)
    return json_response(
        SubmissionAccepted(messages=len(messages), thread_id=body.thread_id or None), status=HTTPStatus.ACCEPTED
    )


@router.get("/updates", response_model=JobsResponse)
def list_updates(query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep) -> Response:
    """Tell which conversations wait to be learned from, which failed, and which a person has to decide on."""
    scope = caller.scope(query.user_id, query.agent_name)
    updates = JobsResponse(
        pending=[_told(job) for job in desk.invoker.pending() if job.key.scope == scope],
        failed=[_told(job) for job in desk.invoker.failed() if job.key.scope == scope],
        in_review=reviews_of(desk, scope),
    )
    return json_response(updates)


@router.post("/updates/retry", response_model=RetryResponse)
def retry(query: Annotated[RetryQuery, Query()], desk: ServicesDep, caller: PrincipalDep) -> Response:
    """Put back what was set aside because it failed; it runs at once."""
    scope = caller.scope(query.user_id, query.agent_name)
    return json_response(RetryResponse(put_back=desk.invoker.retry(scope, query.thread_id or None)))


def _told(job: Job) -> JobInfo:
    return JobInfo(
        thread_id=job.key.thread_id,
        submissions=job.submissions,
        first_at=_time(job.first_at),
        last_at=_time(job.last_at),
        due_at=_time(job.due_at),
        running=job.running,
        tries=job.attempts,
        error=job.error,
    )


def _time(seconds: float) -> str:
    return timestamp(datetime.fromtimestamp(seconds, UTC))
