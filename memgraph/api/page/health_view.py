"""The health of a memory: findings with their fixes, what an upkeep would look at, export and import."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import File, Form, Query, Response, UploadFile

from memgraph.analysis.dates import local_day
from memgraph.api.page.access import ChangeDep, VisitDep, page_router
from memgraph.api.page.history_view import known_texts
from memgraph.api.preconditions import ATTACHMENT, etag_of, respond
from memgraph.errors import EditError
from memgraph.rules.upkeep_candidates import find_candidates

router = page_router()

MAX_SHOWN = 100


@router.get("/page/health")
def show_health(visit: VisitDep) -> Response:
    """Show export and import; what takes longer loads itself."""
    return visit.render("health.html")


@router.get("/page/health/findings")
def list_findings(visit: VisitDep) -> Response:
    """Show the findings of the audit and the candidates of an upkeep."""
    settings, session, now = visit.services.settings, visit.operations(), datetime.now(UTC)
    memory = session.get()
    candidates = find_candidates(memory, settings.policy, local_day(now, settings.timezone) or now.date())
    return visit.render(
        "findings.html",
        memory=memory,
        etag=etag_of(memory),
        findings=session.audit()[:MAX_SHOWN],
        candidates=candidates[:MAX_SHOWN],
    )


@router.post("/page/health/fix", dependencies=[ChangeDep])
def fix(visit: VisitDep, index: Annotated[int, Query(ge=0)], etag: Annotated[str, Query(max_length=200)]) -> Response:
    """Apply the fix of one finding."""
    session = visit.operations(etag)
    findings = session.audit()
    if index >= len(findings):
        raise EditError("there is no such finding any more: reload the page")
    session.fix([findings[index]])
    return list_findings(visit)


@router.get("/page/export")
def export(visit: VisitDep) -> Response:
    """Download the memory with its episodes."""
    return respond(visit.operations().export(), headers=ATTACHMENT)


@router.post("/page/import", dependencies=[ChangeDep])
def import_document(
    visit: VisitDep, document: Annotated[UploadFile, File()], *, apply: Annotated[bool, Query()] = False
) -> Response:
    """Show what merging *document* would change; with *apply*, merge it."""
    name = document.filename or "the file"
    done = visit.operations().import_document(document.file.read(), dry_run=not apply, name=name)
    if apply:
        return visit.render_change("imported", done.memory)
    known = known_texts(visit.operations().get(), done.changes)
    return visit.render(
        "import_preview.html", changes=done.changes, known=known, held=done.held, episodes=done.episodes
    )


@router.post("/page/erase", dependencies=[ChangeDep])
def erase(visit: VisitDep, confirmation: Annotated[str, Form(max_length=256)] = "") -> Response:
    """Erase the user in all places, if they typed the user's id, and show the receipt."""
    owner = visit.chosen.user_id
    if confirmation != owner:
        raise EditError("nothing was erased: type the user's id to confirm")
    return visit.render("receipt.html", receipt=visit.operations().erase())
