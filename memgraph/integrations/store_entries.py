"""What a store finds in a memory, in which namespaces: facts and other items alike, with filters and ranking."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from langgraph.store.base import Item, SearchItem

from memgraph.analysis.dates import parse_time
from memgraph.context.runtime import authenticated_user_id
from memgraph.errors import ConfigError, EditError, IdentityError
from memgraph.langgraph_adapter import authenticated_request_user, current_runtime
from memgraph.models import MANUAL, AsSaid, Fact, MemoryDocument, Scope, StoredItem, timestamp
from memgraph.retrieval.render import may_recall

if TYPE_CHECKING:
    from memgraph.policy import Policy
    from memgraph.retrieval.pipeline import RecallPipeline
    from memgraph.storage import MemoryStorage


Namespace = tuple[str, ...]

USER, AGENT, CATEGORY = "{user_id}", "{agent_name}", "{category}"
PLACEHOLDERS = (USER, AGENT, CATEGORY)
FACTS: Namespace = ("memories", USER)
"""The default namespace of facts."""
NO_USER = "default"
"""The user of a namespace that is too short to name one, which is the memory without a user."""


@dataclass(frozen=True, slots=True)
class StoreView:
    """The namespaces of a store, and what it finds in them.

    The label at the place of a placeholder names the user or the agent in every namespace, whatever its other labels
    are. So all that is stored of a user is in memories of that user.

    Raises:
        ConfigError: If a label is empty or has a period, or a placeholder is unknown or repeated.
    """

    facts: Namespace
    """The namespace of facts, with placeholders."""
    user_id: str | None
    """The only user; None is any."""
    agent_name: str | None
    """The agent of a namespace that names none."""
    policy: Policy
    """Its categories are those of facts."""

    def __post_init__(self) -> None:
        placeholders = [label for label in self.facts if "{" in label or "}" in label]
        if not self.facts or any(not label or "." in label for label in self.facts) or self.facts[0] == "langgraph":
            raise ConfigError(
                f"namespace is {self.facts!r}: use one label or more, none of them empty or with a period; the first "
                "one cannot be 'langgraph'"
            )
        if len(set(placeholders)) < len(placeholders) or not set(placeholders) <= set(PLACEHOLDERS):
            raise ConfigError(f"namespace is {self.facts!r}: use each of {', '.join(PLACEHOLDERS)} at most once")

    def has_facts(self, namespace: Namespace) -> bool:
        """Return whether *namespace* is the one of facts, for whatever user, agent and category."""
        return len(namespace) == len(self.facts) and all(
            own in PLACEHOLDERS or own == label for own, label in zip(self.facts, namespace, strict=True)
        )

    def label(self, placeholder: str, namespace: Namespace) -> str | None:
        """Return the label at the place of *placeholder*; None if there is none."""
        return dict(zip(self.facts, namespace, strict=False)).get(placeholder)

    def scope(self, namespace: Namespace) -> Scope:
        """Return whose memory has the items of *namespace*.

        Raises:
            IdentityError: If it does not name the caller, or an id is invalid.
        """
        return self._scope_of_agent(self.owner(namespace) or NO_USER, self.label(AGENT, namespace))

    def scopes(self, prefix: Namespace, storage: MemoryStorage) -> Sequence[Scope]:
        """Return the memories that may have items below *prefix*.

        Raises:
            IdentityError: As in `scope`.
            StorageError: If these are all memories, and the storage cannot list them.
        """
        owner, agent = self.owner(prefix), self.label(AGENT, prefix)
        if owner is not None and (agent or AGENT not in self.facts):
            return [self._scope_of_agent(owner, agent)]
        found: Iterable[Scope] = storage.scopes() if owner is None else storage.scopes_of(owner)
        if AGENT not in self.facts:
            found = (scope for scope in found if scope.agent_name == Scope(NO_USER, self.agent_name).agent_name)
        return [scope for scope in found if "." not in scope.user_id]  # no label has a period

    def owner(self, prefix: Namespace) -> str | None:
        """Return the user that *prefix* names; None if it names none, and the store has no single caller.

        Raises:
            IdentityError: If the caller is one user, and *prefix* does not name that user, or it is not a tuple.
        """
        check_labels(prefix)
        caller = self.user_id or authenticated_user()
        if USER not in self.facts:
            if caller is None:
                raise IdentityError(
                    f"the namespace of this store, {self.facts!r}, names no user: add {USER!r} to it, or name the user "
                    "by memory.store(user_id=...)"
                )
            return caller
        named = self.label(USER, prefix)
        if caller is not None and named != caller:
            raise IdentityError(
                f"the namespace {prefix!r} does not name the caller: its label {self.facts.index(USER) + 1} has to be "
                f"{caller!r}"
            )
        return named

    def _scope_of_agent(self, user_id: str, agent: str | None) -> Scope:
        scope = Scope(user_id, agent or self.agent_name)
        if agent and scope.agent_name != agent:
            raise IdentityError(f"the agent {agent!r} in the namespace has to be in lower case: {scope.agent_name!r}")
        return scope

    # -- entries --------------------------------------------------------------------------------------

    def namespace_of(self, scope: Scope, fact: Fact) -> Namespace:
        """Return the namespace of a fact in the memory of *scope*."""
        values = {USER: scope.user_id, AGENT: scope.agent_name or "", CATEGORY: self.policy.category_of(fact)}
        return tuple(values.get(label, label) for label in self.facts)

    def below(
        self, scope: Scope, memory: MemoryDocument, prefix: Namespace = (), key: str | None = None
    ) -> Iterator[Entry]:
        """Yield the entries whose namespace begins with *prefix*: items, facts, then claims as they were said.

        Args:
            scope: Whose memory.
            memory: The memory.
            prefix: The first labels of the namespaces.
            key: The only key; None is any.
        """
        now = datetime.now(UTC)
        for item in memory.store_items:
            if item.namespace[: len(prefix)] == prefix and key in {None, item.key} and not has_expired(item, now):
                yield _of_item(item)
        for fact in memory.recallable:
            namespace = self.namespace_of(scope, fact)
            # the memory that all agents share has no namespace with an agent
            is_below = namespace[: len(prefix)] == prefix and "" not in namespace
            if is_below and key in {None, fact.id} and not fact.has_expired(timestamp(now)) and may_recall(fact):
                yield self._of_fact(namespace, fact)

    def _of_fact(self, namespace: Namespace, fact: Fact) -> Entry:
        category = self.policy.category_of(fact)
        labels = {"category": category} if fact.attributes is None else dict(fact.attributes)
        if labels.get("category") in self.policy.category_names:
            labels["category"] = category  # a person may have changed it
        value = {"content": fact.words if isinstance(fact, AsSaid) else fact.content, **labels}
        return Entry(_make_item(namespace, fact.id, value, fact.created_at, fact.last_confirmed_at), fact)


def check_labels(namespace: Namespace) -> None:
    """Check that *namespace* is not a text, of which each letter would be a label.

    Raises:
        IdentityError: If it is.
    """
    if isinstance(namespace, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        raise IdentityError(f"a namespace is a tuple of labels, such as ('memories', 'ada'), not {namespace[:80]!r}")


def authenticated_user() -> str | None:
    """Return the user whom LangGraph Server has authenticated: of the run, or of a request below /store."""
    return authenticated_user_id(current_runtime()) or authenticated_request_user()


_EPOCH = datetime.fromtimestamp(0, UTC)
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
)


class Entry(NamedTuple):
    """A fact or an item of a memory, as a store shows it."""

    item: Item
    """The answer to `get`."""
    fact: Fact
    """What ranking compares; of an item, its texts."""

    def found(self, score: float | None = None) -> SearchItem:
        """Return the answer to `search`."""
        item = self.item
        return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def has_expired(item: StoredItem, now: datetime) -> bool:
    """Return whether *item* is no longer found."""
    return (end := parse_time(item.expires_at)) is not None and end <= now


def _of_item(stored: StoredItem) -> Entry:
    text = json.dumps(stored.value, ensure_ascii=False, default=str)
    item = _make_item(stored.namespace, stored.key, dict(stored.value), stored.created_at, stored.updated_at)
    # as manual, since it is found as it is, whatever its texts are
    return Entry(item, Fact(id=stored.id, content=text, source=MANUAL, created_at=stored.updated_at))


def _make_item(namespace: Namespace, key: str, value: dict[str, object], created_at: str, updated_at: str) -> Item:
    created = parse_time(created_at) or _EPOCH
    updated = parse_time(updated_at) or created
    return Item(namespace=namespace, key=key, value=value, created_at=created, updated_at=updated)


def rank_entries(entries: Iterable[Entry], query: str, pipeline: RecallPipeline, limit: int) -> list[SearchItem]:
    """Return the entries that answer *query* with scores, the best first: as `MemoryClient.search` ranks facts."""
    ordered = sorted(entries, key=lambda entry: isinstance(entry.fact, AsSaid))  # as a memory has them
    claims = tuple(entry.fact for entry in ordered if isinstance(entry.fact, AsSaid))
    facts = tuple(entry.fact for entry in ordered if not isinstance(entry.fact, AsSaid))
    memory = MemoryDocument().model_copy(update={"facts": facts, "as_said": claims})
    return [ordered[each.position].found(each.score) for each in pipeline.search(memory, query, limit=limit)]


# -- filters --------------------------------------------------------------------------------------


def matches(value: object, wanted: object) -> bool:
    """Return whether *value* is as a filter wants it: equal, or by operators such as `{"$gte": 3}`.

    Raises:
        EditError: If the operator is unknown.
    """
    if isinstance(wanted, Mapping):
        conditions = cast("Mapping[str, object]", wanted)
        if any(name.startswith("$") for name in conditions):
            return all(_compare(value, name, other) for name, other in conditions.items())
        fields = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None
        return fields is not None and all(matches(fields.get(name), each) for name, each in conditions.items())
    if isinstance(wanted, list | tuple):
        items, others = cast("Sequence[object]", wanted), value
        if not isinstance(others, list | tuple):
            return False
        values = cast("Sequence[object]", others)
        return len(values) == len(items) and all(map(matches, values, items))
    return value == wanted


def _compare(value: object, name: str, other: object) -> bool:
    if name in ("$eq", "$ne"):
        return (value == other) is (name == "$eq")
    if name not in _COMPARISONS:
        known = ", ".join(("$eq", "$ne", *_COMPARISONS))
        raise EditError(f"the operator {name[:80]!r} of the filter is unknown: use one of {known}")
    one, two = _number(value), _number(other)
    return one is not None and two is not None and _COMPARISONS[name](one, two)


def _number(value: object) -> float | None:
    """Return *value* as a number; None if it is not one."""
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None
