"""The health of a memory: findings with their fixes, what an upkeep would look at, export and import."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import File, Form, Query, Response, UploadFile

from memgraph.api.page.access import ChangeDep, Visit, VisitDep, changed
from memgraph.api.page.rendering import render
from memgraph.api.page.route import page_router
from memgraph.api.preconditions import etag_of, require_if_match
from memgraph.api.routes import transfer
from memgraph.api.routes.users import erase_everywhere
from memgraph.api.schemas import ImportQuery, ScopeQuery
from memgraph.audit import Finding, apply_fixes, audit
from memgraph.editing import (
    admit_document,
    merge_memory,
    missing_episodes,
    read_document,
    take_episodes,
    update_memory,
)
from memgraph.errors import EditError
from memgraph.history.diff import changes_between
from memgraph.models import MemoryDocument
from memgraph.rules.upkeep_candidates import find_candidates
from memgraph.text.dates import local_day

router = page_router()

MAX_SHOWN = 100


@router.get("/page/health")
def show_health(visit: VisitDep) -> Response:
    """Show export and import; what takes longer loads itself."""
    return render(visit.request, "health.html", visit.values())


@router.get("/page/health/findings")
def list_findings(visit: VisitDep) -> Response:
    """Show the findings of the audit and the candidates of an upkeep."""
    settings, memory = visit.services.settings, visit.services.storage.load(visit.chosen)
    candidates = find_candidates(memory, settings.policy, local_day(_now(), settings.timezone) or _now().date())
    values = {
        "memory": memory,
        "etag": etag_of(memory),
        "findings": _findings(visit, memory)[:MAX_SHOWN],
        "candidates": candidates[:MAX_SHOWN],
    }
    return render(visit.request, "findings.html", {**visit.values(), **values})


@router.post("/page/health/fix", dependencies=[ChangeDep])
def fix(visit: VisitDep, index: Annotated[int, Query(ge=0)], etag: Annotated[str, Query(max_length=200)]) -> Response:
    """Apply the fix of one finding."""

    def change(memory: MemoryDocument) -> MemoryDocument:
        findings = _findings(visit, memory)
        if index >= len(findings):
            raise EditError("there is no such finding any more: reload the page")
        return apply_fixes(memory, [findings[index]])

    update_memory(
        visit.services.storage, visit.chosen, require_if_match(etag, change), policy=visit.services.settings.policy
    )
    return list_findings(visit)


@router.get("/page/export")
def export(visit: VisitDep) -> Response:
    """Download the memory with its episodes."""
    return transfer.export(ScopeQuery(**visit.chosen.model_dump()), visit.services, visit.session.principal)


@router.post("/page/import", dependencies=[ChangeDep])
def import_document(
    visit: VisitDep, document: Annotated[UploadFile, File()], *, apply: Annotated[bool, Query()] = False
) -> Response:
    """Show what merging *document* would change; with *apply*, merge it."""
    data, storage, scope = document.file.read(), visit.services.storage, visit.chosen
    if apply:
        transfer.import_document(data, ImportQuery(**scope.model_dump()), visit.services, visit.session.principal)
        return changed(visit, "imported", storage.load(scope))
    imported, episodes = take_episodes(read_document(data, document.filename or "the file"))
    memory = storage.load(scope)
    admitted, held = admit_document(imported, memory)
    new = missing_episodes(storage.episodes(scope), episodes, visit.services.settings.policy)
    values = {
        "changes": changes_between(memory, merge_memory(memory, admitted, trusted=True)),
        "held": (*held, *new.held),
        "episodes": len(new.episodes),
    }
    return render(visit.request, "import_preview.html", {**visit.values(), **values})


@router.post("/page/erase", dependencies=[ChangeDep])
def erase(visit: VisitDep, confirmation: Annotated[str, Form(max_length=256)] = "") -> Response:
    """Erase the user in all places, if they typed the user's id, and show the receipt."""
    owner = visit.chosen.user_id
    if confirmation != owner:
        raise EditError("nothing was erased: type the user's id to confirm")
    receipt = erase_everywhere(visit.services, owner)
    return render(visit.request, "receipt.html", {**visit.values(), "receipt": receipt})


def _findings(visit: Visit, memory: MemoryDocument) -> list[Finding]:
    return list(audit(memory, _now(), visit.services.storage.episodes(visit.chosen)))


def _now() -> datetime:
    return datetime.now(UTC)
