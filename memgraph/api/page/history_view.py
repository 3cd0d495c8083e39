"""The history: revisions, what two of them differ in, undo, and the memory as it was."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Path, Query, Response

from memgraph.api.page.access import ChangeDep, VisitDep, changed
from memgraph.api.page.rendering import render
from memgraph.api.page.route import page_router
from memgraph.api.preconditions import etag_of, require_if_match
from memgraph.editing import find_revision, load_revision, replace_memory, revert_source, update_memory
from memgraph.history.diff import changes_between
from memgraph.models import ChangeOrigin, MemoryDocument

router = page_router()

PAGE_SIZE = 30
RevisionNumber = Annotated[int, Path(ge=0, le=2**53)]


@router.get("/page/history")
def show_history(visit: VisitDep, before: Annotated[int | None, Query(ge=1, le=2**53)] = None) -> Response:
    """Show the revisions, the newest first."""
    storage = visit.services.storage
    memory, revisions = storage.load(visit.chosen), storage.revisions(visit.chosen, limit=PAGE_SIZE, before=before)
    values = {
        "revisions": revisions,
        "next_before": revisions[-1].revision if len(revisions) == PAGE_SIZE else None,
        "threads": sorted({fact.source for fact in memory.facts if not fact.is_manual}),
    }
    return render(visit.request, "history.html" if before is None else "revisions.html", {**visit.values(), **values})


@router.get("/page/history/{revision}")
def show_revision(revision: RevisionNumber, visit: VisitDep) -> Response:
    """Show what a revision changed, side by side."""
    found = find_revision(visit.services.storage, visit.chosen, revision)
    values = {"revision": found, "changes": found.changes, "etag": etag_of(visit.services.storage.load(visit.chosen))}
    return render(visit.request, "revision.html", {**visit.values(), **values})


@router.get("/page/history/{revision}/since")
def show_difference(revision: RevisionNumber, visit: VisitDep) -> Response:
    """Show what differs between a revision and now."""
    storage = visit.services.storage
    memory = storage.load(visit.chosen)
    changes = changes_between(load_revision(storage, visit.chosen, revision), memory)
    values = {"number": revision, "changes": changes, "etag": etag_of(memory)}
    return render(visit.request, "difference.html", {**visit.values(), **values})


@router.post("/page/history/{revision}/restore", dependencies=[ChangeDep])
def restore(revision: RevisionNumber, visit: VisitDep, etag: Annotated[str, Query(max_length=200)]) -> Response:
    """Make the memory what it was at a revision, as a new revision; conversations stay learned."""
    storage = visit.services.storage
    earlier = load_revision(storage, visit.chosen, revision)

    def change(memory: MemoryDocument) -> MemoryDocument:
        restored = replace_memory(memory, earlier, trusted=True)
        return restored.model_copy(update={"threads": memory.threads})

    memory = update_memory(
        storage,
        visit.chosen,
        require_if_match(etag, change),
        policy=visit.services.settings.policy,
        origin=ChangeOrigin(by="person"),
    )
    return changed(visit, "restored", memory)


@router.post("/page/revert", dependencies=[ChangeDep])
def revert(visit: VisitDep, thread: Annotated[str, Form(min_length=1, max_length=256)]) -> Response:
    """Take back what only a conversation taught, as one revision."""
    settings = visit.services.settings
    done = revert_source(
        visit.services.storage, visit.chosen, thread=thread, timezone=settings.timezone, policy=settings.policy
    )
    return changed(visit, "reverted", done.memory)
