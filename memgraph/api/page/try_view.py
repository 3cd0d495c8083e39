"""Try: an update of a pasted conversation, node by node, with each stage before and after; saved only on demand."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, File, Form, Path, Query, Response, UploadFile

from memgraph._cache import LRUCache
from memgraph.api.middleware import MAX_MESSAGE_BYTES, too_large
from memgraph.api.page.access import ChangeDep, Visit, VisitDep, page_router
from memgraph.config import make_context
from memgraph.context import Context
from memgraph.errors import EditError
from memgraph.importers.conversation import read_conversation
from memgraph.models import Scope
from memgraph.report import report_changes
from memgraph.stepper import Step, Stepper, as_json
from memgraph.update.graph import build_graph

router = page_router()

MAX_TRIALS = 32
"""How many updates are kept open at a time; the one that was not used for longest is discarded."""
NODES = (
    *("filter_messages", "detect_signals", "load_memory", "build_prompt", "call_model"),
    *("parse_update", "apply_update", "scrub_uploads", "save_memory"),
)
TrialId = Annotated[str, Path(max_length=100)]


@dataclass
class Trial:
    """One update that a browser steps through."""

    id: str
    stepper: Stepper
    steps: list[Step] = field(default_factory=list[Step])
    lock: threading.Lock = field(default_factory=threading.Lock)


Trials = LRUCache[tuple[str, Scope], Trial]
"""The open updates by their id and memory, in RAM. An erasure clears them, since they have users' words."""


def _trials(visit: Visit) -> Trials:
    return visit.request.app.state.trials


def _find(trial_id: TrialId, visit: VisitDep) -> Trial:
    """Return an open update of the chosen memory.

    Raises:
        EditError: If it does not exist, or is another memory's.
    """
    trial = _trials(visit).get((trial_id, visit.chosen))
    if trial is None:
        raise EditError("this update is not open any more: begin again")
    return trial


TrialDep = Annotated[Trial, Depends(_find)]


@router.get("/page/try")
def show_try(visit: VisitDep) -> Response:
    """Show the form for a conversation."""
    return visit.render("try.html")


@router.post("/page/try", dependencies=[ChangeDep])
def begin(
    visit: VisitDep,
    text: Annotated[str, Form()] = "",
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Open an update of the pasted text or of the file, before its first node."""
    data, name = (file.file.read(), file.filename) if file and file.filename else (text.encode(), "the text")
    if len(data) > MAX_MESSAGE_BYTES:
        raise too_large(f"a conversation to try may have {MAX_MESSAGE_BYTES:,} bytes at most: try a part of it")
    graph = build_graph(defaults=make_context(visit.services.settings, storage=visit.services.memory.storage))
    context = Context(user_id=visit.chosen.user_id, agent_name=visit.chosen.agent_name)
    trial = Trial(secrets.token_urlsafe(16), Stepper(graph, read_conversation(data, name), context))
    _trials(visit).put((trial.id, visit.chosen), trial)
    return _show(visit, trial)


@router.post("/page/try/{trial_id}/next", dependencies=[ChangeDep])
def run_next(trial: TrialDep, visit: VisitDep, *, until_save: Annotated[bool, Query()] = False) -> Response:
    """Run the next node, or all before the last one: save_memory, which saves."""
    with trial.lock:
        if trial.stepper.next_node:
            trial.steps.append(trial.stepper.next())
        while until_save and trial.stepper.next_node not in (None, NODES[-1]):
            trial.steps.append(trial.stepper.next())
        return _show(visit, trial)


@router.post("/page/try/{trial_id}/back", dependencies=[ChangeDep])
def go_back(trial: TrialDep, visit: VisitDep) -> Response:
    """Undo the last step or edit."""
    with trial.lock:
        before = trial.stepper.next_node
        trial.stepper.back()
        if trial.stepper.next_node != before:  # an edit is no step
            del trial.steps[-1:]
        return _show(visit, trial)


@router.post("/page/try/{trial_id}/edit/{stage}", dependencies=[ChangeDep])
def edit(
    trial: TrialDep,
    stage: Annotated[str, Path(max_length=100)],
    visit: VisitDep,
    value: Annotated[str, Form(max_length=1_000_000)],
) -> Response:
    """Replace a stage with the JSON *value*."""
    try:
        document = json.loads(value)
    except (ValueError, RecursionError) as error:  # too deeply nested
        raise EditError(f"the stage {stage} is not JSON: {error}") from error
    with trial.lock:
        trial.stepper.edit(stage, document)
        return _show(visit, trial)


@router.post("/page/try/{trial_id}/discard", dependencies=[ChangeDep])
def discard(trial_id: TrialId, visit: VisitDep) -> Response:
    """End the update without saving."""
    _trials(visit).pop((trial_id, visit.chosen))
    return visit.render("try_form.html")


def _show(visit: Visit, trial: Trial) -> Response:
    stepper = trial.stepper
    return visit.render(
        "trial.html",
        trial_id=trial.id,
        nodes=NODES,
        done=[step.node for step in trial.steps],
        next_node=stepper.next_node,
        editable=stepper.editable,
        steps=[(step.node, _stages(step, stepper.stages)) for step in trial.steps],
        saved=stepper.saved,
        outcome=_outcome(trial),
    )


def _outcome(trial: Trial) -> Mapping[str, Sequence[object]] | None:
    """Return what the update learns, ends and holds back; None before a node has decided it."""
    is_saved = bool(trial.steps) and trial.steps[-1].node == NODES[-1]
    stages = trial.steps[-1].before if is_saved else trial.stepper.stages
    if "scrubbed" not in stages:
        return None
    before, after = stages["memory"], stages["scrubbed"]
    report = report_changes(before, after)
    held = (change for change in after.pending if change not in before.pending)
    refused = dict.fromkeys((*stages["refused"], *stages["uploads"]))
    noted = {item.item for item in refused}
    return {
        "learned": [*(fact.content for fact in (*report.added, *report.confirmed)), *(c.words for c in report.as_said)],
        "ended": [removed.fact.content for removed in report.removed],
        "held": [
            *((item.item, item.reason) for item in refused),
            *((change.text or "", change.reason) for change in held if change.text not in noted),
        ],
    }


def _stages(step: Step, current: Mapping[str, object]) -> dict[str, tuple[str, str]]:
    """Return the stages that a node wrote, as JSON before it and now; before is empty for a new stage."""
    return {
        name: (_json(step.before[name]) if name in step.before else "", _json(current.get(name, wrote)))
        for name, wrote in step.wrote.items()
    }


def _json(stage: object) -> str:
    return json.dumps(as_json(stage), ensure_ascii=False, indent=2)
