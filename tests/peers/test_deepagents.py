"""A memory as the folder /memories/ of deepagents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from memgraph import Fact, Memory, MemoryDocument, Scope, Settings
from memgraph.integrations.deepagents_backend import deepagents_backend
from memgraph.testing import ScriptedModel

deepagents: Any = pytest.importorskip("deepagents")

LISBON = Fact(id="lisbon", content="Lives in Lisbon.", category="context", confidence=0.9, source="t1")


@pytest.fixture
def memory() -> Iterator[Memory]:
    settings = Settings(model_name="offline", outbox="memory:")
    with Memory("memory:", model="offline", settings=settings) as opened:
        opened.storage.save(Scope("ada"), MemoryDocument(facts=(LISBON,)))
        yield opened


@pytest.fixture
def backend(memory: Memory) -> Any:
    return deepagents_backend(memory, lambda: "ada")


def test_files_are_found_by_every_operation(backend: Any) -> None:
    backend.write("/notes/plan.md", "Visit Sintra.\nBy train.")

    assert [one["path"] for one in backend.ls("/").entries] == ["/facts/", "/notes/"]
    assert backend.read("/facts/context.md").file_data["content"].startswith("- Lives in Lisbon. [lisbon]")
    assert [(one["path"], one["line"]) for one in backend.grep("train").matches] == [("/notes/plan.md", 2)]
    assert sorted(one["path"] for one in backend.glob("*.md").matches) == ["/facts/context.md", "/notes/plan.md"]


def test_a_file_is_edited_and_deleted(memory: Memory, backend: Any) -> None:
    backend.write("/plan.md", "Visit Sintra.")

    assert backend.edit("/plan.md", "Sintra", "Cascais").occurrences == 1
    assert memory.files("ada").read("plan.md").text == "Visit Cascais."
    assert asyncio.run(backend.adelete("/plan.md")).error is None
    assert backend.read("/plan.md").error


def test_what_waits_for_a_person_is_an_error_that_the_model_reads(memory: Memory, backend: Any) -> None:
    result = backend.edit("/facts/context.md", "Lisbon", "Porto")

    assert "waits" in result.error or "until a person accepts it" in result.error
    assert memory.client("ada").facts()[0].content == "Lives in Lisbon."


def test_an_agent_writes_a_fact_that_the_memory_recalls(memory: Memory, backend: Any) -> None:
    """Through the file tools of deepagents, routed by its composite backend."""
    arguments = {"file_path": "/memories/facts/preference.md", "content": "- Prefers window seats."}
    call = {"name": "write_file", "args": arguments, "id": "call_1"}
    composite = deepagents.backends.CompositeBackend(
        default=deepagents.backends.StateBackend(), routes={"/memories/": backend}
    )
    agent = deepagents.create_deep_agent(
        model=ScriptedModel(AIMessage("", tool_calls=[call]), "Noted."), backend=composite
    )

    agent.invoke({"messages": "I prefer window seats."})

    assert "window seats" in memory.client("ada").context("Where do I sit?")
