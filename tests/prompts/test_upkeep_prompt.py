"""The prompt of the upkeep shows groups and old facts, in the language of the facts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from update_values import fact

from memgraph import MemoryDocument, Policy
from memgraph.models import Candidate, Section
from memgraph.prompts.json_text import upkeep_schema
from memgraph.prompts.template import load_upkeep_template
from memgraph.prompts.upkeep_prompt import read_groups, read_summaries, upkeep_prompt

NOW = datetime(2026, 5, 3, tzinfo=UTC)
MEMORY = MemoryDocument(
    facts=(
        fact("Has a <b>cat</b>.", id="a", created_at="2026-04-01T00:00:00Z"),
        fact("has a cat.", id="b", created_at="2026-04-02T00:00:00Z"),
        fact("Wants to sail.", id="c", category="goal", created_at="2024-01-01T00:00:00Z"),
    )
)
ALIKE = Candidate(kind="alike", ids=("a", "b"), digest="d1")
STALE = Candidate(kind="stale", ids=("c",), digest="d2")


def test_groups_and_old_facts_are_shown_with_today() -> None:
    """Escaped, each with its kind and month."""
    prompt = upkeep_prompt(MEMORY, (ALIKE, STALE), policy=Policy(), now=NOW)

    assert prompt.human.splitlines() == [
        "Today is 2026-05-03 Sun.",
        "<group>",
        "[a] (context, 2026-04) Has a &lt;b&gt;cat&lt;/b&gt;.",
        "[b] (context, 2026-04) has a cat.",
        "</group>",
        "<old>",
        "[c] (goal, 2024-01) Wants to sail.",
        "</old>",
    ]
    assert (prompt.answer, prompt.fact_ids) == ("upkeep", ("a", "b", "c"))


def test_summaries_are_shown_with_what_was_learned_since() -> None:
    """And only then the model is told how to rewrite them."""
    memory = MEMORY.with_section("work_context", Section(summary="Sails <fast>."))
    asked = Candidate(kind="summaries", ids=("b",), digest="d3")

    prompt, other = (upkeep_prompt(memory, ask, policy=Policy(), now=NOW) for ask in ((STALE, asked), (STALE,)))

    assert prompt.human.splitlines()[4:] == [
        "<summaries>",
        "workContext: Sails &lt;fast&gt;.",
        "</summaries>",
        "<learned>",
        "[b] (context, 2026-04) has a cat.",
        "</learned>",
    ]
    assert list(read_summaries(prompt.human)) == [("workContext", "Sails <fast>.")]
    assert ("topOfMind" in prompt.system, "topOfMind" in other.system, "Sails" in other.human) == (True, False, False)


def test_what_is_empty_is_left_out() -> None:
    """A prompt without old facts has no tag for them; a fact that is gone is not shown."""
    gone = ALIKE.model_copy(update={"ids": ("a", "b", "x")})

    prompt = upkeep_prompt(MEMORY, (gone,), policy=Policy(), now=NOW)

    assert "<old>" not in prompt.human
    assert prompt.fact_ids == ("a", "b")


def test_the_groups_are_read_back() -> None:
    """By the offline model."""
    prompt = upkeep_prompt(MEMORY, (ALIKE, STALE), policy=Policy(), now=NOW)

    assert [[shown.content for shown in group] for group in read_groups(prompt.human)] == [
        ["Has a <b>cat</b>.", "has a cat."]
    ]


def test_the_language_is_that_of_the_facts() -> None:
    """Or the one of the policy."""
    memory = MemoryDocument(facts=(fact("喜欢在周末打篮球。", id="a"), fact("周末喜欢打篮球。", id="b")))

    assert "今天是" in upkeep_prompt(memory, (ALIKE,), policy=Policy(), now=NOW).human
    assert "Today is" in upkeep_prompt(memory, (ALIKE,), policy=Policy(prompt_language="en"), now=NOW).human


@pytest.mark.parametrize("strict", [True, False])
def test_the_schema_asks_for_merges_and_ends(*, strict: bool) -> None:
    """Not for new facts."""
    schema = upkeep_schema(Policy(), strict)

    assert list(schema["properties"]) == ["merge", "end", "summaries"]
    assert schema["required"] == ["merge", "end", "summaries"][: None if strict else 2]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_examples_are_examples_of_a_group(language: str) -> None:
    """They are read as the prompt is."""
    template = load_upkeep_template("zh" if language == "zh" else "en")

    assert [len(list(read_groups(example.human + "\n"))) for example in template.examples] == [1, 1]
