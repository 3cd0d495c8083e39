"""/history: the revisions of a memory; undo one, revert a thread, show an earlier state or why a fact is known."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Response

from memgraph.api.dependencies import IfMatch, PrincipalDep, ServicesDep
from memgraph.api.preconditions import require_if_match
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import CONDITIONAL_PROBLEMS, etag_header_docs, json_response
from memgraph.api.schemas import (
    DiffResponse,
    FactHistoryResponse,
    HistoryPage,
    HistoryQuery,
    RebuildPreview,
    RebuildQuery,
    RebuildResponse,
    RevertQuery,
    RevertResponse,
    ScopeQuery,
    UndoConflict,
    UndoQuery,
    UndoResponse,
)
from memgraph.api.services import Services
from memgraph.editing import explain_fact, find_revision, load_revision, revert_source, undo_revision
from memgraph.errors import EditError
from memgraph.history.diff import changes_between
from memgraph.models import MemoryDocument, Scope

if TYPE_CHECKING:
    from memgraph.api.auth import Principal
    from memgraph.background.rebuild import Rebuilder

router = APIRouter(tags=["history"])

RevisionNumber = Annotated[int, Path(ge=0, le=2**53)]
NOT_IN_HISTORY = problem_docs(HTTPStatus.NOT_FOUND)


@router.get("/history", response_model=HistoryPage)
def list_revisions(query: Annotated[HistoryQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return a page of the history, the newest revision first. Send `next_before` as `before` for the next page."""
    scope = principal.scope(query.user_id, query.agent_name)
    revisions = list(services.storage.revisions(scope, limit=query.limit, before=query.before))
    last = revisions[-1].revision if len(revisions) == query.limit else None
    return json_response(HistoryPage(revisions=revisions, next_before=last))


@router.get("/history/facts/{fact_id:path}", response_model=FactHistoryResponse, responses=NOT_IN_HISTORY)
def explain(
    fact_id: Annotated[str, Path(max_length=200)],
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
) -> Response:
    """Return why a fact is known: the user's words, what it superseded, and the revisions that changed it."""
    scope = principal.scope(query.user_id, query.agent_name)
    try:
        found = explain_fact(services.storage, scope, fact_id)
    except EditError as error:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NoSuchFact", str(error)) from None
    return json_response(
        FactHistoryResponse(
            fact=found.fact, state=found.state, superseded=list(found.superseded), revisions=list(found.revisions)
        )
    )


@router.get("/history/{revision}/document", response_model=MemoryDocument, responses=NOT_IN_HISTORY)
def read_revision(
    revision: RevisionNumber, query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep
) -> Response:
    """Return the memory as it was at a revision."""
    scope = principal.scope(query.user_id, query.agent_name)
    return json_response(_memory_at(services, scope, revision))


@router.post("/history/revert", response_model=RevertResponse, responses={**etag_header_docs(), **CONDITIONAL_PROBLEMS})
def revert(
    query: Annotated[RevertQuery, Query()], services: ServicesDep, principal: PrincipalDep, if_match: IfMatch = None
) -> Response:
    """Take back all that rests only on one conversation, or on the time since a date, as one revision.

    A fact with other evidence stays, with less of it; so do what a person wrote, and the episodes.
    """
    done = revert_source(
        services.storage,
        principal.scope(query.user_id, query.agent_name),
        thread=query.thread_id,
        since=query.since,
        timezone=services.settings.timezone,
        policy=services.settings.policy,
        guard=lambda change: require_if_match(if_match, change),
    )
    conflicts = [UndoConflict(**conflict._asdict()) for conflict in done.conflicts]
    answer = RevertResponse(revision=done.memory.revision, changes=done.changes, conflicts=conflicts)
    return json_response(answer, done.memory)


@router.get("/history/{revision}/diff/{other}", response_model=DiffResponse, responses=NOT_IN_HISTORY)
def compare(
    revision: RevisionNumber,
    other: RevisionNumber,
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
) -> Response:
    """Return what differs in the memory between two revisions."""
    scope = principal.scope(query.user_id, query.agent_name)
    before, after = (_memory_at(services, scope, number) for number in (revision, other))
    return json_response(DiffResponse(changes=changes_between(before, after)))


@router.post(
    "/history/{revision}/undo",
    response_model=UndoResponse,
    responses={**etag_header_docs(), **NOT_IN_HISTORY, **CONDITIONAL_PROBLEMS},
)
def undo(
    revision: RevisionNumber,
    query: Annotated[UndoQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Undo a revision, also if later ones exist.

    With conflicts, nothing is changed and the answer has outcome "conflicts", unless partial=true undoes the rest.
    """
    scope = principal.scope(query.user_id, query.agent_name)
    try:
        find_revision(services.storage, scope, revision)
    except EditError as error:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NotInHistory", str(error)) from None
    done = undo_revision(
        services.storage,
        scope,
        revision,
        relearn=query.relearn,
        partial=query.partial,
        policy=services.settings.policy,
        guard=lambda change: require_if_match(if_match, change),
    )
    conflicts = [UndoConflict(**conflict._asdict()) for conflict in done.conflicts]
    answer = UndoResponse(revision=done.memory.revision, outcome=done.outcome, conflicts=conflicts)
    return json_response(answer, done.memory)


@router.get("/rebuild", response_model=RebuildPreview, responses=problem_docs(HTTPStatus.CONFLICT))
def preview_rebuild(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return how often a rebuild would call the model, at least; `max_calls` does not limit it. No model is called."""
    return json_response(RebuildPreview(calls=_rebuilder(query, services, principal).count_calls()))


@router.post(
    "/rebuild",
    response_model=RebuildResponse,
    responses=problem_docs(HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY),
)
def rebuild(query: Annotated[RebuildQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Learn a memory again from its episodes with the server's model, and replace it by the result, as one revision.

    It takes as long as the model needs for all conversations: GET returns the number of its calls. If the connection
    ends before, send the request again: it continues.
    """
    rebuilder = _rebuilder(query, services, principal)
    learned = rebuilder.learn()
    is_replaced = learned.changes.has_content and not query.dry_run
    if is_replaced:
        learned = rebuilder.replace()
    elif not learned.changes.has_content:
        rebuilder.discard()
    answer = RebuildResponse(
        revision=learned.memory.revision, replaced=is_replaced, episodes=learned.episodes, changes=learned.changes
    )
    return json_response(answer, learned.memory)


def _rebuilder(query: ScopeQuery, services: Services, principal: Principal) -> Rebuilder:
    from memgraph.background.rebuild import Rebuilder  # LangGraph takes long to import

    scope = principal.scope(query.user_id, query.agent_name)
    if not services.settings.enabled:
        raise ProblemError(HTTPStatus.CONFLICT, "MemoryOff", "memory is off (enabled: false): nothing is learned")
    return Rebuilder(services.storage, scope, services.settings)


def _memory_at(services: Services, scope: Scope, revision: int) -> MemoryDocument:
    try:
        return load_revision(services.storage, scope, revision)
    except EditError as error:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NotInHistory", str(error)) from None
