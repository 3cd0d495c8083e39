"""What a tool reports, and no conversation shows, neither ends nor changes what the user said."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from update_values import addition, fact, update

from memgraph.models import MemoryDocument, ProfileChange, Rewrite, Section
from memgraph.policy import Policy
from memgraph.rules.apply import apply

OFF = Policy(grounding="off")
ALLERGY = fact("Allergic to penicillin.", id="f1", said_at="2026-03-01T09:00:00Z")


def learn(memory: MemoryDocument, origin: str | None, policy: Policy = OFF, **changes: Any) -> MemoryDocument:
    """Return *memory* after an update of *origin*."""
    return apply(update(**changes).model_copy(update={"origin": origin}), memory, policy).memory


@pytest.mark.parametrize(
    "again",
    [
        addition("Allergic to penicillin.", valid_until="2026-03-02"),
        addition("Allergic to penicillin.", confidence=1.0),
        addition("Allergic to penicillin in Oslo in 1999."),
        addition("Reacts badly to pills.", repeats="f1"),
    ],
    ids=["ended", "confirmed", "richer", "repeated"],
)
def test_a_fact_that_a_tool_repeats_stays_as_it_is(again: Any) -> None:
    """Otherwise a date in the past would end it, and a richer wording limit it."""
    after = learn(MemoryDocument(facts=(ALLERGY,)), "tool", additions=(again,))

    assert after.fact("f1") == ALLERGY
    assert after.past == ()


def test_what_a_tool_added_is_the_users_once_the_user_says_it() -> None:
    """In the words of the user: the rest was only reported."""
    reported = fact("Allergic to penicillin in Oslo in 1999.", id="f1", origin="tool")

    (after,) = learn(MemoryDocument(facts=(reported,)), None, additions=(addition("Allergic to penicillin."),)).facts

    assert (after.id, after.content, after.origin) == ("f1", "Allergic to penicillin.", None)


@pytest.mark.parametrize(("origin", "waiting"), [("tool", 1), (None, 0)])
def test_a_summary_that_a_tool_shortens_waits_in_quarantine(origin: str | None, waiting: int) -> None:
    """An update of a conversation may drop half of it."""
    text = "Allergic to penicillin. Rows every Sunday."
    memory = MemoryDocument().with_section("top_of_mind", Section(summary=text))
    shorter = Rewrite(section="top_of_mind", summary="Rows every Sunday with penicillin.", base=text)

    after = learn(memory, origin, rewrites=(shorter,))

    assert len(after.pending) == waiting
    assert (after.section("top_of_mind").summary == text) == bool(waiting)


class Person(BaseModel):
    """A profile."""

    diet: str | None = None
    home: str | None = None


def test_a_tool_fills_the_profile_but_replaces_nothing_in_it() -> None:
    memory = MemoryDocument.model_validate({"profile": {"values": {"diet": "vegan"}}})
    changes = tuple(ProfileChange(field=field, value="meat") for field in ("diet", "home"))

    after = learn(memory, "tool", Policy(grounding="off", profile=Person), profile=changes)

    assert after.profile.values == {"diet": "vegan", "home": "meat"}
