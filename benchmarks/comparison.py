"""The background of memgraph and that of LangMem, set up alike: the same conversations, models as slow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datasets import learning_model
from fakes import ToolCaller, langmem, manager, of_user
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from memgraph import BackgroundInvoker, Settings, build_graph, open_storage

MODEL_SECONDS = 0.3
LEASE_SECONDS = 3


def talk(number: int) -> list[BaseMessage]:
    """A short conversation."""
    return [HumanMessage(f"I work on project {number} and prefer Rust.", id=f"m{number}"), AIMessage("Noted.")]


def settings(at_once: int, debounce: float = 0.0, longest: float = 300.0) -> Settings:
    return Settings(
        debounce_seconds=debounce, max_wait_seconds=longest, max_concurrency=at_once, lease_seconds=LEASE_SECONDS
    )


@contextmanager
def ours(place: Path | None, *, at_once: int = 4, seconds: float = MODEL_SECONDS, **timing: float) -> Iterator[Any]:
    """Memgraph's invoker, and how it is handed a conversation."""
    storage = open_storage(f"file:{place / 'memory'}" if place else "memory:")
    outbox = f"sqlite:{place / 'outbox.db'}" if place else "memory:"
    graph = build_graph(model=learning_model(seconds), storage=storage)
    with BackgroundInvoker(graph, outbox=outbox, settings=settings(at_once, **timing)) as invoker:
        yield invoker


@contextmanager
def theirs(
    executors: int = 1, *, seconds: float = MODEL_SECONDS, store: InMemoryStore | None = None, drop: bool = False
) -> Iterator[Any]:
    """LangMem's executors on one store; yields what hands a conversation to the one whose turn it is."""
    kept = store or InMemoryStore()
    running = [
        langmem().ReflectionExecutor(manager(ToolCaller(seconds=seconds), kept), store=kept) for _ in range(executors)
    ]

    def submit(number: int, after: float = 0.0) -> Any:  # noqa: ANN401
        user, executor = f"user-{number}", running[number % executors]
        return executor.submit({"messages": talk(number)}, config=of_user(user), after_seconds=after, thread_id=user)

    yield submit
    for executor in running:
        if drop:  # its end would otherwise run all that still waits
            executor._task_queue.queue.clear()  # noqa: SLF001
            executor._pending_tasks.clear()  # noqa: SLF001
        executor.shutdown(wait=True)
