"""Fakes for tests of agents: a model that calls tools, a storage that hangs or breaks, an invoker that records."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver

from memgraph import Fact, MemoryDocument, MemoryMiddleware, MemoryStorage, Scope, StorageError, open_storage
from memgraph.testing import ScriptedModel

ADA = Scope("ada")
SECRET = "Collects pewter owls."  # noqa: S105 - a text that no fake model generates by itself
IN_T1: Any = {"configurable": {"thread_id": "t1", "user_id": "ada"}}


class AgentModel(ScriptedModel):
    """A scripted model with the system message of each call."""

    @property
    def systems(self) -> list[str]:
        """The system message of each call, in order."""
        return [asked[0].text if asked[0].type == "system" else "" for asked in self.asked]

    @property
    def prompts(self) -> list[str]:
        """All text of each call, in order."""
        return ["\n".join(message.text for message in asked) for asked in self.asked]


def calls(name: str, **args: Any) -> AIMessage:
    """A reply that calls a tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=f"call_{name}_{args}")])


class RecordingInvoker:
    """Records what is submitted."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.submitted: list[tuple[list[str], Scope, str | None]] = []

    def submit(self, messages: Sequence[BaseMessage], scope: Scope, thread_id: str | None = None) -> None:
        if self.error:
            raise self.error
        self.submitted.append(([message.text for message in messages], scope, thread_id))


class CountingStorage(MemoryStorage):
    """Counts loads; may hang until it is released, or fail."""

    def __init__(self, *, hangs: bool = False, breaks: bool = False) -> None:
        self.inner = open_storage("memory:")
        self.loads = 0
        self.breaks = breaks
        self.released = threading.Event()
        if not hangs:
            self.released.set()

    def load(self, scope: Scope) -> MemoryDocument:
        self.loads += 1
        self.released.wait(120)
        if self.breaks:
            raise StorageError("disk on fire at /secret/place")
        return self.inner.load(scope)

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        return self.inner.save(scope, memory)


def storage_with(*facts: str | Fact, scope: Scope = ADA, storage: MemoryStorage | None = None) -> MemoryStorage:
    """Return a storage with facts about Ada."""
    storage = storage or open_storage("memory:")
    known = tuple(fact if isinstance(fact, Fact) else Fact(content=fact, confidence=0.9) for fact in facts)
    storage.save(scope, storage.load(scope).with_facts(known))
    return storage


def make_agent(model: AgentModel, storage: MemoryStorage, **options: Any) -> Any:
    """Return an agent with a memory; *options* are those of the middleware and of create_agent."""
    agent_options = {
        name: options.pop(name) for name in ("tools", "context_schema", "system_prompt") if name in options
    }
    before, after = options.pop("before", []), options.pop("after", [])
    options.setdefault("invoker", RecordingInvoker())
    options.setdefault("wait_seconds", 60)  # busy machines are slow
    memory = MemoryMiddleware(storage, **options)
    return create_agent(
        model, middleware=[*before, memory, *after], checkpointer=InMemorySaver(), **({"tools": []} | agent_options)
    )
