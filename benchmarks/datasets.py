"""Generated memories and conversations of any size, reproducible by fixed seeds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

from memgraph import Fact, MemoryDocument, Section
from memgraph.models import CATEGORIES, Episode, timestamp
from memgraph.prompts.update_prompt import read_turns
from memgraph.testing import ScriptedModel, update_answer

_NOUNS = """
    garden train ship bread Python uv LangGraph test tea chess map river music physics museum bicycle novel camera
    violin harbour winter market recipe database server deadline budget meeting compiler kitchen forest balcony
"""
_VERBS = "likes visits writes repairs studies paints plans avoids teaches collects measures reviews"
NOUNS, VERBS = _NOUNS.split(), _VERBS.split()
CHINESE = ["喜欢在周末去西湖骑车", "负责订单系统的数据库迁移", "对花生过敏", "计划明年参加马拉松", "正在学习弹钢琴"]


def some_facts(count: int) -> tuple[Fact, ...]:
    """Return facts of about 20 tokens each, a tenth of them Chinese, seven per conversation."""
    draw = random.Random(count)  # noqa: S311

    def content(number: int) -> str:
        if number % 10 == 0:
            return f"{draw.choice(CHINESE)}，第 {number} 次提到"
        nouns = draw.sample(NOUNS, 3)
        return (
            f"{draw.choice(VERBS)} the {nouns[0]} near {nouns[1]} {number % 97} with a friend from {nouns[2]}{number}"
        )

    return tuple(
        Fact(
            content=content(number),
            category=draw.choice(list(CATEGORIES)),
            confidence=draw.choice([0.7, 0.8, 0.9, 0.95]),
            created_at=f"2026-01-{number % 28 + 1:02}T00:00:00Z",
            source=f"thread_{number // 7}",
        )
        for number in range(count)
    )


def make_memory(facts: int) -> MemoryDocument:
    """Return a memory with that many facts and all six summaries."""
    memory = MemoryDocument(facts=some_facts(facts))
    for name, _ in memory.sections():
        memory = memory.with_section(name, Section(summary="Works on several projects at once. " * 8))
    return memory


def some_episodes(count: int) -> tuple[Episode, ...]:
    """Return that many messages of a user, one an hour, of three sentences each."""
    first = datetime(2025, 1, 1, tzinfo=UTC)
    return tuple(
        Episode(
            id=f"e_{number:020x}",
            thread_id=f"t{number // 10}",
            message_id=f"m{number}",
            at=timestamp(first + timedelta(hours=number)),
            text=" ".join(_sentence(number, index) for index in range(3)),
        )
        for number in range(count)
    )


def question(number: int) -> list[AnyMessage]:
    """Return three short messages that ask for something."""
    draw = random.Random(number)  # noqa: S311
    first, second, third = draw.sample(NOUNS, 3)
    return [
        HumanMessage(f"I am thinking about the {first} again, number {number}."),
        AIMessage(f"What about the {first}? I can help with that, as with the {second}."),
        HumanMessage(f"How does one {draw.choice(VERBS)} a {third}? 还有数据库怎么办？"),
    ]


def conversation(messages: int = 20, *, start: int = 0, length: int = 3) -> list[BaseMessage]:
    """Return a conversation of alternating user and assistant messages, each of *length* sentences."""
    return [
        (HumanMessage, AIMessage)[number % 2](
            " ".join(_sentence(number, index) for index in range(length)), id=f"m{number}"
        )
        for number in range(start, start + messages)
    ]


def _sentence(number: int, index: int) -> str:
    draw = random.Random(number * 100 + index)  # noqa: S311
    first, second = draw.sample(NOUNS, 2)
    if number % 2:
        return f"A {first} goes well with a {second}, as many people find who try it."
    return f"I {draw.choice(VERBS)[:-1]} my {first} with the {second} of project {number}.{index} these days."


def new_turns(prompt: Sequence[BaseMessage]) -> list[str]:
    """Return the texts of the new user turns in the prompt of an update."""
    turns = read_turns(str(prompt[-1].content))
    return [turn.text for turn in turns if turn.is_new and turn.speaker == "user"]


def fact_from_turn(turn: str) -> str:
    """Return the fact that a fake model makes of a turn: its first sentence."""
    return f"Said: {turn.partition('. ')[0].rstrip('.')}."


def fact_of_turn(turn: str) -> dict[str, str]:
    """Return the fact that a fake model makes of a turn, with the user's words."""
    return {"content": fact_from_turn(turn), "quote": turn.partition(". ")[0]}


def learning_model(seconds: float = 0.0) -> ScriptedModel:
    """Return a model that waits *seconds* and makes one fact of each new user turn."""

    def answer(prompt: Sequence[BaseMessage]) -> str:
        time.sleep(seconds)
        return update_answer(*map(fact_of_turn, new_turns(prompt)))

    return ScriptedModel(answer)


def cpu_ms(act: Callable[[int], object], rounds: int) -> list[float]:
    """Return the CPU time of *act* in this process, in ms for each round; *act* receives the round's number."""
    spent: list[float] = []
    for number in range(rounds):
        start = time.process_time()
        act(number)
        spent.append((time.process_time() - start) * 1_000)
    return spent
