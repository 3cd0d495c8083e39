"""The memory with the changes applied."""

from __future__ import annotations

from update_values import addition, contents, fact, runtime, update

from memgraph import MemoryDocument, Policy
from memgraph.models import Check, Prompt, Refusal, Removal
from memgraph.report import RemovedFact
from memgraph.update.nodes import apply_update, shown


def test_memory_removals_and_refusals_are_written() -> None:
    """The policy is that of the run."""
    oslo = fact("Lives in Oslo.", id="f1")
    changes = update(
        additions=(addition("Has a dog.", confidence=0.4), addition("Has a cat.", id="n2", confidence=0.3)),
        removals=(Removal(id="f1", reason="moved"),),
    )

    output = apply_update(
        {"turns": (), "memory": MemoryDocument(facts=(oslo,)), "pending_turns": 1, "changes": changes},
        runtime(policy=Policy(fact_confidence_threshold=0.4, grounding="off")),
    )

    assert contents(output["applied"]) == ["Has a dog."]
    assert output["removed"] == (RemovedFact(fact=oslo, why="moved"),)
    assert output["refused"] == (Refusal(item="Has a cat.", reason="confidence 0.30 is below 0.40"),)
    assert set(output) == {"applied", "removed", "refused"}


def test_what_the_check_listed_was_shown() -> None:
    """The prompt may have had no room for it; a person's changes need no prompt."""
    prompt = Prompt(system="", human="", fact_ids=("f1",))

    _, ids = shown(
        {
            "turns": (),
            "memory": MemoryDocument(),
            "pending_turns": 1,
            "changes": update(),
            "prompt": prompt,
            "check": Check(claims=(), known=("f2",)),
        }
    )

    assert ids == {"f1", "f2"}
