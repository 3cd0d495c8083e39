"""graphs/research_team.py: the example team, with a board, notes and documents."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memgraph.attachments.store import SearchQuery
from memgraph.models import Scope
from memgraph.testing import ScriptedModel

GRAPH = Path(__file__).parents[2] / "graphs" / "research_team.py"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Load the file as a server does, with separate folders and without a provider or local embedding model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("MEMGRAPH_EMBEDDING")

    def load_module() -> Any:
        spec = importlib.util.spec_from_file_location("research_team", GRAPH)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "research_team", module)  # LangGraph resolves annotations by it
        spec.loader.exec_module(module)
        return module

    return load_module


def embed(request: Request) -> Response:
    """Embed texts by their words, like an OpenAI-compatible server."""
    data = [{"index": index, "embedding": count_words(text)} for index, text in enumerate(request.get_json()["input"])]
    return Response(
        json.dumps({"data": data, "model": "m", "object": "list", "usage": {}}), mimetype="application/json"
    )


def count_words(text: str) -> list[float]:
    vector = [0.01] * 256
    for word in re.findall(r"[a-z]{3,}|[\u4e00-\u9fff]", text.lower()):
        vector[zlib.crc32(word.encode()) % 256] += 1
    return vector


def send(module: Any, text: str, **context: str) -> list[str]:
    state = module.graph.invoke({"messages": [HumanMessage(text)]}, context=context)
    return [f"{message.name}: {message.text}" for message in state["messages"][1:]]


def test_it_works_without_an_embedding_model(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Without a key, a network, or a download."""
    module = load()

    answers = send(module, "How heavy is a green roof?")

    assert answers == [
        "researcher: I have no documents to look that up in.",
        "writer: No model is configured, so this is what is on the board. "
        + answers[0].replace("researcher: ", "[researcher] "),
    ]
    assert "the researcher reads no documents" in caplog.text


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How heavy is a green roof when wet?", "[green_roofs.md] # Green roofs"),
        ("屋顶上放几箱蜜蜂最合适？", "[城市养蜂.md] # 城市养蜂"),
    ],
)
def test_the_researcher_reads_documents(load: Any, httpserver: HTTPServer, question: str, found: str) -> None:
    """In any language, by the embedding model of the settings; the writer reads them on the board."""
    httpserver.expect_request("/v1/embeddings").respond_with_handler(embed)
    model = {"provider": "openai", "base_url": httpserver.url_for("/v1"), "api_key": "k"}
    Path("memgraph.yaml").write_text(json.dumps({"memory": {"embedding": model}}))

    answers = send(load(), question)

    assert all(found in answer for answer in answers)


def test_entries_of_the_board_persist(load: Any) -> None:
    """In another run and another process, for the same user only."""
    send(load(), "How heavy is a green roof?", user_id="ada")
    board = load().manager

    def sources(user: str) -> list[str]:
        return [found.source for found in board.retrieve("board", SearchQuery("", scope=Scope(user)), top_k=9)]

    assert sources("ada") == ["researcher", "writer"]
    assert sources("bob") == []


def test_with_a_model_both_agents_receive_memories(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer reads the researcher's entries on the board, and each agent reads its own earlier notes."""
    module = load()
    model = ScriptedModel("It weighs 60 to 150 kg.", "A green roof is heavy.")
    monkeypatch.setattr(module, "model", model)

    send(module, "How heavy is a green roof?")
    send(module, "And how heavy is it when it is wet?")

    first, second, third, _ = ["\n".join(message.text for message in asked) for asked in model.asked]
    assert "Related Memories" not in first
    assert "--- board ---\n1. [researcher] It weighs 60 to 150 kg." in second
    assert "--- researcher_notes ---\n1. [researcher] How heavy is a green roof?" in third


def test_the_drawing_shows_the_stages(load: Any) -> None:
    """They determine which memories a node reads."""
    drawn = load().graph.get_graph(xray=True).draw_mermaid()

    assert re.findall(r"(\w+)<hr/><small><em>stage = (\w+)<", drawn) == [("researcher", "plan"), ("writer", "gen")]
