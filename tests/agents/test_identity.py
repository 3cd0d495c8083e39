"""The identity of a run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import SECRET, AgentModel, RecordingInvoker, calls, storage_with
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, ServerInfo

from memgraph import IdentityError, MemoryMiddleware, Scope, Settings, memory_tools, open_storage
from memgraph.agents.resources import IdentityResolver

EVE: Any = {"configurable": {"user_id": "eve", "thread_id": "t1"}}


class Ada(dict[str, Any]):
    """The user that the server has authenticated."""

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
def test_the_authenticated_user_wins(runtime: Any) -> None:
    """In nodes and in tools, whatever the client sends."""
    identity = IdentityResolver(Settings()).resolve(runtime, EVE)

    assert identity
    assert (identity.scope, identity.thread_id) == (Scope("ada"), "t1")


def test_nothing_blocks_the_event_loop(tmp_path: Path) -> None:
    """Neither loading from a file nor submitting."""
    storage = storage_with(SECRET, storage=open_storage(f"file:{tmp_path}"))
    model = AgentModel(
        calls("memory_search", query="x"), calls("memory_add", content="Plays chess.", quote="I play chess"), "Done."
    )
    memory = MemoryMiddleware(storage, invoker=RecordingInvoker(), wait_seconds=60)  # type: ignore[arg-type]
    agent = create_agent(
        model, memory_tools(storage, wait_seconds=60), middleware=[memory], checkpointer=InMemorySaver()
    )

    async def run() -> None:
        with blockbuster_ctx():
            await agent.ainvoke(
                {"messages": [HumanMessage("I play chess.")]}, {"configurable": {"user_id": "ada", "thread_id": "t1"}}
            )

    asyncio.run(run())

    assert ["chess" in system for system in model.systems] == [False, False, True]


def test_a_run_without_a_user_has_an_anonymous_identity() -> None:
    """A node of a team may use a memory that belongs to no user."""
    identities = IdentityResolver(Settings())

    identity = identities.resolve_anonymous(Runtime(), {"configurable": {"thread_id": "t1"}})

    assert identity
    assert (identity.scope, identity.thread_id, identity.inject) == (None, "t1", True)
    with pytest.raises(IdentityError, match="no user_id"):
        identities.resolve(Runtime(), {"configurable": {"thread_id": "t1"}})
