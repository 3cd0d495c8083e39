"""The blackboard: an append-only log of what nodes answered."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from exchanges import ask, exchange, shown

from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory
from memgraph.errors import MemoryStoreError


def board(folder: Path, **config: object) -> BlackboardMemory:
    """A blackboard in a file."""
    return BlackboardMemory("board", BlackboardConfig.model_validate({"memory_path": "auto", **config}), folder=folder)


def test_the_last_entries_come_the_oldest_of_them_first(tmp_path: Path) -> None:
    """They are read as a conversation is."""
    with board(tmp_path) as store:
        for number in range(5):
            store.update(exchange("Go on.", f"Step {number}."))

        assert shown(ask(store, "whatever", top_k=3)) == ["Step 2.", "Step 3.", "Step 4."]


def test_an_entry_says_who_wrote_it_and_when(tmp_path: Path) -> None:
    """Several agents share the board."""
    moment = datetime(2026, 6, 11, 16, 47, 59, 120, tzinfo=UTC)
    with BlackboardMemory("board", folder=tmp_path, now=lambda: moment) as store:
        store.update(exchange("Go on.", "Found three papers.", node="researcher"))

        (found,) = ask(store, "")

    assert (found.source, found.score) == ("researcher", None)
    assert found.item.metadata == {"node": "researcher", "thread_id": "thread_1"}
    assert found.item.timestamp == "2026-06-11T16:47:59.000120Z"
    assert found.item.output_snapshot == exchange("", "Found three papers.").output


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    """It is on disk when update returns."""
    with board(tmp_path) as store:
        store.update(exchange("Go on.", "Step 1."))

    with board(tmp_path) as store:
        assert shown(ask(store, "")) == ["Step 1."]


def test_a_board_without_a_path_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lives as long as it is open."""
    monkeypatch.chdir(tmp_path)
    with BlackboardMemory("board") as store:
        store.update(exchange("Go on.", "Step 1."))

        assert shown(ask(store, "")) == ["Step 1."]

    assert not list(tmp_path.iterdir())


def test_a_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    """`auto` makes a file name of whatever a memory is called."""
    folder = tmp_path / "run"
    with BlackboardMemory("../Team board", BlackboardConfig(memory_path="auto"), folder=folder) as store:
        store.update(exchange("Go on.", "Step 1."))

    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert list(folder.glob("*.db"))


def test_the_oldest_go(tmp_path: Path) -> None:
    """Max_items is a limit of what is kept, not only of what is shown."""
    with board(tmp_path, max_items=3) as store:
        for number in range(9):
            store.update(exchange("Go on.", f"Step {number}."))

        assert shown(ask(store, "", top_k=100)) == ["Step 6.", "Step 7.", "Step 8."]


def test_a_lower_limit_holds_from_the_next_entry_on(tmp_path: Path) -> None:
    """Nothing is lost by reading with another configuration."""
    with board(tmp_path) as store:
        for number in range(9):
            store.update(exchange("Go on.", f"Step {number}."))
    with board(tmp_path, max_items=2) as store:
        before = len(ask(store, "", top_k=100))

        store.update(exchange("Go on.", "Step 9."))

        assert before == 9
        assert shown(ask(store, "", top_k=100)) == ["Step 8.", "Step 9."]


def test_one_user_does_not_see_another_s_board(tmp_path: Path) -> None:
    """Nor does who is nobody in particular."""
    with board(tmp_path, max_items=2) as store:
        for user in ("ada", "grace", None, "ada", "ada"):
            store.update(exchange("Go on.", f"Of {user}.", user=user))

        found = {user: shown(ask(store, "", user=user)) for user in ("ada", "grace", None, "mallory")}

    assert found == {"ada": ["Of ada."] * 2, "grace": ["Of grace."], None: ["Of None."], "mallory": []}


def test_a_shared_board_is_everybody_s(tmp_path: Path) -> None:
    """Where the configuration says so."""
    with board(tmp_path, shared=True) as store:
        store.update(exchange("Go on.", "Of ada.", user="ada"))

        assert shown(ask(store, "", user="grace")) == ["Of ada."]


def test_an_answer_that_says_nothing_is_no_entry(tmp_path: Path) -> None:
    """An AI message that only calls a tool, for one."""
    with board(tmp_path) as store:
        store.update(exchange("Go on.", ""))

        assert not ask(store, "")


def test_a_long_entry_is_shown_cut_and_kept_whole(tmp_path: Path) -> None:
    """A prompt has room for its beginning."""
    answer = "A sentence of the report. " * 1_000
    with board(tmp_path, max_content_length=100) as store:
        store.update(exchange("Go on.", answer))

        (found,) = ask(store, "")

    assert found.item.content_summary == "A sentence of the report. A sentence of the report. A sentence of the report."
    assert found.item.output_snapshot == exchange("", answer).output


IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


def test_data_is_kept_once_and_goes_with_the_last_entry_that_has_it(tmp_path: Path) -> None:
    """A picture sent round among agents fills no disk."""
    with board(tmp_path, max_items=2) as store:
        for _ in range(3):
            store.update(exchange("Look.", ["See:", IMAGE]))
        found = ask(store, "")
        during = _count(tmp_path / "board.db", "data")
        for number in range(2):
            store.update(exchange("Go on.", f"Step {number}."))

    assert [one.item.output_snapshot.content() for one in found if one.item.output_snapshot] == [
        [{"type": "text", "text": "See:"}, IMAGE]
    ] * 2
    assert (during, _count(tmp_path / "board.db", "data")) == (1, 0)


def _count(path: Path, table: str) -> int:
    db = sqlite3.connect(path)
    try:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - the test's own
    finally:
        db.close()


# -- files that are none --------------------------------------------------------------------------


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database. " * 500)


def _foreign(path: Path) -> None:
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE song (title); INSERT INTO song VALUES ('Yesterday')")
    db.close()


def _cut_off(path: Path) -> None:
    with board(path.parent) as store:
        for number in range(100):
            store.update(exchange("Go on.", f"Step {number}."))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("spoil", [_garbage, _foreign, _cut_off])
@pytest.mark.parametrize("act", ["load", "retrieve", "update"])
def test_a_file_that_is_no_board_is_left_alone(tmp_path: Path, spoil: object, act: str) -> None:
    """It may be somebody's, or may be repaired."""
    path = tmp_path / "board.db"
    spoil(path)  # pyright: ignore[reportCallIssue]
    before, store = path.read_bytes(), board(tmp_path)
    acts = {"load": store.load, "retrieve": lambda: ask(store, ""), "update": lambda: store.update(exchange("x"))}

    with pytest.raises(MemoryStoreError, match=r"board\.db.*left unchanged"):
        acts[act]()

    store.close()
    assert path.read_bytes() == before


def test_an_entry_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Which one, so that it can be repaired."""
    with board(tmp_path) as store:
        store.update(exchange("Go on.", "Step 1."))
        db = sqlite3.connect(tmp_path / "board.db")
        with db:
            db.execute("UPDATE item SET document = '{'")
        db.close()

        with pytest.raises(MemoryStoreError, match="item 1 cannot be read"):
            ask(store, "")


def test_a_board_that_is_removed_while_it_is_open_begins_anew(tmp_path: Path) -> None:
    """What is written afterwards is in the file that is there."""
    with board(tmp_path) as store:
        store.update(exchange("Go on.", "Step 1."))
        for path in tmp_path.iterdir():
            path.unlink()

        store.update(exchange("Go on.", "Step 2."))

        assert shown(ask(store, "")) == ["Step 2."]


# -- several writers ------------------------------------------------------------------------------

THREADS = 20
PROCESSES = 4
EACH = 5
WRITER = """
import sys
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, sys.argv[1])
from exchanges import exchange
from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory

folder, process, threads, each = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
store = BlackboardMemory("board", BlackboardConfig(memory_path="auto", max_items=100_000), folder=folder)

def write(thread):
    for number in range(each):
        store.update(exchange("Go on.", f"{process}/{thread}/{number}"))

print("ready", flush=True)
sys.stdin.readline()
with store, ThreadPoolExecutor(threads) as pool:
    list(pool.map(write, range(threads)))
"""


def _writer(folder: Path, process: int) -> subprocess.Popen[str]:
    given = [str(Path(__file__).parent), str(folder), str(process), str(THREADS // PROCESSES), str(EACH)]
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_many_threads_and_processes_lose_nothing(tmp_path: Path) -> None:
    """20 threads in 4 processes, on a file that none of them finds there: every entry, each thread's in order."""
    writers = [_writer(tmp_path, process) for process in range(PROCESSES)]
    assert [writer.stdout.readline() for writer in writers if writer.stdout] == ["ready\n"] * PROCESSES

    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(lambda writer: writer.communicate("go\n"), writers))

    with board(tmp_path) as store:
        entries = shown(ask(store, "", top_k=10_000))
    written: dict[str, list[int]] = defaultdict(list)
    for entry in entries:
        thread, _, number = entry.rpartition("/")
        written[thread].append(int(number))
    assert [writer.returncode for writer in writers] == [0] * PROCESSES
    assert len(written) == THREADS
    assert all(numbers == list(range(EACH)) for numbers in written.values())


FORK = """
import os, sys
sys.path.insert(0, sys.argv[1])
from exchanges import exchange
from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory

store = BlackboardMemory("board", BlackboardConfig(memory_path="auto"), folder=sys.argv[2])
store.update(exchange("Go on.", "Parent."))
child = os.fork()
if not child:
    store.update(exchange("Go on.", "Child."))
    os._exit(0)
status = os.waitpid(child, 0)[1]
store.update(exchange("Go on.", "Parent again."))
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_process_writes_by_a_connection_of_its_own(tmp_path: Path) -> None:
    """SQLite's must not be carried over a fork."""
    given = [str(Path(__file__).parent), str(tmp_path)]

    done = subprocess.run([sys.executable, "-c", FORK, *given], check=False)

    assert done.returncode == 0
    with board(tmp_path) as store:
        assert shown(ask(store, "")) == ["Parent.", "Child.", "Parent again."]


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from exchanges import exchange
from memgraph.attachments.blackboard import BlackboardConfig, BlackboardMemory

store = BlackboardMemory("board", BlackboardConfig(memory_path="auto"), folder=sys.argv[2])
number = 0
while True:
    store.update(exchange("Go on.", f"Step {number}."))
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_loses_nothing_that_update_returned_from(tmp_path: Path) -> None:
    """However it dies, and the next one opens the file without repair."""
    given = [str(Path(__file__).parent), str(tmp_path)]
    writer = subprocess.Popen([sys.executable, "-c", KILLED, *given], stdout=subprocess.PIPE, text=True)
    assert writer.stdout
    for _ in range(50):
        writer.stdout.readline()

    writer.kill()

    last = max([49, *map(int, writer.communicate()[0].split())])
    with board(tmp_path) as store:
        entries = shown(ask(store, "", top_k=100_000))
    assert entries == [f"Step {number}." for number in range(len(entries))]
    assert len(entries) > last
