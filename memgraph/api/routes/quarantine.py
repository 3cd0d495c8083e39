"""/quarantine: changes that the rules of an update hold back until a person accepts or rejects them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response

from memgraph.api.dependencies import IfMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import require_if_match
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import CONDITIONAL_PROBLEMS, etag_header_docs, json_response
from memgraph.api.schemas import QuarantineList, QuarantineResponse, ScopeQuery
from memgraph.editing import accept_quarantined, find_quarantined, reject_quarantined, update_memory
from memgraph.errors import EditError
from memgraph.models import ChangeOrigin, MemoryDocument, PersonDecision, Quarantined
from memgraph.review.models import Verdict

router = APIRouter(tags=["reviews"])


@router.get("/quarantine", response_model=QuarantineList, responses=etag_header_docs())
def list_quarantine(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """List the changes in quarantine, the oldest first. They are never recalled or shown to a model."""
    memory = services.storage.load(principal.scope(query.user_id, query.agent_name))
    return json_response(QuarantineList(revision=memory.revision, quarantine=list(memory.quarantine)), memory)


@router.post(
    "/quarantine/{change_id}",
    response_model=QuarantineResponse,
    responses={**etag_header_docs(), **problem_docs(HTTPStatus.NOT_FOUND), **CONDITIONAL_PROBLEMS},
)
def decide_quarantined(
    change_id: Annotated[str, Path(max_length=200)],
    *,
    verdict: Annotated[Verdict, Body()],
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Accept a change in quarantine, which applies it, or reject it."""
    decided: list[Quarantined] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        try:
            decided[:] = [find_quarantined(memory, change_id)]
        except EditError as error:
            raise ProblemError(HTTPStatus.NOT_FOUND, "NotInQuarantine", str(error)) from None
        return accept_quarantined(memory, change_id) if verdict == "accept" else reject_quarantined(memory, change_id)

    memory = update_memory(
        services.storage,
        principal.scope(query.user_id, query.agent_name),
        require_if_match(if_match, change),
        origin=ChangeOrigin(decisions=(PersonDecision(item=change_id, verdict=verdict),)),
        policy=services.settings.policy,
    )
    return json_response(QuarantineResponse(revision=memory.revision, decided=decided[0]), memory)
