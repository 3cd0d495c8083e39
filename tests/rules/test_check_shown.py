"""The model removes and replaces only what it has seen."""

from __future__ import annotations

from update_values import addition, fact, update

from memgraph.models import MemoryDocument, Removal
from memgraph.policy import Policy
from memgraph.rules.check_shown import check_shown
from memgraph.rules.draft import Draft

MEMORY = MemoryDocument(facts=tuple(fact(f"Fact {n}.", id=f"f{n}") for n in range(3)))
CHANGES = update(
    additions=(addition("New.", id="n1", replaces=("f1", "f2")),), removals=(Removal(id="f0"), Removal(id="gone"))
)


def test_only_facts_that_the_prompt_showed_are_removed() -> None:
    """An id that the model cannot know is a guess, or somebody else's."""
    result = check_shown(Draft(memory=MEMORY, changes=CHANGES, policy=Policy(), shown_ids=frozenset({"f2"})))

    assert result.changes.additions[0].replaces == ("f2",)
    assert [removal.id for removal in result.changes.removals] == ["gone"]
    assert [refusal.item for refusal in result.refused] == ["Fact 0.", "Fact 1."]


def test_what_a_person_accepted_may_remove_any_fact() -> None:
    assert check_shown(Draft(memory=MEMORY, changes=CHANGES, policy=Policy())).changes == CHANGES
