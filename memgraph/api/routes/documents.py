"""/document: a memory as a whole."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import IfMatch, IfNoneMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import matches_if_none_match, require_if_match
from memgraph.api.problems import problem_docs
from memgraph.api.responses import document_response, etag_header_docs, json_response, not_modified
from memgraph.api.schemas import DeleteResponse, ScopeQuery
from memgraph.editing import update_memory
from memgraph.models import Memory
from memgraph.storage.base import tombstone

router = APIRouter(tags=["memory"])

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "What is known already is what is stored."}}
GUARDED = problem_docs(HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED, HTTPStatus.PRECONDITION_REQUIRED)
"""How a change that needs If-Match may end."""


@router.get("/document", response_model=Memory, responses={**etag_header_docs(), **UNCHANGED})
def read_document(
    query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep, if_none_match: IfNoneMatch = None
) -> Response:
    """Read a memory as it is stored; one that does not exist is empty, at revision 0."""
    memory = desk.storage.load(caller.scope(query.user_id, query.agent_name))
    return not_modified(memory) if matches_if_none_match(memory, if_none_match) else document_response(memory)


@router.delete("/document", response_model=DeleteResponse, responses={**etag_header_docs(), **GUARDED})
def clear(
    query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep, if_match: IfMatch = None
) -> Response:
    """Delete a memory, its backups, and what waits to be learned for it.

    What was said before is not learned again; what is said later is.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    buried = update_memory(desk.storage, scope, require_if_match(if_match, _buried))
    desk.backups.delete(scope)
    desk.discard_pending(scope)
    forgotten_at = buried.forgotten.at if buried.forgotten else ""
    return json_response(DeleteResponse(revision=buried.revision, forgotten_at=forgotten_at), buried)


def _buried(memory: Memory) -> Memory:
    """The tombstone of *memory*, to be saved over it: so it is refused where somebody saved meanwhile."""
    return tombstone(memory).model_copy(update={"revision": memory.revision})
