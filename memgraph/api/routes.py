"""The table of routes: each operation with its path, and the form of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Body

from memgraph.api.dependencies import JsonBody
from memgraph.api.problems import ProblemError
from memgraph.api.responses import JSON
from memgraph.api.route import Call, Route, needed, optional, routers_of
from memgraph.api.schemas import (
    AcceptedText,
    ConversationCreate,
    PageQuery,
    RecallRequest,
    UserPageQuery,
    UserQuery,
    parse_messages,
)
from memgraph.api.service import router as service_router
from memgraph.erasure import ErasureReceipt
from memgraph.models import Episode, Fact, MemoryDocument, PendingChange, Revision, Section
from memgraph.operations.documents import Deleted
from memgraph.operations.facts import RemovedWithWords
from memgraph.operations.results import (
    BackupInfo,
    BackupList,
    DecisionResponse,
    DeleteResponse,
    DiffResponse,
    EpisodePage,
    FactHistoryResponse,
    FactPage,
    FactResponse,
    HistoryPage,
    ImportResponse,
    JobsResponse,
    MemoryInfo,
    RebuildPreview,
    RebuildResponse,
    RetryResponse,
    RevertResponse,
    ReviewList,
    SubmissionAccepted,
    SummaryResponse,
    UndoResponse,
    UpkeepResponse,
    UserInfo,
    UserPage,
)
from memgraph.retrieval.results import RecallResult
from memgraph.review.models import Verdict

if TYPE_CHECKING:
    from memgraph.background.rebuild import Rebuild
    from memgraph.editing import MemorySummary
    from memgraph.storage.backups import Backup
    from memgraph.upkeep_graph import UpkeepResult

T = TypeVar("T")
FACT = "/facts/{fact_id:path}"
READ: Any = {"etag": True, "if_none_match": True}
CHANGE: Any = {"etag": True, "if_match": needed}
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


# -- requests --------------------------------------------------------------------------------------


def _submission(body: ConversationCreate) -> Mapping[str, Any]:
    return {"content": parse_messages(body.messages), "thread_id": body.thread_id, "at": body.at, "background": True}


def _question(body: RecallRequest) -> Mapping[str, Any]:
    return {"messages": parse_messages(body.messages), "max_tokens": body.max_tokens}


def _decision(answer: Verdict | AcceptedText) -> Mapping[str, Any]:
    if isinstance(answer, AcceptedText):
        return {"verdict": "accept", "text": answer.text}
    return {"verdict": answer}


def _replaces(arguments: Mapping[str, Any]) -> bool:
    return arguments["mode"] == "replace"


def _check_trust(call: Call) -> None:
    if call.arguments["trusted"] and not call.principal.is_admin:
        raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", TRUSTED_BY_ADMIN)


# -- answers ---------------------------------------------------------------------------------------


def _page(call: Call, items: Sequence[T]) -> tuple[list[T], dict[str, int | None]]:
    """Return the page of *items* that the query asks for, and the number of all and the next offset."""
    offset, end = call.query.offset, call.query.offset + call.query.limit
    return list(items[offset:end]), {"total": len(items), "next_offset": end if end < len(items) else None}


def _fact_page(call: Call, facts: Sequence[Fact]) -> FactPage:
    page, position = _page(call, facts)
    return FactPage.model_validate({"revision": call.session.revision, "facts": page, **position})


def _episode_page(call: Call, episodes: Sequence[Episode]) -> EpisodePage:
    page, position = _page(call, episodes)
    return EpisodePage.model_validate({"episodes": page, **position})


def _fact(call: Call, fact: Fact) -> FactResponse:
    return FactResponse(revision=call.session.revision, fact=fact)


def _location(call: Call, fact: Fact) -> Mapping[str, str]:
    """Return the header with the path of a new fact, as this client reads it."""
    owner = call.session.scope.model_dump()
    query = urlencode({name: value for name, value in owner.items() if value})
    return {"Location": f"{call.request.scope.get('root_path', '')}/facts/{quote(fact.id, safe='')}?{query}"}


def _user_page(call: Call, users: Mapping[str, Sequence[MemorySummary]]) -> UserPage:
    found = [UserInfo(user_id=user, memories=list(map(MemoryInfo.of, memories))) for user, memories in users.items()]
    return UserPage(users=found, total=len(call.session.users()))


def _removed(call: Call, removed: RemovedWithWords) -> FactResponse:
    return _fact(call, removed.fact)


def _deleted(_: Call, done: Deleted) -> DeleteResponse:
    forgotten = done.memory.forgotten
    return DeleteResponse(revision=done.memory.revision, forgotten_at=forgotten.at if forgotten else "")


def _summary(call: Call, section: Section) -> SummaryResponse:
    return SummaryResponse(revision=call.session.revision, name=call.arguments["name"], section=section)


def _attachment(_call: Call, _memory: MemoryDocument) -> Mapping[str, str]:
    return {"Content-Disposition": 'attachment; filename="memory.json"'}


def _backups(_: Call, found: Sequence[Backup]) -> BackupList:
    return BackupList(backups=[BackupInfo(name=each.name, bytes=each.bytes) for each in found])


def _accepted(call: Call, _: object) -> SubmissionAccepted:
    given = call.arguments
    return SubmissionAccepted(messages=len(given["content"]), thread_id=given["thread_id"] or None)


def _upkeep(_: Call, done: UpkeepResult) -> UpkeepResponse:
    revision = done.saved.revision if done.saved else None
    return UpkeepResponse(outcome=done.outcome, revision=revision, report=done.report)


def _reviews(call: Call, changes: Sequence[PendingChange]) -> ReviewList:
    return ReviewList(revision=call.session.revision, reviews=list(changes))


def _decided(call: Call, change: PendingChange) -> DecisionResponse:
    return DecisionResponse(revision=call.session.revision, decided=change)


def _history_page(call: Call, revisions: Sequence[Revision]) -> HistoryPage:
    return HistoryPage.of(revisions, call.arguments["limit"])


def _preview(_: Call, calls: int) -> RebuildPreview:
    return RebuildPreview(calls=calls)


def _rebuilt(call: Call, done: Rebuild) -> RebuildResponse:
    return RebuildResponse.of(done, is_replaced=done.changes.has_content and not call.arguments["dry_run"])


# -- the table -------------------------------------------------------------------------------------

ROUTES: Mapping[str, tuple[Route, ...]] = MappingProxyType(
    {
        "memory": (
            Route("GET /document", "get", "read_document", MemoryDocument, omitted=("revision",), **READ),
            Route("DELETE /document", "forget", "clear", DeleteResponse, _deleted, **CHANGE),
            Route("GET /episodes", "episodes", "list_episodes", EpisodePage, _episode_page, query=PageQuery, **READ),
        ),
        "facts": (
            Route("GET /facts", "facts", "list_facts", FactPage, _fact_page, query=PageQuery, **READ),
            Route(
                *("POST /facts", "remember", "create_fact", FactResponse, _fact),
                **(CHANGE | {"if_match": optional}),
                body="FactCreate",
                status=HTTPStatus.CREATED,
                problems=(409, 412),
                headers=_location,
            ),
            Route(f"GET {FACT}", "fact", "read_fact", FactResponse, _fact, problems=(404,), **READ),
            Route(
                *(f"PATCH {FACT}", "update", "change_fact", FactResponse, _fact),
                body="FactUpdate",
                problems=(404,),
                **CHANGE,
            ),
            Route(f"DELETE {FACT}", "delete", "delete_fact", FactResponse, _removed, problems=(404,), **CHANGE),
        ),
        "summaries": (
            Route(
                *("PUT /summaries/{name}", "write_summary", "write_summary", SummaryResponse, _summary),
                body="SummaryUpdate",
                problems=(404,),  # a name with a line break is no path of a route
                **CHANGE,
            ),
        ),
        "recall": (
            Route(
                *("POST /recall", "recall", "recall", RecallResult),
                body=RecallRequest,
                take=_question,
                omitted=("messages", "max_tokens"),
            ),
        ),
        "transfer": (
            Route("GET /export", "export", "export", MemoryDocument, etag=True, headers=_attachment),
            Route(
                *("POST /import", "import_document", "import_document", ImportResponse),
                lambda _, done: ImportResponse.of(done),
                body=JsonBody,
                take=lambda data: {"document": data, "name": "the body"},
                omitted=("document", "name", "dry_run"),
                problems=(403, 415),
                check=_check_trust,
                openapi=DOCUMENT_BODY,
                **(CHANGE | {"if_match": _replaces}),
            ),
            Route("GET /backups", "backups", "list_backups", BackupList, _backups),
            Route("GET /backups/{name}", "read_backup", "read_backup", MemoryDocument, problems=(404,)),
        ),
        "learning": (
            Route(
                *("POST /conversations", "add", "submit", SubmissionAccepted, _accepted),
                body=ConversationCreate,
                take=_submission,
                omitted=("content", "thread_id", "at", "background"),
                status=HTTPStatus.ACCEPTED,
                problems=(409,),
            ),
            Route("GET /updates", "jobs", "list_updates", JobsResponse, lambda _, jobs: JobsResponse.of(jobs)),
            Route("POST /updates/retry", "retry", "retry", RetryResponse, lambda _, n: RetryResponse(put_back=n)),
            Route("POST /upkeep", "keep_up", "keep_up", UpkeepResponse, _upkeep, problems=(409, 502)),
        ),
        "reviews": (
            Route("GET /reviews", "pending", "list_reviews", ReviewList, _reviews, etag=True),
            Route(
                *("POST /reviews/{change_id}", "decide", "decide", DecisionResponse, _decided),
                body=Annotated[Verdict | AcceptedText, Body()],
                take=_decision,
                omitted=("verdict", "text"),
                etag=True,
                problems=(404,),
            ),
        ),
        "history": (
            Route("GET /history", "history", "list_revisions", HistoryPage, _history_page),
            Route(
                *("GET /history/facts/{fact_id:path}", "why", "explain", FactHistoryResponse),
                lambda _, found: FactHistoryResponse.of(found),
                problems=(404,),
            ),
            Route(
                *("GET /history/{revision}/document", "get", "read_revision", MemoryDocument),
                omitted=("as_of",),
                problems=(404,),
            ),
            Route(
                *("POST /history/revert", "revert", "revert", RevertResponse),
                lambda _, done: RevertResponse.of(done),
                **CHANGE,
            ),
            Route(
                *("GET /history/{first}/diff/{second}", "diff", "compare", DiffResponse),
                lambda _, changes: DiffResponse(changes=changes),
                problems=(404,),
            ),
            Route(
                *("POST /history/{revision}/undo", "undo", "undo", UndoResponse),
                lambda _, done: UndoResponse.of(done),
                problems=(404,),
                **CHANGE,
            ),
            Route("GET /rebuild", "count_rebuild_calls", "preview_rebuild", RebuildPreview, _preview, problems=(409,)),
            Route(
                *("POST /rebuild", "rebuild", "rebuild", RebuildResponse, _rebuilt),
                omitted=("model",),
                problems=(409, 502),
            ),
        ),
        "users": (
            Route("GET /users", "memories", "users", UserPage, _user_page, query=UserPageQuery, problems=(403,)),
            Route("POST /erase", "erase", "erase", ErasureReceipt, query=UserQuery),
        ),
    }
)
"""By the heading in the documentation."""

ROUTERS = (*routers_of(ROUTES), service_router)
