"""/summaries: rewrite one of the six summaries of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import IfMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import require_if_match
from memgraph.api.responses import CONDITIONAL_PROBLEMS, etag_header_docs, json_response
from memgraph.api.schemas import ScopeQuery, SummaryResponse, SummaryUpdate
from memgraph.editing import edit_section, update_memory
from memgraph.models import Memory, SectionName

router = APIRouter(tags=["summaries"])

SummaryKey = Literal[
    "workContext", "personalContext", "topOfMind", "recentMonths", "earlierContext", "longTermBackground"
]
SECTIONS: Mapping[SummaryKey, SectionName] = MappingProxyType(
    {
        "workContext": "work_context",
        "personalContext": "personal_context",
        "topOfMind": "top_of_mind",
        "recentMonths": "recent_months",
        "earlierContext": "earlier_context",
        "longTermBackground": "long_term_background",
    }
)
"""The attributes of Memory by their keys in the document."""


@router.put(
    "/summaries/{name}",
    status_code=HTTPStatus.OK,
    response_model=SummaryResponse,
    responses={**etag_header_docs(), **CONDITIONAL_PROBLEMS},
)
def write_summary(
    name: SummaryKey,
    *,
    body: SummaryUpdate,
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Replace the text of a summary."""
    section = SECTIONS[name]

    def change(memory: Memory) -> Memory:
        return edit_section(memory, section, body.summary)

    memory = update_memory(
        services.storage,
        principal.scope(query.user_id, query.agent_name),
        require_if_match(if_match, change),
        policy=services.settings.policy,
    )
    return json_response(SummaryResponse(revision=memory.revision, name=name, section=memory.section(section)), memory)
