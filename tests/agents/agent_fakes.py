"""Fakes for tests of agents: a model that calls tools, storages that watch, hang or break, an invoker that notes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver

from memgraph import Fact, Memory, MemoryMiddleware, MemoryStorage, Scope, StorageError, open_storage
from memgraph.testing import ScriptedModel

ADA = Scope("ada")
SECRET = "Collects pewter owls."  # noqa: S105 - a word that no fake model says by itself
IN_T1: Any = {"configurable": {"thread_id": "t1", "user_id": "ada"}}


class AgentModel(ScriptedModel):
    """A scripted model that may be given tools."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> AgentModel:
        return self

    @property
    def systems(self) -> list[str]:
        """The system messages it was given, in order."""
        return [asked[0].text if asked[0].type == "system" else "" for asked in self.asked]


def calls(name: str, **args: Any) -> AIMessage:
    """An answer that calls a tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=f"call_{name}_{args}")])


class NotingInvoker:
    """Notes what is handed over."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.given: list[tuple[list[str], Scope, str | None]] = []

    def submit(self, messages: Sequence[BaseMessage], scope: Scope, thread_id: str | None = None) -> None:
        if self.error:
            raise self.error
        self.given.append(([message.text for message in messages], scope, thread_id))


class WatchedStorage(MemoryStorage):
    """Counts how often it is loaded from; may hang until it is released, or break."""

    def __init__(self, *, hangs: bool = False, breaks: bool = False) -> None:
        self.inner = open_storage("memory:")
        self.loads = 0
        self.breaks = breaks
        self.released = threading.Event()
        if not hangs:
            self.released.set()

    def load(self, scope: Scope) -> Memory:
        self.loads += 1
        self.released.wait(10)
        if self.breaks:
            raise StorageError("disk on fire at /secret/place")
        return self.inner.load(scope)

    def save(self, scope: Scope, memory: Memory) -> Memory:
        return self.inner.save(scope, memory)


def remembering(*facts: str | Fact, scope: Scope = ADA, storage: MemoryStorage | None = None) -> MemoryStorage:
    """A storage in which something is remembered of Ada."""
    storage = storage or open_storage("memory:")
    known = tuple(fact if isinstance(fact, Fact) else Fact(content=fact, confidence=0.9) for fact in facts)
    storage.save(scope, storage.load(scope).with_facts(known))
    return storage


def agent_of(model: AgentModel, storage: MemoryStorage, **options: Any) -> Any:
    """An agent with a memory; *options* are those of the middleware, and of create_agent."""
    around = {name: options.pop(name) for name in ("tools", "context_schema", "system_prompt") if name in options}
    before, after = options.pop("before", []), options.pop("after", [])
    options.setdefault("invoker", NotingInvoker())
    memory = MemoryMiddleware(storage, **options)
    return create_agent(
        model, middleware=[*before, memory, *after], checkpointer=InMemorySaver(), **({"tools": []} | around)
    )
