"""Background updates of memgraph and LangMem in the same setup: same conversations, same model latency."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datasets import learning_model
from fakes import ToolCaller, langmem, make_manager, user_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from memgraph import BackgroundInvoker, Settings, build_graph, open_storage

MODEL_SECONDS = 0.3
LEASE_SECONDS = 3


def make_conversation(number: int) -> list[BaseMessage]:
    """Return a short conversation."""
    return [HumanMessage(f"I work on project {number} and prefer Rust.", id=f"m{number}"), AIMessage("Noted.")]


def settings(at_once: int, debounce: float = 0.0, longest: float = 300.0) -> Settings:
    return Settings(
        debounce_seconds=debounce, max_wait_seconds=longest, max_concurrency=at_once, lease_seconds=LEASE_SECONDS
    )


@contextmanager
def memgraph_invoker(
    folder: Path | None, *, at_once: int = 4, seconds: float = MODEL_SECONDS, **timing: float
) -> Iterator[Any]:
    """Yield memgraph's background invoker, with its files in *folder* or in RAM."""
    storage = open_storage(f"file:{folder / 'memory'}" if folder else "memory:")
    outbox = f"sqlite:{folder / 'outbox.db'}" if folder else "memory:"
    graph = build_graph(model=learning_model(seconds), storage=storage)
    with BackgroundInvoker(graph, outbox=outbox, settings=settings(at_once, **timing)) as invoker:
        yield invoker


@contextmanager
def langmem_executors(
    executors: int = 1, *, seconds: float = MODEL_SECONDS, store: InMemoryStore | None = None, drop: bool = False
) -> Iterator[Any]:
    """Start LangMem's executors on one store; yield a function that submits a conversation to them in turn."""
    shared_store = store or InMemoryStore()
    running = [
        langmem().ReflectionExecutor(make_manager(ToolCaller(seconds=seconds), shared_store), store=shared_store)
        for _ in range(executors)
    ]

    def submit(number: int, after: float = 0.0) -> Any:  # noqa: ANN401
        user, executor = f"user-{number}", running[number % executors]
        return executor.submit(
            {"messages": make_conversation(number)}, config=user_config(user), after_seconds=after, thread_id=user
        )

    yield submit
    for executor in running:
        if drop:  # otherwise shutdown runs all pending submissions
            executor._task_queue.queue.clear()  # noqa: SLF001
            executor._pending_tasks.clear()  # noqa: SLF001
        executor.shutdown(wait=True)
