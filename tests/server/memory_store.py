"""A memory as the store of a server, and a graph that puts and searches under the namespace that it is given."""

from __future__ import annotations

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from memgraph import IdentityError, Memory, Settings

store = Memory("sqlite:store.db", model="offline", settings=Settings(outbox="memory:", embedding="none")).store()


async def put(state: MessagesState, runtime: Runtime) -> MessagesState:
    """Put `USER: CONTENT` under the namespace of the user."""
    user_id, _, content = str(state["messages"][-1].content).partition(": ")
    assert runtime.store
    try:
        await runtime.store.aput(("memories", user_id), "run", {"content": content})
        found = await runtime.store.asearch(("memories", user_id))
    except IdentityError as error:
        return {"messages": [("ai", str(error))]}  # type: ignore[list-item] - LangGraph converts it
    return {"messages": [("ai", " ".join(item.value["content"] for item in found))]}  # type: ignore[list-item]


graph = StateGraph(MessagesState).add_node("put", put).add_edge(START, "put").compile()
