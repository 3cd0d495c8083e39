"""The table of the tools: the operations that an assistant may call, with what they take and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any
from uuid import uuid4

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, Field

from memgraph.agents.tool_changes import SavedChange
from memgraph.analysis.marks import BY_TOOL_KEY
from memgraph.client import MemoryClient
from memgraph.errors import MemoryOffError
from memgraph.models import Fact
from memgraph.operations import OPERATIONS, Operation, RequestModel
from memgraph.operations.results import FactHistoryResponse, HistoryPage, ResponseModel
from memgraph.operations.session import AsOf, FactId, ThreadId, TokenLimit
from memgraph.report import Report
from memgraph.retrieval.results import NOTHING_FOUND, ScoredEpisode, ScoredFact

WAITS = "Some of it waits until a person accepts it: `memgraph review`."


# -- arguments of more than one operation, or of a part of one --------------------------------------


class AddArguments(RequestModel):
    """What to learn from."""

    content: Annotated[str, Field(min_length=1, max_length=100_000)] = Field(
        description="What the user said, in the user's own words and the first person: I moved to Lisbon in May."
    )
    thread_id: ThreadId | None = Field(default=None, description="The conversation in which it was said.")


class ContextArguments(RequestModel):
    """What the memory is recalled for."""

    message: Annotated[str, Field(max_length=100_000)] = Field(description="What the user asks now.")
    max_tokens: TokenLimit | None = Field(
        default=None, description="The limit of the text; default: max_injection_tokens of the settings."
    )
    as_of: AsOf | None = None


class HistoryArguments(RequestModel):
    """A part of the history."""

    fact_id: FactId | None = Field(default=None, description="Only why this fact is known, and what changed it.")
    limit: Annotated[int, Field(ge=1, le=50, strict=True)] = Field(default=10, description="Maximum of revisions.")
    before: Annotated[int, Field(ge=1, le=2**53, strict=True)] | None = Field(
        default=None, description="Only revisions before this one: next_before of the last answer."
    )


# -- answers ---------------------------------------------------------------------------------------


class ToolFact(ResponseModel):
    """A fact as the tools show it."""

    id: str
    content: str
    category: str
    confidence: float


class SearchedItem(ResponseModel):
    """A fact, or an episode: the user's own words."""

    score: float
    fact: ToolFact | None = None
    said: str | None = None
    at: str | None = None
    ended: str | None = None
    """What of these words does not hold any more."""


class SearchAnswer(ResponseModel):
    """The results of a search, the best first."""

    results: list[SearchedItem]
    note: str = ""
    """Set if nothing is found."""


class AddAnswer(ResponseModel):
    """What was learned."""

    outcome: str
    added: list[ToolFact]
    confirmed: list[str]
    """Ids of known facts that were said again."""
    removed: list[str]
    refused: list[str]
    """The reasons of refusals."""
    why_unchanged: str | None = None
    """Why nothing was kept."""
    waiting: str | None = None
    """What a person has to do, if some of it waits for one."""


class ChangeAnswer(ResponseModel):
    """The memory after a change."""

    revision: int
    outcome: str


def _shown(client: MemoryClient, fact: Fact) -> ToolFact:
    category = client.settings.policy.category_of(fact)
    return ToolFact(id=fact.id, content=fact.content, category=category, confidence=fact.confidence)


def _found(client: MemoryClient, found: list[ScoredFact | ScoredEpisode]) -> SearchAnswer:
    results = [
        SearchedItem(score=item.score, fact=_shown(client, item.fact))
        if isinstance(item, ScoredFact)
        else SearchedItem(score=item.score, said=item.episode.text, at=item.episode.at, ended=item.ended or None)
        for item in found
    ]
    return SearchAnswer(results=results, note="" if results else NOTHING_FOUND)


def _learned(client: MemoryClient, report: Report, *, is_waiting: bool) -> AddAnswer:
    return AddAnswer(
        outcome=report.outcome,
        added=[_shown(client, fact) for fact in report.added],
        confirmed=[fact.id for fact in report.confirmed],
        removed=[removed.fact.id for removed in report.removed],
        refused=[refusal.reason for refusal in report.refused],
        why_unchanged=None if is_waiting else report.why_unchanged or None,
        waiting=WAITS if is_waiting else None,
    )


def _changed(_: MemoryClient, saved: SavedChange) -> ChangeAnswer:
    return ChangeAnswer(revision=saved.memory.revision, outcome=saved.text)


# -- calls -----------------------------------------------------------------------------------------


def _add(client: MemoryClient, user_id: str, arguments: AddArguments) -> AddAnswer:
    before = {item.id for item in client.pending(user_id=user_id)}
    mark = {} if client.settings.mcp_trust else {BY_TOOL_KEY: True}
    said = HumanMessage(arguments.content, id=uuid4().hex, additional_kwargs=mark)
    report = client.add([said], user_id=user_id, thread_id=arguments.thread_id)
    return _learned(client, report, is_waiting=any(item.id not in before for item in client.pending(user_id=user_id)))


def _context(client: MemoryClient, user_id: str, arguments: ContextArguments) -> str:
    return client.context(arguments.message, user_id=user_id, max_tokens=arguments.max_tokens, as_of=arguments.as_of)


def _history(client: MemoryClient, user_id: str, arguments: HistoryArguments) -> HistoryPage | FactHistoryResponse:
    if arguments.fact_id is not None:
        return FactHistoryResponse.model_validate(client.why(arguments.fact_id, user_id=user_id))
    revisions = client.history(user_id=user_id, limit=arguments.limit, before=arguments.before)
    return HistoryPage.of(revisions, arguments.limit)


# -- the table -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryTool:
    """A tool: its operation, its arguments, and how it is called."""

    operation: Operation
    arguments: type[RequestModel]
    call: Callable[[MemoryClient, str, Any], BaseModel | str]

    def run(self, client: MemoryClient, user_id: str, arguments: RequestModel) -> BaseModel | str:
        """Return the answer for the one user of a connection.

        Raises:
            MemoryOffError: If it changes something, and the settings turn memory off.
        """
        if self.operation.effect != "reads" and not client.settings.enabled:
            raise MemoryOffError
        return self.call(client, user_id, arguments)


def _tool(operation: str, answer: Callable[[MemoryClient, Any], BaseModel]) -> MemoryTool:
    """Return a tool that has the arguments of an operation."""
    made = OPERATIONS[operation]
    return MemoryTool(
        made,
        made.arguments(),
        lambda client, user_id, given: answer(client, made.function(client, user_id=user_id, **vars(given))),
    )


TOOLS: Mapping[str, MemoryTool] = MappingProxyType(
    {
        "memory_search": _tool("search", _found),
        "memory_add": MemoryTool(OPERATIONS["add"], AddArguments, _add),
        "memory_update": _tool("propose_update", _changed),
        "memory_delete": _tool("propose_removal", _changed),
        "memory_context": MemoryTool(OPERATIONS["context"], ContextArguments, _context),
        "memory_history": MemoryTool(OPERATIONS["history"], HistoryArguments, _history),
    }
)
"""By the name that models call."""
