"""/export, /import, /backups: memories as documents."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from memgraph.api.answers import JSON, tagged, told, whole
from memgraph.api.asked import Importing, Whose
from memgraph.api.backups import new_name
from memgraph.api.etags import only_if
from memgraph.api.problems import described
from memgraph.api.refused import Refused
from memgraph.api.routes.documents import GUARDED
from memgraph.api.told import BackupList, BackupTold, Imported
from memgraph.api.wanted import IfMatch, JsonBody, TheCaller, TheDesk
from memgraph.editing import edit, merge_memory, read_document, replace_memory
from memgraph.models import Memory
from memgraph.report import compare

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


@router.get("/export", response_model=Memory, responses=tagged())
def export(query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller) -> Response:
    """Download a memory as it is stored."""
    memory = desk.storage.load(caller.scope(query.user_id, query.agent_name))
    return whole(memory, **{"Content-Disposition": 'attachment; filename="memory.json"'})


@router.post(
    "/import",
    response_model=Imported,
    responses={**tagged(), **GUARDED, **described(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)},
    openapi_extra=DOCUMENT,
)
def import_document(
    data: JsonBody, query: Annotated[Importing, Query()], desk: TheDesk, caller: TheCaller, if_match: IfMatch = None
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
            desk.backups.keep(scope, memory, name)
            kept[:] = [name]
        return changed

    memory = edit(desk.storage, scope, only_if(if_match, change, needed=is_replacing))
    counts = compare(found[0], memory).counts
    backup = kept[0] if kept else None
    return told(Imported(revision=memory.revision, counts=counts, backup=backup), memory)


@router.get("/backups", response_model=BackupList)
def list_backups(query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller) -> Response:
    """List what was there before imports: the newest first, 20 at most."""
    every = desk.backups.of(caller.scope(query.user_id, query.agent_name))
    return told(BackupList(backups=[BackupTold(name=backup.name, bytes=backup.bytes) for backup in every]))


@router.get("/backups/{name}", response_model=Memory, responses=described(HTTPStatus.NOT_FOUND))
def read_backup(
    name: Annotated[str, Path(max_length=200)], query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller
) -> Response:
    """Download a backup; to import it with mode=replace puts it back."""
    data = desk.backups.read(caller.scope(query.user_id, query.agent_name), name)
    if data is None:
        raise Refused(HTTPStatus.NOT_FOUND, "NoSuchBackup", f"there is no backup {name!r}; /backups lists them")
    return Response(data, media_type=JSON)
