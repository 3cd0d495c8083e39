"""The owner and the document."""

from __future__ import annotations

import pytest
from update_values import ADA, fact, origin, runtime, update

from memgraph import IdentityError, MemoryDocument, open_storage
from memgraph.models import Merge
from memgraph.report import Report, Usage
from memgraph.update.upkeep import load_upkeep

PAIR = (fact("Has a cat.", id="a"), fact("has a cat.", id="b"))


def test_the_owner_and_the_document_are_written() -> None:
    """As for an update without turns."""
    storage = open_storage("memory:")
    memory = storage.save(ADA, MemoryDocument(facts=PAIR))

    output = load_upkeep({}, runtime(storage))

    assert (output["origin"], output["memory"]) == (origin(storage), memory)
    assert (output["turns"], output["pending_turns"]) == ((), 0)
    assert (output["report"], output.get("usage")) == (Report(), Usage())
    assert "outcome" not in output


def test_without_a_memory_there_is_nothing_to_do() -> None:
    """The same if memory is off."""
    storage = open_storage("memory:")
    assert load_upkeep({}, runtime(storage)).get("outcome") == "nothing_new"
    storage.save(ADA, MemoryDocument(facts=PAIR))
    assert load_upkeep({}, runtime(storage, enabled=False)).get("outcome") == "nothing_new"


def test_a_run_without_a_user_is_refused() -> None:
    """Whose memory would it be?"""
    with pytest.raises(IdentityError):
        load_upkeep({}, runtime(user_id=None))


@pytest.mark.parametrize("confirmed", [True, False])
def test_after_a_conflict_the_changes_apply_if_their_facts_are_the_same(*, confirmed: bool) -> None:
    """A fact that the user has just said again is judged again."""
    storage = open_storage("memory:")
    changed = PAIR[0].model_copy(update={"confirmations": 1}) if confirmed else PAIR[0]
    storage.save(ADA, MemoryDocument(facts=(changed, PAIR[1], fact("Works at Acme.", id="c"))))
    changes = update(merges=(Merge(id="a", content="Has a cat.", merged=("b",)),))

    output = load_upkeep(
        {"conflicts": 1, "origin": origin(storage), "memory": MemoryDocument(facts=PAIR), "changes": changes},
        runtime(storage),
    )

    assert output.get("reusable") is not confirmed
    assert "usage" not in output
