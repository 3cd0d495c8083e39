"""Operations that read a memory: search, the text for a prompt, the document and what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memgraph._validation import preview_value
from memgraph.analysis.episodes import select_episodes
from memgraph.editing.history import load_revision
from memgraph.errors import ConversationError, EditError
from memgraph.models import Episode, MemoryDocument
from memgraph.operations.session import AsOf, MemorySession, RevisionNumber, Text, ThreadId
from memgraph.profile import Schema, read_profile
from memgraph.retrieval.results import RecallResult, ScoredEpisode, ScoredFact

if TYPE_CHECKING:
    from memgraph.retrieval.query import MessageLike


class RecallOperations(MemorySession):
    """What a caller reads."""

    def search(
        self,
        query: Annotated[Text, Field(description="What to search for, in the words of the conversation.")],
        *,
        user_id: str | None = None,
        limit: Annotated[int, Field(ge=1, le=50, strict=True, description="Maximum number of results.")] = 10,
    ) -> list[ScoredFact | ScoredEpisode]:
        """Search what is remembered of the user: facts with their ids, and the user's own words, the best first.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            StorageError: If the memory cannot be read.
        """
        memory, episodes = self._load(user_id), self._episodes(user_id)
        vectors = self.storage.vectors(self._scope(user_id))
        return self._memory.pipeline.search(memory, query, episodes=episodes, vectors=vectors, limit=limit)

    def context(
        self,
        messages: str | Sequence[MessageLike],
        *,
        user_id: str | None = None,
        max_tokens: Annotated[int | None, Field(ge=1)] = None,
        as_of: str | None = None,
    ) -> str:
        """Return what is known of the user for a prompt, as one `<memory>` block; empty if nothing is.

        Args:
            messages: The question, or the conversation so far, the oldest message first.
            user_id: Whose memory; default: that of the client.
            max_tokens: Maximum tokens of the text; default: `max_injection_tokens` of the settings.
            as_of: A year, month or day such as `2026-03`: the memory as it held then; default: as it holds now.

        Returns:
            One `<memory>` block; "" if nothing is known, nothing fits, or `enabled` or `injection_enabled` is false.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            StorageError: If the memory cannot be read.
            EditError: If *as_of* is not a date.
        """
        return self.recall(messages, user_id=user_id, max_tokens=max_tokens, as_of=as_of).text

    def recall(
        self,
        messages: str | Sequence[MessageLike],
        *,
        user_id: str | None = None,
        max_tokens: Annotated[int | None, Field(ge=1)] = None,
        as_of: AsOf | None = None,
    ) -> RecallResult:
        """Return the memory text for an agent's next prompt, and why each fact and episode is in it.

        The text is empty if nothing is known, nothing fits, or `enabled` or `injection_enabled` is false.

        Args:
            messages: As in `context`, like the others and the errors.
            user_id: Whose memory.
            max_tokens: Maximum tokens of the text.
            as_of: The memory as it held then.
        """
        pipeline = self._memory.pipeline
        if max_tokens is not None:
            pipeline = replace(pipeline, max_tokens=max_tokens)
        if not isinstance(messages, str | Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            raise ConversationError(f"messages is {preview_value(messages)}, but must be a text or a list of messages")
        asked, scope = [messages] if isinstance(messages, str) else messages, self._scope(user_id)
        if not (self.settings.enabled and self.settings.injection_enabled):
            return pipeline.recall(MemoryDocument(), asked, as_of=as_of)
        memory, episodes, vectors = self._load(user_id), self._episodes(user_id), self.storage.vectors(scope)
        return pipeline.recall(memory, asked, episodes=episodes, vectors=vectors, as_of=as_of)

    def get(
        self, *, user_id: str | None = None, as_of: AsOf | None = None, revision: RevisionNumber | None = None
    ) -> MemoryDocument:
        """Return the whole memory, as it is stored, as it held on a date, or as it was at a revision of its history.

        One that does not exist is empty, at revision 0.

        Raises:
            EditError: If *as_of* is not a date, or the history does not go back to *revision*.
        """
        memory = self._load(user_id)
        if revision is not None:
            memory = load_revision(self.storage, self._scope(user_id), revision)
        return memory if as_of is None else memory.as_of(as_of)

    def profile(self, schema: type[Schema], *, user_id: str | None = None) -> Schema | None:
        """Return the profile as a *schema*; None if nothing is known, or a required field is not."""
        return read_profile(schema, self.get(user_id=user_id).profile.values)

    def episodes(
        self,
        *,
        user_id: str | None = None,
        thread_id: Annotated[ThreadId | None, Field(description="Only those of this conversation.")] = None,
        since: Annotated[
            str | None,
            Field(
                max_length=40,
                description="Only those since a time, or a year, month or day in the time zone of the settings: "
                "2026-05.",
            ),
        ] = None,
    ) -> Sequence[Episode]:
        """Return what the user said, word for word, the oldest first; an agent also has what all agents share.

        Raises:
            EditError: If *since* is not a date.
        """
        stored = self._episodes(user_id)
        try:
            return select_episodes(stored, thread=thread_id, since=since, timezone=self.settings.timezone)
        except ValueError as error:
            raise EditError(f"since: {error}") from None
