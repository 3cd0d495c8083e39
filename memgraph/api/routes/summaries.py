"""/summaries: the six summaries of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from memgraph.api.answers import tagged, told
from memgraph.api.asked import NewSummary, Whose
from memgraph.api.etags import only_if
from memgraph.api.routes.documents import GUARDED
from memgraph.api.told import OneSummary
from memgraph.api.wanted import IfMatch, TheCaller, TheDesk
from memgraph.editing import edit
from memgraph.editing.summaries import edit_section
from memgraph.models import Memory, SectionName

router = APIRouter(tags=["summaries"])

Name = Literal["workContext", "personalContext", "topOfMind", "recentMonths", "earlierContext", "longTermBackground"]
NAMES: Mapping[Name, SectionName] = MappingProxyType(
    {
        "workContext": "work_context",
        "personalContext": "personal_context",
        "topOfMind": "top_of_mind",
        "recentMonths": "recent_months",
        "earlierContext": "earlier_context",
        "longTermBackground": "long_term_background",
    }
)
"""The summaries by the names they have in the document."""


@router.put(
    "/summaries/{name}", status_code=HTTPStatus.OK, response_model=OneSummary, responses={**tagged(), **GUARDED}
)
def write_summary(
    name: Name,
    *,
    body: NewSummary,
    query: Annotated[Whose, Query()],
    desk: TheDesk,
    caller: TheCaller,
    if_match: IfMatch = None,
) -> Response:
    """Put a text in the place of a summary."""
    section = NAMES[name]

    def change(memory: Memory) -> Memory:
        return edit_section(memory, section, body.summary)

    memory = edit(desk.storage, caller.scope(query.user_id, query.agent_name), only_if(if_match, change))
    return told(OneSummary(revision=memory.revision, name=name, section=memory.section(section)), memory)
