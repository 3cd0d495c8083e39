"""/document: read or delete a memory."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import IfMatch, IfNoneMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import matches_if_none_match, require_if_match
from memgraph.api.responses import (
    CONDITIONAL_PROBLEMS,
    NOT_MODIFIED_DOCS,
    document_response,
    etag_header_docs,
    json_response,
    not_modified,
)
from memgraph.api.schemas import AsOfQuery, DeleteResponse, ScopeQuery
from memgraph.editing import discard_copies, update_memory
from memgraph.models import MemoryDocument
from memgraph.storage.document import tombstone

router = APIRouter(tags=["memory"])


@router.get("/document", response_model=MemoryDocument, responses={**etag_header_docs(), **NOT_MODIFIED_DOCS})
def read_document(
    query: Annotated[AsOfQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return a memory as it is stored, or as it held on a date. One that does not exist is empty, at revision 0."""
    memory = services.storage.load(principal.scope(query.user_id, query.agent_name))
    shown = None if query.as_of is None else memory.as_of(query.as_of)
    return not_modified(memory) if matches_if_none_match(memory, if_none_match) else document_response(memory, shown)


@router.delete("/document", response_model=DeleteResponse, responses={**etag_header_docs(), **CONDITIONAL_PROBLEMS})
def clear(
    query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep, if_match: IfMatch = None
) -> Response:
    """Delete a memory, its backups and its pending jobs.

    Messages from before the deletion are not learned again; later ones are.
    """
    scope = principal.scope(query.user_id, query.agent_name)
    deleted = update_memory(
        services.storage, scope, require_if_match(if_match, _deleted), policy=services.settings.policy
    )
    discard_copies(services.storage, scope, services.backups)
    forgotten_at = deleted.forgotten.at if deleted.forgotten else ""
    services.discard_pending(scope, forgotten_at)
    return json_response(DeleteResponse(revision=deleted.revision, forgotten_at=forgotten_at), deleted)


def _deleted(memory: MemoryDocument) -> MemoryDocument:
    """Return the tombstone of *memory* at its revision, so that saving it detects a concurrent save."""
    return tombstone(memory).model_copy(update={"revision": memory.revision})
