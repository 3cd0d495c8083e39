"""Cost of memory in an agent: CPU per model call, with 100 facts and a warm cache.

    python benchmarks/agents.py [--quick]

CPU is that of this process, including the threads that wait for memory.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from common import Measurement, Row, at_most, bootstrap, median_row, run_standalone
from datasets import conversation, cpu_ms, make_memory
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langchain_core.tools import tool
from langgraph.runtime import Runtime

from memgraph import Context, MemoryMiddleware, Scope, open_storage
from memgraph.testing import ScriptedModel

FACTS = 100
MESSAGES = conversation(21, length=1)


class NullInvoker:
    """An invoker that discards all submissions."""

    def submit(self, messages: object, scope: object, thread_id: object = None) -> None:
        """Discard the conversation."""


def warm_middleware() -> MemoryMiddleware:
    """Return a middleware over a memory of 100 facts."""
    storage = open_storage("memory:")
    storage.save(Scope("ada"), make_memory(FACTS))
    return MemoryMiddleware(storage, invoker=NullInvoker())  # type: ignore[arg-type]


def hook_cpu(rounds: int, *, first_of_turn: bool) -> list[float]:
    """Return the CPU of wrap_model_call, without the model's own."""
    memory, messages = warm_middleware(), MESSAGES
    runtime: Any = Runtime(context=Context(user_id="ada", thread_id="t1"))
    request = ModelRequest(
        model=ScriptedModel(""),
        messages=messages,
        system_message=SystemMessage("Be kind."),
        state={"messages": messages},
        runtime=runtime,
    )
    answer = ModelResponse(result=[AIMessage("")])

    def call() -> None:
        if first_of_turn:
            memory.before_agent({"messages": messages}, runtime)
        memory.wrap_model_call(request, lambda changed: answer if changed is not request else 1 / 0)  # type: ignore[arg-type]

    call()
    return cpu_ms(lambda _: call(), rounds)


def agent_cpu(middleware: Sequence[Any], calls: int, rounds: int) -> list[float]:
    """Return the CPU of a turn in which every model call but the last calls a tool."""

    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return query

    def answer(messages: Sequence[BaseMessage]) -> AIMessage:
        count = sum(message.type == "tool" for message in messages)
        call = ToolCall(name="look_up", args={"query": "x"}, id=f"c{count}")
        return AIMessage("", tool_calls=[call]) if count < calls - 1 else AIMessage("Done.")

    agent = create_agent(ScriptedModel(answer), [look_up], middleware=middleware)
    config: Any = {"configurable": {"thread_id": "t1", "user_id": "ada"}}

    def turn() -> None:
        agent.invoke({"messages": MESSAGES}, config)

    turn()
    return cpu_ms(lambda _: turn(), rounds)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure the hooks, on their own and in an agent."""
    rounds, calls = (20 if quick else 200), 6
    pairs = list(zip(*(agent_cpu(given, calls, rounds) for given in ([warm_middleware()], [])), strict=True))

    def overhead(pairs: Sequence[tuple[float, float]]) -> float:
        with_memory, without = zip(*pairs, strict=True)
        return (statistics.median(with_memory) - statistics.median(without)) / calls

    bound = at_most(2)
    within, first = (hook_cpu(rounds, first_of_turn=first) for first in (False, True))
    return Measurement(
        f"Memory in an agent, {FACTS} facts",
        [
            median_row("later model calls of a turn", within, "ms CPU", bound),
            median_row("first model call of a turn", first, "ms CPU", bound),
            Row(
                f"all hooks in an agent, per call of {calls} per turn",
                overhead(pairs),
                "ms CPU",
                *bootstrap(pairs, overhead),
                bound,
            ),
        ],
        notes=["Overhead of the middleware with 20 messages and a warm memory, without the model's own time."],
    )


if __name__ == "__main__":
    run_standalone(measure)
