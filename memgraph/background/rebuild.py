"""Rebuild a memory: learn it again from its episodes, on the calling thread, and replace it by the result."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memgraph.analysis.marks import BY_TOOL_KEY
from memgraph.analysis.turns import turns_of
from memgraph.config import make_context
from memgraph.context import Context
from memgraph.editing import update_memory
from memgraph.editing.history import discard_rebuild, iterate_revisions
from memgraph.history.diff import changes_between
from memgraph.history.rebuild import (
    RebuildProgress,
    Session,
    episodes_digest,
    memory_to_relearn,
    rebuild_progress,
    rebuild_scope,
    rebuilt_memory,
    sessions_of,
    with_progress,
)
from memgraph.models import UNKNOWN_THREAD, ChangeOrigin, Episode, MemoryChanges, MemoryDocument, Scope, current_time
from memgraph.report import Report
from memgraph.storage.memory import InMemoryStorage
from memgraph.storage.revisions import recorded_as
from memgraph.update.build_prompt import count_passes
from memgraph.update.graph import build_graph

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage

OnProgress = Callable[[int, int], None]
"""Called with how many episodes were learned, and how many there are."""


class Rebuild(NamedTuple):
    """What was learned again, and what it would change, or has changed."""

    memory: MemoryDocument
    """The memory with the result."""
    changes: MemoryChanges
    """What differs from the memory before."""
    episodes: int
    """How many episodes were learned from."""
    report: Report
    """What the updates of this call did; without those of an earlier one that was stopped."""


class Rebuilder:
    """Learns the memory of one scope again. What was learned is stored, so that a rebuild that was stopped goes on.

    `learn` learns and returns what differs from the memory, and `replace` puts the result in its place.

    Args:
        storage: Where the memory is stored; the document of the rebuild is next to it until it has replaced it.
        scope: Whose memory.
        settings: The configuration of the updates; they are not reviewed, since the result is shown as a whole.
        model: The chat model, or its name; None is the one of *settings*.

    Raises:
        ConfigError: If the settings are invalid.
    """

    def __init__(
        self, storage: MemoryStorage, scope: Scope, settings: Settings, model: str | BaseChatModel | None = None
    ) -> None:
        self._storage, self._scope, self._place = storage, scope, rebuild_scope(scope)
        self._policy = settings.policy
        self._unrecorded = settings.policy.model_copy(update={"max_revisions": 0, "max_calls": None})
        self._model = (
            (model or settings.model_name or "default") if isinstance(model, str | None) else type(model).__name__
        )
        context = make_context(settings, model=model, storage=storage)
        self._graph = build_graph(defaults=context.merge(Context(policy=self._unrecorded, review="never")))

    def count_calls(self) -> int:
        """Return how often `learn` calls the model, at least: once a pass."""
        episodes = self._storage.episodes(self._scope)
        left = _remaining(episodes, self._done(self._resume(episodes)), 0)
        return sum(
            count_passes(turns_of([_message_of(parts) for parts in session.messages]), self._policy)
            for session, _ in left
        )

    def learn(self, on_progress: OnProgress = lambda _done, _total: None) -> Rebuild:
        """Learn from the episodes that were not learned yet, and return what `replace` would change.

        It goes on after the last session that was stored, unless episodes were removed since, or another model learned.

        Raises:
            ModelError: If the model failed. What was learned before is kept.
            RevisionConflictError: If another rebuild of the same memory runs.
            StorageError: If the storage cannot be read or written.
        """
        episodes = self._storage.episodes(self._scope)
        staged = self._resume(episodes)
        ram = InMemoryStorage()
        ram.save(self._scope, staged.model_copy(update={"revision": 0, "forgotten": None}))
        done, report = self._done(staged), Report()
        on_progress(done, len(episodes))
        for session, context in _remaining(episodes, done, self._policy.context_turns):
            report += self._learn_session(ram, session, context)
            done += session.episodes
            progress = RebuildProgress(model=self._model, episodes=done, digest=episodes_digest(episodes[:done]))
            staged = self._store(with_progress(ram.load(self._scope), progress), staged.revision)
            on_progress(done, len(episodes))
        memory = self._storage.load(self._scope)
        rebuilt = self._rebuilt(memory, staged, episodes[:done])
        return Rebuild(rebuilt, changes_between(memory, rebuilt), done, report)

    def replace(self) -> Rebuild:
        """Replace the memory by what was learned, as one revision, and return what changed.

        What the memory learned meanwhile from other episodes stays.

        Raises:
            RevisionConflictError: If too many attempts in a row lost the race.
            StorageError: If the storage cannot be read or written.
        """
        episodes = self._storage.episodes(self._scope)
        staged = self._resume(episodes)
        read, before = episodes[: self._done(staged)], [MemoryDocument()]

        def change(memory: MemoryDocument) -> MemoryDocument:
            before[:] = [memory]
            return self._rebuilt(memory, staged, read)

        origin = ChangeOrigin(by="rebuild")
        saved = update_memory(self._storage, self._scope, change, origin=origin, policy=self._policy)
        self.discard()
        return Rebuild(saved, changes_between(before[0], saved), len(read), Report())

    def discard(self) -> None:
        """Delete what was learned, if any."""
        discard_rebuild(self._storage, self._scope)

    def _rebuilt(self, memory: MemoryDocument, staged: MemoryDocument, episodes: Sequence[Episode]) -> MemoryDocument:
        revisions = iterate_revisions(self._storage, self._scope)
        limit = self._policy.max_past_facts
        return rebuilt_memory(memory, staged, episodes, revisions, at=current_time(), limit=limit)

    def _done(self, staged: MemoryDocument) -> int:
        progress = rebuild_progress(staged)
        return progress.episodes if progress else 0

    def _resume(self, episodes: Sequence[Episode]) -> MemoryDocument:
        """Return the document of an earlier rebuild that can go on, else a new one at the same revision."""
        stored = self._storage.load(self._place)
        progress = rebuild_progress(stored)
        if progress and progress.fits(self._model, episodes):
            return stored
        started = memory_to_relearn(self._storage.load(self._scope), episodes)
        return started.model_copy(update={"revision": stored.revision})

    def _store(self, learned: MemoryDocument, revision: int) -> MemoryDocument:
        # without a history: nothing of a rebuild is undone
        with recorded_as(ChangeOrigin(by="rebuild"), self._unrecorded):
            return self._storage.save(self._place, learned.model_copy(update={"revision": revision}))

    def _learn_session(self, storage: MemoryStorage, session: Session, before: Sequence[Sequence[Episode]]) -> Report:
        """Learn *session*; *before* are messages that it may refer to."""
        thread = None if session.thread == UNKNOWN_THREAD else session.thread
        context = Context(
            user_id=self._scope.user_id, agent_name=self._scope.agent_name, thread_id=thread, storage=storage
        )
        messages = [_message_of(parts) for parts in (*before, *session.messages)]
        result = self._graph.invoke({"messages": messages}, context=context)
        return cast("Report", result["report"])


def _remaining(
    episodes: Sequence[Episode], done: int, context_turns: int
) -> Iterator[tuple[Session, Sequence[Sequence[Episode]]]]:
    """Yield the sessions after the first *done* episodes, each with the last messages of its thread before it."""
    latest: dict[tuple[str, str | None], Sequence[tuple[Episode, ...]]] = {}
    number = 0
    for session in sessions_of(episodes[:done]) + sessions_of(episodes[done:]):
        source = session.thread, session.messages[0][0].origin
        before = latest.get(source, ())
        if number >= done:
            yield session, before
        number += session.episodes
        latest[source] = (*before, *session.messages)[-context_turns:] if context_turns else ()


def _message_of(parts: Sequence[Episode]) -> BaseMessage:
    first, text = parts[0], "\n".join(part.text for part in parts)
    make = HumanMessage if first.author == "user" else AIMessage
    written = {"created_at": first.at} if first.at else {}
    reported = {BY_TOOL_KEY: True} if first.origin == "tool" else {}
    return make(text, id=first.message_id or first.id, additional_kwargs=written | reported)
