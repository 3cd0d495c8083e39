"""The prompt for the next batch of turns."""

from __future__ import annotations

from typing import Any

import pytest
from update_values import fact, origin, runtime, turn

from memgraph import MemoryDocument, Policy
from memgraph.analysis.provenance import with_provenance
from memgraph.models import Watermark
from memgraph.prompts.update_prompt import read_turns
from memgraph.update.build_prompt import _break_position, build_prompt

TURNS = tuple(turn(f"m{n}", f"Turn {n}.", role="ai" if n % 2 else "human") for n in range(6))
LONG = "word " * 400


def build(events: list[Any] | None = None, pending: int = 2, turns: Any = TURNS, **fields: Any) -> Any:
    context = {name: fields.pop(name) for name in ("prompt", "policy") if name in fields}
    known = tuple(turn.id for turn in turns[: len(turns) - pending])
    memory = fields.pop("memory", MemoryDocument()).model_copy(
        update={"threads": {"t1": Watermark(message_ids=fields.pop("known", known))}}
    )
    state = {"turns": turns, "origin": origin("s"), "signals": (), "memory": memory, "pending_turns": pending}
    return build_prompt({**state, **fields}, runtime(events=events, **context))  # type: ignore[typeddict-item]


def parts(human: str) -> list[tuple[str, str]]:
    """The turns in a prompt: number, and earlier or new."""
    return [(turn.text.split("Turn ")[1][0], "new" if turn.is_new else "earlier") for turn in read_turns(human)]


@pytest.mark.parametrize(
    ("context_turns", "pending", "shown"),
    [
        (0, 2, ["4 new", "5 new"]),
        (1, 2, ["3 earlier", "4 new", "5 new"]),
        (2, 2, ["2 earlier", "3 earlier", "4 new", "5 new"]),
        (3, 4, ["0 earlier", "1 earlier", "2 new", "3 new", "4 new", "5 new"]),
        (2, 6, ["0 new", "1 new", "2 new", "3 new", "4 new", "5 new"]),
    ],
)
def test_new_turns_follow_the_last_context_turns(context_turns: int, pending: int, shown: list[str]) -> None:
    """Earlier turns make the new ones understood; there may be fewer of them than allowed."""
    output = build(pending=pending, policy=Policy(context_turns=context_turns))

    assert [f"{number} {part}" for number, part in parts(output["prompt"].human)] == shown
    assert output["batch"] == tuple(f"m{n}" for n in range(6 - pending, 6))


@pytest.mark.parametrize(
    ("known", "context_turns", "shown"),
    [
        (("m0", "m1", "m3", "m5"), 2, ["0 earlier", "1 earlier", "2 new", "3 earlier", "4 new"]),
        (("m0", "m1", "m3", "m5"), 1, ["1 earlier", "2 new", "3 earlier", "4 new"]),
        (("m0", "m1", "m3", "m5"), 0, ["2 new", "4 new"]),
        (("m0", "m3"), 1, ["0 earlier", "1 new", "2 new", "3 earlier", "4 new", "5 new"]),
    ],
)
def test_known_turns_between_new_ones_are_context(known: tuple[str, ...], context_turns: int, shown: list[str]) -> None:
    """Another writer learned them; they are not learned twice."""
    output = build(known=known, policy=Policy(context_turns=context_turns))

    assert [f"{number} {part}" for number, part in parts(output["prompt"].human)] == shown


def test_a_batch_takes_what_fits() -> None:
    """The rest waits for the next pass; progress says how much it is."""
    turns = tuple(turn(f"m{n}", f"Turn {n}. {LONG}") for n in range(3))
    events: list[Any] = []

    output = build(events, pending=3, turns=turns, policy=Policy(batch_tokens=900, max_turn_chars=10_000))

    assert output["batch"] == ("m0", "m1")
    assert events == [{"graph": "memory_update", "node": "build_prompt", "turns": 2, "left": 1}]


@pytest.mark.parametrize("text", [LONG, "一" * 900, "One sentence. " * 60, "x" * 450])
def test_a_long_turn_is_shown_in_parts(text: str) -> None:
    """Nothing of it is left out, and no part is longer than a turn may be."""
    shown = list(
        read_turns(build(pending=1, turns=(turn("m0", text),), policy=Policy(max_turn_chars=100))["prompt"].human)
    )

    assert "".join(part.text for part in shown) == text
    assert all(part.is_new and len(part.text) <= 100 for part in shown)


def test_a_turn_that_does_not_fit_one_pass_is_continued_in_the_next() -> None:
    """The batch says how far it was shown."""
    text = "".join(f"Sentence {n} of a long log. " for n in range(400))
    turns, policy = (turn("m0", text), turn("m1", "Hi.")), Policy(batch_tokens=500, max_turn_chars=300)
    shown, known, passes = "", (), 0
    while known[-1:] != ("m1",):
        output = build(pending=2, turns=turns, policy=policy, known=known)
        shown += "".join(part.text for part in read_turns(output["prompt"].human) if part.is_new)
        known, passes = output["batch"], passes + 1
        assert known[-1] == "m1" or known == (f"m0#chars={len(shown)}",)

    assert (shown, passes > 5) == (f"{text}Hi.", True)


def test_of_a_long_turn_that_gives_context_the_last_part_is_shown() -> None:
    """Its question is there; when it was new, all of it was shown."""
    turns = (turn("m0", f"Begin. {LONG}. And you?", role="ai"), turn("m1", "Hi."))

    context, _ = read_turns(build(pending=1, turns=turns, policy=Policy(max_turn_chars=100))["prompt"].human)

    assert context.text == "[...] And you?"


def test_memory_signals_and_instructions_are_in_the_prompt() -> None:
    """The user's own instructions replace the system message."""
    own = 'Answer {"newFacts": []}.'

    prompt = build(memory=MemoryDocument(facts=(fact("Likes tea.", id="f1"),)), signals=("correction",), prompt=own)[
        "prompt"
    ]

    assert prompt.system == own
    assert "[f1] (context) Likes tea." in prompt.human
    assert runtime().context.signals.hint("correction", "en") in prompt.human


@pytest.mark.parametrize(
    ("window", "position"),
    [
        ("One. Two. Three", 10),  # after the last complete sentence
        ("ab cd ef gh", 9),  # after the last complete word
        ("abc defg", 4),  # exactly in the middle
        ("abc defgh", 4),  # the middle of an odd length is rounded down
        ("ab cdefgh", 9),  # in its first half, that would be too short a part
        ("abcdefghi", 9),
    ],
)
def test_a_long_turn_breaks_after_a_sentence_else_a_word_in_its_second_half(window: str, position: int) -> None:
    assert _break_position(window) == position


def test_parts_of_a_long_turn_keep_what_is_quoted() -> None:
    """The last part of an earlier turn as well as the parts of a new one."""
    quoting = with_provenance(turn("m0", f"{'I like trains. ' * 20}\n> I live in Rome.\nI live in Oslo."))
    turns = (quoting, quoting.model_copy(update={"id": "m1"}))

    prompt = build(pending=1, turns=turns, policy=Policy(max_turn_chars=100))["prompt"].human

    assert prompt.count("<quoted>&gt; I live in Rome.</quoted>") == len(turns)
