"""The prompt asks about the candidates."""

from __future__ import annotations

from update_values import fact, runtime

from memgraph import MemoryDocument, Policy
from memgraph.models import Candidate
from memgraph.update.upkeep import build_upkeep_prompt


def test_the_prompt_is_written() -> None:
    """In the language of the run's policy, with the facts of the candidates only."""
    memory = MemoryDocument(
        facts=(fact("Has a cat.", id="a"), fact("has a cat.", id="b"), fact("Works at Acme.", id="c"))
    )
    candidates = (Candidate(kind="alike", ids=("a", "b"), digest="d1"),)

    output = build_upkeep_prompt(
        {"memory": memory, "candidates": candidates}, runtime(policy=Policy(prompt_language="zh"))
    )

    assert output["prompt"].fact_ids == ("a", "b")
    assert output["prompt"].human.startswith("今天是")
    assert "Acme" not in output["prompt"].human
