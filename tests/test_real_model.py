"""The update on a chat model that nobody scripted. Opt-in: name an OpenAI-compatible server.

MEMGRAPH_TEST_MODEL_URL=http://127.0.0.1:18183/v1 make test
"""

from __future__ import annotations

import os

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import Context, MemoryStorage, Policy, Scope, build_graph, open_storage

URL = os.environ.get("MEMGRAPH_TEST_MODEL_URL")

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(not URL, reason="MEMGRAPH_TEST_MODEL_URL names no server"),
]

SAID = [
    HumanMessage("Hi, I'm Priya. I'm a data engineer at Northwind and live in Lisbon."),
    AIMessage("Nice to meet you, Priya! What are you working on?"),
    HumanMessage("A pipeline in Python with DuckDB. I much prefer DuckDB to pandas."),
    AIMessage("DuckDB is a good choice. Shall I show you some pandas code?"),
    HumanMessage("No, that's wrong, I said DuckDB, not pandas. Please use SQL."),
    AIMessage("Sorry! Here it is in SQL."),
]


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    """An empty storage, and the environment of the server."""
    monkeypatch.setenv("OPENAI_BASE_URL", URL or "")
    monkeypatch.setenv("OPENAI_API_KEY", os.environ.get("OPENAI_API_KEY", "none"))
    return open_storage("memory:")


def test_a_real_model_learns_who_the_user_is(storage: MemoryStorage) -> None:
    """What a small model leaves out is its own affair; that something true was learned and saved is ours."""
    graph = build_graph(model="openai:local", storage=storage, policy=Policy(model_timeout_seconds=600))
    context = Context(user_id="priya", thread_id="t1", structured_output="json_schema")

    state = graph.invoke({"messages": SAID}, context=context)
    again = graph.invoke({"messages": SAID}, context=context)

    memory = storage.load(Scope("priya"))
    known = " ".join([*(fact.content for fact in memory.facts), *(part.summary for _, part in memory.sections())])
    assert state["outcome"] == "learned"
    assert state["report"].usage.input_tokens > 1_000
    assert any(word in known for word in ("Priya", "Northwind", "Lisbon", "DuckDB"))
    assert again["outcome"] == "nothing_new"
