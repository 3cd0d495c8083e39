"""memgraph update --review asks about each change before it is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memgraph.cli.app import start
from memgraph.cli.output import Output
from memgraph.cli.review_view import ask_user, show_proposal
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


@pytest.fixture
def update(type_lines: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Run `memgraph update` on CONVERSATION at a terminal."""
    file = tmp_path / "talk.txt"
    file.write_text(CONVERSATION)

    def run(*lines: str, options: tuple[str, ...] = ("--review",)) -> tuple[int, str, str]:
        type_lines(*lines)
        code = start(["update", str(file), "-u", "ada", "--model", "offline", *options])
        return code, *capfd.readouterr()

    return run


def facts(document: Path) -> list[tuple[str, str]]:
    return [(fact["content"], fact["source"]) for fact in json.loads(document.read_text())["facts"]]


# -- the command ----------------------------------------------------------------------------------


def test_each_change_is_shown_and_decided(update: Any, document: Path) -> None:
    """Rejected changes are reported, and not saved."""
    code, out, _ = update("a", "r", "accept")

    assert (code, facts(document)) == (0, [("Name is Ada.", "talk")])
    assert "1/2 + [context | 0.95] Name is Ada." in out
    assert "x Lives in Paris. (not saved: rejected in review)" in out


def test_a_fact_edited_at_the_terminal_is_manual(update: Any, document: Path) -> None:
    """An empty line keeps the current value."""
    update("e", "Name is Ada Lovelace.", "", "", "rr")

    assert facts(document) == [("Name is Ada Lovelace.", "manual")]


def test_rejected_changes_are_not_proposed_again(update: Any) -> None:
    """And the model is not called again."""
    _, out, _ = update("rr")
    _, again, _ = update()

    assert "Nothing was learned: all changes were rejected in review." in out
    assert "Nothing new" in again


@pytest.mark.parametrize(("lines", "code"), [(["a", "q"], 0), (["a"], 0), (["a", CTRL_C], 130)])
def test_quitting_saves_nothing(update: Any, document: Path, lines: list[str], code: int) -> None:
    """The next run on the same conversation asks again."""
    ended, _, err = update(*lines)
    _, again, _ = update("aa")

    assert (ended, err) == (code, "Nothing was saved; run the command again to learn from this conversation.\n")
    assert "Learned:" in again


def test_review_can_be_enabled_in_settings(update: Any, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """review: always needs no option."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "always")

    update("q", options=())

    assert not document.exists()


def test_the_review_option_overrides_corrections(update: Any, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--review asks about all changes, not only about corrections."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "corrections")

    update("q")
    saved_after_quit = document.exists()
    update(options=())

    assert (saved_after_quit, document.exists()) == (False, True)


@pytest.mark.parametrize("options", [["--review"], ["--review", "--json"]])
def test_review_without_a_terminal_fails_before_the_model_call(
    memgraph: Any, document: Path, options: list[str]
) -> None:
    """The error names the alternative."""
    result = memgraph("update", "-", "-u", "ada", *options, stdin=CONVERSATION.encode())

    assert (result.code, result.err.count("\n"), document.exists()) == (2, 1, False)
    assert "needs a terminal" in result.err
    assert "memgraph review" in result.err


def test_draw_shows_the_review_node(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing shows the configured graph."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "corrections")

    assert "review_changes" in memgraph("draw", "--form", "mermaid").out


# -- the dialogue ---------------------------------------------------------------------------------


def test_a_proposal_is_shown_in_full(capfd: pytest.CaptureFixture[str]) -> None:
    """Owner, changes, replaced values and reasons, with control characters escaped."""
    show_proposal(Output(as_json=False), PROPOSAL)

    assert capfd.readouterr().out.splitlines() == [
        "",
        "3 proposed changes to the memory of ada (agent coder), from conversation t1:",
        "  + [correction | 0.95] Use uv. (avoid: Used pip.)",
        "    replaces: Uses pip.",
        "  - [context | 0.90] Is a student.",
        "    reason: over",
        "  ~ Work: Engineer.<U+001B>[2J",
        "    replaces: Student.",
        "  - Likes jazz. (evicted: the memory is full)",
        "  x May like tea. (not saved: confidence 0.30 is below 0.70)",
    ]


def test_every_field_of_a_fact_can_be_edited(type_lines: Any) -> None:
    """Unchanged fields are omitted, so that only edited ones count as manual."""
    type_lines("e", "Use uv or pixi.", "", "1", "Used pip again.", "a", "e", "Engineer.")

    answer = ask_user(Output(as_json=False), PROPOSAL)

    assert answer == {
        "items": {
            "add:fact_1": {"after": "Use uv or pixi.", "confidence": 1.0, "source_error": "Used pip again."},
            "remove:fact_2": "accept",
            "rewrite:work_context": {"after": "Engineer."},
        }
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["e", "", "hobby", "", ""], "there is no category 'hobby'"),
        (["e", "", "", "sure", ""], "expected a number from 0 to 1"),
        (["e", "", "", "2", ""], "confidence is from 0 to 1"),
        (["e", "x" * 2_001, "", "", ""], "1 to 2,000 characters"),
        (["a", "e"], "cannot be edited"),
        (["what?"], "e: edit"),
        (["e", "", "", "", ""], ""),
    ],
)
def test_an_invalid_answer_is_reported_and_asked_again(
    type_lines: Any, capfd: pytest.CaptureFixture[str], lines: list[str], message: str
) -> None:
    """The item stays undecided."""
    type_lines(*lines, "rr")

    answer: Any = ask_user(Output(as_json=False), PROPOSAL)

    assert message in "".join(capfd.readouterr())
    assert answer["others"] == "reject"
