"""memgraph update --review asks about each change; what is not decided stays pending."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONVERSATION = "User: My name is Ada. I live in Paris.\nAssistant: Noted.\n"


@pytest.fixture
def update(memgraph: Any, tmp_path: Path) -> Callable[..., str]:
    """Run `memgraph update` on CONVERSATION at a terminal."""
    file = tmp_path / "talk.txt"
    file.write_text(CONVERSATION)

    def run(*lines: str, options: tuple[str, ...] = ("--review",)) -> str:
        result = memgraph("update", str(file), "-u", "ada", "--model", "offline", *options, typed=lines)
        assert result.code == 0
        return result.out

    return run


def facts(document: Path) -> list[tuple[str, str]]:
    return [(fact["content"], fact["source"]) for fact in json.loads(document.read_text())["facts"]]


def waiting(document: Path) -> list[str]:
    changes = json.loads(document.read_text()).get("quarantine", [])
    return [fact["content"] for change in changes for fact in change["facts"]]


def test_each_change_is_shown_and_decided(update: Any, document: Path) -> None:
    """Only an accepted one is saved."""
    out = update("a", "r")

    assert "+ [context | 0.95] Name is Ada." in out
    assert (facts(document), waiting(document)) == ([("Name is Ada.", "talk")], [])


def test_a_fact_edited_at_the_terminal_is_manual(update: Any, document: Path) -> None:
    update("e", "Name is Ada Lovelace.", "rr")

    assert facts(document) == [("Name is Ada Lovelace.", "manual")]


def test_rejected_changes_are_not_proposed_again(update: Any) -> None:
    """And the model is not called again."""
    update("rr")

    assert "Nothing new" in update()


def test_what_is_left_undecided_stays_pending(update: Any, document: Path) -> None:
    out = update("a", "q")

    assert "1 change pending; decide with: memgraph review --user ada" in out
    assert ([text for text, _ in facts(document)], waiting(document)) == (["Name is Ada."], ["Lives in Paris."])


def test_review_can_be_enabled_in_settings(update: Any, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """review: always needs no option."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "always")

    update("q", options=())

    assert (facts(document), len(waiting(document))) == ([], 2)


def test_without_a_terminal_all_changes_are_pending(memgraph: Any, document: Path) -> None:
    result = memgraph("update", "-", "-u", "ada", "--review", "--json", stdin=CONVERSATION.encode())

    assert (result.code, facts(document), len(waiting(document))) == (0, [], 2)


def test_draw_shows_the_review_node(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing shows the configured graph."""
    monkeypatch.setenv("MEMGRAPH_REVIEW", "corrections")

    assert "review_changes" in memgraph("draw", "--form", "mermaid").out
