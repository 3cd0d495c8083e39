"""StoreNamespaces: whose memory a namespace of a store belongs to, and which one has the facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph.runtime import get_runtime

from memgraph.context.runtime import authenticated_user_id
from memgraph.errors import ConfigError, IdentityError
from memgraph.langgraph_adapter import authenticated_request_user
from memgraph.models import Scope

if TYPE_CHECKING:
    from memgraph.storage import MemoryStorage

Namespace = tuple[str, ...]

USER, AGENT, CATEGORY = "{user_id}", "{agent_name}", "{category}"
PLACEHOLDERS = (USER, AGENT, CATEGORY)
FACTS: Namespace = ("memories", USER)
"""The default namespace of facts."""
NO_USER = "default"
"""The user of a namespace that is too short to name one, which is the memory without a user."""


@dataclass(frozen=True, slots=True)
class StoreNamespaces:
    """The namespaces of a store.

    The label at the place of a placeholder names the user or the agent in every namespace, whatever its other labels
    are. So all that is stored of a user is in memories of that user.

    Raises:
        ConfigError: If a label is empty or has a period, or a placeholder is unknown or repeated.
    """

    facts: Namespace = FACTS
    """The namespace of facts, with placeholders."""
    user_id: str | None = None
    """The only user; None is any."""
    agent_name: str | None = None
    """The agent of a namespace that names none."""

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

    def category(self, namespace: Namespace) -> str | None:
        """Return the category that *namespace* names; None if it names none."""
        return self._label(CATEGORY, namespace)

    def of_fact(self, scope: Scope, category: str) -> Namespace:
        """Return the namespace of a fact."""
        values = {USER: scope.user_id, AGENT: scope.agent_name or "", CATEGORY: category}
        return tuple(values.get(label, label) for label in self.facts)

    def scope(self, namespace: Namespace) -> Scope:
        """Return whose memory has the items of *namespace*.

        Raises:
            IdentityError: If it does not name the caller, or an id is invalid.
        """
        return self._scope_of_agent(self.owner(namespace) or NO_USER, self._label(AGENT, namespace))

    def scopes(self, prefix: Namespace, storage: MemoryStorage) -> Sequence[Scope]:
        """Return the memories that may have items below *prefix*.

        Raises:
            IdentityError: As in `scope`.
            StorageError: If these are all memories, and the storage cannot list them.
        """
        owner, agent = self.owner(prefix), self._label(AGENT, prefix)
        if owner is not None and (agent or AGENT not in self.facts):
            return [self._scope_of_agent(owner, agent)]
        found: Iterable[Scope] = storage.scopes() if owner is None else storage.scopes_of(owner)
        if AGENT not in self.facts:
            found = (scope for scope in found if scope.agent_name == Scope(NO_USER, self.agent_name).agent_name)
        return [scope for scope in found if "." not in scope.user_id]  # no label has a period

    def owner(self, prefix: Namespace) -> str | None:
        """Return the user that *prefix* names; None if it names none, and the store has no single caller.

        Raises:
            IdentityError: If the caller is one user, and *prefix* does not name that user.
        """
        caller = self.user_id or authenticated_user()
        if USER not in self.facts:
            if caller is None:
                raise IdentityError(
                    f"the namespace of this store, {self.facts!r}, names no user: add {USER!r} to it, or name the user "
                    "by memory.store(user_id=...)"
                )
            return caller
        named = self._label(USER, prefix)
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

    def _label(self, placeholder: str, namespace: Namespace) -> str | None:
        """Return the label at the place of *placeholder*; None if there is none."""
        if placeholder not in self.facts or len(namespace) <= (place := self.facts.index(placeholder)):
            return None
        return namespace[place]


def authenticated_user() -> str | None:
    """Return the user whom LangGraph Server has authenticated: of the run, or of a request below /store."""
    try:
        runtime = get_runtime()
    except (RuntimeError, KeyError):  # no graph is running
        return authenticated_request_user()
    user_id = authenticated_user_id(runtime) if runtime else None  # pyright: ignore[reportUnnecessaryComparison]
    return user_id or authenticated_request_user()
