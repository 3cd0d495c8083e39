"""/export, /import and /backups: memories as documents."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from memgraph.api.dependencies import IfMatch, JsonBody, PrincipalDep, ServicesDep
from memgraph.api.preconditions import require_if_match
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import CONDITIONAL_PROBLEMS, JSON, document_response, etag_header_docs, json_response
from memgraph.api.schemas import BackupInfo, BackupList, ImportQuery, ImportResponse, ScopeQuery
from memgraph.editing import (
    admit_document,
    merge_memory,
    missing_episodes,
    read_document,
    replace_memory,
    take_episodes,
    update_memory,
    with_episodes,
)
from memgraph.models import ChangeOrigin, MemoryDocument, Refusal
from memgraph.report import diff
from memgraph.storage.backups import new_name

router = APIRouter(tags=["transfer"])

TRUSTED_BY_ADMIN = "trusted=true needs the administrator's token (api_token): without it the import holds back orders"
DOCUMENT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A memory document of any supported version; unknown keys are preserved.",
        "content": {
            JSON: {
                "schema": {
                    "allOf": [
                        {"$ref": "#/components/schemas/Memory"},
                        {"anyOf": [{"required": [key]} for key in ("user", "history", "facts")]},
                    ]
                }
            }
        },
    }
}


@router.get("/export", response_model=MemoryDocument, responses=etag_header_docs())
def export(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Download a memory with its episodes. The ETag is that of the memory."""
    scope = principal.scope(query.user_id, query.agent_name)
    memory = services.storage.load(scope)
    exported = with_episodes(memory, services.storage.episodes(scope))
    return document_response(memory, exported, **{"Content-Disposition": 'attachment; filename="memory.json"'})


@router.post(
    "/import",
    response_model=ImportResponse,
    responses={
        **etag_header_docs(),
        **CONDITIONAL_PROBLEMS,
        **problem_docs(HTTPStatus.FORBIDDEN, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    },
    openapi_extra=DOCUMENT_BODY,
)
def import_document(
    data: JsonBody,
    query: Annotated[ImportQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Import a document, after it was validated as a whole. A memory that changes is backed up first.

    Episodes that are not stored yet are added in either mode. Only mode=replace requires If-Match, since merging
    overwrites nothing. What steers a model is held back, and secrets are masked, unless an administrator trusts it.
    """
    if query.trusted and not principal.is_admin:
        raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", TRUSTED_BY_ADMIN)
    scope = principal.scope(query.user_id, query.agent_name)
    imported, episodes = take_episodes(read_document(data, "the body"))
    stored = services.storage.episodes(scope)
    new, words_held = missing_episodes(stored, episodes, services.settings.policy, trusted=query.trusted)
    is_replacing = query.mode == "replace"
    before: list[MemoryDocument] = []
    held: list[Refusal] = []
    backups: list[str] = []
    name = new_name()

    def change(memory: MemoryDocument) -> MemoryDocument:
        before[:], backups[:] = [memory], []  # a conflict calls this again
        admitted = imported
        if not query.trusted:
            admitted, held[:] = admit_document(imported, memory)
        changed = (replace_memory if is_replacing else merge_memory)(memory, admitted, trusted=True)
        if changed != memory and not memory.is_empty:
            services.backups.save(scope, with_episodes(memory, stored), name)
            backups[:] = [name]
        return changed

    memory = update_memory(
        services.storage,
        scope,
        require_if_match(if_match, change, needed=is_replacing),
        policy=services.settings.policy,
        origin=ChangeOrigin(by="import"),
    )
    services.storage.append_episodes(scope, new, services.settings.policy)
    counts = {**diff(before[0], memory).counts, "episodes": len(new)}
    backup = backups[0] if backups else None
    return json_response(
        ImportResponse(revision=memory.revision, counts=counts, backup=backup, held=[*held, *words_held]), memory
    )


@router.get("/backups", response_model=BackupList)
def list_backups(query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """List the backups made by imports, the newest first; at most 20 are kept."""
    backups = services.backups.list(principal.scope(query.user_id, query.agent_name))
    return json_response(BackupList(backups=[BackupInfo(name=backup.name, bytes=backup.bytes) for backup in backups]))


@router.get("/backups/{name}", response_model=MemoryDocument, responses=problem_docs(HTTPStatus.NOT_FOUND))
def read_backup(
    name: Annotated[str, Path(max_length=200)],
    query: Annotated[ScopeQuery, Query()],
    services: ServicesDep,
    principal: PrincipalDep,
) -> Response:
    """Download a backup. To restore it as it is, an administrator imports it with mode=replace and trusted=true."""
    data = services.backups.read(principal.scope(query.user_id, query.agent_name), name)
    if data is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NoSuchBackup", f"there is no backup {name!r}; /backups lists them")
    return Response(data, media_type=JSON)
