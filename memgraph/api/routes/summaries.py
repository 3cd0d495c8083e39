"""/summaries: rewrite a summary of a memory."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from memgraph.api.dependencies import IfMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import require_if_match
from memgraph.api.problems import problem_docs
from memgraph.api.responses import CONDITIONAL_PROBLEMS, etag_header_docs, json_response
from memgraph.api.schemas import ScopeQuery, SummaryResponse, SummaryUpdate
from memgraph.editing import edit_section, update_memory
from memgraph.models import MemoryDocument
from memgraph.sections import section_name

router = APIRouter(tags=["summaries"])

SummaryKey = Annotated[
    str,
    Path(
        min_length=1,
        max_length=40,
        description="A summary of the setting `sections`, or one that the memory has; by default workContext, "
        "personalContext, topOfMind, recentMonths, earlierContext or longTermBackground.",
    ),
]


@router.put(
    "/summaries/{name}",
    status_code=HTTPStatus.OK,
    response_model=SummaryResponse,
    # a name with a line break is no path of a route
    responses={**etag_header_docs(), **problem_docs(HTTPStatus.NOT_FOUND), **CONDITIONAL_PROBLEMS},
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
    section, policy = section_name(name), services.settings.policy

    def change(memory: MemoryDocument) -> MemoryDocument:
        return edit_section(memory, section, body.summary, sections=policy.section_names)

    memory = update_memory(
        services.storage,
        principal.scope(query.user_id, query.agent_name),
        require_if_match(if_match, change),
        policy=policy,
    )
    return json_response(SummaryResponse(revision=memory.revision, name=name, section=memory.section(section)), memory)
