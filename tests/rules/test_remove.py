"""Facts that are no longer true are removed."""

from __future__ import annotations

from update_values import contents, draft, fact

from memgraph.models import MemoryDocument, Refusal, Removal
from memgraph.rules.add import remove

OSLO, DOG = fact("Lives in Oslo.", id="f1"), fact("Has a dog.", id="f2")


def test_a_contradicted_fact_is_removed_with_the_reason() -> None:
    """The report must be able to say why."""
    result = remove(draft(MemoryDocument(facts=(OSLO, DOG)), removals=(Removal(id="f1", reason="moved"),)))

    assert contents(result.memory) == ["Has a dog."]
    assert [(removed.fact, removed.why) for removed in result.removed] == [(OSLO, "moved")]
    assert result.refused == ()


def test_several_facts_are_removed_in_the_order_of_the_answer() -> None:
    """Each with its own reason; the default is that it was contradicted."""
    removals = (Removal(id="f2", reason="sold"), Removal(id="f1"))

    result = remove(draft(MemoryDocument(facts=(OSLO, DOG)), removals=removals))

    assert [(removed.fact.id, removed.why) for removed in result.removed] == [("f2", "sold"), ("f1", "contradicted")]


def test_a_manual_fact_is_not_removed() -> None:
    """A model must not overrule a person."""
    written = OSLO.model_copy(update={"source": "manual"})

    result = remove(draft(MemoryDocument(facts=(written,)), removals=(Removal(id="f1"),)))

    assert result.memory.facts == (written,)
    assert result.removed == ()
    assert result.refused == (Refusal(item="Lives in Oslo.", reason="a person wrote it, so it is not removed"),)


def test_an_unknown_id_is_reported() -> None:
    """Models invent ids; the other removals still happen."""
    result = remove(draft(MemoryDocument(facts=(OSLO,)), removals=(Removal(id="f9"), Removal(id="f1"))))

    assert result.memory.facts == ()
    assert result.refused == (Refusal(item="f9", reason="there is no such fact to remove"),)
