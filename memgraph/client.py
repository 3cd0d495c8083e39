"""MemoryClient: long-term memory in a few calls, over the same parts as everything else."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph._concurrency import Closing
from memgraph.editing import (
    add_fact,
    decide_pending,
    edit_fact,
    explain_fact,
    find_any_fact,
    find_fact,
    load_revision,
    remove_fact,
    remove_words,
    revert_source,
    undo_revision,
    update_memory,
)
from memgraph.editing.facts import DEFAULT_CATEGORY
from memgraph.errors import ConversationError, IdentityError
from memgraph.history.diff import changes_between
from memgraph.models import Fact, MemoryDocument, Scope
from memgraph.opened import OpenMemory
from memgraph.profile import Schema, read_profile
from memgraph.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import MessageLikeRepresentation
    from pydantic import BaseModel

    from memgraph.background.execution import UpdateResult
    from memgraph.background.rebuild import Rebuild
    from memgraph.editing import Change
    from memgraph.erasure import ErasureReceipt
    from memgraph.history.revert import Revert
    from memgraph.history.undo import FactHistory, Undo
    from memgraph.models import Episode, MemoryChanges, PendingChange, Revision
    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.results import ScoredEpisode, ScoredFact
    from memgraph.review import Verdict
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


class MemoryClient(Closing):
    """Long-term memory of users: what they said, and the facts that follow from it.

    ```python
    from memgraph import MemoryClient

    with MemoryClient("sqlite:memory.db", model="offline") as memory:  # or "openai:gpt-4.1-mini"
        memory.add("I live in Lisbon and I'm vegetarian.", user_id="ada")
        print("vegetarian" in memory.context("Plan dinner for tonight", user_id="ada"))  # True
    ```

    The methods may be called from several threads; `AsyncMemoryClient` has the same ones for an event loop.

    Args:
        storage: A URL such as `file:DIR` or `sqlite:FILE`, or a MemoryStorage, which is not closed here; None is the
            one of *settings*. An open memory, see `Memory.client`, has all of the others but the ids.
        model: The chat model that learns, or its name; None is the one of *settings*.
        user_id: Whose memory, for calls that name no user.
        agent_name: The agent, if it has its own memory of the user.
        settings: The configuration; None reads memgraph.yaml and the environment, as `load_settings` does.
        embeddings: A model for semantic ranking; None is the one of *settings*.
        schema: A pydantic model as a profile, which updates fill: see `profile`; None is the one of *settings*.

    Raises:
        ConfigError: If the settings are invalid, or the storage cannot be opened.
        ValueError: If *schema* has no fields, too many, or some that cannot be filled from JSON.
    """

    def __init__(
        self,
        storage: str | MemoryStorage | OpenMemory | None = None,
        *,
        model: str | BaseChatModel | None = None,
        user_id: str | None = None,
        agent_name: str | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
    ) -> None:
        self._opened: OpenMemory | None = None
        if not isinstance(storage, OpenMemory):
            storage = self._opened = OpenMemory(
                storage, model=model, settings=settings, embeddings=embeddings, schema=schema
            )
        self._memory = storage
        self.settings, self.storage = storage.settings, storage.storage
        self._user_id, self._agent_name = user_id, agent_name

    # -- learning --

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
        messages, scope = read_content(content), self._scope(user_id)
        invoker = self._memory.invoker
        if background:
            invoker.submit(messages, scope, thread_id, at=at)
            return Report()
        return self._learn_now(messages, scope, thread_id, at)

    def _learn_now(
        self,
        messages: Sequence[MessageLikeRepresentation],
        scope: Scope,
        thread_id: str | None,
        at: datetime | None,
    ) -> Report:
        from memgraph.background.outbox import ConversationKey

        results: list[UpdateResult] = []
        with self._memory.make_invoker(immediate=True, on_update=results.append) as invoker:
            invoker.submit(messages, scope, thread_id, at=at)
        key = ConversationKey(scope, thread_id or None)
        return sum((result.report for result in results if result.key == key), Report())

    # -- recall --

    def search(self, query: str, *, user_id: str | None = None, limit: int = 10) -> list[ScoredFact | ScoredEpisode]:
        """Return the facts and episodes that match *query*, the best first, at most *limit* of them.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            StorageError: If the memory cannot be read.
        """
        memory, episodes = self._load(user_id)
        vectors = self.storage.vectors(self._scope(user_id))
        return self._memory.pipeline.search(memory, query, episodes=episodes, vectors=vectors, limit=limit)

    def context(
        self,
        messages: str | Sequence[MessageLike],
        *,
        user_id: str | None = None,
        max_tokens: int | None = None,
        as_of: str | None = None,
    ) -> str:
        """Return the memory text for a prompt.

        Args:
            messages: The question, or the conversation so far, the oldest message first.
            user_id: Whose memory; default: that of the client.
            max_tokens: Maximum tokens of the text; default: `max_injection_tokens` of the settings.
            as_of: A year, month or day such as `2026-03`: the memory as it held then; default: as it holds now.

        Returns:
            One `<memory>` block; "" if nothing is known, or nothing fits.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            StorageError: If the memory cannot be read.
            EditError: If *as_of* is not a date.
        """
        memory, episodes = self._load(user_id)
        pipeline = self._memory.pipeline
        if max_tokens is not None:
            pipeline = replace(pipeline, max_tokens=max_tokens)
        asked = [messages] if isinstance(messages, str) else messages
        vectors = self.storage.vectors(self._scope(user_id))
        return pipeline(memory, asked, episodes=episodes, vectors=vectors, as_of=as_of)

    def get(
        self, *, user_id: str | None = None, as_of: str | None = None, revision: int | None = None
    ) -> MemoryDocument:
        """Return the whole memory: summaries and facts; *as_of* a date such as `2026-03`, what held then.

        With *revision*, it is the document as it was at that revision of its history.

        Raises:
            EditError: If *as_of* is not a date, or the history does not go back to *revision*.
        """
        scope = self._scope(user_id)
        memory = self.storage.load(scope) if revision is None else load_revision(self.storage, scope, revision)
        return memory if as_of is None else memory.as_of(as_of)

    def profile(self, schema: type[Schema], *, user_id: str | None = None) -> Schema | None:
        """Return the profile as a *schema*; None if nothing is known, or a required field is not."""
        return read_profile(schema, self.get(user_id=user_id).profile.values)

    def facts(self, *, user_id: str | None = None, all: bool = False) -> tuple[Fact, ...]:  # noqa: A002 - as over HTTP
        """Return the facts, the oldest first; with *all* also the claims that are kept as said, each an `AsSaid`."""
        memory = self.get(user_id=user_id)
        return memory.recallable if all else memory.facts

    def episodes(self, *, user_id: str | None = None) -> Sequence[Episode]:
        """Return what the user said, the oldest first."""
        return self.storage.episodes(self._scope(user_id))

    # -- edits --

    def upkeep(self, *, user_id: str | None = None, dry_run: bool = False) -> Report:
        """Merge facts that state the same, and end old ones that no longer hold; without such, no model is called.

        Args:
            user_id: Whose memory; default: that of the client.
            dry_run: Find the changes and save nothing.

        Returns:
            What was merged and ended, or would be.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            ModelError: If the model failed.
            StorageError: If the memory cannot be read or written.
        """
        from memgraph.upkeep_graph import run_upkeep

        return run_upkeep(self._scope(user_id), self.storage, self._memory.context, dry_run=dry_run).report

    def remember(self, content: str, *, user_id: str | None = None, category: str = DEFAULT_CATEGORY) -> Fact:
        """Add a fact word for word, with secrets masked. It is manual: updates never remove it.

        Raises:
            EditError: If *content* is invalid, an order to a model, or known already.
        """
        memory = self._edit(
            user_id,
            lambda memory: add_fact(memory, content, category=category, categories=self.settings.policy.category_names),
        )
        return memory.facts[-1]

    def update(
        self,
        fact_id: str,
        content: str | None = None,
        *,
        user_id: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Fact:
        """Change a fact; it is manual from then on.

        Raises:
            EditError: If there is no such fact, or a value is invalid.
        """
        memory = self._edit(
            user_id,
            lambda memory: edit_fact(
                memory,
                fact_id,
                content=content,
                category=category,
                confidence=confidence,
                categories=self.settings.policy.category_names,
            ),
        )
        return find_fact(memory, fact_id)

    def delete(self, fact_id: str, *, user_id: str | None = None, keep_words: bool = False) -> None:
        """Remove a fact, current or past, and the words of the user that only this fact rests on, unless *keep_words*.

        Raises:
            EditError: If there is no such fact.
        """
        removed: list[Fact] = []

        def change(memory: MemoryDocument) -> MemoryDocument:
            removed[:] = [find_any_fact(memory, fact_id)]
            return remove_fact(memory, fact_id)

        memory = self._edit(user_id, change)
        if not keep_words:
            remove_words(self.storage, self._scope(user_id), memory, removed[0])

    def pending(self, *, user_id: str | None = None) -> tuple[PendingChange, ...]:
        """Return the changes that wait for a person, the oldest first: what a rule held back or `review` asks for."""
        return self.get(user_id=user_id).pending

    def decide(
        self, change_id: str, verdict: Verdict, *, user_id: str | None = None, text: str | None = None
    ) -> PendingChange:
        """Accept a pending change, which applies it to the memory, or reject it, so that it is not proposed again.

        Args:
            change_id: Its id.
            verdict: `accept` or `reject`.
            user_id: Whose memory; default: that of the client.
            text: Another wording of its only fact or summary.

        Raises:
            AlreadyDecidedError: If it does not wait any more.
            EditError: If *text* is not allowed.
        """
        scope, policy = self._scope(user_id), self.settings.policy
        return decide_pending(self.storage, scope, change_id, verdict, text=text, policy=policy).change

    def forget(self, *, user_id: str | None = None) -> None:
        """Delete the memory of the user, what they said, and what waits to be learned."""
        self._memory.invoker.forget(self._scope(user_id))

    def erase(self, *, user_id: str | None = None) -> ErasureReceipt:
        """Erase everything that is kept of a user, in all places; it cannot be undone.

        That is every memory of the user, also those of agents, with episodes, history and vectors; conversations that
        wait or failed; backups; and items of the attachable memories of the settings. All caches of
        this process are cleared, and the stored bytes are searched for the erased texts.

        Returns:
            The receipt: places, counts, the result of the search, and what is out of reach.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            ConfigError: If the settings name a place that cannot be opened.
        """
        from memgraph.erasure import erase_user, open_places

        owner = self._scope(user_id).user_id
        with open_places(self.settings, self.storage, outbox=self._memory.invoker.outbox) as places:
            return erase_user(owner, places)

    # -- history --

    def history(self, *, user_id: str | None = None, limit: int = 20, before: int | None = None) -> Sequence[Revision]:
        """Return what changed in the memory and by whom, the newest revision first.

        Args:
            user_id: Whose memory; default: that of the client.
            limit: Maximum number of revisions.
            before: Return only earlier revisions than this.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            StorageError: If the history cannot be read.
        """
        return self.storage.revisions(self._scope(user_id), limit=limit, before=before)

    def diff(self, first: int, second: int, *, user_id: str | None = None) -> MemoryChanges:
        """Return what differs between two revisions of the memory.

        Raises:
            EditError: If the history does not go back to one of them.
        """
        before, after = (self.get(user_id=user_id, revision=number) for number in (first, second))
        return changes_between(before, after)

    def undo(
        self,
        revision: int | None = None,
        *,
        user_id: str | None = None,
        relearn: bool = False,
        partial: bool = False,
    ) -> Undo:
        """Undo a revision, also if later ones exist, as a new revision.

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
        scope, policy = self._scope(user_id), self.settings.policy
        return undo_revision(self.storage, scope, revision, relearn=relearn, partial=partial, policy=policy)

    def revert(self, *, thread_id: str | None = None, since: str | None = None, user_id: str | None = None) -> Revert:
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
        return revert_source(
            self.storage,
            self._scope(user_id),
            thread=thread_id,
            since=since,
            timezone=self.settings.timezone,
            policy=self.settings.policy,
        )

    def rebuild(
        self, model: str | BaseChatModel | None = None, *, user_id: str | None = None, dry_run: bool = False
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
        from memgraph.background.rebuild import Rebuilder

        rebuilder = Rebuilder(self.storage, self._scope(user_id), self.settings, model or self._memory.model)
        learned = rebuilder.learn()
        return learned if dry_run else rebuilder.replace()._replace(report=learned.report)

    def why(self, fact_id: str, *, user_id: str | None = None) -> FactHistory:
        """Return why a fact is known: the user's words, what it superseded, and the revisions that changed it.

        Raises:
            EditError: If there is no such fact, nor was there one.
        """
        return explain_fact(self.storage, self._scope(user_id), fact_id)

    def users(self) -> list[str]:
        """Return the ids of the users that have a memory, in alphabetical order.

        Raises:
            StorageError: If the storage cannot list them.
        """
        return sorted({scope.user_id for scope in self.storage.scopes()})

    # -- closing --

    def flush(self, timeout: float | None = None) -> bool:
        """Learn now from what was added in the background; return whether all of it was learned in time."""
        return self._memory.invoker.flush(timeout)

    def close(self, *, wait: bool = True) -> None:
        """Learn from what waits, for at most `exit_seconds`, and close what was opened here.

        Args:
            wait: Whether to learn. If not, or if the time runs out, the next process learns from it. A client does not
                wait if another one of this process shares its threads.
        """
        if self._opened is not None:
            self._opened.close(wait=wait)

    # -- parts --

    def _scope(self, user_id: str | None) -> Scope:
        owner = user_id or self._user_id
        if not owner:
            raise IdentityError("no user is named: pass user_id, here or to MemoryClient")
        return Scope(owner, self._agent_name)

    def _load(self, user_id: str | None) -> tuple[MemoryDocument, Sequence[Episode]]:
        scope = self._scope(user_id)
        self._memory.resume()
        return self.storage.load(scope), self.storage.episodes(scope)

    def _edit(self, user_id: str | None, change: Change) -> MemoryDocument:
        return update_memory(self.storage, self._scope(user_id), change, policy=self.settings.policy)


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
