"""MemorySession: an open memory as one caller uses it, which the operations are methods of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

from pydantic import Field

from memgraph._validation import check_calls
from memgraph.editing import update_memory
from memgraph.errors import EditError, IdentityError
from memgraph.models import ChangeOrigin, MemoryDocument, Scope
from memgraph.report import report_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph.editing.update import Change
    from memgraph.history.revert import Revert
    from memgraph.history.undo import Undo
    from memgraph.models import Episode
    from memgraph.opened import OpenMemory
    from memgraph.policy import Policy
    from memgraph.storage import MemoryStorage

Guard = Callable[["Change"], "Change"]
"""Adds a check to a change, such as that of the revision that the caller has read."""

Done = TypeVar("Done", "Undo", "Revert")
"""What was done to a memory, with the memory after it."""

# -- types of arguments, with their limits and meaning ---------------------------------------------

Text = Annotated[str, Field(min_length=1, max_length=2_000)]
FactId = Annotated[
    str,
    Field(min_length=1, max_length=200, description="The fact's id, such as fact_a1b2c3d4, as a search returns it."),
]
CategoryName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=40,
        description="A category of the setting `categories`; by default preference, knowledge, context, behavior, goal "
        "or correction.",
    ),
]
Confidence = Annotated[
    float, Field(ge=0, le=1, allow_inf_nan=False, strict=True, description="How certain it is, from 0 to 1.")
]
ThreadId = Annotated[str, Field(max_length=256)]
RevisionNumber = Annotated[int, Field(ge=0, le=2**53, description="A revision of the history.")]
TokenLimit = Annotated[int, Field(ge=100, le=100_000, strict=True)]
DryRun = Annotated[bool, Field(description="Return the changes, and save nothing.")]
AsOf = Annotated[
    str,
    Field(
        max_length=40,
        description="The memory as it held at the end of a year, month or day: 2026-03; default: as it holds now.",
    ),
]


class Changed(NamedTuple):
    """A memory before and after a change."""

    before: MemoryDocument
    after: MemoryDocument

    @property
    def counts(self) -> dict[str, int]:
        """How many facts and summaries were added, confirmed, removed and rewritten."""
        return report_changes(self.before, self.after).counts


class MemorySession:
    """An open memory as one caller uses it.

    Args:
        memory: The open memory.
        user_id: Whose memory, for calls that name no user.
        agent_name: The agent, if it has its own memory of the user.
        by_person: Whether a person acts, who may write what a program may not, such as an order.
        guard: Adds a check to every change.
    """

    def __init__(
        self,
        memory: OpenMemory,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
        by_person: bool = False,
        guard: Guard = lambda change: change,
    ) -> None:
        self._memory = memory
        self.settings = memory.settings
        self._user_id, self._agent_name = user_id, agent_name
        self._by_person = by_person
        self._guard = guard

    def __init_subclass__(cls) -> None:
        """Let each operation check the types of its arguments, which not every caller's tools do."""
        super().__init_subclass__()
        check_calls(cls, EditError)

    @property
    def storage(self) -> MemoryStorage:
        """The storage of the memory."""
        return self._memory.usable_storage

    @property
    def _policy(self) -> Policy:
        return self.settings.policy

    @property
    def scope(self) -> Scope:
        """Whose memory, for calls that name no user.

        Raises:
            IdentityError: If the session has no user, or the id is invalid.
        """
        return self._scope(None)

    def _scope(self, user_id: str | None) -> Scope:
        """Return whose memory a call is about. The first call learns in the background what an earlier process left."""
        owner = self._user_id if user_id is None else user_id
        if owner is None:
            raise IdentityError("no user is named: pass user_id, here or to MemoryClient")
        scope = Scope(owner, self._agent_name)
        self._memory.resume()
        return scope

    def _load(self, user_id: str | None) -> MemoryDocument:
        return self._seen(self.storage.load(self._scope(user_id)))

    def _episodes(self, user_id: str | None) -> Sequence[Episode]:
        return self.storage.episodes(self._scope(user_id))

    def _change(self, user_id: str | None, change: Change, origin: ChangeOrigin | None = None) -> Changed:
        """Change the memory, and return it as it was and as it is stored now."""
        before: list[MemoryDocument] = []

        def apply(memory: MemoryDocument) -> MemoryDocument:
            before[:] = [memory]
            return change(memory)

        scope, policy = self._scope(user_id), self._policy
        after = update_memory(self.storage, scope, self._guard(apply), origin=origin, policy=policy)
        return Changed(before[0], self._seen(after))

    def _change_by(self, user_id: str | None, act: Callable[[MemoryDocument], Done], origin: ChangeOrigin) -> Done:
        """Change the memory by *act*, and return what it did, with the memory as it is stored now."""
        done: list[Done] = []

        def change(memory: MemoryDocument) -> MemoryDocument:
            done[:] = [act(memory)]
            return done[0].memory

        after = self._change(user_id, change, origin).after
        return done[0]._replace(memory=after)

    def _seen(self, memory: MemoryDocument) -> MemoryDocument:
        """Return *memory*, the state that an answer is about; a door may note it."""
        return memory
