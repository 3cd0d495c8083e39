"""/recall: the memory text for a prompt."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.middleware import MessageRoute
from memgraph.api.responses import json_response
from memgraph.api.schemas import AsOfQuery, RecallRequest, to_messages
from memgraph.retrieval.results import RecallResult

router = APIRouter(tags=["recall"], route_class=MessageRoute)


@router.post("/recall", response_model=RecallResult)
def recall(
    body: RecallRequest, query: Annotated[AsOfQuery, Query()], services: ServicesDep, principal: PrincipalDep
) -> Response:
    """Return the memory text for an agent's next prompt, and why each fact and episode is in it.

    The text is empty if nothing is known, nothing fits, or `enabled` or `injection_enabled` is false.
    """
    scope = principal.scope(query.user_id, query.agent_name)
    messages = to_messages(body.messages)
    return json_response(services.recall(scope, messages, max_tokens=body.max_tokens, as_of=query.as_of))
