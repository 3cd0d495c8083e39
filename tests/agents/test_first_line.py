"""An agent knows in its next call, in any thread, what the user has just said. Offline, and without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_fakes import AgentModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from memgraph import MemoryMiddleware, Settings
from memgraph.testing import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

UNUSED = ScriptedModel(AssertionError("no update may run"))


def prompts_of_two_threads(folder: Path, **settings: Any) -> list[str]:
    """Say something in one thread, ask in another one, and return the prompts."""
    given = Settings(outbox=f"sqlite:{folder}/outbox.db", debounce_seconds=3_600, max_wait_seconds=3_600, **settings)
    model = AgentModel(AIMessage("Noted."))
    with MemoryMiddleware(f"file:{folder}", settings=given, model=UNUSED) as middleware:
        agent = create_agent(model, middleware=[middleware])
        for thread, text in (("t1", "I live in Lisbon and I'm vegetarian."), ("t2", "Where do I live?")):
            agent.invoke({"messages": text}, {"configurable": {"thread_id": thread, "user_id": "ada"}})
    return model.prompts


def test_next_line_in_another_thread_knows_what_was_said(tmp_path: Path) -> None:
    first, second = prompts_of_two_threads(tmp_path)

    assert "In the user's words" not in first
    assert "I live in Lisbon and I'm vegetarian." in second


def test_nothing_is_known_at_once_if_no_words_are_kept(tmp_path: Path) -> None:
    assert "Lisbon" not in prompts_of_two_threads(tmp_path, episodes="off")[1]
