"""AsyncMemoryClient: the methods of MemoryClient for an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memgraph._concurrency import DaemonExecutor
from memgraph.client import MemoryClient

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from pydantic import BaseModel

    from memgraph.opened import OpenMemory
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage

P = ParamSpec("P")
T = TypeVar("T")


def _on_thread(
    method: Callable[Concatenate[MemoryClient, P], T],
) -> Callable[Concatenate[AsyncMemoryClient, P], Coroutine[Any, Any, T]]:
    """Return *method* as a coroutine, which runs it on a thread."""

    @functools.wraps(method)
    async def run(self: AsyncMemoryClient, *args: P.args, **options: P.kwargs) -> T:
        return await asyncio.wrap_future(self.executor.submit(lambda: method(self.client, *args, **options)))

    return run


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
        storage: str | MemoryStorage | OpenMemory | None = None,
        *,
        model: str | BaseChatModel | None = None,
        user_id: str | None = None,
        agent_name: str | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
    ) -> None:
        self.client = MemoryClient(
            storage,
            model=model,
            user_id=user_id,
            agent_name=agent_name,
            settings=settings,
            embeddings=embeddings,
            schema=schema,
        )
        self.executor = DaemonExecutor(name="memgraph-client")

    add = _on_thread(MemoryClient.add)
    upkeep = _on_thread(MemoryClient.upkeep)
    keep_up = _on_thread(MemoryClient.keep_up)
    rebuild = _on_thread(MemoryClient.rebuild)
    count_rebuild_calls = _on_thread(MemoryClient.count_rebuild_calls)
    jobs = _on_thread(MemoryClient.jobs)
    retry = _on_thread(MemoryClient.retry)
    search = _on_thread(MemoryClient.search)
    context = _on_thread(MemoryClient.context)
    recall = _on_thread(MemoryClient.recall)
    get = _on_thread(MemoryClient.get)
    profile = _on_thread(MemoryClient.profile)
    episodes = _on_thread(MemoryClient.episodes)
    facts = _on_thread(MemoryClient.facts)
    fact = _on_thread(MemoryClient.fact)
    remember = _on_thread(MemoryClient.remember)
    update = _on_thread(MemoryClient.update)
    delete = _on_thread(MemoryClient.delete)
    write_summary = _on_thread(MemoryClient.write_summary)
    pending = _on_thread(MemoryClient.pending)
    decide = _on_thread(MemoryClient.decide)
    accepted_kinds = _on_thread(MemoryClient.accepted_kinds)
    ask_again = _on_thread(MemoryClient.ask_again)
    history = _on_thread(MemoryClient.history)
    diff = _on_thread(MemoryClient.diff)
    undo = _on_thread(MemoryClient.undo)
    revert = _on_thread(MemoryClient.revert)
    restore = _on_thread(MemoryClient.restore)
    why = _on_thread(MemoryClient.why)
    export = _on_thread(MemoryClient.export)
    import_document = _on_thread(MemoryClient.import_document)
    backups = _on_thread(MemoryClient.backups)
    read_backup = _on_thread(MemoryClient.read_backup)
    audit = _on_thread(MemoryClient.audit)
    fix = _on_thread(MemoryClient.fix)
    forget = _on_thread(MemoryClient.forget)
    erase = _on_thread(MemoryClient.erase)
    users = _on_thread(MemoryClient.users)
    memories = _on_thread(MemoryClient.memories)
    propose_fact = _on_thread(MemoryClient.propose_fact)
    propose_update = _on_thread(MemoryClient.propose_update)
    propose_removal = _on_thread(MemoryClient.propose_removal)
    flush = _on_thread(MemoryClient.flush)
    close = _on_thread(MemoryClient.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
