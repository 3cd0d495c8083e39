"""The first minute: is what a script was told known to the next run of it?

    python benchmarks/first_minute.py [--quick]

The agent of the README, as a script with the offline memory model and default settings, runs in processes that follow
each other: one is told where its user lives and what they eat, the next one is asked. It knows if the words are in the
prompt of the agent's model. A third one looks for the facts. Between the processes there is a pause of 0 to 2 seconds.
In a second series the first process kills itself, by SIGKILL, as soon as the agent has answered. In the last one,
processes that are asked compete with others for the machine; each has a copy of one memory that was told before.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
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
AT_ONCE = 2
"""Scripts that run at the same time."""
LOAD, ASKED_AT_ONCE = 10, 5
"""Processes that compute at the same time during the last series, and how many of them are scripts."""


def run_agent(folder: str, thread: str, text: str, how: str = "exit") -> tuple[bool, bool]:
    """Run the script; return whether the prompt had the words, and whether a fact has them."""
    command = [sys.executable, "-W", "ignore", "-c", AGENT, folder, thread, text, how]
    output = subprocess.run(command, capture_output=True, text=True, check=how == "exit", timeout=300).stdout  # noqa: S603
    words = output.split()
    return words[:1] == ["True"], words[1:] == ["True"]


def run_pair(pause: float, how: str = "exit") -> bool:
    """Return whether the second process knew what the first one was told; *how* the first one ends."""
    with tempfile.TemporaryDirectory(prefix="memgraph-first-") as folder:
        run_agent(folder, "t1", TOLD, how)
        time.sleep(pause)
        return run_agent(folder, "t2", QUESTION)[0]


def run_three(pause: float) -> tuple[bool, bool]:
    """Return whether the second process knew the words, and whether the third one found the fact."""
    with tempfile.TemporaryDirectory(prefix="memgraph-first-") as folder:
        run_agent(folder, "t1", TOLD)
        time.sleep(pause)
        knew, _ = run_agent(folder, "t2", QUESTION)
        time.sleep(pause)
        return knew, run_agent(folder, "t3", QUESTION)[1]


@contextmanager
def busy_machine() -> Generator[None]:
    """Keep the machine busy meanwhile."""
    others = range(LOAD - ASKED_AT_ONCE)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in others]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def ask_under_load(count: int) -> list[bool]:
    """Return of *count* processes on a busy machine whether they knew what another one was told before."""
    with tempfile.TemporaryDirectory(prefix="memgraph-first-") as folder:
        run_agent(folder, "t1", TOLD)
        with tempfile.TemporaryDirectory(prefix="memgraph-first-") as copies:
            told = [str(Path(copies, str(number))) for number in range(count)]
            for copy in told:
                shutil.copytree(folder, copy)
            with busy_machine(), ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
                return [knew for knew, _ in pool.map(partial(run_agent, thread="t2", text=QUESTION), told)]


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure what a new process knows of the one before it."""
    count, draw = 1 if quick else 20, random.Random(SEED)  # noqa: S311
    pauses = [draw.uniform(0, 0 if quick else 2) for _ in range(count)]

    def row(what: str, hits: Iterable[bool]) -> Row:
        return Row(f"{count} scripts{what}", sum(hits), bound=at_least(count))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = list(pool.map(run_three, pauses))
        rows = [
            row(": the second run knows what the first was told", (knew for knew, _ in ended)),
            row(": the third run has the fact", (has_fact for _, has_fact in ended)),
            row(" killed by SIGKILL: the next run knows it", pool.map(partial(run_pair, how="kill"), pauses)),
        ]
    if not quick:
        rows.append(row(f", load {LOAD}: the first turn has its memory", ask_under_load(count)))
    note = (
        f"Two or three processes each ({Path(__file__).name}), pauses of 0 to 2 s, an SQLite file each for memory and "
        f"outbox; {AT_ONCE} scripts at a time, under load {ASKED_AT_ONCE}."
    )
    return Measurement("The first minute", rows, notes=[note])


if __name__ == "__main__":
    run_standalone(measure)
