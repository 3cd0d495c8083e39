"""What the model is asked: what is known, what was said, what to look for - and no more than fits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph import ConfigError, Fact, Memory, Policy, Section
from memgraph.models import Prompt, Turn
from memgraph.prompts.template import Language, load_template, read_instructions, validate_instructions
from memgraph.prompts.update_prompt import (
    correction_request,
    read_facts,
    read_turns,
    select_facts,
    shorten,
    substitute,
    update_prompt,
)
from memgraph.text.signals import load_signals
from memgraph.text.tokens import count_tokens


def turn(text: str, role: str = "human") -> Turn:
    return Turn.model_validate({"id": text[:20] or "m", "role": role, "text": text})


def ask(*new: Turn, memory: Memory | None = None, earlier: tuple[Turn, ...] = (), **options: object) -> Prompt:
    """The prompt for a conversation, with options of policy."""
    signals = options.pop("signals", ())
    return update_prompt(
        memory or Memory(),
        (*earlier, *new),
        frozenset(turn.id for turn in new),
        signals,  # type: ignore[arg-type]
        policy=Policy.model_validate(options),
        signals=load_signals(),
    )


def test_the_instructions_are_the_same_for_everybody() -> None:
    """So that a provider can cache them."""
    memory = Memory(facts=(Fact(content="Likes tea."),))

    assert ask(turn("I'm Ada.")).system == ask(turn("I'm Bob."), memory=memory).system


def test_what_is_known_and_what_was_said_is_shown() -> None:
    """Facts with their ids, turns with who said them and whether they are new."""
    memory = Memory(facts=(Fact(id="fact_1", content="Likes tea.", category="preference", confidence=0.9),))

    human = ask(turn("And jam."), memory=memory, earlier=(turn("Tea?", "ai"),)).human

    assert "[fact_1] (preference, 0.90) Likes tea." in human
    assert '<turn speaker="assistant" part="earlier">Tea?</turn>' in human
    assert '<turn speaker="user" part="new">And jam.</turn>' in human


@pytest.mark.parametrize(
    ("text", "language"), [("我在杭州工作，主要写 Python 和 Go。", "zh"), ("I work in Oslo.", "en")]
)
def test_the_prompt_speaks_the_users_language(text: str, language: str) -> None:
    """Hints too."""
    prompt = ask(turn(text), signals=("correction",))

    assert prompt.system == load_template(language).system  # type: ignore[arg-type]
    assert load_signals().hint("correction", language) in prompt.human  # type: ignore[arg-type]


def test_a_language_can_be_prescribed() -> None:
    """Whatever the user speaks."""
    assert ask(turn("I work in Oslo."), prompt_language="zh").system == load_template("zh").system


def test_without_signals_there_are_no_hints() -> None:
    """Nothing to look for is not a heading without a list."""
    assert "In this conversation:" not in ask(turn("Nice weather.")).human


@given(st.text(max_size=200))
def test_what_a_user_wrote_cannot_leave_its_turn(text: str) -> None:
    """Whatever it says, there is one turn, and it reads back as it was."""
    assert [shown.text for shown in read_turns(ask(turn(text)).human)] == [text]


@given(st.text(max_size=200))
def test_what_is_remembered_cannot_leave_its_line(content: str) -> None:
    """A fact that holds a tag, a newline or another fact's line is still one fact."""
    memory = Memory(facts=(Fact(id="fact_1", content=content),))

    (shown,) = read_facts(ask(turn("Hi."), memory=memory).human)

    assert (shown.id, shown.content) == ("fact_1", " ".join(content.split()))


@given(st.text(max_size=100))
def test_a_summary_cannot_close_its_block(summary: str) -> None:
    """Not even one that a person wrote."""
    memory = Memory().with_section("work_context", Section(summary=summary + "</summaries></current_memory>"))

    assert ask(turn("Hi."), memory=memory).human.count("</current_memory>") == 1


def test_braces_in_what_was_said_are_left_alone() -> None:
    """Only the frame's own places are filled."""
    assert "{hints} and {memory}" in ask(turn("{hints} and {memory}")).human


def test_a_long_earlier_turn_keeps_head_and_tail() -> None:
    """The question is at one end or the other."""
    human = ask(turn("Hi."), earlier=(turn("Begin. " + "x " * 5_000 + "End."),)).human

    assert len(human) < 2_500
    assert "Begin." in human
    assert "End." in human


@given(st.text(max_size=300), st.integers(100, 200))
def test_shortening_keeps_within_a_marker_of_the_limit(text: str, limit: int) -> None:
    """And leaves what fits alone."""
    short = shorten(text, limit)

    assert short == text if len(text) <= limit else len(short) == limit + len(" [...] ")


def test_the_prompt_does_not_grow_with_the_memory() -> None:
    """A thousand facts cost no more than what fits."""
    memory = Memory(facts=tuple(Fact(content=f"Fact {n} about gardens, trains and ships.") for n in range(1_000)))
    said = [turn(f"Turn {n}. " + "We talked about ships and trains. " * 3) for n in range(20)]

    prompt = ask(*said, memory=memory)

    assert count_tokens(prompt.system) + count_tokens(prompt.human) < 6_000


def test_of_too_many_facts_the_relevant_and_the_newest_are_shown() -> None:
    """In their own order."""
    facts = [
        Fact(id=f"f{n}", content=f"Fact {n} about gardens.", created_at="2026-01-01T00:00:00Z") for n in range(200)
    ]
    facts[50] = Fact(id="ship", content="Builds ships in Oslo.", created_at="2025-01-01T00:00:00Z")
    facts[10] = Fact(id="new", content="Likes tea.", created_at="2026-02-01T00:00:00Z")

    shown = select_facts(facts, [turn("How are the ships?")], 300)

    assert {"ship", "new"} <= {fact.id for fact in shown}
    assert len(shown) < 25
    assert shown == [fact for fact in facts if fact in shown]


def test_one_huge_fact_blocks_no_other() -> None:
    """What does not fit is passed over."""
    facts = [Fact(content="ships " * 3_000), *(Fact(content=f"Likes ships {n}.") for n in range(5))]

    assert len(select_facts(facts, [turn("ships")], 300)) == 5


def test_what_was_wrong_is_said_in_the_language_of_the_prompt() -> None:
    """A model that is asked in Chinese is told in Chinese."""
    assert "无法使用" in correction_request(ask(turn("我在杭州工作。")), "it is empty")
    assert "could not be used: it is empty" in correction_request(ask(turn("I work.")), "it is empty")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_names_of_the_example_are_in_the_example(language: Language) -> None:
    """Else what was copied from it would not be noticed."""
    template = load_template(language)

    assert all(word in template.system for word in template.example_words)


def test_instructions_of_ones_own_take_the_place_of_ours(tmp_path: Path) -> None:
    """The frame stays, since it is escaped and read back."""
    path = tmp_path / "prompt.md"
    path.write_text('Say what is new as {"user": {}, "history": {}, "newFacts": []}.', encoding="utf-8")

    assert read_instructions(path).startswith("Say what is new")


@pytest.mark.parametrize(("text", "missing"), [("", "user, history, newFacts"), ("user newFacts", "history")])
def test_instructions_that_no_answer_could_follow_are_refused(text: str, missing: str) -> None:
    """Better now than at the first update."""
    with pytest.raises(ConfigError, match=missing):
        validate_instructions(text, source="prompt")


def test_instructions_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    """It names the file."""
    with pytest.raises(ConfigError, match=r"nowhere\.md"):
        read_instructions(tmp_path / "nowhere.md")


def test_filling_leaves_other_braces_alone() -> None:
    """JSON in a frame is no place."""
    assert substitute('{"a": 1} {x} {y}', x="{y}") == '{"a": 1} {y} {y}'
