"""The answer becomes a change set, or a problem."""

from __future__ import annotations

import pytest
from update_values import fact, origin, runtime

from memgraph import MemoryDocument, UnreadableAnswerError, open_storage
from memgraph.models import Answer, Candidate
from memgraph.report import Usage
from memgraph.state import UpkeepParsed, UpkeepParseInput
from memgraph.update.upkeep import parse_upkeep


def parse(given: UpkeepParseInput) -> UpkeepParsed:
    return parse_upkeep(given, runtime(open_storage("memory:")))


def state(text: str, attempt: int = 1) -> UpkeepParseInput:
    return {
        "origin": origin("memory:"),
        "memory": MemoryDocument(facts=(fact("Has a cat.", id="a"), fact("has a cat.", id="b"))),
        "candidates": (Candidate(kind="alike", ids=("a", "b"), digest="d1"),),
        "response": Answer(text=text),
        "attempt": attempt,
        "usage": Usage(),
    }


def test_the_changes_are_written() -> None:
    """With the thread of the run."""
    changes = parse(state('{"merge": [{"ids": ["a", "b"], "content": "Has a cat."}], "end": []}')).get("changes")

    assert changes is not None
    assert (len(changes.merges), changes.thread, changes.asked) == (1, "t1", ("d1",))


def test_an_unreadable_answer_is_a_problem_once() -> None:
    """The second ends the run."""
    assert "merge and end" in parse(state("?")).get("problem", "")
    with pytest.raises(UnreadableAnswerError):
        parse(state("?", attempt=2))
