"""/upkeep: merge what is known twice in a memory, and end what no longer holds."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import json_response
from memgraph.api.schemas import UpkeepQuery, UpkeepResponse
from memgraph.config import make_context

router = APIRouter(tags=["learning"])


@router.post(
    "/upkeep",
    response_model=UpkeepResponse,
    responses=problem_docs(HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY),
)
def keep_up(query: Annotated[UpkeepQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Merge facts that state the same, and end old ones that no longer hold; what is ended stays in the past.

    Without such facts no model is called and nothing is saved. With a configured review, only a dry run is possible.
    """
    from memgraph.upkeep_graph import run_upkeep  # LangGraph takes long to import

    scope = principal.scope(query.user_id, query.agent_name)
    if not services.settings.enabled:
        raise ProblemError(HTTPStatus.CONFLICT, "MemoryOff", "memory is off (enabled: false): nothing is learned")
    context = make_context(services.settings, storage=services.storage)
    result = run_upkeep(scope, services.storage, context, dry_run=query.dry_run)
    revision = result.saved.revision if result.saved else None
    return json_response(UpkeepResponse(outcome=result.outcome, revision=revision, report=result.report))
