"""/export, /import, /backups: memories as documents."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from memgraph.api.backups import new_name
from memgraph.api.dependencies import IfMatch, JsonBody, PrincipalDep, ServicesDep
from memgraph.api.preconditions import require_if_match
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.responses import JSON, document_response, etag_header_docs, json_response
from memgraph.api.routes.documents import GUARDED
from memgraph.api.schemas import BackupInfo, BackupList, ImportQuery, ImportResponse, ScopeQuery
from memgraph.editing import merge_memory, read_document, replace_memory, update_memory
from memgraph.models import Memory
from memgraph.report import diff

router = APIRouter(tags=["transfer"])

DOCUMENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A memory document of any shape that was ever stored; unknown keys are kept.",
        "content": {
            JSON: {
                "schema": {
                    "allOf": [
                        {"$ref": "#/components/schemas/Memory"},
                        {"anyOf": [{"required": [part]} for part in ("user", "history", "facts")]},
                    ]
                }
            }
        },
    }
}


@router.get("/export", response_model=Memory, responses=etag_header_docs())
def export(query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep) -> Response:
    """Download a memory as it is stored."""
    memory = desk.storage.load(caller.scope(query.user_id, query.agent_name))
    return document_response(memory, **{"Content-Disposition": 'attachment; filename="memory.json"'})


@router.post(
    "/import",
    response_model=ImportResponse,
    responses={**etag_header_docs(), **GUARDED, **problem_docs(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)},
    openapi_extra=DOCUMENT,
)
def import_document(
    data: JsonBody,
    query: Annotated[ImportQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
    if_match: IfMatch = None,
) -> Response:
    """Bring a document in. It is read as a whole before anything is written; what was there is kept as a backup.

    To merge overwrites nothing, so only to replace needs If-Match.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    imported = read_document(data, "the body")
    is_replacing = query.mode == "replace"
    found: list[Memory] = []
    kept: list[str] = []
    name = new_name()

    def change(memory: Memory) -> Memory:
        found[:], kept[:] = [memory], []
        changed = replace_memory(memory, imported) if is_replacing else merge_memory(memory, imported)
        if changed != memory and not memory.is_empty:
            desk.backups.save(scope, memory, name)
            kept[:] = [name]
        return changed

    memory = update_memory(desk.storage, scope, require_if_match(if_match, change, needed=is_replacing))
    counts = diff(found[0], memory).counts
    backup = kept[0] if kept else None
    return json_response(ImportResponse(revision=memory.revision, counts=counts, backup=backup), memory)


@router.get("/backups", response_model=BackupList)
def list_backups(query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep) -> Response:
    """List what was there before imports: the newest first, 20 at most."""
    every = desk.backups.list(caller.scope(query.user_id, query.agent_name))
    return json_response(BackupList(backups=[BackupInfo(name=backup.name, bytes=backup.bytes) for backup in every]))


@router.get("/backups/{name}", response_model=Memory, responses=problem_docs(HTTPStatus.NOT_FOUND))
def read_backup(
    name: Annotated[str, Path(max_length=200)],
    query: Annotated[ScopeQuery, Query()],
    desk: ServicesDep,
    caller: PrincipalDep,
) -> Response:
    """Download a backup; to import it with mode=replace puts it back."""
    data = desk.backups.read(caller.scope(query.user_id, query.agent_name), name)
    if data is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "NoSuchBackup", f"there is no backup {name!r}; /backups lists them")
    return Response(data, media_type=JSON)
