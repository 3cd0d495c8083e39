"""Operations that learn: from a conversation, from what is known, and again from what was said."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from memgraph.errors import ConversationError
from memgraph.operations.session import DryRun, MemorySession, ThreadId
from memgraph.report import Report

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import MessageLikeRepresentation

    from memgraph.background.execution import UpdateResult
    from memgraph.background.outbox import Job
    from memgraph.background.rebuild import Rebuild, Rebuilder
    from memgraph.update.upkeep import UpkeepResult


class Jobs(NamedTuple):
    """The jobs of a memory."""

    pending: tuple[Job, ...]
    """Those that wait or run."""
    failed: tuple[Job, ...]
    """Those that failed at their last attempt; a retry requeues them."""


class LearningOperations(MemorySession):
    """What a caller teaches a memory."""

    def add(
        self,
        content: str | Path | Sequence[MessageLikeRepresentation],
        *,
        user_id: str | None = None,
        thread_id: str | None = None,
        at: datetime | None = None,
        background: bool = False,
    ) -> Report:
        """Learn from what a user said, or from a conversation.

        It is stored durably first: if the process dies meanwhile, the next one learns from it.

        Args:
            content: What the user said; a path to a conversation file (JSON, JSONL or text); or the messages of a
                conversation, the oldest first: only new ones, or all of them again.
            user_id: Whose memory, 1-256 characters; default: that of the client.
            thread_id: The conversation. Its messages are learned once, however often they are added.
            at: When messages without a time of their own were written; default: now.
            background: Return at once, and learn after the conversation has been quiet for `debounce_seconds`.

        Returns:
            What was added, removed and rewritten, but not what waits for a person; empty if it is learned later.

        Raises:
            IdentityError: If no user is named, or an id is invalid.
            ConversationError: If *content* is not a conversation.
            ModelError: If the model failed, and it was not `background`; it is tried again later.
            StorageError: If the memory cannot be read or written.
            OutboxError: If it could not be stored.
        """
        from memgraph.background.outbox import ConversationKey

        messages, scope = read_content(content), self._scope(user_id)
        invoker = self._memory.invoker
        if background:
            invoker.submit(messages, scope, thread_id, at=at)
            return Report()
        results: list[UpdateResult] = []
        with self._memory.make_invoker(immediate=True, on_update=results.append) as invoker:
            invoker.submit(messages, scope, thread_id, at=at)
        key = ConversationKey(scope, thread_id or None)
        return sum((result.report for result in results if result.key == key), Report())

    def keep_up(self, *, user_id: str | None = None, dry_run: DryRun = False) -> UpkeepResult:
        """Merge facts that state the same, and end old ones that no longer hold; without such, no model is called.

        What is ended stays in the past. What needs a review is pending.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            ModelError: If the model failed.
            StorageError: If the memory cannot be read or written.
        """
        from memgraph.update.upkeep import run_upkeep

        return run_upkeep(self._scope(user_id), self.storage, self._memory.context, dry_run=dry_run)

    def rebuild(
        self,
        model: str | BaseChatModel | None = None,
        *,
        user_id: str | None = None,
        dry_run: Annotated[
            bool, Field(description="Replace nothing. The next rebuild does, without learning again.")
        ] = False,
    ) -> Rebuild:
        """Learn the memory again from what the user said, and replace it by the result, as one revision.

        What a person wrote, edited or removed stays so. It is stored as it goes on, so a rebuild that was stopped
        continues with the next call.

        Args:
            model: The chat model, or its name; default: that of the client.
            user_id: Whose memory; default: that of the client.
            dry_run: Replace nothing yet. The next call with the same model does, without learning again.

        Returns:
            The memory with the result, what differs, and how many episodes were learned from.

        Raises:
            ModelError: If the model failed. What was learned before is kept.
            RevisionConflictError: If another rebuild of the same memory runs.
            StorageError: If the memory cannot be read or written.
        """
        rebuilder = self._rebuilder(user_id, model)
        done = rebuilder.learn()
        if not done.changes.has_content:
            rebuilder.discard()
        elif not dry_run:
            done = rebuilder.replace()._replace(report=done.report)
        self._seen(done.memory)
        return done

    def count_rebuild_calls(self, *, user_id: str | None = None) -> int:
        """Return how often a rebuild would call the model, at least; `max_calls` does not limit it."""
        return self._rebuilder(user_id).count_calls()

    def jobs(self, *, user_id: str | None = None) -> Jobs:
        """Return the conversations that wait to be learned from, or failed."""
        scope, invoker = self._scope(user_id), self._memory.invoker
        pending, failed = (
            tuple(job for job in jobs if job.key.scope == scope) for jobs in (invoker.pending(), invoker.failed())
        )
        return Jobs(pending, failed)

    def retry(
        self,
        *,
        user_id: str | None = None,
        thread_id: Annotated[ThreadId | None, Field(description="Only this conversation.")] = None,
    ) -> int:
        """Requeue the conversations that failed, which are learned from at once; return how many."""
        return self._memory.invoker.retry(self._scope(user_id), thread_id or None)

    def _rebuilder(self, user_id: str | None, model: str | BaseChatModel | None = None) -> Rebuilder:
        from memgraph.background.rebuild import Rebuilder

        return Rebuilder(self.storage, self._scope(user_id), self.settings, model or self._memory.model)


def read_content(content: str | Path | Sequence[MessageLikeRepresentation]) -> Sequence[MessageLikeRepresentation]:
    """Return what is to be learned from as messages.

    A text gets an id of its own: the same words said again later are said again, not the same message.

    Raises:
        ConversationError: If a file is not a conversation, or cannot be read.
    """
    if isinstance(content, Path):
        from memgraph.importers.conversation import read_conversation

        try:
            return read_conversation(content.read_bytes(), str(content))
        except OSError as error:
            raise ConversationError(f"{content} cannot be read: {error.strerror}") from error
    if not isinstance(content, str):
        return content
    from langchain_core.messages import HumanMessage

    return [HumanMessage(content, id=uuid.uuid4().hex)]
