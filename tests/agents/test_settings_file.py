"""What has no settings of its own reads memgraph.yaml and MEMGRAPH_*, as the command line does: one memory for all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph import (
    Context,
    MemoryMiddleware,
    Scope,
    build_graph,
    build_recall_graph,
    build_upkeep_graph,
    capture_memory,
    inject_memory,
    memory_tools,
    open_storage,
)

READERS: dict[str, Callable[..., Any]] = {
    "MemoryMiddleware": MemoryMiddleware,
    "inject_memory": inject_memory,
    "capture_memory": capture_memory,
    "memory_tools": memory_tools,
}
every_reader = pytest.mark.parametrize("make", READERS.values(), ids=READERS)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a memgraph.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memgraph.yaml").write_text(
        "memory: {storage_path: from_file, model_name: offline, outbox: 'memory:', max_facts: 11}"
    )
    return tmp_path


def storage_of(made: Any) -> str:
    """The name of the storage that a reader uses."""
    with made:
        return (made if hasattr(made, "_resources") else made.close.__self__)._resources.storage.name


def name_of(folder: Path) -> str:
    return open_storage("file:", storage_path=str(folder)).name


@every_reader
def test_the_storage_is_that_of_the_file(make: Callable[..., Any], folder: Path) -> None:
    assert storage_of(make()) == name_of(folder / "from_file")


@every_reader
def test_the_environment_wins_over_the_file(
    make: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(folder / "from_environment"))

    assert storage_of(make()) == name_of(folder / "from_environment")


@every_reader
def test_an_argument_wins_over_both(make: Callable[..., Any], folder: Path) -> None:
    assert storage_of(make(f"file:{folder / 'given'}")) == name_of(folder / "given")


def test_a_graph_learns_into_the_storage_of_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limits of the file."""
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(folder / "memories"))
    graph = build_graph()

    graph.invoke({"messages": [HumanMessage("I live in Lisbon.")]}, context=Context(user_id="ada"))

    facts = open_storage("file:", storage_path=str(folder / "memories")).load(Scope("ada")).facts
    assert [fact.content for fact in facts] == ["Lives in Lisbon."]
    assert graph.resolver
    assert graph.resolver.policy.max_facts == 11


def test_a_recall_graph_reads_what_the_update_graph_wrote(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_STORAGE_PATH", str(folder / "memories"))
    context = Context(user_id="ada")
    build_graph().invoke({"messages": [HumanMessage("I live in Lisbon.")]}, context=context)

    recalled = build_recall_graph().invoke({"messages": [HumanMessage("Where do I live?")]}, context=context)

    assert "Lisbon" in recalled["recalled"].text
    assert build_upkeep_graph().invoke({}, context=context)["outcome"] == "nothing_new"


def test_an_argument_of_a_graph_wins_over_the_file(folder: Path) -> None:
    graph = build_graph(storage=f"file:{folder / 'given'}")

    graph.invoke({"messages": [HumanMessage("I live in Lisbon.")]}, context=Context(user_id="ada"))

    assert len(open_storage(f"file:{folder / 'given'}").load(Scope("ada")).facts) == 1
    assert not (folder / "from_file").exists()
