"""memgraph review lists changes proposed in the background, and saves decided ones at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memgraph import BackgroundInvoker, Scope, Settings, open_outbox, open_storage
from memgraph.background.background_invoker import make_runner
from memgraph.background.reviews import decide_review, in_review
from memgraph.cli.app import start

ADA, BOB, BOT = Scope("ada"), Scope("bob"), Scope("ada", "bot")
MESSAGES = [("user", "I live in Lisbon. I prefer tea to coffee."), ("ai", "Noted.")]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("MEMGRAPH_OUTBOX", str(tmp_path / "outbox.db"))
    return Settings(
        storage_path=str(tmp_path / "memories"),
        outbox=str(tmp_path / "outbox.db"),
        model_name="offline",
        review="always",
        debounce_seconds=0,
    )


@pytest.fixture
def submit(settings: Settings) -> Callable[..., None]:
    """Submit a conversation from a process that then ends."""

    def submit(scope: Scope, *messages: Any, thread: str = "t1") -> None:
        with BackgroundInvoker(settings=settings) as invoker:
            invoker.submit(messages or MESSAGES, scope, thread)
            invoker.flush(60)

    return submit


@pytest.fixture
def type_review(type_lines: Any, capfd: Any) -> Callable[..., str]:
    """Run `memgraph review` at a terminal with these lines typed, and return its output."""

    def run(*lines: str, user: str = "ada") -> str:
        type_lines(*lines)
        assert start(["review", "--user", user]) == 0
        sys.stdout.flush()
        return capfd.readouterr().out

    return run


@pytest.fixture
def outbox(settings: Settings) -> Iterator[Any]:
    with open_outbox(settings.outbox) as opened:
        yield opened


def facts(settings: Settings, scope: Scope) -> list[str]:
    return [fact.content for fact in open_storage("file:", storage_path=settings.storage_path).load(scope).facts]


def test_reviews_are_listed_with_their_changes(memgraph: Any, submit: Any, settings: Settings) -> None:
    submit(ADA)
    submit(BOT)

    shown = memgraph("review")

    assert shown.code == 0
    assert "2 proposed changes to the memory of ada, from conversation t1:" in shown.out
    assert "2 proposed changes to the memory of ada (agent bot), from conversation t1:" in shown.out
    assert "+ [context | 0.95] Lives in Lisbon." in shown.out
    assert "Decide with --user USER" in shown.out
    assert facts(settings, ADA) == []


def test_reviews_as_json(memgraph: Any, submit: Any, settings: Settings) -> None:
    submit(ADA)

    document = memgraph("review", "--json").json

    (waiting,) = document["in_review"]
    assert (document["outbox"], document["decided"]) == (f"sqlite:{settings.outbox}", [])
    assert (waiting["user"], waiting["agent"], waiting["thread"]) == ("ada", None, "t1")
    assert [item["kind"] for item in waiting["proposal"]["items"]] == ["add", "add"]


def test_each_change_is_decided_at_a_terminal_and_saved_at_once(
    type_review: Any, submit: Any, settings: Settings, memgraph: Any
) -> None:
    """No other process has to run."""
    submit(ADA)

    shown = type_review("r", "e", "Prefers green tea.", "", "", "r")

    assert "Learned:" in shown
    assert facts(settings, ADA) == ["Prefers green tea."]
    assert memgraph("review").out == f"No changes in review in sqlite:{settings.outbox}.\n"
    assert memgraph("pending").out == f"No pending conversations in sqlite:{settings.outbox}.\n"


def test_quitting_leaves_the_rest_in_review(type_review: Any, submit: Any, settings: Settings, outbox: Any) -> None:
    submit(ADA, thread="t1")
    submit(ADA, ("user", "My name is Ada."), thread="t2")

    type_review("aa", "q")

    assert [review.key.thread_id for review in in_review(outbox)] == ["t2"]
    assert facts(settings, ADA) == ["Lives in Lisbon.", "I prefer tea to coffee."]


@pytest.mark.parametrize(
    ("option", "expected"), [("--accept", ["Lives in Lisbon.", "I prefer tea to coffee."]), ("--reject", [])]
)
def test_all_changes_can_be_decided_without_a_terminal(
    *, memgraph: Any, submit: Any, settings: Settings, outbox: Any, option: str, expected: list[str]
) -> None:
    submit(ADA)
    submit(BOB)

    document = memgraph("review", "--user", "ada", option, "--json").json

    assert ([review["user"] for review in document["decided"]], document["in_review"]) == (["ada"], [])
    assert facts(settings, ADA) == expected
    assert [review.key.scope for review in in_review(outbox)] == [BOB]


def test_reviews_can_be_selected_by_agent_and_thread(memgraph: Any, submit: Any, outbox: Any) -> None:
    for scope, thread in ((ADA, "t1"), (ADA, "t2"), (BOT, "t1")):
        submit(scope, thread=thread)

    memgraph("review", "--user", "ada", "--agent", "Bot", "--accept")
    memgraph("review", "--user", "ada", "--thread", "t2", "--accept")

    assert [(review.key.scope, review.key.thread_id) for review in in_review(outbox)] == [(ADA, "t1")]


def test_listing_without_a_terminal_decides_nothing(memgraph: Any, submit: Any, outbox: Any) -> None:
    submit(ADA)

    shown = memgraph("review", "--user", "ada", stdin=b"a\na\na\n")

    assert shown.code == 0
    assert len(in_review(outbox)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--accept"], "--accept and --reject need --user"),
        (["--agent", "bot"], "--agent needs --user"),
        (["--user", "ada", "--accept", "--reject"], "pass either --accept or --reject"),
    ],
)
def test_invalid_option_combinations_are_errors(
    memgraph: Any, settings: Settings, arguments: list[str], message: str
) -> None:
    del settings
    shown = memgraph("review", *arguments)

    assert shown.code == 2
    assert message in shown.err


def test_later_submissions_are_left_to_the_submitting_processes(
    memgraph: Any, submit: Any, settings: Settings, outbox: Any
) -> None:
    """This process may have another model, or none."""
    submit(ADA)
    submit(ADA, ("user", "My name is Ada."))

    memgraph("review", "--user", "ada", "--accept")

    assert facts(settings, ADA) == ["Lives in Lisbon.", "I prefer tea to coffee."]
    assert [job.submissions for job in outbox.pending(now=0)] == [1]
    submit(BOB)
    assert {review.key.scope for review in in_review(outbox)} == {ADA, BOB}


def test_a_memory_in_another_storage_is_left_to_the_submitting_processes(
    memgraph: Any, submit: Any, settings: Settings, outbox: Any, tmp_path: Path
) -> None:
    """Saving it here would write to the wrong storage."""
    submit(ADA)

    shown = memgraph("review", "--user", "ada", "--accept", "--storage", str(tmp_path / "other"))

    assert "a process that submits conversations will save it" in shown.out
    assert not (tmp_path / "other").exists()
    make_runner(outbox, settings, open_storage("file:", storage_path=settings.storage_path)).run_due()
    assert facts(settings, ADA) == ["Lives in Lisbon.", "I prefer tea to coffee."]


def test_a_concurrent_decision_wins(
    memgraph: Any, submit: Any, settings: Settings, outbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later answer is reported as not applied."""
    submit(ADA)

    def decide_late(opened: Any, review_id: str, answer: object, *, now: float) -> Any:
        decide_review(outbox, review_id, "reject", now=now)
        return decide_review(opened, review_id, answer, now=now)

    monkeypatch.setattr("memgraph.background.reviews.decide_review", decide_late)
    shown = memgraph("review", "--user", "ada", "--accept")

    assert "your answer was not applied" in shown.err
    make_runner(outbox, settings, open_storage("file:", storage_path=settings.storage_path)).run_due()
    assert facts(settings, ADA) == []


def test_reviews_of_a_deleted_memory_are_discarded(memgraph: Any, submit: Any, settings: Settings) -> None:
    """They are neither listed nor saved."""
    submit(ADA)
    memgraph("forget", "--user", "ada", "--yes")

    shown = memgraph("review")
    submit(BOB)

    assert "Lisbon" not in shown.out
    assert facts(settings, ADA) == []
    assert "ada" not in memgraph("review").out + memgraph("pending").out


def test_an_unreadable_memory_hides_no_other_review(memgraph: Any, submit: Any, document: Path) -> None:
    """Its own decision is kept until it can be saved."""
    submit(ADA)
    submit(BOB)
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text("{no json")

    listed = memgraph("review")
    decided = memgraph("review", "--user", "ada", "--accept")

    assert "memory of bob" in listed.out
    assert decided.code != 0
    assert "ada, thread t1: 1 submission, due" in memgraph("pending").out
    assert document.read_text() == "{no json"


def test_pending_lists_reviews(memgraph: Any, submit: Any) -> None:
    submit(ADA)

    document = memgraph("pending", "--json").json

    assert "In review (decide with `memgraph review`):\n  ada, thread t1: 1 submission" in memgraph("pending").out
    assert [(job["user"], job["due_at"]) for job in document["in_review"]] == [("ada", None)]
    assert document["waiting"] == []


def test_listing_creates_no_file(memgraph: Any, settings: Settings, tmp_path: Path) -> None:
    shown = memgraph("review")

    assert shown.out == f"No changes in review in sqlite:{settings.outbox}.\n"
    assert list(tmp_path.iterdir()) == []
