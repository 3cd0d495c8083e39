"""What the model is asked about, or what the rules do without one."""

from __future__ import annotations

import pytest
from update_values import fact, origin, runtime

from memgraph import MemoryDocument, ModelSetupError, Policy, open_storage
from memgraph.models import Candidate
from memgraph.update.upkeep import find_candidates


def test_candidates_are_written() -> None:
    """They lead to the model."""
    storage = open_storage("memory:")
    memory = MemoryDocument(facts=(fact("Has a cat.", id="a"), fact("has a cat.", id="b")))

    output = find_candidates({"origin": origin(storage), "memory": memory}, runtime(storage))

    assert [(one.kind, one.ids) for one in output["candidates"]] == [("alike", ("a", "b"))]
    assert isinstance(output["candidates"][0], Candidate)
    assert set(output) == {"candidates"}


def test_without_candidates_there_is_nothing_to_do() -> None:
    """No model is called, and nothing is saved."""
    storage = open_storage("memory:")
    memory = MemoryDocument(facts=(fact("Has a cat.", id="a"),))

    output = find_candidates({"origin": origin(storage), "memory": memory}, runtime(storage))

    assert output == {"candidates": (), "outcome": "nothing_new"}


@pytest.mark.parametrize(
    ("memory", "policy"),
    [
        (MemoryDocument(facts=(fact("Has a visitor.", id="a", valid_until="2025"),)), Policy()),
        (MemoryDocument(facts=tuple(fact(f"Has cat {n}.", id=f"f{n}") for n in range(11))), Policy(max_facts=10)),
    ],
    ids=["expired", "overfull"],
)
def test_what_the_rules_end_needs_no_model(memory: MemoryDocument, policy: Policy) -> None:
    """A change set without changes lets them run."""
    storage = open_storage("memory:")

    output = find_candidates({"origin": origin(storage), "memory": memory}, runtime(storage, policy=policy))

    assert output["candidates"] == ()
    assert output.get("changes") is not None
    assert "outcome" not in output


def test_a_model_that_cannot_be_created_fails_before_the_prompt() -> None:
    """No call is paid for that cannot be used."""
    storage = open_storage("memory:")
    memory = MemoryDocument(facts=(fact("Has a cat.", id="a"), fact("has a cat.", id="b")))

    with pytest.raises(ModelSetupError):
        find_candidates({"origin": origin(storage), "memory": memory}, runtime(storage, model="nonsense:x"))
