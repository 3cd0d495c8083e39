"""MemoryClient: the operations of a memory as methods; AsyncMemoryClient: the same for an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memgraph._concurrency import Closing, DaemonExecutor
from memgraph.opened import OpenMemory
from memgraph.operations import Operations

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from pydantic import BaseModel

    from memgraph.report import Report
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage

P = ParamSpec("P")
T = TypeVar("T")


class MemoryClient(Operations, Closing):
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
        super().__init__(storage, user_id=user_id, agent_name=agent_name)

    def upkeep(self, *, user_id: str | None = None, dry_run: bool = False) -> Report:
        """Return what `keep_up` merged and ended, or would if it is a dry run."""
        return self.keep_up(user_id=user_id, dry_run=dry_run).report

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


def _on_thread(
    method: Callable[Concatenate[MemoryClient, P], T],
) -> Callable[Concatenate[AsyncMemoryClient, P], Coroutine[Any, Any, T]]:
    """Return *method* as a coroutine, which runs it on a thread."""

    @functools.wraps(method)
    async def run(self: AsyncMemoryClient, *args: P.args, **options: P.kwargs) -> T:
        return await asyncio.wrap_future(self.executor.submit(lambda: method(self.client, *args, **options)))

    return run


def _with_arguments_of(
    make: Callable[Concatenate[MemoryClient, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[AsyncMemoryClient, P], None]]:
    """Return a decorator that declares the arguments of *make* for a constructor."""
    return functools.wraps(make)


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

    @_with_arguments_of(MemoryClient.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - those of MemoryClient
        self.client = MemoryClient(*args, **options)
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
