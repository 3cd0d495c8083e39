"""Operations on the history of a memory: what changed and why, and how to take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memgraph.analysis import dates
from memgraph.editing import replace_memory
from memgraph.editing.facts import find_fact
from memgraph.editing.history import find_revision, load_revision
from memgraph.errors import EditError
from memgraph.history.diff import changes_between
from memgraph.history.revert import Revert, Source, revert
from memgraph.history.undo import FactHistory, Undo, trace_fact, undo
from memgraph.models import ChangeOrigin, MemoryChanges, MemoryDocument, current_time
from memgraph.operations.session import FactId, MemorySession, RevisionNumber

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memgraph.models import Revision


class HistoryOperations(MemorySession):
    """What a caller does with revisions."""

    def history(
        self,
        *,
        user_id: str | None = None,
        limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of revisions.")] = 20,
        before: Annotated[int | None, Field(ge=1, le=2**53, description="Only revisions before this one.")] = None,
    ) -> Sequence[Revision]:
        """Return what changed in the memory, by whom and when, the newest revision first.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            StorageError: If the history cannot be read.
        """
        return self.storage.revisions(self._scope(user_id), limit=limit, before=before)

    def diff(self, first: RevisionNumber, second: RevisionNumber, *, user_id: str | None = None) -> MemoryChanges:
        """Return what differs in the memory between two revisions.

        Raises:
            EditError: If the history does not go back to one of them.
        """
        scope = self._scope(user_id)
        return changes_between(*(load_revision(self.storage, scope, number) for number in (first, second)))

    def undo(
        self,
        revision: RevisionNumber | None = None,
        *,
        user_id: str | None = None,
        relearn: Annotated[bool, Field(description="Let the next update learn from the same turns again.")] = False,
        partial: Annotated[bool, Field(description="Undo the rest if not all of it can be undone.")] = False,
    ) -> Undo:
        """Undo a revision, also if later ones exist, as a new revision.

        With conflicts, nothing is changed and the outcome is "conflicts", unless *partial* undoes the rest.

        Args:
            revision: Its number; None is the latest change that is neither undone nor an undo.
            user_id: Whose memory; default: that of the client.
            relearn: Whether the next update learns from the turns of the revision again.
            partial: Whether to undo the rest if not all of it can be undone.

        Returns:
            Its outcome, the memory after it, and what stays as it is.

        Raises:
            EditError: If there is no such revision, or nothing to undo.
        """
        found = find_revision(self.storage, self._scope(user_id), revision)
        if found.by == "delete":
            raise EditError(f"revision {found.revision} deleted the memory; what it had is gone")
        return self._change_by(
            user_id,
            lambda memory: undo(memory, found, at=current_time(), relearn=relearn, partial=partial),
            ChangeOrigin(by="undo", thread=found.thread, undoes=found.revision),
        )

    def revert(
        self,
        *,
        thread_id: Annotated[
            str | None, Field(max_length=256, description="What was learned in this conversation.")
        ] = None,
        since: Annotated[
            str | None,
            Field(
                max_length=40,
                description="What was learned since this date, such as `2026-05`, or time; days are in the time zone "
                "of the settings.",
            ),
        ] = None,
        user_id: str | None = None,
    ) -> Revert:
        """Take back all that rests only on one conversation, or on the time since a date, as one revision.

        A fact with other evidence stays, with less of it; so do what a person wrote, and the episodes.

        Args:
            thread_id: The conversation.
            since: A year, month, day or time such as `2026-05`. Exactly one of the two is given.
            user_id: Whose memory; default: that of the client.

        Returns:
            The memory after it, what changed, and what may still rest on it.

        Raises:
            EditError: If both or none are given, or *since* is not a date.
        """
        source, scope = _source_of(thread_id, since, self.settings.timezone), self._scope(user_id)
        said = self.storage.episodes(scope)
        return self._change_by(
            user_id,
            lambda memory: revert(memory, self.storage.revisions(scope), said, source, at=current_time()),
            ChangeOrigin(by="revert", thread=thread_id or ""),
        )

    def restore(self, revision: RevisionNumber, *, user_id: str | None = None) -> MemoryDocument:
        """Make the memory what it was at a revision, as a new revision; conversations stay learned.

        Raises:
            EditError: If the history does not go back to *revision*.
        """
        earlier = load_revision(self.storage, self._scope(user_id), revision)

        def change(memory: MemoryDocument) -> MemoryDocument:
            restored = replace_memory(memory, earlier, trusted=True)
            return restored.model_copy(update={"threads": memory.threads})

        return self._change(user_id, change).after

    def why(self, fact_id: FactId, *, user_id: str | None = None) -> FactHistory:
        """Return why a fact is known: the user's words, what it superseded, and the revisions that changed it.

        Raises:
            EditError: If there is no such fact, nor was there one.
        """
        memory = self._load(user_id)
        found = trace_fact(memory, self.storage.revisions(self._scope(user_id)), fact_id)
        return found or FactHistory(find_fact(memory, fact_id), "current", (), ())


def _source_of(thread: str | None, since: str | None, timezone: str) -> Source:
    if bool(thread) == bool(since):
        raise EditError("name what is taken back: either a thread or a date since when")
    try:
        return Source(thread=thread or None, is_since=dates.since(since, timezone) if since else None)
    except EditError as error:
        raise EditError(f"since: {error}") from None
