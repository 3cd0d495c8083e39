"""What memory costs an agent: CPU a model call, at 100 facts, warm.

    python benchmarks/agents.py [--quick]

CPU is that of this process, threads that wait for memory included.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from common import Measured, Row, alone, at_most, bootstrap, median_row
from datasets import conversation, cpu_ms, memory_of
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langchain_core.tools import tool
from langgraph.runtime import Runtime

from memgraph import Context, MemoryMiddleware, Scope, open_storage
from memgraph.testing import ScriptedModel

FACTS = 100
MESSAGES = conversation(21, length=1)


class Silent:
    """An invoker that learns nothing."""

    def submit(self, messages: object, scope: object, thread_id: object = None) -> None:
        """Forget it."""


class Model(ScriptedModel):
    """A scripted model that may be given tools, and calls them."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Model:  # noqa: ARG002, ANN401 - LangChain's signature
        return self


def remembering() -> MemoryMiddleware:
    """A middleware whose memory is warm."""
    storage = open_storage("memory:")
    storage.save(Scope("ada"), memory_of(FACTS))
    return MemoryMiddleware(storage, invoker=Silent())  # type: ignore[arg-type]


def hook_alone(rounds: int, *, first_of_turn: bool) -> list[float]:
    """CPU of wrap_model_call, the model's own left out."""
    memory, messages = remembering(), MESSAGES
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
        memory.wrap_model_call(request, lambda told: answer if told is not request else 1 / 0)  # type: ignore[arg-type]

    call()
    return cpu_ms(lambda _: call(), rounds)


def whole_agent(middleware: Sequence[Any], calls: int, rounds: int) -> list[float]:
    """CPU of a turn of an agent that calls a tool at each model call but the last."""

    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return query

    def answer(messages: Sequence[BaseMessage]) -> AIMessage:
        made = sum(message.type == "tool" for message in messages)
        call = ToolCall(name="look_up", args={"query": "x"}, id=f"c{made}")
        return AIMessage("", tool_calls=[call]) if made < calls - 1 else AIMessage("Done.")

    agent = create_agent(Model(answer), [look_up], middleware=middleware)
    config: Any = {"configurable": {"thread_id": "t1", "user_id": "ada"}}

    def turn() -> None:
        agent.invoke({"messages": MESSAGES}, config)

    turn()
    return cpu_ms(lambda _: turn(), rounds)


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure the hooks, alone and in an agent."""
    rounds, calls = (20 if quick else 200), 6
    pairs = list(zip(*(whole_agent(given, calls, rounds) for given in ([remembering()], [])), strict=True))

    def added(pairs: Sequence[tuple[float, float]]) -> float:
        with_it, without = zip(*pairs, strict=True)
        return (statistics.median(with_it) - statistics.median(without)) / calls

    bound = at_most(2)
    within, first = (hook_alone(rounds, first_of_turn=first) for first in (False, True))
    return Measured(
        f"Memory in an agent, {FACTS} facts",
        [
            median_row("a model call, later ones of a turn", within, "ms CPU", bound),
            median_row("a model call, the first of a turn", first, "ms CPU", bound),
            Row(
                f"all hooks in an agent, a call of {calls} a turn",
                added(pairs),
                "ms CPU",
                *bootstrap(pairs, added),
                bound,
            ),
        ],
        notes=["What the middleware adds, at 20 messages, the memory warm; the model's own time left out."],
    )


if __name__ == "__main__":
    alone(measure)
