"""The table of routes: each operation with its path, the form of its request and its answer; and the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Response
from langchain_core.messages import AnyMessage
from pydantic import Field

from memgraph import __version__
from memgraph._validation import redact_passwords
from memgraph.analysis.dates import UtcTime
from memgraph.api.preconditions import ATTACHMENT, JSON, respond
from memgraph.api.problems import ProblemError, problem_docs
from memgraph.api.route import Call, PageQuery, PrincipalDep, RawBody, Route, ServicesDep, UserQuery, scope_query
from memgraph.api.services import Services
from memgraph.background.serialization import validate_messages
from memgraph.config import choose_model, describe_finding
from memgraph.erasure import ErasureReceipt
from memgraph.models import Fact, MemoryDocument, Revision, Section
from memgraph.operations import RequestModel, results
from memgraph.operations.facts import RemovedWithWords
from memgraph.operations.results import ResponseModel
from memgraph.operations.session import ThreadId, TokenLimit
from memgraph.retrieval.results import RecallResult
from memgraph.review import AcceptedText, PendingVerdict

if TYPE_CHECKING:
    from memgraph.background.rebuild import Rebuild
    from memgraph.editing.users import MemorySummary

MAX_MESSAGES = 10_000
FACT = "/facts/{fact_id:path}"
READ: Any = {"etag": True, "if_none_match": True}
CHANGE: Any = {"etag": True, "if_match": True}
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


class UserPageQuery(RequestModel):
    """A page of the users; how many to skip is an argument of the operation."""

    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of users.")


class Message(RequestModel):
    """A message of a conversation."""

    role: Literal["user", "human", "assistant", "ai", "system", "tool"]
    content: str | list[dict[str, Any]] = Field(description="Text, or content blocks such as {type: text, text: ...}.")
    id: str | None = Field(default=None, max_length=256, description="A later message of the same id replaces it.")
    name: str | None = Field(default=None, max_length=256)
    tool_call_id: str | None = Field(default=None, max_length=256, description="The call that a tool message answers.")
    tool_calls: list[dict[str, Any]] | None = Field(default=None, description="The calls of an assistant message.")
    additional_kwargs: dict[str, Any] | None = Field(default=None, description="As in LangChain's messages.")


class RecallRequest(RequestModel):
    """The conversation for which to recall, and the budget."""

    messages: list[Annotated[str, Field(max_length=100_000)] | Message] = Field(
        default_factory=list[str | Message],
        max_length=1_000,
        description="The conversation, oldest message first; a text is a user message. Empty: facts by confidence.",
    )
    max_tokens: TokenLimit | None = Field(
        default=None, description="The limit of the text; default: max_injection_tokens."
    )


class ConversationCreate(RequestModel):
    """A conversation to learn from."""

    messages: list[Message] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="Oldest message first: the new messages, or all of them.",
    )
    thread_id: ThreadId | None = Field(default=None, description="The id of the conversation; empty counts as absent.")
    at: UtcTime | None = Field(
        default=None,
        description="When messages without a time of their own were written: ISO 8601 (UTC if it has no zone), or "
        "seconds or milliseconds since 1970; default: now.",
    )


def parse_messages(items: Sequence[str | Message]) -> list[AnyMessage]:
    """Return the messages of a request; a text is a user message.

    Raises:
        ConversationError: If an item is not a valid message; it is named by its position.
    """
    return validate_messages([item if isinstance(item, str) else item.model_dump(exclude_none=True) for item in items])


def _submission(body: ConversationCreate) -> Mapping[str, Any]:
    return {"content": parse_messages(body.messages), "thread_id": body.thread_id, "at": body.at, "background": True}


def _question(body: RecallRequest) -> Mapping[str, Any]:
    return {"messages": parse_messages(body.messages), "max_tokens": body.max_tokens}


def _decision(answer: PendingVerdict | AcceptedText) -> Mapping[str, Any]:
    if isinstance(answer, AcceptedText):
        return {"verdict": "accept", "text": answer.text}
    return {"verdict": answer}


def _replaces(arguments: Mapping[str, Any]) -> bool:
    return arguments["mode"] == "replace"


def _check_trust(call: Call) -> None:
    if call.arguments["trusted"] and not call.principal.is_admin:
        raise ProblemError(HTTPStatus.FORBIDDEN, "Forbidden", TRUSTED_BY_ADMIN)


# -- answers ---------------------------------------------------------------------------------------


def _location(call: Call, fact: Fact) -> Mapping[str, str]:
    """Return the header with the path of a new fact, as this client reads it."""
    path = f"{call.request.scope.get('root_path', '')}/facts/{quote(fact.id, safe='')}"
    return {"Location": f"{path}?{scope_query(call.session.scope)}"}


def _user_page(call: Call, users: Mapping[str, Sequence[MemorySummary]]) -> Mapping[str, object]:
    found = [{"user_id": user, "memories": memories} for user, memories in users.items()]
    return {"users": found, "total": len(call.session.users())}


def _removed(call: Call, removed: RemovedWithWords) -> results.FactResponse:
    return results.FactResponse(revision=call.session.revision, fact=removed.fact)


def _summary(call: Call, section: Section) -> results.SummaryResponse:
    return results.SummaryResponse(revision=call.session.revision, name=call.arguments["name"], section=section)


def _accepted(call: Call, _: object) -> results.SubmissionAccepted:
    given = call.arguments
    return results.SubmissionAccepted(messages=len(given["content"]), thread_id=given["thread_id"] or None)


def _history_page(call: Call, revisions: Sequence[Revision]) -> results.HistoryPage:
    return results.HistoryPage.of(revisions, call.arguments["limit"])


def _rebuilt(call: Call, done: Rebuild) -> results.RebuildResponse:
    return results.RebuildResponse.of(done, is_replaced=done.changes.has_content and not call.arguments["dry_run"])


# -- the table -------------------------------------------------------------------------------------

ROUTES: Mapping[str, tuple[Route, ...]] = MappingProxyType(
    {
        "memory": (
            Route("GET /document", "get", "read_document", MemoryDocument, omitted=("revision",), **READ),
            Route("DELETE /document", "forget", "clear", results.DeleteResponse, **CHANGE),
            Route(
                "GET /episodes", "episodes", "list_episodes", results.EpisodePage, "episodes", query=PageQuery, **READ
            ),
        ),
        "facts": (
            Route("GET /facts", "facts", "list_facts", results.FactPage, "facts", query=PageQuery, **READ),
            Route(
                *("POST /facts", "remember", "create_fact", results.FactResponse, "fact"),
                **(CHANGE | {"if_match": False, "body": "FactCreate", "status": HTTPStatus.CREATED}),
                problems=(409, 412),
                headers=_location,
            ),
            Route(f"GET {FACT}", "fact", "read_fact", results.FactResponse, "fact", **READ),
            Route(f"PATCH {FACT}", "update", "change_fact", results.FactResponse, "fact", body="FactUpdate", **CHANGE),
            Route(f"DELETE {FACT}", "delete", "delete_fact", results.FactResponse, _removed, **CHANGE),
        ),
        "summaries": (
            Route(
                *("PUT /summaries/{name}", "write_summary", "write_summary", results.SummaryResponse, _summary),
                **(CHANGE | {"body": "SummaryUpdate"}),
            ),
        ),
        "recall": (Route("POST /recall", "recall", "recall", RecallResult, body=RecallRequest, take=_question),),
        "transfer": (
            Route(
                "GET /export", "export", "export", MemoryDocument, etag=True, headers=lambda _call, _memory: ATTACHMENT
            ),
            Route(
                *("POST /import", "import_document", "import_document", results.ImportResponse),
                **(CHANGE | {"if_match": _replaces}),
                body=RawBody,
                take=lambda data: {"document": data, "name": "the body"},
                omitted=("document", "name", "dry_run"),
                problems=(403,),
                check=_check_trust,
                openapi=DOCUMENT_BODY,
            ),
            Route("GET /backups", "backups", "list_backups", results.BackupList, "backups"),
            Route("GET /backups/{name}", "read_backup", "read_backup", MemoryDocument),
        ),
        "learning": (
            Route(
                *("POST /conversations", "add", "submit", results.SubmissionAccepted, _accepted),
                body=ConversationCreate,
                take=_submission,
                omitted=("content", "background"),
                status=HTTPStatus.ACCEPTED,
                problems=(409,),
            ),
            Route("GET /updates", "jobs", "list_updates", results.JobsResponse),
            Route("POST /updates/retry", "retry", "retry", results.RetryResponse, "put_back"),
            Route("POST /upkeep", "keep_up", "keep_up", results.UpkeepResponse, problems=(409, 502)),
        ),
        "reviews": (
            Route("GET /reviews", "pending", "list_reviews", results.ReviewList, "reviews", etag=True),
            Route(
                *("POST /reviews/{change_id}", "decide", "decide", results.DecisionResponse, "decided"),
                body=Annotated[PendingVerdict | AcceptedText, Body()],
                take=_decision,
                omitted=("verdict", "text"),
                etag=True,
            ),
            Route("GET /accepted", "accepted_kinds", "list_accepted_kinds", results.AcceptedKinds, "kinds"),
            Route("DELETE /accepted/{category}", "ask_again", "ask_again", results.AcceptedKinds, "kinds"),
        ),
        "history": (
            Route("GET /history", "history", "list_revisions", results.HistoryPage, _history_page),
            Route("GET /history/facts/{fact_id:path}", "why", "explain", results.FactHistoryResponse),
            Route("GET /history/{revision}/document", "get", "read_revision", MemoryDocument, omitted=("as_of",)),
            Route("POST /history/revert", "revert", "revert", results.RevertResponse, **CHANGE),
            Route("GET /history/{first}/diff/{second}", "diff", "compare", results.DiffResponse, "changes"),
            Route("POST /history/{revision}/undo", "undo", "undo", results.UndoResponse, **CHANGE),
            Route(
                *("GET /rebuild", "count_rebuild_calls", "preview_rebuild", results.RebuildPreview, "calls"),
                problems=(409,),
            ),
            Route(
                *("POST /rebuild", "rebuild", "rebuild", results.RebuildResponse, _rebuilt),
                omitted=("model",),
                problems=(409, 502),
            ),
        ),
        "users": (
            Route(
                "GET /users", "memories", "users", results.UserPage, _user_page, query=UserPageQuery, problems=(403,)
            ),
            Route("POST /erase", "erase", "erase", ErasureReceipt, query=UserQuery),
        ),
    }
)
"""By the heading in the documentation."""

# -- the service -----------------------------------------------------------------------------------


class ServiceInfo(ResponseModel):
    """The state of the service, over all users."""

    storage: str
    finding: str = Field(description="By what memory is found, and what that costs.")
    pending: int = Field(description="Number of pending jobs.")
    failed: int = Field(description="Number of failed jobs.")
    stats: dict[str, int] = Field(description="Counters since the start of this process.")


class StatusResponse(ResponseModel):
    """Whether memory is enabled, and what the token gives access to."""

    status: Literal["ok"] = "ok"
    version: str
    enabled: bool = Field(description="False: learning and recall are off.")
    injection_enabled: bool
    categories: list[str] = Field(description="The categories that a fact may have.")
    sections: list[str] = Field(description="The keys of the summaries that are kept up to date.")
    user_id: str | None = Field(description="The user whose memory the token gives access to; null: every user.")
    service: ServiceInfo | None = Field(description="Only for the administrator's token.")


class ConfigResponse(ResponseModel):
    """The settings in force."""

    model: str
    storage: str
    settings: dict[str, Any] = Field(description="Passwords, keys and tokens are masked.")


router = APIRouter()
for heading, group in ROUTES.items():
    for each in group:
        each.add_to(router, heading)


@router.get("/status", response_model=StatusResponse, tags=["service"])
def status(services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return whether memory is enabled and, to administrators, the state of the service."""
    return respond(
        StatusResponse(
            version=__version__,
            enabled=services.settings.enabled,
            injection_enabled=services.settings.injection_enabled,
            categories=list(services.settings.policy.category_names),
            sections=[section.name for section in services.settings.policy.sections],
            user_id=principal.user_id,
            service=_service(services) if principal.is_admin else None,
        )
    )


@router.get("/config", response_model=ConfigResponse, tags=["service"], responses=problem_docs(403))
def config(services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return the settings in force, without secrets."""
    principal.require_admin()
    settings = services.settings.model_dump(mode="json")
    return respond(
        ConfigResponse(
            model=choose_model(services.settings).name,
            storage=services.memory.storage.name,
            settings={name: redact_passwords(value) for name, value in settings.items()},
        )
    )


def _service(services: Services) -> ServiceInfo:
    invoker = services.memory.invoker
    return ServiceInfo(
        storage=services.memory.storage.name,
        finding=describe_finding(services.settings),
        pending=len(invoker.pending()),
        failed=len(invoker.failed()),
        stats=invoker.stats().to_json(),
    )
