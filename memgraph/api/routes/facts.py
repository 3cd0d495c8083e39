"""/facts: list, read, add, change and remove the facts of a memory."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from memgraph.api.dependencies import IfMatch, IfNoneMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import matches_if_none_match, require_if_match
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import (
    CONDITIONAL_PROBLEMS,
    NOT_MODIFIED_DOCS,
    etag_header_docs,
    json_response,
    not_modified,
)
from memgraph.api.schemas import FactCreate, FactDeleteQuery, FactPage, FactQuery, FactResponse, FactUpdate, ScopeQuery
from memgraph.editing import add_fact, edit_fact, find_any_fact, find_fact, remove_fact, remove_words, update_memory
from memgraph.errors import EditError
from memgraph.models import Fact, MemoryDocument, Scope

router = APIRouter(tags=["facts"])

FactId = Annotated[str, Path(min_length=1, max_length=200, description="The fact's id, such as fact_a1b2c3d4.")]
FACT_NOT_FOUND = problem_docs(HTTPStatus.NOT_FOUND)


@router.get("/facts", response_model=FactPage, responses={**etag_header_docs(), **NOT_MODIFIED_DOCS})
def list_facts(
    query: Annotated[FactQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return a page of facts. Pages with the same ETag belong to the same state of the memory."""
    memory = services.storage.load(principal.scope(query.user_id, query.agent_name))
    if matches_if_none_match(memory, if_none_match):
        return not_modified(memory)
    listed = memory.recallable if query.all else memory.facts
    matching = [fact for fact in listed if query.category in (None, fact.category)]
    end = query.offset + query.limit
    page = FactPage(
        revision=memory.revision,
        total=len(matching),
        next_offset=end if end < len(matching) else None,
        facts=matching[query.offset : end],
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
    services: ServicesDep,
    principal: PrincipalDep,
    request: Request,
    if_match: IfMatch = None,
) -> Response:
    """Add a manual fact. Learning never removes or rewrites it."""
    scope = principal.scope(query.user_id, query.agent_name)

    def change(memory: MemoryDocument) -> MemoryDocument:
        return add_fact(memory, **body.model_dump(), categories=services.settings.policy.category_names)

    memory = update_memory(
        services.storage, scope, require_if_match(if_match, change, needed=False), policy=services.settings.policy
    )
    fact = memory.facts[-1]
    location = f"{request.scope.get('root_path', '')}/facts/{quote(fact.id, safe='')}?{_scope_query(scope)}"
    return json_response(
        FactResponse(revision=memory.revision, fact=fact), memory, HTTPStatus.CREATED, Location=location
    )


@router.get(
    "/facts/{fact_id:path}",
    response_model=FactResponse,
    responses={**etag_header_docs(), **NOT_MODIFIED_DOCS, **FACT_NOT_FOUND},
)
def read_fact(
    fact_id: FactId,
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return a fact. Its ETag is that of the memory, which a change must send."""
    memory = services.storage.load(principal.scope(query.user_id, query.agent_name))
    fact = memory.said_claim(fact_id) or _require_fact(memory, fact_id)
    if matches_if_none_match(memory, if_none_match):
        return not_modified(memory)
    return json_response(FactResponse(revision=memory.revision, fact=fact), memory)


@router.patch(
    "/facts/{fact_id:path}",
    response_model=FactResponse,
    responses={**etag_header_docs(), **FACT_NOT_FOUND, **CONDITIONAL_PROBLEMS},
)
def change_fact(
    fact_id: FactId,
    *,
    body: FactUpdate,
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Change the given fields of a fact, or of a claim that is kept as said. It becomes a manual fact."""

    def change(memory: MemoryDocument) -> MemoryDocument:
        _ = memory.said_claim(fact_id) or _require_fact(memory, fact_id)
        return edit_fact(memory, fact_id, **body.model_dump(), categories=services.settings.policy.category_names)

    memory = update_memory(
        services.storage,
        principal.scope(query.user_id, query.agent_name),
        require_if_match(if_match, change),
        policy=services.settings.policy,
    )
    return json_response(FactResponse(revision=memory.revision, fact=find_fact(memory, fact_id)), memory)


@router.delete(
    "/facts/{fact_id:path}",
    response_model=FactResponse,
    responses={**etag_header_docs(), **FACT_NOT_FOUND, **CONDITIONAL_PROBLEMS},
)
def delete_fact(
    fact_id: FactId,
    query: Annotated[FactDeleteQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Remove a fact, also a past one, or a claim kept as said, and return it. Words that only it rests on go, too."""
    scope = principal.scope(query.user_id, query.agent_name)
    removed: list[Fact] = []

    def change(memory: MemoryDocument) -> MemoryDocument:
        removed[:] = [_require_fact(memory, fact_id, find_any_fact)]
        return remove_fact(memory, fact_id)

    memory = update_memory(services.storage, scope, require_if_match(if_match, change), policy=services.settings.policy)
    if not query.keep_words:
        remove_words(services.storage, scope, memory, removed[0])
    return json_response(FactResponse(revision=memory.revision, fact=removed[0]), memory)


def _require_fact(
    memory: MemoryDocument, fact_id: str, find: Callable[[MemoryDocument, str], Fact] = find_fact
) -> Fact:
    try:
        return find(memory, fact_id)
    except EditError as error:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NoSuchFact", str(error)) from None


def _scope_query(scope: Scope) -> str:
    return urlencode({name: value for name, value in scope.model_dump().items() if value})
