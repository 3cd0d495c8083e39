"""memgraph update --review asks about each change before it is saved."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph.cli.app import start
from memgraph.cli.output import Output
from memgraph.cli.review_view import ask_person, show_proposal
from memgraph.models import Refusal
from memgraph.review import Proposal, ReviewItem
from memgraph.review.models import FactRef

CTRL_C = "\x03"
CONVERSATION = "User: My name is Ada. I live in Paris.\nAssistant: Noted.\n"
PROPOSAL = Proposal(
    user_id="ada",
    agent_name="coder",
    thread_id="t1",
    items=(
        ReviewItem(
            key="add:fact_1",
            kind="add",
            after="Use uv.",
            category="correction",
            confidence=0.95,
            source_error="Used pip.",
            replaces=(FactRef(id="fact_9", content="Uses pip."),),
        ),
        ReviewItem(
            key="remove:fact_2",
            kind="remove",
            before="Is a student.",
            category="context",
            confidence=0.9,
            reason="over",
        ),
        ReviewItem(key="rewrite:work_context", kind="rewrite", before="Student.", after="Engineer.\x1b[2J"),
    ),
    evicted=(FactRef(id="fact_3", content="Likes jazz."),),
    refused=(Refusal(item="May like tea.", reason="confidence 0.30 is below 0.70"),),
)


class Terminal(io.TextIOWrapper):
    """A person who types these lines, and then ends the input."""

    def __init__(self, *lines: str) -> None:
        super().__init__(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))

    def isatty(self) -> bool:
        return True

    def readline(self, *size: Any) -> str:
        line = super().readline(*size)
        if line.startswith(CTRL_C):
            raise KeyboardInterrupt
        return line


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda *lines: monkeypatch.setattr(sys, "stdin", Terminal(*lines))


@pytest.fixture
def update(typing: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Learn from CONVERSATION, with somebody at the terminal."""
    file = tmp_path / "talk.txt"
    file.write_text(CONVERSATION)

    def run(*lines: str, options: tuple[str, ...] = ("--review",)) -> tuple[int, str, str]:
        typing(*lines)
        code = start(["update", str(file), "-u", "ada", "--model", "offline", *options])
        return code, *capfd.readouterr()

    return run


def facts(document: Path) -> list[tuple[str, str]]:
    return [(fact["content"], fact["source"]) for fact in json.loads(document.read_text())["facts"]]


# -- the command ----------------------------------------------------------------------------------


def test_each_change_is_shown_and_decided(update: Any, document: Path) -> None:
    """What was rejected is said, and not kept."""
    code, out, _ = update("a", "r", "accept")

    assert (code, facts(document)) == (0, [("Name is Ada.", "talk")])
    assert "1/3 + [context | 0.95] Name is Ada." in out
    assert "x Lives in Paris., not kept: rejected in review" in out


def test_a_fact_edited_at_the_terminal_is_manual(update: Any, document: Path) -> None:
    """An empty line leaves what there is."""
    update("e", "Name is Ada Lovelace.", "", "", "rr")

    assert facts(document) == [("Name is Ada Lovelace.", "manual")]


def test_all_rejected_is_not_asked_about_again(update: Any) -> None:
    """Nor paid for."""
    _, out, _ = update("rr")
    _, again, _ = update()

    assert "Nothing was learned: the changes were refused in review." in out
    assert "Nothing new" in again


@pytest.mark.parametrize(("lines", "code"), [(["a", "q"], 0), (["a"], 0), (["a", CTRL_C], 130)])
def test_who_leaves_has_decided_nothing(update: Any, document: Path, lines: list[str], code: int) -> None:
    """Nothing is saved, and the same conversation is asked about again."""
    ended, _, err = update(*lines)
    _, again, _ = update("aa")

    assert (ended, err) == (code, "Nothing was saved; the conversation can be learned again.\n")
    assert "Learned:" in again


def test_settings_ask_too(update: Any, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wants to be asked always is asked without saying so."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "always")

    update("q", options=())

    assert not document.exists()


def test_corrections_asks_about_news_only_where_it_is_told_to(
    update: Any, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--review is for all of it."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "corrections")

    update("q")
    asked = document.exists()
    update(options=())

    assert (asked, document.exists()) == (False, True)


@pytest.mark.parametrize("options", [["--review"], ["--review", "--json"]])
def test_without_a_person_it_is_refused_before_a_model_is_paid(
    memgraph: Any, document: Path, options: list[str]
) -> None:
    """And says what else can be done."""
    result = memgraph("update", "-", "-u", "ada", *options, stdin=CONVERSATION.encode())

    assert (result.code, result.err.count("\n"), document.exists()) == (2, 1, False)
    assert "there is nobody to ask" in result.err
    assert "memgraph review" in result.err


def test_draw_shows_the_node_that_asks(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture is of the graph that the settings make."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "corrections")

    assert "review_changes" in memgraph("draw", "--form", "mermaid").out


# -- the dialogue ---------------------------------------------------------------------------------


def test_a_proposal_is_shown_with_all_that_a_person_needs_to_know(capfd: pytest.CaptureFixture[str]) -> None:
    """Whose, what, instead of what, why; and nothing that could steer the terminal."""
    show_proposal(Output(as_json=False), PROPOSAL)

    assert capfd.readouterr().out.splitlines() == [
        "",
        "3 changes proposed to the memory of ada with agent coder, from t1:",
        "  + [correction | 0.95] Use uv. (avoid: Used pip.)",
        "    in place of: Uses pip.",
        "  - [context | 0.90] Is a student.",
        "    because: over",
        "  ~ Work: Engineer.\\x1b[2J",
        "    in place of: Student.",
        "  - Likes jazz., which would go for want of room",
        "  x May like tea., not kept: confidence 0.30 is below 0.70",
    ]


def test_every_field_of_a_fact_can_be_edited(typing: Any) -> None:
    """What stays is left out, so that only what a person wrote is theirs."""
    typing("e", "Use uv or pixi.", "", "1", "Used pip again.", "a", "e", "Engineer.")

    answer = ask_person(Output(as_json=False), PROPOSAL)

    assert answer == {
        "items": {
            "add:fact_1": {"after": "Use uv or pixi.", "confidence": 1.0, "source_error": "Used pip again."},
            "remove:fact_2": "accept",
            "rewrite:work_context": {"after": "Engineer."},
        }
    }


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["e", "", "hobby", "", ""], "there is no category 'hobby'"),
        (["e", "", "", "sure", ""], "confidence is a number"),
        (["e", "", "", "2", ""], "confidence is from 0 to 1"),
        (["e", "x" * 2_001, "", "", ""], "1 to 2,000 characters"),
        (["a", "e"], "nothing of it to edit"),
        (["what?"], "e edits it"),
        (["e", "", "", "", ""], ""),
    ],
)
def test_what_cannot_be_is_said_and_asked_again(
    typing: Any, capfd: pytest.CaptureFixture[str], lines: list[str], said: str
) -> None:
    """The item is still to be decided."""
    typing(*lines, "rr")

    answer: Any = ask_person(Output(as_json=False), PROPOSAL)

    assert said in "".join(capfd.readouterr())
    assert answer["others"] == "reject"
