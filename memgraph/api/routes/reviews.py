"""/reviews: changes that a person has to agree to."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import problem_docs
from memgraph.api.responses import json_response
from memgraph.api.schemas import DecisionResponse, ReviewInfo, ReviewList, ScopeQuery
from memgraph.api.services import Services
from memgraph.errors import NotInReviewError
from memgraph.models import Scope, timestamp
from memgraph.review import Decision
from memgraph.review.models import Verdict

router = APIRouter(tags=["reviews"])


@router.get("/reviews", response_model=ReviewList)
def list_reviews(query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep) -> Response:
    """List the changes that wait for a decision, the earliest first."""
    return json_response(ReviewList(reviews=reviews_of(desk, caller.scope(query.user_id, query.agent_name))))


@router.post(
    "/reviews/{review_id}",
    status_code=HTTPStatus.ACCEPTED,
    response_model=DecisionResponse,
    responses=problem_docs(HTTPStatus.NOT_FOUND),
)
def decide(
    review_id: Annotated[str, Path(max_length=200)],
    answer: Annotated[Verdict | Decision, Body(description="What `how` of the proposal says.")],
    query: Annotated[ScopeQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
) -> Response:
    """Decide on a proposal, item by item if need be. What is agreed to is learned soon, without asking the model again.

    An id is of one proposal: who decides what they did not see, or second, gets 404.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    if all(review.id != review_id for review in reviews_of(desk, scope)):
        raise NotInReviewError(review_id)  # also where it is another user's
    desk.invoker.decide(review_id, answer)
    return json_response(DecisionResponse(id=review_id), status=HTTPStatus.ACCEPTED)


def reviews_of(desk: Services, scope: Scope) -> list[ReviewInfo]:
    """What waits for a decision about the memory of *scope*."""
    return [
        ReviewInfo(
            id=review.id,
            thread_id=review.key.thread_id,
            at=timestamp(datetime.fromtimestamp(review.at, UTC)),
            proposal=review.proposal,
        )
        for review in desk.invoker.in_review()
        if review.key.scope == scope
    ]
