"""Who is calling."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import SECRET, AgentModel, NotingInvoker, calls, remembering
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, ServerInfo

from memgraph import MemoryMiddleware, Scope, Settings, memory_tools, open_storage
from memgraph.agents.identity import IdentityResolver

EVE: Any = {"configurable": {"user_id": "eve", "thread_id": "t1"}}


class Ada(dict[str, Any]):
    """Whom the server knows to be calling."""

    identity = display_name = "ada"
    is_authenticated = True
    permissions = ()


SERVER: Any = ServerInfo(assistant_id="a", graph_id="g", user=Ada(identity="ada"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "runtime",
    [
        Runtime(context={"user_id": "eve"}, server_info=SERVER),  # type: ignore[type-var]
        ToolRuntime(
            context={"user_id": "eve"}, server_info=SERVER, state={}, config=EVE, stream_writer=print,
            tool_call_id=None, store=None,
        ),
    ],
)  # fmt: skip
def test_whom_the_server_knows_wins(runtime: Any) -> None:
    """In nodes and in tools, whatever the client says."""
    found = IdentityResolver(Settings()).resolve(runtime, EVE)

    assert found
    assert (found.scope, found.thread_id) == (Scope("ada"), "t1")


def test_nothing_blocks_the_event_loop(tmp_path: Path) -> None:
    """Neither loading from a file, nor handing over."""
    storage = remembering(SECRET, storage=open_storage(f"file:{tmp_path}"))
    model = AgentModel(calls("memory_search", query="x"), calls("memory_add", content="Plays chess."), "Done.")
    memory = MemoryMiddleware(storage, invoker=NotingInvoker())  # type: ignore[arg-type]
    agent = create_agent(model, memory_tools(storage), middleware=[memory], checkpointer=InMemorySaver())

    async def run() -> None:
        with blockbuster_ctx():
            await agent.ainvoke(
                {"messages": [HumanMessage("Hi!")]}, {"configurable": {"user_id": "ada", "thread_id": "t1"}}
            )

    asyncio.run(run())

    assert ["chess" in system for system in model.systems] == [False, False, True]
