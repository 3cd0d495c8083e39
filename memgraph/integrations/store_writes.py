"""Puts: what a program writes into a store. Facts are admitted as a tool's write; all else is kept as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from langchain_core.messages import HumanMessage

from memgraph.agents.tool_changes import WAITS, ToolCaller, ToolResult, add_tool_fact, delete_tool_fact, hold_for_review
from memgraph.analysis.admission import steering_problem
from memgraph.analysis.secrets import mask
from memgraph.editing.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE, WRITTEN_BY_USER
from memgraph.errors import EditError
from memgraph.integrations.store_entries import CATEGORY, StoreView, has_expired
from memgraph.langgraph_adapter import check_storable
from memgraph.models import Fact, MemoryDocument, Scope, StoredItem, timestamp
from memgraph.rules.add import unique_fact_id, with_reworded
from memgraph.rules.validation import validate_category

if TYPE_CHECKING:
    from langgraph.store.base import PutOp

    from memgraph.integrations.store_entries import Namespace

MAX_KEY_CHARS = 200


@dataclass(frozen=True, slots=True)
class _NewFact:
    """What a put states of a fact."""

    content: str
    category: str
    attributes: Mapping[str, object]
    valid_until: str

    def label(self, fact: Fact) -> Fact:
        """Return *fact* with all but the content."""
        # a fact that no store put is read with its category alone
        is_plain = fact.attributes is None and self.attributes == {"category": fact.category}
        attributes, end = (None, fact.valid_until) if is_plain else (self.attributes, "")
        labels = {"category": self.category, "attributes": attributes, "valid_until": self.valid_until or end}
        return fact.model_copy(update=labels)


@dataclass(frozen=True, slots=True)
class StoreWriter:
    """Applies the puts of a store to a memory.

    Args:
        view: The namespaces of the store, and what is in them already.
        caller: The conversation in which the store is called, and the limits of what it may change.
    """

    view: StoreView
    caller: ToolCaller

    def apply(self, memory: MemoryDocument, scope: Scope, put: PutOp) -> ToolResult:
        """Return the memory of *scope* after *put*; its text is WAITS if the change waits for a person.

        Raises:
            EditError: If the value is invalid, not admitted, or a person wrote what it would change.
        """
        try:
            return self._apply(memory, scope, put)
        except EditError as error:
            raise EditError(f"{place_of(put)}: {error}") from None

    def _apply(self, memory: MemoryDocument, scope: Scope, put: PutOp) -> ToolResult:
        namespace, key, end = put.namespace, put.key, _end_of(put.ttl)
        is_removed = put.value is None or (end is not None and end <= datetime.now(UTC))
        has_facts = self.view.has_facts(namespace)
        known = memory.fact(key) or memory.said_claim(key) if has_facts else None
        if known and (taken := self.view.namespace_of(scope, known)) != namespace:
            if is_removed:
                return ToolResult(memory, "Done.")
            raise EditError(f"this key names a fact under {taken!r}: use another key")
        if known and known.is_manual:
            raise EditError(WRITTEN_BY_USER)
        if known and memory.fact(key) is None:
            raise EditError("the key names words of the user, which a store does not change: use another key")
        if put.value is None or is_removed:
            rest = _without_item(memory, namespace, key)
            return delete_tool_fact(rest, self.caller, key) if known else ToolResult(rest, "Done.")
        value = _validate_value(put.value)
        content = value.get("content")
        if has_facts and isinstance(content, str):
            new = _NewFact(
                content=mask(content.strip()),
                category=self._category(namespace, value),
                attributes={name: each for name, each in value.items() if name != "content"},
                valid_until=end.date().isoformat() if end else "",
            )
            return self._put_fact(_without_item(memory, namespace, key), key, known, new)
        if known:
            raise EditError(
                "the key names a fact: its value needs a text as `content`; use another key for other values"
            )
        return ToolResult(_with_item(memory, namespace, key, value, end), "Done.")

    def _category(self, namespace: Namespace, value: Mapping[str, object]) -> str:
        names = self.caller.policy.category_names
        if (category := self.view.label(CATEGORY, namespace)) is not None:
            return validate_category(category, names)
        category = value.get("category")
        return category if isinstance(category, str) and category in names else DEFAULT_CATEGORY

    def _put_fact(self, memory: MemoryDocument, key: str, known: Fact | None, new: _NewFact) -> ToolResult:
        """Return the memory in which *key* names the new fact.

        What only a tool had stated before is replaced; what the user said waits for a person.
        """
        if known is None:
            _validate_key(key)
        if known and known.content == new.content:
            current, after = known, memory
        else:
            rest, caller = _with_free_id(memory, key), self.caller
            if known and known.origin is None and caller.messages:  # a new wording keeps what the old one rests on
                caller = replace(caller, messages=(HumanMessage(known.content), *caller.messages))
            added = add_tool_fact(
                rest, caller, new.content, category=new.category, confidence=DEFAULT_CONFIDENCE, quote="", fact_id=key
            )
            current, after = added.memory.fact(key), added.memory
            if current is None:
                return ToolResult(_hold(memory, after, key, new), WAITS)
        labelled = new.label(current)
        after = after.with_facts(tuple(labelled if fact.id == key else fact for fact in after.facts))
        is_own = known is None or known.origin == "tool"
        result = hold_for_review(memory, after, replace(self.caller, origin=None) if is_own else self.caller, "Done.")
        if result.text == WAITS or known is None or known.content == labelled.content:
            return result
        return ToolResult(with_reworded(result.memory, known, self.caller.policy.max_past_facts), result.text)


def place_of(put: PutOp) -> str:
    """Return what errors call the item of *put*."""
    return f"{'/'.join(put.namespace)}, key {put.key[:80]!r}"


def _hold(memory: MemoryDocument, after: MemoryDocument, key: str, new: _NewFact) -> MemoryDocument:
    """Return *memory* with the change that *after* holds back; accepting it replaces the fact *key*.

    Raises:
        EditError: If the rules took the new fact for another one.
    """
    waiting = {change.id for change in memory.pending}
    held = next((change for change in after.pending if change.id not in waiting), None)
    if held is None or all(fact.id != key for fact in held.facts):
        raise EditError("another fact states the same already: search for it, and use its key")
    facts = tuple(new.label(fact) if fact.id == key else fact for fact in held.facts)
    removes = (*held.removes, key) if memory.fact(key) else held.removes
    return memory.with_pending(held.model_copy(update={"facts": facts, "removes": removes}))


def _with_free_id(memory: MemoryDocument, key: str) -> MemoryDocument:
    """Return *memory* without the fact *key*; a past one gets another id."""
    kept = tuple(fact for fact in memory.facts if fact.id != key)
    taken = {fact.id for fact in (*memory.facts, *memory.past)}
    past = tuple(
        fact.model_copy(update={"id": unique_fact_id(taken)}) if fact.id == key else fact for fact in memory.past
    )
    return memory.model_copy(update={"facts": kept, "past": past})


# -- other items ----------------------------------------------------------------------------------


def _without_item(memory: MemoryDocument, namespace: Namespace, key: str) -> MemoryDocument:
    """Return *memory* without that item, and without those that have expired."""
    now = datetime.now(UTC)
    kept = tuple(
        item
        for item in memory.store_items
        if (item.namespace, item.key) != (namespace, key) and not has_expired(item, now)
    )
    return memory if len(kept) == len(memory.store_items) else memory.model_copy(update={"store_items": kept})


def _with_item(
    memory: MemoryDocument, namespace: Namespace, key: str, value: dict[str, object], end: datetime | None
) -> MemoryDocument:
    known = next((item for item in memory.store_items if (item.namespace, item.key) == (namespace, key)), None)
    rest, at = _without_item(memory, namespace, key), timestamp(datetime.now(UTC), "microseconds")
    item = StoredItem(
        namespace=namespace,
        key=key,
        value=value,
        created_at=known.created_at if known else at,
        updated_at=at,
        expires_at=timestamp(end, "microseconds") if end else "",
    )
    return rest.model_copy(update={"store_items": (*rest.store_items, item)})


def _validate_key(key: str) -> None:
    """Refuse a key that cannot be the id of a fact, which prompts may have."""
    if not 1 <= len(key) <= MAX_KEY_CHARS:
        raise EditError(f"the key of a fact has 1 to {MAX_KEY_CHARS} characters, not {len(key)}")
    if problem := steering_problem(key):
        raise EditError(f"the key is not admitted: {problem}")


def _validate_value(value: Mapping[str, object]) -> dict[str, object]:
    """Return *value* as JSON has it."""
    try:
        check_storable(dict(value))
        return cast("dict[str, object]", json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise EditError(f"the value is not JSON: {error}") from None


def _end_of(ttl: float | None) -> datetime | None:
    """Return when a put ends that holds for *ttl* minutes; what ended before the year 1 ends now."""
    try:
        return None if ttl is None else datetime.now(UTC) + timedelta(minutes=ttl)
    except (TypeError, ValueError):
        raise EditError(f"the ttl is a number of minutes, not {ttl!r:.40}") from None
    except OverflowError:
        return None if cast("float", ttl) > 0 else datetime.now(UTC)  # None: after the year 9999
