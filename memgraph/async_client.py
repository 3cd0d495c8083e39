"""AsyncMemoryClient: the methods of MemoryClient for an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeVar

from memgraph._concurrency import DaemonExecutor
from memgraph.client import MemoryClient
from memgraph.editing.facts import DEFAULT_CATEGORY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import MessageLikeRepresentation
    from pydantic import BaseModel

    from memgraph.background.rebuild import Rebuild
    from memgraph.erasure import ErasureReceipt
    from memgraph.history.revert import Revert
    from memgraph.history.undo import FactHistory, Undo
    from memgraph.models import Episode, Fact, MemoryChanges, MemoryDocument, Revision
    from memgraph.profile import Schema
    from memgraph.report import Report
    from memgraph.retrieval.query import MessageLike
    from memgraph.retrieval.results import ScoredEpisode, ScoredFact
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage

T = TypeVar("T")


class AsyncMemoryClient:
    """MemoryClient for an event loop: the same methods, run on threads, so that they never block it.

    ```python
    import asyncio

    from memgraph import AsyncMemoryClient


    async def main():
        async with AsyncMemoryClient("sqlite:memory.db", model="offline") as memory:
            await memory.add("I live in Lisbon.", user_id="ada")


    asyncio.run(main())
    ```

    A task that is cancelled stops waiting; what it began goes on. Arguments and errors are those of `MemoryClient`.
    """

    def __init__(
        self,
        storage: str | MemoryStorage | None = None,
        *,
        model: str | BaseChatModel | None = None,
        user_id: str | None = None,
        agent_name: str | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
    ) -> None:
        self._client = MemoryClient(
            storage,
            model=model,
            user_id=user_id,
            agent_name=agent_name,
            settings=settings,
            embeddings=embeddings,
            schema=schema,
        )
        self._executor = DaemonExecutor(name="memgraph-client")

    async def add(
        self,
        content: str | Path | Sequence[MessageLikeRepresentation],
        *,
        user_id: str | None = None,
        thread_id: str | None = None,
        at: datetime | None = None,
        background: bool = False,
    ) -> Report:
        """Learn from what a user said, or from a conversation."""
        return await self._run(
            lambda: self._client.add(content, user_id=user_id, thread_id=thread_id, at=at, background=background)
        )

    async def search(
        self, query: str, *, user_id: str | None = None, limit: int = 10
    ) -> list[ScoredFact | ScoredEpisode]:
        """Return the facts and episodes that match *query*, the best first, at most *limit* of them."""
        return await self._run(lambda: self._client.search(query, user_id=user_id, limit=limit))

    async def context(
        self,
        messages: str | Sequence[MessageLike],
        *,
        user_id: str | None = None,
        max_tokens: int | None = None,
        as_of: str | None = None,
    ) -> str:
        """Return the memory text for a prompt."""
        return await self._run(
            lambda: self._client.context(messages, user_id=user_id, max_tokens=max_tokens, as_of=as_of)
        )

    async def get(
        self, *, user_id: str | None = None, as_of: str | None = None, revision: int | None = None
    ) -> MemoryDocument:
        """Return the whole memory, what held at the date *as_of*, or as it was at a *revision* of its history."""
        return await self._run(lambda: self._client.get(user_id=user_id, as_of=as_of, revision=revision))

    async def profile(self, schema: type[Schema], *, user_id: str | None = None) -> Schema | None:
        """Return the profile as a *schema*; None if nothing is known, or a required field is not."""
        return await self._run(lambda: self._client.profile(schema, user_id=user_id))

    async def facts(self, *, user_id: str | None = None) -> tuple[Fact, ...]:
        """Return the facts, the oldest first."""
        return await self._run(lambda: self._client.facts(user_id=user_id))

    async def episodes(self, *, user_id: str | None = None) -> Sequence[Episode]:
        """Return what the user said, the oldest first."""
        return await self._run(lambda: self._client.episodes(user_id=user_id))

    async def upkeep(self, *, user_id: str | None = None, dry_run: bool = False) -> Report:
        """Merge facts that state the same, and end old ones that no longer hold; *dry_run* saves nothing."""
        return await self._run(lambda: self._client.upkeep(user_id=user_id, dry_run=dry_run))

    async def remember(self, content: str, *, user_id: str | None = None, category: str = DEFAULT_CATEGORY) -> Fact:
        """Add a fact word for word. It is manual: updates never remove it."""
        return await self._run(lambda: self._client.remember(content, user_id=user_id, category=category))

    async def update(
        self,
        fact_id: str,
        content: str | None = None,
        *,
        user_id: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Fact:
        """Change a fact; it is manual from then on."""
        return await self._run(
            lambda: self._client.update(fact_id, content, user_id=user_id, category=category, confidence=confidence)
        )

    async def delete(self, fact_id: str, *, user_id: str | None = None, keep_words: bool = False) -> None:
        """Remove a fact, and the words of the user that only this fact rests on, unless *keep_words*."""
        await self._run(lambda: self._client.delete(fact_id, user_id=user_id, keep_words=keep_words))

    async def history(
        self, *, user_id: str | None = None, limit: int = 20, before: int | None = None
    ) -> Sequence[Revision]:
        """Return what changed in the memory and by whom, the newest revision first."""
        return await self._run(lambda: self._client.history(user_id=user_id, limit=limit, before=before))

    async def diff(self, first: int, second: int, *, user_id: str | None = None) -> MemoryChanges:
        """Return what differs between two revisions of the memory."""
        return await self._run(lambda: self._client.diff(first, second, user_id=user_id))

    async def undo(
        self,
        revision: int | None = None,
        *,
        user_id: str | None = None,
        relearn: bool = False,
        partial: bool = False,
    ) -> Undo:
        """Undo a revision, also if later ones exist, as a new revision."""
        return await self._run(lambda: self._client.undo(revision, user_id=user_id, relearn=relearn, partial=partial))

    async def revert(
        self, *, thread_id: str | None = None, since: str | None = None, user_id: str | None = None
    ) -> Revert:
        """Take back all that rests only on one conversation, or on the time since a date, as one revision."""
        return await self._run(lambda: self._client.revert(thread_id=thread_id, since=since, user_id=user_id))

    async def rebuild(
        self, model: str | BaseChatModel | None = None, *, user_id: str | None = None, dry_run: bool = False
    ) -> Rebuild:
        """Learn the memory again from what the user said, and replace it by the result, as one revision."""
        return await self._run(lambda: self._client.rebuild(model, user_id=user_id, dry_run=dry_run))

    async def why(self, fact_id: str, *, user_id: str | None = None) -> FactHistory:
        """Return why a fact is known: the user's words, what it superseded, and the revisions that changed it."""
        return await self._run(lambda: self._client.why(fact_id, user_id=user_id))

    async def forget(self, *, user_id: str | None = None) -> None:
        """Delete the memory of the user, what they said, and what waits to be learned."""
        await self._run(lambda: self._client.forget(user_id=user_id))

    async def erase(self, *, user_id: str | None = None) -> ErasureReceipt:
        """Erase everything that is kept of a user, in all places; it cannot be undone."""
        return await self._run(lambda: self._client.erase(user_id=user_id))

    async def users(self) -> list[str]:
        """Return the ids of the users that have a memory, in alphabetical order."""
        return await self._run(self._client.users)

    async def flush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - the limit of the work, not of the wait
        """Learn now from what was added in the background; return whether all of it was learned in time."""
        return await self._run(lambda: self._client.flush(timeout))

    async def close(self, *, wait: bool = True) -> None:
        """Learn from what waits, for at most `exit_seconds`, and close what was opened here; see `MemoryClient`."""
        await self._run(lambda: self._client.close(wait=wait))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._executor.submit(call))
