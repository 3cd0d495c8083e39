"""memgraph review: what was proposed in the background is listed, decided, and learned at once."""

from __future__ import annotations

import io
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
SAID = [("user", "I live in Lisbon. I prefer tea to coffee."), ("ai", "Noted.")]


class Terminal(io.TextIOWrapper):
    """A person who types these lines, and then ends the input."""

    def __init__(self, *lines: str) -> None:
        super().__init__(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))

    def isatty(self) -> bool:
        return True


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
    """Hand something over to a process that then ends."""

    def submit(scope: Scope, *messages: Any, thread: str = "t1") -> None:
        with BackgroundInvoker(settings=settings) as invoker:
            invoker.submit(messages or SAID, scope, thread)
            invoker.flush(20)

    return submit


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Callable[..., str]:
    """Run `memgraph review` at a terminal with these lines typed, and return what it showed."""

    def run(*lines: str, user: str = "ada") -> str:
        monkeypatch.setattr(sys, "stdin", Terminal(*lines))
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


def test_all_that_waits_is_listed_with_what_would_change(memgraph: Any, submit: Any, settings: Settings) -> None:
    submit(ADA)
    submit(BOT)

    shown = memgraph("review")

    assert shown.code == 0
    assert "3 changes proposed to the memory of ada, from t1:" in shown.out
    assert "3 changes proposed to the memory of ada with agent bot, from t1:" in shown.out
    assert "+ [context | 0.95] Lives in Lisbon." in shown.out
    assert "Decide with --user USER" in shown.out
    assert facts(settings, ADA) == []


def test_what_waits_is_told_to_machines(memgraph: Any, submit: Any, settings: Settings) -> None:
    submit(ADA)

    told = memgraph("review", "--json").json

    (waiting,) = told["in_review"]
    assert (told["outbox"], told["decided"]) == (f"sqlite:{settings.outbox}", [])
    assert (waiting["user"], waiting["agent"], waiting["thread"]) == ("ada", None, "t1")
    assert [item["kind"] for item in waiting["proposal"]["items"]] == ["add", "add", "rewrite"]


def test_each_change_is_asked_about_at_a_terminal_and_learned_at_once(
    typed: Any, submit: Any, settings: Settings, memgraph: Any
) -> None:
    """Nothing more has to run for it."""
    submit(ADA)

    shown = typed("r", "e", "Prefers green tea.", "", "", "r")

    assert "Learned:" in shown
    assert facts(settings, ADA) == ["Prefers green tea."]
    assert memgraph("review").out == f"Nothing waits for review in sqlite:{settings.outbox}.\n"
    assert memgraph("pending").out == f"Nothing waits in sqlite:{settings.outbox}.\n"


def test_who_quits_decides_nothing_more(typed: Any, submit: Any, settings: Settings, outbox: Any) -> None:
    submit(ADA, thread="t1")
    submit(ADA, ("user", "My name is Ada."), thread="t2")

    typed("aa", "q")

    assert [asked.key.thread_id for asked in in_review(outbox)] == ["t2"]
    assert facts(settings, ADA) == ["Lives in Lisbon.", "Prefers tea to coffee."]


@pytest.mark.parametrize(
    ("word", "known"), [("--accept", ["Lives in Lisbon.", "Prefers tea to coffee."]), ("--reject", [])]
)
def test_all_of_it_can_be_decided_without_a_terminal(
    *, memgraph: Any, submit: Any, settings: Settings, outbox: Any, word: str, known: list[str]
) -> None:
    submit(ADA)
    submit(BOB)

    told = memgraph("review", "--user", "ada", word, "--json").json

    assert ([each["user"] for each in told["decided"]], told["in_review"]) == (["ada"], [])
    assert facts(settings, ADA) == known
    assert [asked.key.scope for asked in in_review(outbox)] == [BOB]


def test_it_can_be_narrowed(memgraph: Any, submit: Any, outbox: Any) -> None:
    for scope, thread in ((ADA, "t1"), (ADA, "t2"), (BOT, "t1")):
        submit(scope, thread=thread)

    memgraph("review", "--user", "ada", "--agent", "Bot", "--accept")
    memgraph("review", "--user", "ada", "--thread", "t2", "--accept")

    assert [(asked.key.scope, asked.key.thread_id) for asked in in_review(outbox)] == [(ADA, "t1")]


def test_without_a_terminal_nothing_is_decided_by_looking(memgraph: Any, submit: Any, outbox: Any) -> None:
    submit(ADA)

    shown = memgraph("review", "--user", "ada", stdin=b"a\na\na\n")

    assert shown.code == 0
    assert len(in_review(outbox)) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--accept"], "say whose with --user"),
        (["--agent", "bot"], "--agent needs --user"),
        (["--user", "ada", "--accept", "--reject"], "exclude each other"),
    ],
)
def test_what_makes_no_sense_is_refused(memgraph: Any, settings: Settings, arguments: list[str], said: str) -> None:
    del settings
    shown = memgraph("review", *arguments)

    assert shown.code == 2
    assert said in shown.err


def test_what_came_in_meanwhile_is_left_to_those_who_submit(
    memgraph: Any, submit: Any, settings: Settings, outbox: Any
) -> None:
    """This process may have another model than theirs, or none."""
    submit(ADA)
    submit(ADA, ("user", "My name is Ada."))

    memgraph("review", "--user", "ada", "--accept")

    assert facts(settings, ADA) == ["Lives in Lisbon.", "Prefers tea to coffee."]
    assert [job.submissions for job in outbox.pending(now=0)] == [1]
    submit(BOB)
    assert {asked.key.scope for asked in in_review(outbox)} == {ADA, BOB}


def test_what_is_kept_elsewhere_is_left_to_those_who_submit(
    memgraph: Any, submit: Any, settings: Settings, outbox: Any, tmp_path: Path
) -> None:
    """Saved here it would be in the wrong place."""
    submit(ADA)

    shown = memgraph("review", "--user", "ada", "--accept", "--storage", str(tmp_path / "other"))

    assert "so it will be learned by the processes that submit" in shown.out
    assert not (tmp_path / "other").exists()
    make_runner(outbox, settings, open_storage("file:", storage_path=settings.storage_path)).run_due()
    assert facts(settings, ADA) == ["Lives in Lisbon.", "Prefers tea to coffee."]


def test_what_somebody_else_decided_meanwhile_stays_decided(
    memgraph: Any, submit: Any, settings: Settings, outbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever came too late is told."""
    submit(ADA)

    def be_slower(opened: Any, review_id: str, answer: object, *, now: float) -> Any:
        decide_review(outbox, review_id, "reject", now=now)
        return decide_review(opened, review_id, answer, now=now)

    monkeypatch.setattr("memgraph.background.reviews.decide_review", be_slower)
    shown = memgraph("review", "--user", "ada", "--accept")

    assert "this answer does not count" in shown.err
    make_runner(outbox, settings, open_storage("file:", storage_path=settings.storage_path)).run_due()
    assert facts(settings, ADA) == []


def test_what_was_forgotten_is_not_shown_any_more(memgraph: Any, submit: Any, settings: Settings) -> None:
    """Nor learned."""
    submit(ADA)
    memgraph("forget", "--user", "ada", "--yes")

    shown = memgraph("review")
    submit(BOB)

    assert "Lisbon" not in shown.out
    assert facts(settings, ADA) == []
    assert "ada" not in memgraph("review").out + memgraph("pending").out


def test_a_memory_that_cannot_be_read_hides_nothing_else(memgraph: Any, submit: Any, document: Path) -> None:
    """And what is decided of it is kept until it can be saved."""
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


def test_pending_tells_of_review(memgraph: Any, submit: Any) -> None:
    submit(ADA)

    told = memgraph("pending", "--json").json

    assert "In review; `memgraph review` decides:\n  ada, thread t1: 1 submission" in memgraph("pending").out
    assert [(job["user"], job["due_at"]) for job in told["in_review"]] == [("ada", None)]
    assert told["waiting"] == []


def test_looking_makes_no_file(memgraph: Any, settings: Settings, tmp_path: Path) -> None:
    shown = memgraph("review")

    assert shown.out == f"Nothing waits for review in sqlite:{settings.outbox}.\n"
    assert list(tmp_path.iterdir()) == []
