"""The tools of the MCP server: what they take, what they do with one user's memory, and what they answer.

What is added is learned by the update graph. Changes and removals pass the rules of an update, as those of an agent's
tools do: a model asks for them, and it may have been misled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal
from uuid import uuid4

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, Field

from memgraph.agents.confirmation import ConfirmationRequiredError
from memgraph.agents.tool_changes import ToolCaller, ToolResult, delete_tool_fact, update_tool_fact
from memgraph.api.schemas import (
    CategoryName,
    Confidence,
    FactHistoryResponse,
    HistoryPage,
    RequestModel,
    ResponseModel,
    Text,
    ThreadId,
)
from memgraph.client import MemoryClient
from memgraph.editing import remove_words, update_memory
from memgraph.errors import EditError
from memgraph.models import ChangeOrigin, Fact, MemoryDocument, Scope, learned_source
from memgraph.retrieval.results import NOTHING_FOUND, ScoredFact
from memgraph.text.marks import BY_TOOL_KEY
from memgraph.text.secrets import mask

MEMORY_OFF = "memory is off (enabled: false): nothing is learned or changed; set MEMGRAPH_ENABLED=true and restart"
WRITTEN_BY_A_PERSON = "a person wrote this fact, so only a person may change it: on the page, or with `memgraph fact`"
WAITS = "Some of it waits until a person accepts it: `memgraph review`."

FactId = Annotated[str, Field(min_length=1, max_length=200, description="The id of the fact, from memory_search.")]
Quote = Annotated[
    str, Field(min_length=1, max_length=2_000, description="The user's own words that ask for it, word for word.")
]


@dataclass(frozen=True, slots=True)
class ConnectedMemory:
    """The memory of the one user of a connection. *client* has the agent of *scope*."""

    client: MemoryClient
    scope: Scope

    def require_enabled(self) -> None:
        """Check that the settings allow changes.

        Raises:
            EditError: If memory is off.
        """
        if not self.client.settings.enabled:
            raise EditError(MEMORY_OFF)

    def change(self, act: Callable[[MemoryDocument], ToolResult], thread_id: str | None) -> ChangeAnswer:
        """Change the document; what a removed fact alone rests on is removed with it."""
        self.require_enabled()
        results: list[ToolResult] = []

        def apply(memory: MemoryDocument) -> MemoryDocument:
            results[:] = [act(memory)]
            return results[0].memory

        storage, policy = self.client.storage, self.client.settings.policy
        try:
            memory = update_memory(
                storage, self.scope, apply, origin=ChangeOrigin(by="tool", thread=thread_id or ""), policy=policy
            )
        except ConfirmationRequiredError as required:
            raise EditError(f"{required.fact.id}: {WRITTEN_BY_A_PERSON}") from None
        if removed := results[0].removed:
            remove_words(storage, self.scope, memory, removed)
        return ChangeAnswer(revision=memory.revision, outcome=results[0].text)

    def caller(self, quote: str, thread_id: str | None) -> ToolCaller:
        """Return the conversation in which *quote* was said: the server sees no more of it."""
        settings = self.client.settings
        return ToolCaller(
            messages=[HumanMessage(mask(quote))],
            call_id="",
            thread=learned_source(thread_id),
            user_names=(),
            # the quote is kept as evidence; no episode has it, since the conversation is not submitted
            policy=settings.policy.model_copy(update={"episodes": "off"}),
            review=settings.review,
            origin=None if settings.mcp_trust else "tool",
        )


# -- arguments -------------------------------------------------------------------------------------


class SearchArguments(RequestModel):
    """The question of a search."""

    query: Text = Field(description="What to search for, in the words of the conversation.")
    limit: Annotated[int, Field(ge=1, le=50, strict=True)] = Field(default=10, description="Maximum number of results.")


class AddArguments(RequestModel):
    """What to learn from."""

    content: Annotated[str, Field(min_length=1, max_length=100_000)] = Field(
        description="What the user said, in the user's own words and the first person: I moved to Lisbon in May."
    )
    thread_id: ThreadId | None = Field(default=None, description="The conversation in which it was said.")


class UpdateArguments(RequestModel):
    """A change of a fact."""

    fact_id: FactId
    quote: Quote
    content: Text | None = Field(default=None, description="The new text; omit to keep it.")
    category: CategoryName | None = Field(default=None, description="What it is about; omit to keep it.")
    confidence: Confidence | None = Field(default=None, description="Confidence from 0 to 1; omit to keep it.")
    thread_id: ThreadId | None = Field(default=None, description="The conversation in which it was said.")


class DeleteArguments(RequestModel):
    """The fact to remove."""

    fact_id: FactId
    quote: Quote
    thread_id: ThreadId | None = Field(default=None, description="The conversation in which it was said.")


class ContextArguments(RequestModel):
    """What the memory is recalled for."""

    message: Annotated[str, Field(max_length=100_000)] = Field(description="What the user asks now.")
    max_tokens: Annotated[int, Field(ge=100, le=100_000, strict=True)] | None = Field(
        default=None, description="The limit of the text; default: max_injection_tokens of the settings."
    )
    as_of: Annotated[str, Field(max_length=40)] | None = Field(
        default=None, description="A year, month or day such as 2026-05: what held then; default: now."
    )


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


# -- what the tools do -----------------------------------------------------------------------------


def search(memory: ConnectedMemory, arguments: SearchArguments) -> SearchAnswer:
    """Search what is remembered of the user: facts with their ids, and the user's own words."""
    found = memory.client.search(arguments.query, user_id=memory.scope.user_id, limit=arguments.limit)
    return SearchAnswer(
        results=[
            SearchedItem(score=item.score, fact=_shown(memory, item.fact))
            if isinstance(item, ScoredFact)
            else SearchedItem(score=item.score, said=item.episode.text, at=item.episode.at)
            for item in found
        ],
        note="" if found else NOTHING_FOUND,
    )


def add(memory: ConnectedMemory, arguments: AddArguments) -> AddAnswer:
    """Learn from what the user said: the facts that follow from it are found at once by memory_search."""
    memory.require_enabled()
    client, user_id = memory.client, memory.scope.user_id
    before = {item.id for item in client.get(user_id=user_id).pending}
    mark = {} if client.settings.mcp_trust else {BY_TOOL_KEY: True}
    said = HumanMessage(arguments.content, id=uuid4().hex, additional_kwargs=mark)
    report = client.add([said], user_id=user_id, thread_id=arguments.thread_id)
    is_waiting = any(item.id not in before for item in client.get(user_id=user_id).pending)
    return AddAnswer(
        outcome=report.outcome,
        added=[_shown(memory, fact) for fact in report.added],
        confirmed=[fact.id for fact in report.confirmed],
        removed=[removed.fact.id for removed in report.removed],
        refused=[refusal.reason for refusal in report.refused],
        why_unchanged=None if is_waiting else report.why_unchanged or None,
        waiting=WAITS if is_waiting else None,
    )


def update(memory: ConnectedMemory, arguments: UpdateArguments) -> ChangeAnswer:
    """Change a remembered fact, if the user's words ask for it. A fact that a person wrote is not changed."""
    content = arguments.content
    fields = {
        "content": content and mask(content),
        "category": arguments.category,
        "confidence": arguments.confidence,
    }
    changed = {name: value for name, value in fields.items() if value is not None}
    return _change(memory, update_tool_fact, arguments, **changed)


def delete(memory: ConnectedMemory, arguments: DeleteArguments) -> ChangeAnswer:
    """Forget a remembered fact and the words it rests on, if the user asks for it; not one that a person wrote."""
    return _change(memory, delete_tool_fact, arguments)


def _change(
    memory: ConnectedMemory,
    tool: Callable[..., ToolResult],
    arguments: UpdateArguments | DeleteArguments,
    **fields: object,
) -> ChangeAnswer:
    """Change a fact by *tool*, for the words that the arguments quote; no person is asked to confirm it."""
    act = partial(
        tool,
        caller=memory.caller(arguments.quote, arguments.thread_id),
        fact_id=arguments.fact_id,
        confirmed=None,
        quote=mask(arguments.quote),
        **fields,
    )
    return memory.change(act, arguments.thread_id)


def context(memory: ConnectedMemory, arguments: ContextArguments) -> str:
    """Return what is known of the user for a prompt, as one <memory> block; empty if nothing is."""
    settings = memory.client.settings
    if not (settings.enabled and settings.injection_enabled):
        return ""
    return memory.client.context(
        arguments.message, user_id=memory.scope.user_id, max_tokens=arguments.max_tokens, as_of=arguments.as_of
    )


def history(memory: ConnectedMemory, arguments: HistoryArguments) -> HistoryPage | FactHistoryResponse:
    """Return what changed in the memory, by whom and when, the newest first; or why one fact is known."""
    client, user_id = memory.client, memory.scope.user_id
    if arguments.fact_id is not None:
        why = client.why(arguments.fact_id, user_id=user_id)
        return FactHistoryResponse(
            fact=why.fact, state=why.state, superseded=list(why.superseded), revisions=list(why.revisions)
        )
    revisions = list(client.history(user_id=user_id, limit=arguments.limit, before=arguments.before))
    last = revisions[-1].revision if len(revisions) == arguments.limit else None
    return HistoryPage(revisions=revisions, next_before=last)


def _shown(memory: ConnectedMemory, fact: Fact) -> ToolFact:
    category = memory.client.settings.policy.category_of(fact)
    return ToolFact(id=fact.id, content=fact.content, category=category, confidence=fact.confidence)


# -- the table -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool: its arguments and its function, whose docstring is the description that models read."""

    arguments: type[RequestModel]
    run: Callable[[ConnectedMemory, Any], BaseModel | str]
    effect: Literal["reads", "adds", "changes"]


TOOLS: Mapping[str, MemoryTool] = MappingProxyType(
    {
        "memory_search": MemoryTool(SearchArguments, search, "reads"),
        "memory_add": MemoryTool(AddArguments, add, "adds"),
        "memory_update": MemoryTool(UpdateArguments, update, "changes"),
        "memory_delete": MemoryTool(DeleteArguments, delete, "changes"),
        "memory_context": MemoryTool(ContextArguments, context, "reads"),
        "memory_history": MemoryTool(HistoryArguments, history, "reads"),
    }
)
"""By the name that models call."""
