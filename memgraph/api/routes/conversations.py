"""/conversations and /updates: submit conversations, and list and retry the jobs that learn from them."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.middleware import MessageRoute
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import format_time, json_response
from memgraph.api.schemas import (
    ConversationCreate,
    JobInfo,
    JobsResponse,
    RetryQuery,
    RetryResponse,
    ScopeQuery,
    SubmissionAccepted,
    to_messages,
)

if TYPE_CHECKING:
    from memgraph.api.services import Services
    from memgraph.background.outbox import Job
    from memgraph.models import Scope

router = APIRouter(tags=["learning"], route_class=MessageRoute)


@router.post(
    "/conversations",
    status_code=HTTPStatus.ACCEPTED,
    response_model=SubmissionAccepted,
    responses=problem_docs(HTTPStatus.CONFLICT),
)
def submit(
    body: ConversationCreate, query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep
) -> Response:
    """Submit a conversation. It is processed when it has been inactive for a while.

    After the response the conversation is stored and will be processed even if the server crashes.
    """
    scope = principal.scope(query.user_id, query.agent_name)
    messages = to_messages(body.messages)
    if not services.settings.enabled:
        raise ProblemError(HTTPStatus.CONFLICT, "MemoryOff", "memory is off (enabled: false): nothing is learned")
    services.invoker.submit(messages, scope, body.thread_id, at=body.at)
    return json_response(
        SubmissionAccepted(messages=len(messages), thread_id=body.thread_id or None), status=HTTPStatus.ACCEPTED
    )


@router.get("/updates", response_model=JobsResponse)
def list_updates(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """List the pending and failed jobs of a memory."""
    scope = principal.scope(query.user_id, query.agent_name)
    return json_response(jobs_of(services, scope))


@router.post("/updates/retry", response_model=RetryResponse)
def retry(query: Annotated[RetryQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Requeue failed jobs; they run at once."""
    scope = principal.scope(query.user_id, query.agent_name)
    return json_response(RetryResponse(put_back=services.invoker.retry(scope, query.thread_id or None)))


def jobs_of(services: Services, scope: Scope) -> JobsResponse:
    """Return what waits for learning, or failed, in a memory."""
    return JobsResponse(
        pending=[_job_info(job) for job in services.invoker.pending() if job.key.scope == scope],
        failed=[_job_info(job) for job in services.invoker.failed() if job.key.scope == scope],
    )


def _job_info(job: Job) -> JobInfo:
    return JobInfo(
        thread_id=job.key.thread_id,
        submissions=job.submissions,
        first_at=format_time(job.first_at),
        last_at=format_time(job.last_at),
        due_at=format_time(job.due_at),
        running=job.running,
        tries=job.attempts,
        error=job.error,
    )
