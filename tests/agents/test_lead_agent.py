"""graphs/lead_agent.py: the agent that a newcomer copies."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import IN_T1
from langchain_core.messages import HumanMessage

from memgraph.testing import ScriptedModel
from memgraph.text.turns import turns_of

ROOT = Path(__file__).parents[2]
GRAPH = ROOT / "graphs" / "lead_agent.py"
ADA: Any = {"user_id": "ada"}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file as a server loads it, with a storage of its own and no provider."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(tmp_path / "memories"))
    spec = importlib.util.spec_from_file_location("lead_agent", GRAPH)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "lead_agent", loaded)  # LangGraph resolves annotations by it
    spec.loader.exec_module(loaded)
    return loaded


def say(module: Any, text: str, thread: str = "t1") -> str:
    config: Any = {"configurable": {"thread_id": thread}}
    state = module.graph.invoke({"messages": [HumanMessage(text)]}, config, context=ADA)
    return str(state["messages"][-1].text)


def test_the_update_is_seen_inside_it(module: Any) -> None:
    """As a subgraph."""
    nodes = module.graph.get_graph(xray=True).nodes

    assert {"inject_memory", "answer", "memory_update:call_model", "memory_update:save_memory"} <= set(nodes)


def test_without_a_model_it_answers_from_what_it_remembers(module: Any) -> None:
    """And says so."""
    assert "remember nothing of you yet" in say(module, "I'm Ada. I work at Acme as a data engineer.")

    answer = say(module, "Where do I work?", "t2")

    assert "No model is configured" in answer
    assert "Works at Acme" in answer
    assert "<memory>" not in answer


def test_in_chinese_it_says_so_in_chinese(module: Any) -> None:
    """The language of what was asked."""
    assert "没有配置模型" in say(module, "你记得什么?")


def test_it_does_not_learn_from_itself(module: Any) -> None:
    """What it remembers, told, is no turn of the conversation."""
    said = {"messages": [HumanMessage("I'm Ada. I work at Acme as a data engineer.")]}
    module.graph.invoke(said, IN_T1, context=ADA)

    state = module.graph.invoke({"messages": [HumanMessage("Where do I work?")]}, IN_T1, context=ADA)

    assert "Works at Acme" in state["messages"][-1].text
    assert [turn.role for turn in turns_of(state["messages"])] == ["human"]


def test_with_a_model_the_model_is_told(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered stands after its instructions."""
    model = ScriptedModel("You work at Acme.")
    say(module, "I'm Ada. I work at Acme as a data engineer.")
    monkeypatch.setattr(module, "model", model)

    assert say(module, "Where do I work?", "t2") == "You work at Acme."

    assert model.asked[0][0].text.startswith(module.INSTRUCTIONS)
    assert "Works at Acme" in model.asked[0][0].text


def test_it_is_short_and_the_server_knows_it() -> None:
    """About 40 lines of code, an entry with a description."""
    code = GRAPH.read_text().split('"""', 2)[2]

    entry = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["lead_agent"]

    assert len([line for line in code.splitlines() if line.strip() and not line.startswith("#")]) <= 40
    assert entry["path"] == "./graphs/lead_agent.py:graph"
    assert len(entry["description"]) > 40
