"""/document: a memory as a whole."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from memgraph.api.answers import known_already, tagged, told, whole
from memgraph.api.asked import Whose
from memgraph.api.etags import is_known, only_if
from memgraph.api.problems import described
from memgraph.api.told import Cleared
from memgraph.api.wanted import IfMatch, IfNoneMatch, TheCaller, TheDesk
from memgraph.editing import edit
from memgraph.models import Memory
from memgraph.storage.base import tombstone

router = APIRouter(tags=["memory"])

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "What is known already is what is stored."}}
GUARDED = described(HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED, HTTPStatus.PRECONDITION_REQUIRED)
"""How a change that needs If-Match may end."""


@router.get("/document", response_model=Memory, responses={**tagged(), **UNCHANGED})
def read_document(
    query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller, if_none_match: IfNoneMatch = None
) -> Response:
    """Read a memory as it is stored; one that does not exist is empty, at revision 0."""
    memory = desk.storage.load(caller.scope(query.user_id, query.agent_name))
    return known_already(memory) if is_known(memory, if_none_match) else whole(memory)


@router.delete("/document", response_model=Cleared, responses={**tagged(), **GUARDED})
def clear(query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller, if_match: IfMatch = None) -> Response:
    """Delete a memory, its backups, and what waits to be learned for it.

    What was said before is not learned again; what is said later is.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    buried = edit(desk.storage, scope, only_if(if_match, _buried))
    desk.backups.forget(scope)
    desk.drop_waiting(scope)
    forgotten_at = buried.forgotten.at if buried.forgotten else ""
    return told(Cleared(revision=buried.revision, forgotten_at=forgotten_at), buried)


def _buried(memory: Memory) -> Memory:
    """The tombstone of *memory*, to be saved over it: so it is refused where somebody saved meanwhile."""
    return tombstone(memory).model_copy(update={"revision": memory.revision})
