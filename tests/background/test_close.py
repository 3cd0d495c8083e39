"""What `close` learns, and what it leaves to the next process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from memgraph import BackgroundInvoker, MemoryClient, Scope, Settings, open_outbox, open_storage
from memgraph.background.outbox import ConversationKey
from memgraph.background.schedule import DebouncePolicy
from memgraph.background.serialization import dump_messages
from memgraph.testing import ScriptedModel

ADA = Scope("ada")
LINE = HumanMessage("I'm vegetarian.")
PROCESS = """
import os, sys
from langchain.agents import create_agent
from memgraph import MemoryMiddleware, Settings
from memgraph.testing import ScriptedModel

memory = MemoryMiddleware("file:memory", model="offline", settings=Settings(outbox="outbox.db", exit_seconds=300))
agent = create_agent(ScriptedModel("Hello!"), middleware=[memory])
agent.invoke({"messages": sys.argv[1]}, {"configurable": {"user_id": "ada", "thread_id": sys.argv[1]}})
memory.close()
os._exit(0)  # nothing is learned by the exit
"""


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    """Of a memory whose conversations are never quiet for long enough."""
    settings = Settings(outbox=f"{tmp_path}/outbox.db", debounce_seconds=3_600, max_wait_seconds=3_600)
    return {"storage": f"file:{tmp_path}/memory", "model": "offline", "settings": settings}


def known(folder: Path) -> str:
    return " ".join(fact.content for fact in open_storage(f"file:{folder}/memory").load(ADA).facts)


def test_the_next_processes_know_what_an_agent_was_given_before_it_closed(tmp_path: Path) -> None:
    """Three scripts, each closed: a conversation is learned though none lives until it has been quiet."""
    after = list[str]()
    for line in ("I'm vegetarian.", "What shall I cook?", "I live in Lisbon."):
        subprocess.run([sys.executable, "-c", PROCESS, line], cwd=tmp_path, check=True, timeout=300)
        after.append(known(tmp_path))

    assert ["vegetarian" in facts for facts in after] == [True, True, True]
    assert ["Lisbon" in facts for facts in after] == [False, False, True]


@pytest.mark.parametrize("wait", [True, False])
def test_close_learns_unless_it_leaves_that_to_the_next_process(
    tmp_path: Path, options: dict[str, Any], *, wait: bool
) -> None:
    """What is left is due at once, however long the conversation would have had to be quiet."""
    client = MemoryClient(**options, user_id="ada")
    client.add([LINE], background=True)

    client.close(wait=wait)

    with open_outbox(options["settings"].outbox) as outbox:
        due = [job.due_at <= job.first_at + 3_000 for job in outbox.pending(now=0)]
    assert ("vegetarian" in known(tmp_path), due) == ((True, []) if wait else (False, [True]))


def test_close_gives_up_after_exit_seconds(options: dict[str, Any]) -> None:
    """The model does not answer; what it was asked is due for the next process."""
    asked, answers = threading.Event(), threading.Event()

    def hang(_: object) -> str:
        asked.set()
        assert answers.wait(300)
        return "{}"

    settings = options["settings"].model_copy(update={"exit_seconds": 0.1})
    client = MemoryClient(options["storage"], user_id="ada", model=ScriptedModel(hang), settings=settings)
    client.add([LINE], background=True)

    client.close()

    assert asked.is_set()
    with open_outbox(settings.outbox) as outbox:
        assert len(outbox.pending(now=0)) == 1
    answers.set()


@pytest.mark.parametrize("first", ["context", "episodes", "history", "remember"])
@pytest.mark.parametrize("ends", [True, False])
def test_a_client_learns_what_is_due_whatever_it_does_first(
    tmp_path: Path, options: dict[str, Any], first: str, *, ends: bool
) -> None:
    """In the background, and if it is closed at once before that."""
    with BackgroundInvoker(**options) as left:
        left.submit([LINE], ADA, "t1")
        left.close(wait=False)
    client = MemoryClient(**options, user_id="ada")

    arguments = {"context": ["What shall I cook?"], "remember": ["Has a dog."]}
    getattr(client, first)(*arguments.get(first, []))

    for _ in range(0 if ends else 12_000):
        if "vegetarian" in known(tmp_path):
            break
        threading.Event().wait(0.01)
    client.close(wait=ends)
    assert "vegetarian" in known(tmp_path)


def test_a_client_learns_what_becomes_due_while_it_is_open(tmp_path: Path, options: dict[str, Any]) -> None:
    """What a process left that ended within the pause after a message."""
    timing = DebouncePolicy(debounce=1, max_wait=1)
    with open_outbox(options["settings"].outbox) as outbox:
        jobs = outbox.for_storage(open_storage(options["storage"]).name)
        jobs.enqueue(ConversationKey(ADA, "t1"), dump_messages([LINE]), now=time.time(), timing=timing, max_jobs=9)

    with MemoryClient(**options, user_id="ada") as client:
        client.facts()
        for _ in range(12_000):
            if "vegetarian" in known(tmp_path):
                break
            threading.Event().wait(0.01)
        assert "vegetarian" in known(tmp_path)


def test_close_does_not_learn_while_another_uses_the_threads(options: dict[str, Any]) -> None:
    """A client that is closed in a request does not pay for the model."""
    with BackgroundInvoker(**options) as other:
        with BackgroundInvoker(**options) as request:
            request.submit([LINE], ADA, "t1")

        assert len(other.pending()) == 1
