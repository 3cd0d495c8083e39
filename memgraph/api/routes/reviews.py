"""/reviews: pending changes, which a person accepts or rejects."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import problem_docs
from memgraph.api.responses import etag_header_docs, json_response
from memgraph.api.schemas import AcceptedText, DecisionResponse, ReviewList, ScopeQuery
from memgraph.editing import decide_pending
from memgraph.review.models import Verdict

router = APIRouter(tags=["reviews"])


@router.get("/reviews", response_model=ReviewList, responses=etag_header_docs())
def list_reviews(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """List the pending changes, the oldest first. They are never recalled or shown to a model."""
    memory = services.storage.load(principal.scope(query.user_id, query.agent_name))
    return json_response(ReviewList(revision=memory.revision, reviews=list(memory.pending)), memory)


@router.post(
    "/reviews/{change_id}",
    response_model=DecisionResponse,
    responses={**etag_header_docs(), **problem_docs(HTTPStatus.NOT_FOUND)},
)
def decide(
    change_id: Annotated[str, Path(max_length=200)],
    answer: Annotated[Verdict | AcceptedText, Body()],
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
) -> Response:
    """Accept a pending change, perhaps in another wording, which applies it to the current memory, or reject it.

    The id names the content of the change, so no If-Match is needed; if it is decided already, the response is 404.
    """
    text = answer.text if isinstance(answer, AcceptedText) else None
    decided = decide_pending(
        services.storage,
        principal.scope(query.user_id, query.agent_name),
        change_id,
        "accept" if isinstance(answer, AcceptedText) else answer,
        text=text,
        policy=services.settings.policy,
    )
    return json_response(DecisionResponse(revision=decided.memory.revision, decided=decided.change), decided.memory)
