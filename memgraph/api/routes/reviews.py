"""/reviews: proposed changes that a person accepts, edits or rejects."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import problem_docs
from memgraph.api.responses import format_time, json_response
from memgraph.api.schemas import DecisionResponse, ReviewInfo, ReviewList, ScopeQuery
from memgraph.api.services import Services
from memgraph.errors import NotInReviewError
from memgraph.models import Scope
from memgraph.review import Decision
from memgraph.review.models import Verdict

router = APIRouter(tags=["reviews"])


@router.get("/reviews", response_model=ReviewList)
def list_reviews(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """List the changes that wait for a decision, the oldest first."""
    scope = principal.scope(query.user_id, query.agent_name)
    return json_response(ReviewList(reviews=pending_reviews(services, scope)))


@router.post(
    "/reviews/{review_id}",
    status_code=HTTPStatus.ACCEPTED,
    response_model=DecisionResponse,
    responses=problem_docs(HTTPStatus.NOT_FOUND),
)
def decide(
    review_id: Annotated[str, Path(max_length=200)],
    answer: Annotated[Verdict | Decision, Body(description="As `how` in the proposal explains.")],
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
) -> Response:
    """Decide on a proposal, as a whole or item by item. Accepted changes are saved soon, without another model call.

    An id belongs to one proposal: if it was decided or replaced meanwhile, the response is 404.
    """
    scope = principal.scope(query.user_id, query.agent_name)
    if all(review.id != review_id for review in pending_reviews(services, scope)):
        raise NotInReviewError(review_id)  # also for another user's review
    services.invoker.decide(review_id, answer)
    return json_response(DecisionResponse(id=review_id), status=HTTPStatus.ACCEPTED)


def pending_reviews(services: Services, scope: Scope) -> list[ReviewInfo]:
    """Return the reviews of a memory that wait for a decision."""
    return [
        ReviewInfo(
            id=review.id,
            thread_id=review.key.thread_id,
            at=format_time(review.at),
            proposal=review.proposal,
        )
        for review in services.invoker.in_review()
        if review.key.scope == scope
    ]
