"""/facts: the facts of a memory."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from memgraph.api.dependencies import IfMatch, IfNoneMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import matches_if_none_match, require_if_match
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import etag_header_docs, json_response, not_modified
from memgraph.api.routes.documents import GUARDED, UNCHANGED
from memgraph.api.schemas import FactCreate, FactPage, FactResponse, FactUpdate, PageQuery, ScopeQuery
from memgraph.editing import add_fact, edit_fact, find_fact, remove_fact, update_memory
from memgraph.errors import EditError
from memgraph.models import Fact, Memory, Scope

router = APIRouter(tags=["facts"])

FactId = Annotated[str, Path(min_length=1, max_length=200, description="The fact's id, such as fact_a1b2c3d4.")]
MISSING = problem_docs(HTTPStatus.NOT_FOUND)


@router.get("/facts", response_model=FactPage, responses={**etag_header_docs(), **UNCHANGED})
def list_facts(
    query: Annotated[PageQuery, Query()], desk: ServicesDep, caller: PrincipalDep, if_none_match: IfNoneMatch = None
) -> Response:
    """List facts, a page at a time. Pages with the same ETag are of the same state of the memory."""
    memory = desk.storage.load(caller.scope(query.user_id, query.agent_name))
    if matches_if_none_match(memory, if_none_match):
        return not_modified(memory)
    wanted = [fact for fact in memory.facts if query.category in (None, fact.category)]
    end = query.offset + query.limit
    page = FactPage(
        revision=memory.revision,
        total=len(wanted),
        next_offset=end if end < len(wanted) else None,
        facts=wanted[query.offset : end],
    )
    return json_response(page, memory)


@router.post(
    "/facts",
    status_code=HTTPStatus.CREATED,
    response_model=FactResponse,
    responses={
        **etag_header_docs(HTTPStatus.CREATED),
        **problem_docs(HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED),
    },
)
def create_fact(
    body: FactCreate,
    *,
    query: Annotated[ScopeQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
    request: Request,
    if_match: IfMatch = None,
) -> Response:
    """Add a fact that a person knows. No update removes or rewrites it."""
    scope = caller.scope(query.user_id, query.agent_name)

    def change(memory: Memory) -> Memory:
        return add_fact(memory, **body.model_dump())

    memory = update_memory(desk.storage, scope, require_if_match(if_match, change, needed=False))
    fact = memory.facts[-1]
    place = f"{request.scope.get('root_path', '')}/facts/{quote(fact.id, safe='')}?{_query_of(scope)}"
    return json_response(FactResponse(revision=memory.revision, fact=fact), memory, HTTPStatus.CREATED, Location=place)


@router.get(
    "/facts/{fact_id:path}", response_model=FactResponse, responses={**etag_header_docs(), **UNCHANGED, **MISSING}
)
def read_fact(
    fact_id: FactId,
    query: Annotated[ScopeQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Read a fact. Its ETag is that of the whole memory, which a change of it has to name."""
    memory = desk.storage.load(caller.scope(query.user_id, query.agent_name))
    fact = _found(memory, fact_id)
    if matches_if_none_match(memory, if_none_match):
        return not_modified(memory)
    return json_response(FactResponse(revision=memory.revision, fact=fact), memory)


@router.patch(
    "/facts/{fact_id:path}", response_model=FactResponse, responses={**etag_header_docs(), **MISSING, **GUARDED}
)
def change_fact(
    fact_id: FactId,
    *,
    body: FactUpdate,
    query: Annotated[ScopeQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Change what is given of a fact; it counts as written by a person from then on."""

    def change(memory: Memory) -> Memory:
        _found(memory, fact_id)
        return edit_fact(memory, fact_id, **body.model_dump())

    memory = update_memory(
        desk.storage, caller.scope(query.user_id, query.agent_name), require_if_match(if_match, change)
    )
    return json_response(FactResponse(revision=memory.revision, fact=find_fact(memory, fact_id)), memory)


@router.delete(
    "/facts/{fact_id:path}", response_model=FactResponse, responses={**etag_header_docs(), **MISSING, **GUARDED}
)
def delete_fact(
    fact_id: FactId,
    query: Annotated[ScopeQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Remove a fact, whoever wrote it, and answer with what it was."""
    gone: list[Fact] = []

    def change(memory: Memory) -> Memory:
        gone[:] = [_found(memory, fact_id)]
        return remove_fact(memory, fact_id)

    memory = update_memory(
        desk.storage, caller.scope(query.user_id, query.agent_name), require_if_match(if_match, change)
    )
    return json_response(FactResponse(revision=memory.revision, fact=gone[0]), memory)


def _found(memory: Memory, fact_id: str) -> Fact:
    try:
        return find_fact(memory, fact_id)
    except EditError as error:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NoSuchFact", str(error)) from None


def _query_of(scope: Scope) -> str:
    return urlencode({name: value for name, value in scope.model_dump().items() if value})
