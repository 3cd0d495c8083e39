"""The first minute: is what a script was told known to the next run of it?

    python benchmarks/first_minute.py [--quick]

The agent of the README, as a script with the offline memory model and default settings, runs in processes that follow
each other: one is told where its user lives and what they eat, the next one is asked. It knows if the words are in the
prompt of the agent's model. A third one looks for the facts. Between the processes there is a pause of 0 to 2 seconds.
In a second series the first process kills itself, by SIGKILL, as soon as the agent has answered.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import SEED, Measurement, Row, at_least, run_standalone

AGENT = """
import os, signal, sys
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from memgraph import MemoryMiddleware, Scope, Settings

folder, thread, text, how = sys.argv[1:]
asked = []

class Model(GenericFakeChatModel):
    def _generate(self, messages, *args, **kwargs):
        asked.append(messages[0].text)
        return super()._generate(messages, *args, **kwargs)

settings = Settings(outbox=f"sqlite:{folder}/outbox.db", model_name="offline")
memory = MemoryMiddleware(f"sqlite:{folder}/memory.db", settings=settings)
agent = create_agent(Model(messages=iter([AIMessage("Noted.")])), middleware=[memory])
agent.invoke({"messages": text}, {"configurable": {"thread_id": thread, "user_id": "ada"}})
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
facts = memory._resources.storage.load(Scope("ada")).facts
print("Lisbon" in asked[0], any("Lisbon" in fact.content for fact in facts))
"""
TOLD, QUESTION = "My name is Ada. I live in Lisbon and I'm vegetarian.", "What can I cook where I live?"
LOAD = 8
"""Processes that compute all the time, during the last series."""


def run_agent(folder: str, thread: str, text: str, how: str = "exit") -> tuple[bool, bool]:
    """Run the script; return whether the prompt had the words, and whether a fact has them."""
    command = [sys.executable, "-W", "ignore", "-c", AGENT, folder, thread, text, how]
    output = subprocess.run(command, capture_output=True, text=True, check=how == "exit", timeout=300).stdout  # noqa: S603
    words = output.split()
    return words[:1] == ["True"], words[1:] == ["True"]


def run_three(pause: float, how: str = "exit") -> tuple[bool, bool]:
    """Return whether the second run knew the words, and whether the third one found the fact."""
    with tempfile.TemporaryDirectory(prefix="memgraph-first-") as folder:
        run_agent(folder, "t1", TOLD, how)
        time.sleep(pause)
        knew, _ = run_agent(folder, "t2", QUESTION)
        time.sleep(pause)
        _, has_fact = run_agent(folder, "t3", QUESTION)
    return knew, has_fact


def under_load(count: int, pauses: random.Random) -> list[tuple[bool, bool]]:
    """Run the series while other processes keep the machine busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOAD)]
    try:
        return [run_three(pauses.uniform(0, 2)) for _ in range(count)]
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure what a new process knows of the one before it."""
    count, draw = 2 if quick else 20, random.Random(SEED)  # noqa: S311
    ended = [run_three(draw.uniform(0, 2)) for _ in range(count)]
    killed = [run_three(draw.uniform(0, 2), "kill") for _ in range(count)]
    loaded = under_load(count, draw)
    rows = [
        Row(
            f"{count} scripts: the second run knows what the first was told",
            sum(k for k, _ in ended),
            bound=at_least(count),
        ),
        Row(f"{count} scripts: the third run has the fact", sum(f for _, f in ended), bound=at_least(count)),
        Row(
            f"{count} scripts killed by SIGKILL: the next run knows it",
            sum(k for k, _ in killed),
            bound=at_least(count),
        ),
        Row(
            f"{count} scripts, {LOAD} busy processes: the first turn has its memory",
            sum(k for k, _ in loaded),
            bound=at_least(count),
        ),
    ]
    note = (
        f"Three processes each ({Path(__file__).name}), pauses of 0 to 2 s, an SQLite file each for memory and outbox."
    )
    return Measurement("The first minute", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
