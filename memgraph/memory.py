"""Memory: one object that an application opens, and everything else that it needs comes from."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from memgraph._concurrency import run_in_thread
from memgraph._validation import check_calls
from memgraph.background.shared import AgentModel
from memgraph.client import AsyncMemoryClient, MemoryClient
from memgraph.opened import OpenMemory

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph
    from pydantic import BaseModel

    from memgraph.agents.middleware import MemoryMiddleware, Placement
    from memgraph.agents.tools import MemoryTools
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


@check_calls
class Memory(OpenMemory):
    """The long-term memory of an application: open it once, and give it to agents, scripts and graphs.

    ```python
    from langchain.agents import create_agent

    from memgraph import Memory, UserContext
    from memgraph.testing import ScriptedModel

    memory = Memory("sqlite:memory.db", model="offline")
    model = ScriptedModel("Hello Ada!")  # or "openai:gpt-4.1-mini"
    agent = create_agent(model, middleware=[memory.middleware()], context_schema=UserContext)
    thread = {"configurable": {"thread_id": "t1"}}
    agent.invoke({"messages": "I'm Ada, and I'm vegetarian."}, thread, context=UserContext(user_id="ada"))
    print("vegetarian" in memory.client("ada").context("Plan dinner"))  # True
    memory.close()
    ```

    It owns the storage, the outbox, the index and the model; closing what it returns does not close it. It is a
    context manager, also for `async with`.

    Args:
        storage: A URL such as `file:DIR` or `sqlite:FILE`, or a MemoryStorage, which is not closed here; None is the
            one of *settings*.
        model: The chat model that learns, or its name. None is the one of *settings*, else the model of the agent that
            was called last.
        settings: The configuration; None reads memgraph.yaml and the environment, as `load_settings` does.
        embeddings: A model for semantic ranking; None is the one of *settings*.
        schema: A pydantic model as a profile, which updates fill: see `MemoryClient.profile`.

    Raises:
        ConfigError: If the settings are invalid, or the storage cannot be opened.
        ValueError: If *schema* has no fields, too many, or some that cannot be filled from JSON.
    """

    def __init__(
        self,
        storage: str | MemoryStorage | None = None,
        *,
        model: str | BaseChatModel | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
    ) -> None:
        super().__init__(storage, model=model, settings=settings, embeddings=embeddings, schema=schema)
        if model is None and not self.settings.model_name:
            self._model = AgentModel()

    def client(self, user_id: str | None = None, *, agent_name: str | None = None) -> MemoryClient:
        """Return the operations as methods, for a user if *user_id* is given; they need no `close`."""
        return MemoryClient(self, user_id=user_id, agent_name=agent_name)

    def async_client(self, user_id: str | None = None, *, agent_name: str | None = None) -> AsyncMemoryClient:
        """Return the operations as coroutines; see `client`."""
        return AsyncMemoryClient(self, user_id=user_id, agent_name=agent_name)

    def middleware(
        self,
        *,
        tools: bool = False,
        agent_name: str | None = None,
        inject: bool = True,
        capture: bool = True,
        name: str | None = None,
        placement: Placement = "split",
    ) -> MemoryMiddleware:
        """Return a middleware for `create_agent`: one for each agent, which needs no `close`.

        Args:
            tools: Whether the agent gets the tools of `memory_tools`.
            agent_name: As in `MemoryMiddleware`, like the others.
            inject: Whether to inject memory into model calls.
            capture: Whether to learn from conversations.
            name: The name of the middleware in the agent's graph.
            placement: Where in a request the memory stands.
        """
        from memgraph.agents.middleware import MemoryMiddleware

        return MemoryMiddleware(
            self.usable_storage,
            invoker=self.invoker if capture else None,
            agent_name=agent_name,
            settings=self.settings,
            inject=inject,
            capture=capture,
            embeddings=self._embeddings,
            name=name,
            tools=tools,
            placement=placement,
        )

    def tools(self, *, agent_name: str | None = None) -> MemoryTools:
        """Return the tools with which an agent searches and edits the memory of its user, as `memory_tools` does."""
        from memgraph.agents.tools import memory_tools

        return memory_tools(self.usable_storage, agent_name=agent_name, settings=self.settings)

    def update_graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return the graph that learns from messages, as `build_graph` does."""
        from memgraph.update.graph import build_graph

        return build_graph(defaults=self.context)

    def recall_graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return the graph that recalls, as `build_recall_graph` does."""
        from memgraph.recall_graph import build_recall_graph

        return build_recall_graph(pipeline=self.pipeline, defaults=self.context)

    def upkeep_graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return the graph that merges and ends facts, as `build_upkeep_graph` does."""
        from memgraph.update.upkeep import build_upkeep_graph

        return build_upkeep_graph(defaults=self.context)

    async def aclose(self, *, wait: bool = True) -> None:
        """Like `close`, without blocking the event loop."""
        await asyncio.wrap_future(run_in_thread(lambda: self.close(wait=wait), "memgraph-close"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
