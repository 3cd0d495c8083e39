"""Changes of memory that a model asks for by a tool. They pass the rules of an update: it may have been misled.

A manual fact is changed as the user who is asked agrees; that is a person's edit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from memgraph.agents.messages import last_user_index, revisions
from memgraph.analysis.episodes import episodes_of, find_episode
from memgraph.analysis.normalize import fact_key
from memgraph.analysis.provenance import with_provenance
from memgraph.analysis.quotes import QuoteFinder
from memgraph.analysis.turns import turns_of
from memgraph.context import get_field
from memgraph.editing import edit_fact, remove_fact, update_memory
from memgraph.editing.facts import find_fact
from memgraph.editing.update import remove_words
from memgraph.errors import EditError
from memgraph.models import (
    REVIEW_ASKED,
    Addition,
    ChangeOrigin,
    Evidence,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    Scope,
    Turn,
    current_time,
)
from memgraph.policy import Policy, Review
from memgraph.retrieval.recalled import with_recalled
from memgraph.rules.add import unique_fact_id
from memgraph.rules.apply import apply
from memgraph.rules.ground import SaidWords
from memgraph.rules.limit_damage import BY_TOOL, damage_limit
from memgraph.rules.pending import make_pending, refusals
from memgraph.rules.validation import validate_confidence, validate_text
from memgraph.storage import MemoryStorage

MAX_MESSAGES = 200
"""Latest messages of the conversation in which a tool looks for the user's words."""
WRITING_TOOLS = frozenset({"memory_add", "memory_update", "memory_delete"})
WAITS = "It waits until a person accepts it, and changes nothing before."


class ConfirmationRequiredError(Exception):
    """A change would touch a fact that a person wrote. The tools handle it; it never reaches the agent."""

    def __init__(self, fact: Fact) -> None:
        super().__init__(fact.id)
        self.fact = fact


class ToolResult(NamedTuple):
    """The memory after a call of a tool, and the answer to the model."""

    memory: MemoryDocument
    text: str
    removed: tuple[Fact, ...] = ()
    """The facts that were deleted."""


class SavedChange(NamedTuple):
    """A change of a tool that was saved."""

    before: MemoryDocument
    memory: MemoryDocument
    """As it is stored now."""
    text: str
    """The answer to the model."""


def save_tool_change(
    storage: MemoryStorage, scope: Scope, change: Callable[[MemoryDocument], ToolResult], *, thread: str, policy: Policy
) -> SavedChange:
    """Save what a tool that was called in *thread* makes of the memory of *scope*.

    The words that only a deleted fact rests on are removed, too.

    Raises:
        EditError: If it is refused.
        ConfirmationRequiredError: If a person wrote the fact and has not confirmed the change.
    """
    results: list[tuple[MemoryDocument, ToolResult]] = []

    def apply(memory: MemoryDocument) -> MemoryDocument:
        results[:] = [(memory, change(memory))]
        return results[0][1].memory

    memory = update_memory(storage, scope, apply, origin=ChangeOrigin(by="tool", thread=thread), policy=policy)
    before, result = results[0]
    for fact in result.removed:
        remove_words(storage, scope, memory, fact, policy)
    return SavedChange(before, memory, result.text)


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The conversation in which a tool is called, and the limits of what it may change."""

    messages: Sequence[BaseMessage]
    call_id: str
    thread: str
    """The source of what is added."""
    user_names: tuple[str, ...]
    policy: Policy
    review: Review
    origin: Literal["tool"] | None = None
    """"tool" if the words of the user are those that it reports: no conversation shows them."""
    confirmed: Fact | None = None
    """The manual fact that a person has agreed to change, as it was then."""

    def turns(self, memory: MemoryDocument) -> tuple[Turn, ...]:
        """Return the turns of the conversation, with what in them is not the user's own words."""
        now = datetime.now(UTC)
        turns = turns_of(self.messages[-MAX_MESSAGES:], at=now, user_names=self.user_names, now=now)
        return with_recalled(tuple(map(with_provenance, turns)), memory)

    def check_writes(self, limit: int) -> None:
        """Check that the tools have changed fewer than *limit* facts in this turn of the user.

        Raises:
            EditError: If they have not.
        """
        if count_writes(self.messages, self.call_id) >= limit:
            raise EditError(f"only {limit} changes of the memory are allowed in a turn; go on without")


def messages_of(state: object) -> tuple[BaseMessage, ...]:
    """Return the messages in the *state* of an agent; none if it has no such key."""
    messages = get_field(state, "messages")
    found = cast("Sequence[object]", messages) if isinstance(messages, list | tuple) else ()
    return tuple(message for message in found if isinstance(message, BaseMessage))


def count_writes(messages: Sequence[BaseMessage], call_id: str) -> int:
    """Return how many facts the tools have changed since the last message of the user, before the call *call_id*.

    Calls before it in the same message of the model count, too: they run at the same time.
    """
    turn = messages[last_user_index(messages) or 0 :]
    results = [message for message in turn if isinstance(message, ToolMessage)]
    done = sum(1 for _ in revisions(results))
    answered = {one.tool_call_id for one in results}
    for message in reversed(turn):
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            own_name = {call["name"] for call in message.tool_calls if call["id"] == call_id}
            ids = [call["id"] for call in message.tool_calls if call["name"] in WRITING_TOOLS | own_name]
            return done + sum(one not in answered for one in ids[: ids.index(call_id)])
    return done


# -- what the tools do -----------------------------------------------------------------------------


def add_tool_fact(
    memory: MemoryDocument,
    caller: ToolCaller,
    content: str,
    *,
    category: str,
    confidence: float,
    quote: str,
    fact_id: str = "",
) -> ToolResult:
    """Add a fact, if the rules of an update let it pass; its id is *fact_id*, by default a new one.

    Raises:
        EditError: If it is invalid, known already, or refused.
    """
    content = validate_text(content, "a fact")
    key = fact_key(content)
    if known := next((fact for fact in memory.facts if fact_key(fact.content) == key), None):
        raise EditError(f"{known.id} already has the same content")
    caller.check_writes(caller.policy.max_tool_writes)
    addition = Addition(
        id=fact_id or unique_fact_id({fact.id for fact in memory.facts}),
        content=content,
        category=category,
        confidence=validate_confidence(confidence),
        quote=quote,
    )
    return _apply(memory, caller, addition)


def update_tool_fact(
    memory: MemoryDocument,
    caller: ToolCaller,
    fact_id: str,
    *,
    content: str | None = None,
    category: str | None = None,
    confidence: float | None = None,
    quote: str = "",
) -> ToolResult:
    """Change a fact. A new content replaces the fact; a manual one remains manual, and must be confirmed.

    Raises:
        EditError: If there is no such fact, or the change is invalid or refused.
        ConfirmationRequiredError: If a person wrote the fact and has not confirmed the change.
    """
    before = _find_confirmed(memory, caller, fact_id)
    edited = edit_fact(
        memory,
        fact_id,
        content=content,
        category=category,
        confidence=confidence,
        categories=caller.policy.category_names,
        by_person=True,  # who has confirmed it; any other change passes the rules below
    )
    if before.is_manual:
        return ToolResult(edited, "Done.")
    after = find_fact(edited, fact_id)
    if after.content != before.content:
        addition = Addition(
            id=unique_fact_id({fact.id for fact in memory.facts}),
            content=after.content,
            category=after.category,
            confidence=after.confidence,
            source_error=after.source_error,
            replaces=(fact_id,),
            quote=quote,
        )
        return _apply(memory, caller, addition)
    _require_quote(memory, caller, quote)
    relabelled = after.model_copy(update={"source": before.source})
    facts = tuple(relabelled if fact.id == fact_id else fact for fact in memory.facts)
    return hold_for_review(memory, edited.with_facts(facts), caller, "Done.")


def delete_tool_fact(memory: MemoryDocument, caller: ToolCaller, fact_id: str, *, quote: str = "") -> ToolResult:
    """Remove a fact; a manual one must be confirmed.

    Raises:
        EditError: If there is no such fact, or the user did not ask for it.
        ConfirmationRequiredError: If a person wrote the fact and has not confirmed its removal.
    """
    before = _find_confirmed(memory, caller, fact_id)
    after = remove_fact(memory, fact_id)
    if before.is_manual:
        return ToolResult(after, "Done.", (before,))
    _require_quote(memory, caller, quote)
    result = hold_for_review(memory, after, caller, "Done.")
    return result if result.memory.fact(fact_id) else result._replace(removed=(before,))


# -- the rules -------------------------------------------------------------------------------------


def _find_confirmed(memory: MemoryDocument, caller: ToolCaller, fact_id: str) -> Fact:
    """Return the fact *fact_id* if the caller may change it: a learned one, or a manual one as it was confirmed.

    Raises:
        EditError: If there is no such fact, or too many were changed in this turn.
        ConfirmationRequiredError: If a person wrote it and has not confirmed a change of it as it is now.
    """
    fact = find_fact(memory, fact_id)
    if fact.is_manual and fact != caller.confirmed:
        raise ConfirmationRequiredError(fact)
    caller.check_writes(min(caller.policy.max_tool_writes, damage_limit(memory)))
    return fact


def _require_quote(memory: MemoryDocument, caller: ToolCaller, quote: str) -> None:
    """Refuse a change without words of the user: no content of it could be compared with them."""
    if caller.policy.grounding == "strict":
        problem = SaidWords(caller.turns(memory), memory).quote_problem(quote)
        if problem:
            raise EditError(f"not changed: {problem}")


def _apply(memory: MemoryDocument, caller: ToolCaller, addition: Addition) -> ToolResult:
    turns = caller.turns(memory)
    found = QuoteFinder(turns).find(addition.quote) if addition.quote.strip() else None
    if found:
        kept = episodes_of([found.turn], thread=caller.thread, policy=caller.policy)
        episode = find_episode(kept, found.words)
        evidence = (Evidence(episode=episode, quote=found.words),)
        addition = addition.model_copy(update={"evidence": evidence, "said_at": found.turn.at})
    changes = MemoryUpdate(
        at=current_time(), thread=caller.thread, message_ids=(), origin=caller.origin, additions=(addition,)
    )
    result = apply(changes, memory, caller.policy, turns)
    if result.memory.facts == memory.facts and result.memory.pending != memory.pending:
        return ToolResult(result.memory, WAITS)
    if result.memory.fact(addition.id):
        return hold_for_review(memory, result.memory, caller, f"Remembered as {addition.id}.")
    if result.memory.facts != memory.facts:
        return hold_for_review(memory, result.memory, caller, "It was known, and is confirmed.")
    raise EditError(f"not remembered: {result.refused[-1].reason if result.refused else 'it changes nothing'}")


def hold_for_review(memory: MemoryDocument, after: MemoryDocument, caller: ToolCaller, text: str) -> ToolResult:
    """Return *after*, or *memory* with the change pending if a person must approve it.

    Raises:
        EditError: If a person rejected it before, or it is too large.
    """
    changed = [fact for fact in after.facts if memory.fact(fact.id) != fact]
    removed = [fact.id for fact in memory.facts if after.fact(fact.id) is None]
    adds_correction = any(fact.category == "correction" for fact in changed)
    is_reviewed = caller.review == "always" or (caller.review == "corrections" and (removed or adds_correction))
    outdated = [*removed, *(fact.id for fact in changed if memory.fact(fact.id))]
    is_unproven = bool(outdated) and caller.origin is not None
    if not (is_reviewed or is_unproven):
        return ToolResult(after, text)
    reason, thread = BY_TOOL if is_unproven else REVIEW_ASKED, caller.origin or caller.thread
    waiting = make_pending(reason, at=current_time(), thread=thread, facts=changed, removes=outdated)
    if any(one.category == waiting.category for one in memory.accepted_kinds):
        return ToolResult(after, text)
    held = memory.with_pending(waiting)
    if all(change.id != waiting.id for change in held.pending):
        raise EditError(f"not changed: {refusals(waiting, held)[0].reason}")
    return ToolResult(held, WAITS)
