"""LangMem's managers over a memory: LangMem extracts, and memgraph's rules decide what is kept."""

# LangMem's types are incomplete
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import copy_context
from copy import copy
from functools import partial
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import convert_to_messages
from langchain_core.runnables.config import ensure_config
from langgraph.store.base import Item, Op, PutOp, Result

from memgraph._concurrency import Closing, run_into_future
from memgraph.compat.langmem.namespace_store import TEXT_KIND, NamespaceStore, Store, open_store
from memgraph.errors import ConfigError, EditError, MemgraphError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its dependencies
    from langmem.knowledge.extraction import MemoryStoreManager

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig
    from langmem.knowledge.extraction import MemoryStoreManagerInput as Input

    from memgraph.settings import Settings

logger = logging.getLogger("memgraph.compat")

Puts = list[dict[str, Any]]
DEFAULT_KEY = "default"
"""LangMem's key of the memory that an application gives a namespace without memories."""


class _RunStore(NamespaceStore):
    """The store for one run of a manager, whose model may only keep what the user said.

    It notes what was not stored: LangMem ignores errors of its writing threads.
    """

    def __init__(self, store: NamespaceStore, messages: Sequence[Any]) -> None:
        own = store.in_conversation(convert_to_messages(messages))
        super().__init__(own.memory, own.given, own.caller)
        self._program = store.in_conversation(None)
        self.not_stored: dict[str, MemgraphError] = {}

    def run(self, op: Op) -> Result:
        try:
            if isinstance(op, PutOp) and op.key == DEFAULT_KEY and not self.get(op.namespace, op.key):
                return self._program.run(op)  # the default is the application's, and no words of the user
            result = super().run(op)
        except MemgraphError as error:
            if not isinstance(op, PutOp):
                raise
            logger.warning("a memory of a manager was not stored: %s", error.code)
            self.not_stored[op.key] = error
            return None
        for item in cast("list[Item]", result if isinstance(result, list) else []):
            if isinstance(item.value["content"], str):  # facts from elsewhere have no kind, which LangMem needs
                item.value = {"kind": TEXT_KIND, "content": {"content": item.value["content"]}}
            item.value.setdefault("kind", "__any__")
        return result

    def stored(self, puts: Puts) -> Puts:
        """Return those of *puts* that were stored.

        Raises:
            MemgraphError: If one was not, and the rules did not refuse it.
        """
        for error in self.not_stored.values():
            if not isinstance(error, EditError):
                raise error
        return [put for put in puts if put["key"] not in self.not_stored]


class AdmittingStoreManager(MemoryStoreManager):
    """LangMem's manager; it returns what was stored, without what the rules refused or a person has to accept."""

    memories: NamespaceStore

    @property
    def store(self) -> NamespaceStore:
        """What LangMem reads and writes."""
        return self.memories

    def invoke(self, input: Input, config: RunnableConfig | None = None, **options: Any) -> Puts:
        """Store what the messages add or change, and return the puts."""
        run = _RunStore(self.memories, input["messages"])
        return run.stored(MemoryStoreManager.invoke(self._over(run), input, config, **options))

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **options: Any) -> Puts:
        """Like `invoke`, without blocking the event loop."""
        run = _RunStore(self.memories, input["messages"])
        return run.stored(await MemoryStoreManager.ainvoke(self._over(run), input, config, **options))

    def _over(self, run: _RunStore) -> MemoryStoreManager:
        manager = copy(self)
        manager.memories = run
        return manager


class ReflectionExecutor(Closing):
    """Runs a manager on a thread once nothing new was submitted to a conversation for some time.

    What waits is in RAM; the end of a `with` block, or `shutdown`, runs it at once.

    Args:
        reflector: What `create_memory_store_manager` returned.
        store: The store of a manager that was made without one; None is the store of the running graph.

    Raises:
        ConfigError: If *reflector* is the name of a remote graph.
    """

    def __init__(self, reflector: AdmittingStoreManager, /, *graph: object, store: Store = None, **url: object) -> None:
        if graph or url:
            raise ConfigError("a remote graph keeps its own memory: call it by langmem.ReflectionExecutor")
        if store is not None and reflector.memories.memory.storage.needs_running_graph:
            reflector.memories = open_store(store)
        self._reflector = reflector
        self._waiting: dict[object, tuple[Timer, Future[Puts]]] = {}
        self._lock = Lock()

    def submit(
        self, payload: Input, /, config: RunnableConfig | None = None, *, after_seconds: float = 0, thread_id: str = ""
    ) -> Future[Puts]:
        """Run the manager on *payload* after that time, in place of what waits for the same conversation.

        Args:
            payload: `{"messages": [...]}`, with all messages of the conversation.
            config: The config of the run; None is that of the running graph, which also names the conversation.
            after_seconds: How long to wait.
            thread_id: The conversation; default: that of the config.
        """
        given, future = ensure_config(config), Future[Puts]()
        thread: object = thread_id or (given.get("configurable") or {}).get("thread_id") or future
        run = partial(copy_context().run, self._reflector.invoke, payload, given)  # pyright: ignore[reportArgumentType]
        future.add_done_callback(_log_failure)
        timer = Timer(after_seconds, run_into_future, (future, run))
        timer.daemon = True
        with self._lock:
            self._waiting = {key: each for key, each in self._waiting.items() if not each[1].done()}
            replaced = self._waiting.get(thread)
            if replaced and replaced[1].cancel():
                replaced[0].cancel()
            self._waiting[thread] = timer, future
            timer.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - LangMem's
        """Run what waits now.

        Args:
            wait: Whether to run it; if not, it runs at its time, unless the process ends before.
            cancel_futures: Whether to cancel it instead.
        """
        with self._lock:
            waiting = list(self._waiting.values()) if wait or cancel_futures else []
        for timer, future in waiting:
            is_cancelled = cancel_futures and future.cancel()
            timer.cancel()
            timer.join()  # it may be running
            if not (is_cancelled or future.done()):
                timer.function(*timer.args)

    def close(self) -> None:
        """Run what waits."""
        self.shutdown()


def _log_failure(future: Future[Puts]) -> None:
    if not future.cancelled() and (error := future.exception()):
        logger.error("a delayed run of a manager failed: %s", type(error).__name__)


def create_memory_store_manager(
    model: str | BaseChatModel, /, *, store: Store = None, settings: Settings | None = None, **options: Any
) -> AdmittingStoreManager:
    """Make a runnable that extracts memories from messages and stores them, as LangMem's function of this name.

    Args:
        model: The model that extracts, or its name.
        store: A BaseStore, a storage or its URL; None is the store of the running graph.
        settings: The limits of the memory; None reads them as `load_settings` does.
        options: LangMem's, such as `schemas`, `instructions` and `namespace`.

    Raises:
        ConfigError: If the storage cannot be opened.
    """
    options.setdefault("enable_deletes", False)
    manager = AdmittingStoreManager(model, **options)
    manager.memories = open_store(store, settings)
    return manager
