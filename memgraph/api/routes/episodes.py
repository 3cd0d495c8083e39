"""/episodes: list what a user said, word for word."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import IfNoneMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import matches_if_none_match
from memgraph.api.responses import NOT_MODIFIED_DOCS, etag_header_docs, json_response, not_modified
from memgraph.api.schemas import EpisodePage, EpisodeQuery
from memgraph.errors import EditError
from memgraph.text.episodes import select_episodes

router = APIRouter(tags=["memory"])


@router.get("/episodes", response_model=EpisodePage, responses={**etag_header_docs(), **NOT_MODIFIED_DOCS})
def list_episodes(
    query: Annotated[EpisodeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return a page of the user's own words, the oldest first; an agent also has those that all agents share.

    Pages with the same ETag belong to the same state of the episodes.
    """
    stored = services.storage.episodes(principal.scope(query.user_id, query.agent_name))
    if matches_if_none_match(stored, if_none_match):
        return not_modified(stored)
    try:
        selected = select_episodes(
            stored, thread=query.thread_id, since=query.since, timezone=services.settings.timezone
        )
    except ValueError as error:
        raise EditError(f"since: {error}") from None
    end = query.offset + query.limit
    page = EpisodePage(
        total=len(selected),
        next_offset=end if end < len(selected) else None,
        episodes=list(selected[query.offset : end]),
    )
    return json_response(page, stored)
