"""The history: revisions, what two of them differ in, undo, and the memory as it was."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Path, Query, Response

from memgraph.api.page.access import ChangeDep, VisitDep, page_router
from memgraph.api.preconditions import etag_of
from memgraph.editing.history import find_revision, load_revision
from memgraph.errors import NotInHistoryError
from memgraph.models import MemoryChanges, MemoryDocument
from memgraph.operations.results import HistoryPage

router = page_router()

PAGE_SIZE = 30
RevisionNumber = Annotated[int, Path(ge=0, le=2**53)]


@router.get("/page/history")
def show_history(visit: VisitDep, before: Annotated[int | None, Query(ge=1, le=2**53)] = None) -> Response:
    """Show the revisions, the newest first."""
    session = visit.operations()
    memory, revisions = session.get(), session.history(limit=PAGE_SIZE, before=before)
    return visit.render(
        "history.html" if before is None else "revisions.html",
        revisions=revisions,
        next_before=HistoryPage.of(revisions, PAGE_SIZE).next_before,
        threads=sorted({fact.source for fact in memory.facts if not fact.is_manual}),
    )


@router.get("/page/history/{revision}")
def show_revision(revision: RevisionNumber, visit: VisitDep) -> Response:
    """Show what a revision changed, side by side."""
    found = find_revision(visit.services.memory.storage, visit.chosen, revision)
    etag = etag_of(visit.operations().get())
    try:
        memory = load_revision(visit.services.memory.storage, visit.chosen, revision)
    except NotInHistoryError:  # it was deleted since
        memory = MemoryDocument()
    known = known_texts(memory, found.changes)
    return visit.render("revision.html", revision=found, changes=found.changes, known=known, etag=etag)


@router.get("/page/history/{revision}/since")
def show_difference(revision: RevisionNumber, visit: VisitDep) -> Response:
    """Show what differs between a revision and now."""
    session = visit.operations()
    memory = session.get()
    changes = session.diff(revision, memory.revision)
    return visit.render("difference.html", number=revision, changes=changes, known=known_texts(memory, changes))


def known_texts(memory: MemoryDocument, changes: MemoryChanges) -> dict[str, str]:
    """Return the texts of facts by their ids: as they were before *changes*, else as *memory* has them."""
    before = (change.before for change in changes.facts if change.before)
    return {fact.id: fact.content for fact in (*memory.past, *memory.facts, *before)}


@router.post("/page/history/{revision}/restore", dependencies=[ChangeDep])
def restore(revision: RevisionNumber, visit: VisitDep, etag: Annotated[str, Query(max_length=200)]) -> Response:
    """Make the memory what it was at a revision, as a new revision; conversations stay learned."""
    return visit.render_change("restored", visit.operations(etag).restore(revision))


@router.post("/page/revert", dependencies=[ChangeDep])
def revert(visit: VisitDep, thread: Annotated[str, Form(min_length=1, max_length=256)]) -> Response:
    """Take back what only a conversation taught, as one revision."""
    done = visit.operations().revert(thread_id=thread)
    return visit.render_change("reverted" if done.changes.has_content else "nothing", done.memory)
