"""graphs/lead_agent.py: the example agent to start from."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import IN_T1
from langchain_core.messages import HumanMessage

from memgraph.analysis.turns import turns_of
from memgraph.testing import ScriptedModel

ROOT = Path(__file__).parents[2]
GRAPH = ROOT / "graphs" / "lead_agent.py"
ADA: Any = {"user_id": "ada"}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file as a server loads it, with its own storage and without a provider."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(tmp_path / "memories"))
    spec = importlib.util.spec_from_file_location("lead_agent", GRAPH)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "lead_agent", loaded)  # LangGraph resolves annotations by it
    spec.loader.exec_module(loaded)
    return loaded


def send(module: Any, text: str, thread: str = "t1") -> str:
    config: Any = {"configurable": {"thread_id": thread}}
    state = module.graph.invoke({"messages": [HumanMessage(text)]}, config, context=ADA)
    return str(state["messages"][-1].text)


def test_the_update_is_a_subgraph(module: Any) -> None:
    """It is visible in drawings and streams of the graph."""
    nodes = module.graph.get_graph(xray=True).nodes

    assert {"inject_memory", "answer", "memory_update:call_model", "memory_update:save_memory"} <= set(nodes)


def test_without_a_model_it_answers_from_memory(module: Any) -> None:
    """The answer states why."""
    assert "remember nothing about you yet" in send(module, "I'm Ada. I work at Acme as a data engineer.")

    answer = send(module, "Where do I work?", "t2")

    assert "No model is configured" in answer
    assert "Works at Acme" in answer
    assert "<memory>" not in answer


def test_it_answers_in_the_language_of_the_question(module: Any) -> None:
    """English or Chinese."""
    assert "没有配置模型" in send(module, "你记得什么?")


def test_it_does_not_learn_from_itself(module: Any) -> None:
    """An answer from memory is not a turn of the conversation."""
    inputs = {"messages": [HumanMessage("I'm Ada. I work at Acme as a data engineer.")]}
    module.graph.invoke(inputs, IN_T1, context=ADA)

    state = module.graph.invoke({"messages": [HumanMessage("Where do I work?")]}, IN_T1, context=ADA)

    assert "Works at Acme" in state["messages"][-1].text
    assert [turn.role for turn in turns_of(state["messages"])] == ["human"]


def test_memory_is_injected_into_model_calls(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the instructions of the agent."""
    model = ScriptedModel("You work at Acme.")
    send(module, "I'm Ada. I work at Acme as a data engineer.")
    monkeypatch.setattr(module, "model", model)

    assert send(module, "Where do I work?", "t2") == "You work at Acme."

    assert model.asked[0][0].text.startswith(module.INSTRUCTIONS)
    assert "Works at Acme" in model.asked[0][0].text


def test_it_is_short_and_registered() -> None:
    """At most 40 lines of code, and an entry with a description."""
    code = GRAPH.read_text().split('"""', 2)[2]

    entry = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["lead_agent"]

    assert len([line for line in code.splitlines() if line.strip() and not line.startswith("#")]) <= 40
    assert entry["path"] == "./graphs/lead_agent.py:graph"
    assert len(entry["description"]) > 40
