"""What memory costs an agent: CPU a model call, at 100 facts, warm.

    python benchmarks/agents.py

Prints a table. CPU is that of this process by time.process_time, threads that wait for memory included; the lower
quartile of many rounds is given, since noise only ever adds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall
from langchain_core.tools import tool
from langgraph.runtime import Runtime

from memgraph import Context, Fact, Memory, MemoryMiddleware, Scope, Section, open_storage
from memgraph.testing import ScriptedModel

ROUNDS = 200
FACTS = 100
TOPICS = ["gardens", "trains", "ships", "bread", "Python", "uv", "LangGraph", "tests", "tea", "chess", "maps", "music"]
LIMIT_MS = 2.0


class Silent:
    """An invoker that learns nothing."""

    def submit(self, messages: object, scope: object, thread_id: object = None) -> None:
        """Forget it."""


class Model(ScriptedModel):
    """A scripted model that may be given tools, and calls them."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Model:  # noqa: ARG002, ANN401 - LangChain's signature
        return self


def memory_of(facts: int) -> Memory:
    """A memory as one that has been used for long."""
    memory = Memory(
        facts=tuple(
            Fact(
                content=f"Works with {TOPICS[n % 12]} and {TOPICS[n * 5 % 12]} in project {n}, version {n % 9}.{n % 7}",
                category=("preference", "context", "knowledge")[n % 3],
                confidence=0.9,
                source=f"thread_{n % 50}",
            )
            for n in range(facts)
        )
    )
    for name, _ in memory.sections():
        memory = memory.with_section(name, Section(summary="Works on several projects at once. " * 8))
    return memory


def conversation(messages: int = 20) -> list[AnyMessage]:
    """A conversation of everyday length, which ends with a question."""
    return [
        (HumanMessage, AIMessage)[n % 2](f"Turn {n}: how do {TOPICS[n % 12]} go with {TOPICS[n * 3 % 12]}?", id=f"m{n}")
        for n in range(messages + 1)
    ]


def cpu_ms(act: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Lower quartile of the CPU time of *act*, in ms."""
    spent: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        act()
        spent.append((time.process_time() - start) * 1_000)
    return statistics.quantiles(spent, n=4)[0]


def remembering() -> MemoryMiddleware:
    """A middleware whose memory is warm."""
    storage = open_storage("memory:")
    storage.save(Scope("ada"), memory_of(FACTS))
    return MemoryMiddleware(storage, invoker=Silent())  # type: ignore[arg-type]


def hook_alone(*, first_of_turn: bool) -> float:
    """CPU of wrap_model_call, the model's own left out."""
    memory, messages = remembering(), conversation()
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
    return cpu_ms(call)


def whole_agent(middleware: Sequence[Any], calls: int) -> float:
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
        agent.invoke({"messages": conversation()}, config)

    turn()
    return cpu_ms(turn, 40)


def main() -> None:
    """Measure and print."""
    several = 6
    plain, memory = whole_agent([], several), whole_agent([remembering()], several)
    rows = [
        ("wrap_model_call, within a turn", hook_alone(first_of_turn=False)),
        ("before_agent and wrap_model_call, first of a turn", hook_alone(first_of_turn=True)),
        (f"all hooks in an agent, a model call of {several} a turn", (memory - plain) / several),
    ]
    print(f"{'memory in an agent, ' + str(FACTS) + ' facts, 20 messages':<60}{'CPU ms':>8}{'limit':>8}")
    for name, ms in rows:
        print(f"{name:<60}{ms:>8.2f}{LIMIT_MS:>8.1f}{'' if ms < LIMIT_MS else '   TOO SLOW'}")


if __name__ == "__main__":
    main()
