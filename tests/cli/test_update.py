"""memgraph update learns from a conversation, and prints its progress, changes and cost."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

CONVERSATION = b"User: My name is Ada. I live in Paris. I prefer pytest.\nAssistant: Noted.\n"
NODES = [
    "filter_messages",
    "detect_signals",
    "load_memory",
    "build_prompt",
    "call_model",
    "parse_update",
    "apply_update",
    "scrub_uploads",
    "save_memory",
]
UPDATE = {
    "user": {"workContext": {"summary": "Works on compilers.", "shouldUpdate": True}},
    "history": {},
    "newFacts": [
        {"content": "Works on compilers.", "category": "context", "confidence": 0.9},
        {"content": "May like tea.", "category": "preference", "confidence": 0.3},
    ],
    "factsToRemove": [],
}


@pytest.fixture
def openai(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    """An OpenAI-compatible server that answers with UPDATE and needs no key."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(UPDATE)}}
    usage = {"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(answer)
    monkeypatch.setenv("MEMGRAPH_GROUNDING", "off")
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    return httpserver


def test_nodes_and_changes_are_printed(memgraph: Any) -> None:
    result = memgraph("update", "-", "--user", "ada", stdin=CONVERSATION)

    shown = [line.split()[0] for line in result.out.splitlines() if line.startswith("  ") and "_" in line.split()[0]]
    assert result.code == 0
    assert shown == NODES
    assert "Learned:" in result.out
    assert "Prefers pytest." in result.out
    assert "users/ada/memory.json, revision 1" in result.out


def test_the_built_in_model_is_reported_in_one_line(memgraph: Any) -> None:
    result = memgraph("update", "-", "--user", "ada", stdin=CONVERSATION)

    assert result.err.startswith(
        "Using the built-in offline model: no model provider is configured; run `memgraph setup`"
    )
    assert result.err.count("\n") == 1


def test_an_explicit_offline_model_is_not_reported(memgraph: Any) -> None:
    result = memgraph("update", "-", "--user", "ada", "--model", "offline", stdin=CONVERSATION)

    assert result.err == ""


def test_json_is_one_document(memgraph: Any) -> None:
    found = memgraph("update", "-", "-u", "ada", "--thread", "t1", "--json", stdin=CONVERSATION).json

    assert found["outcome"] == "learned"
    assert (found["user_id"], found["thread_id"], found["revision"]) == ("ada", "t1", 1)
    assert [node["node"] for node in found["nodes"]] == NODES
    assert found["counts"]["added"] == len(found["added"]) >= 3
    assert found["usage"]["calls"] == 1


def test_the_default_thread_is_the_file_name(memgraph: Any, tmp_path: Path) -> None:
    file = tmp_path / "monday talk.txt"
    file.write_bytes(CONVERSATION)

    found = memgraph("update", str(file), "-u", "ada", "--json").json

    assert found["thread_id"] == "monday talk"
    assert {fact["source"] for fact in found["added"]} == {"monday talk"}


def test_the_same_conversation_again_changes_nothing_and_calls_no_model(memgraph: Any, document: Path) -> None:
    memgraph("update", "-", "-u", "ada", stdin=CONVERSATION)
    stored = document.read_bytes()

    again = memgraph("update", "-", "-u", "ada", stdin=CONVERSATION)

    assert "Nothing new was kept: it was learned before" in again.out
    assert "The model was not called." in again.out
    assert document.read_bytes() == stored


def test_an_empty_conversation_is_nothing_new(memgraph: Any, document: Path) -> None:
    result = memgraph("update", "-", "-u", "ada", "--json", stdin=b"[]")

    assert (result.code, result.json["outcome"], document.exists()) == (0, "nothing_new", False)


def test_an_agent_has_a_separate_memory(memgraph: Any, document: Path) -> None:
    memgraph("update", "-", "-u", "ada", "--agent", "Coder", stdin=CONVERSATION)

    assert (document.parent / "agents/coder/memory.json").is_file()
    assert not document.exists()


def test_a_custom_server_needs_no_key(memgraph: Any, openai: HTTPServer) -> None:
    """OPENAI_BASE_URL is enough: Ollama and vLLM need no key."""
    result = memgraph("update", "-", "-u", "ada", stdin=CONVERSATION)

    assert result.code == 0
    assert "Model: openai:gpt-4.1-mini" in result.out
    assert "+ [context | 0.90] Works on compilers." in result.out
    assert "~ Work: Works on compilers." in result.out
    assert "x May like tea. (not saved: confidence 0.30 is below 0.70)" in result.out
    assert "1 model call, 1,200 tokens in, 34 tokens out." in result.out


def test_a_model_error_is_one_line_and_changes_nothing(
    memgraph: Any, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, document: Path
) -> None:
    httpserver.expect_request("/v1/chat/completions").respond_with_data("no", status=500)
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("MEMGRAPH_MODEL_TRIES", "1")

    result = memgraph("update", "-", "-u", "ada", stdin=CONVERSATION)

    assert result.code == 1
    assert result.err.startswith("Error: the model did not answer")
    assert result.err.count("\n") == 1
    assert not document.exists()


def test_a_missing_key_names_the_variable(memgraph: Any, document: Path) -> None:
    result = memgraph("update", "-", "-u", "ada", "--model", "openai:gpt-4.1-mini", stdin=CONVERSATION)

    assert result.code == 2
    assert result.err.startswith("Error: no key for openai: set OPENAI_API_KEY")
    assert result.err.count("\n") == 1
    assert not document.exists()


def test_an_invalid_model_is_bad_input(memgraph: Any) -> None:
    result = memgraph("update", "-", "-u", "ada", "--model", "nonsense", stdin=CONVERSATION)

    assert (result.code, result.err.count("\n")) == (2, 1)


def test_disabled_memory_learns_nothing(memgraph: Any, monkeypatch: pytest.MonkeyPatch, document: Path) -> None:
    monkeypatch.setenv("MEMGRAPH_ENABLED", "false")

    result = memgraph("update", "-", "-u", "ada", "--json", stdin=CONVERSATION)

    assert (result.code, result.json["outcome"], document.exists()) == (0, None, False)


@pytest.mark.parametrize("name", ["english_conversation.json", "chinese_conversation.txt"])
def test_facts_are_learned_from_the_examples(memgraph: Any, name: str) -> None:
    file = Path(__file__).parents[2] / "examples" / name

    found = memgraph("update", str(file), "-u", "ada", "--json").json

    assert len(found["added"]) >= 4
    assert {"context", "preference", "goal"} <= {fact["category"] for fact in found["added"]}


def long_conversation(turns: int) -> bytes:
    return "".join(f"User: On day {number} I bought {number} apples.\n" for number in range(turns)).encode()


def test_a_long_update_shows_a_running_total(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first pass, one line for each pass instead of nine."""
    monkeypatch.setenv("MEMGRAPH_BATCH_TOKENS", "500")

    result = memgraph("update", "-", "--user", "ada", "--model", "offline", stdin=long_conversation(200))

    totals = [line for line in result.out.splitlines() if " of 200 turns: " in line]
    learned = [int(line.split()[0]) for line in totals]
    assert len(totals) > 3
    assert learned == sorted(learned)
    assert totals[-1] == f"  200 of 200 turns: 0 facts added, {len(totals)} model calls"
    assert result.out.count("  call_model ") == 1


def test_the_seconds_pass_while_a_slow_model_answers(
    open_terminal: Any, httpserver: HTTPServer, tmp_path: Path
) -> None:
    """A minute without a sign of life looks like a crash."""
    asked, answered = threading.Event(), threading.Event()

    def answer(_: Request) -> Response:
        asked.set()
        answered.wait(60)
        return Response(status=400)

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    (tmp_path / "talk.txt").write_bytes(CONVERSATION)
    model = {"OPENAI_BASE_URL": httpserver.url_for("/v1"), "OPENAI_API_KEY": "none"}
    terminal = open_terminal("update", "talk.txt", "--user", "ada", "--model", "openai:m", **model)
    assert asked.wait(60)

    terminal.wait_for("0:00:01")
    terminal.wait_for("0:00:02")
    answered.set()

    assert terminal.wait() == 1
    terminal.wait_for("\x1b[?25h")  # the cursor is shown again
