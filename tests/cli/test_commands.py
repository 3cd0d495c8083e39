"""The commands that look at a memory, or correct it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from memgraph.cli.fact import CATEGORY_HELP
from memgraph.models import CATEGORIES
from memgraph.text.tokens import count_tokens


@pytest.fixture
def told(memgraph: Any) -> Any:
    """Two facts about ada."""
    memgraph("fact", "add", "Likes tea.", "-u", "ada", "--category", "preference", "--confidence", "0.8")
    memgraph("fact", "add", "Use Polars.", "-u", "ada", "--category", "correction", "--avoid", "pandas")
    return memgraph


def facts(memgraph: Any) -> list[dict[str, Any]]:
    return memgraph("show", "-u", "ada", "--json").json["facts"]


def test_help_is_shown_without_a_command(memgraph: Any) -> None:
    result = memgraph()

    assert result.code == 0
    assert all(
        name in result.out for name in ("update", "show", "recall", "fact", "forget", "export", "import", "draw")
    )


def test_the_version_is_shown(memgraph: Any) -> None:
    assert memgraph("--version").out.startswith("memgraph ")


def test_nothing_known_is_said(memgraph: Any) -> None:
    result = memgraph("show", "-u", "ada")

    assert result.code == 0
    assert result.out.startswith("Nothing is remembered of ada in ")


def test_show_tells_what_is_known_and_where(told: Any, tmp_path: Path) -> None:
    out = told("show", "-u", "ada").out

    assert "Memory of ada, revision 2" in out
    assert str(tmp_path / "memories" / "users" / "ada" / "memory.json") in out
    assert "[preference | 0.80] Likes tea. (yours)" in out
    assert "[correction | 1.00] Use Polars. (avoid: pandas)" in out


def test_show_as_json_is_the_document(told: Any, document: Path) -> None:
    assert told("show", "-u", "ada", "--json").json == json.loads(document.read_text())


def test_recall_puts_the_surest_first(told: Any) -> None:
    out = told("recall", "What does Ada drink?", "-u", "ada").out

    assert out.splitlines()[2:] == [
        "Facts:",
        "- [correction | 1.00] Use Polars. (avoid: pandas)",
        "- [preference | 0.80] Likes tea.",
        "</memory>",
    ]


@pytest.mark.parametrize("budget", [1, 10, 20, 40, 200])
def test_recall_stays_within_its_budget(told: Any, tmp_path: Path, budget: int) -> None:
    long = {"summary": "Builds things. " * 50}
    (tmp_path / "more.json").write_text(json.dumps({"user": {"topOfMind": long, "workContext": long}}))
    told("import", str(tmp_path / "more.json"), "-u", "ada")

    found = told("recall", "x", "-u", "ada", "--budget", str(budget), "--json").json

    assert count_tokens(found["text"]) == found["tokens"] <= budget


def test_recall_leaves_half_of_its_budget_to_facts(told: Any, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text(json.dumps({"user": {"topOfMind": {"summary": "Builds things. " * 500}}}))
    told("import", str(tmp_path / "more.json"), "-u", "ada")

    assert "Likes tea." in told("recall", "x", "-u", "ada", "--budget", "100").out


def test_recall_that_is_off_tells_nothing(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_INJECTION_ENABLED", "false")

    assert told("recall", "x", "-u", "ada", "--json").json["text"] == ""


def test_a_fact_is_edited_and_is_then_a_persons(told: Any) -> None:
    fact_id = facts(told)[0]["id"]

    result = told("fact", "edit", fact_id, "-u", "ada", "--content", "Likes green tea.", "--json")

    assert (result.json["fact"]["content"], result.json["fact"]["source"]) == ("Likes green tea.", "manual")
    assert facts(told)[0]["content"] == "Likes green tea."


def test_a_fact_is_removed(told: Any) -> None:
    gone = facts(told)[0]

    result = told("fact", "remove", gone["id"], "-u", "ada")

    assert result.out.startswith(f"Removed: {gone['id']}")
    assert gone not in facts(told)


def test_an_unknown_fact_names_the_nearest(told: Any) -> None:
    fact_id = facts(told)[0]["id"]

    result = told("fact", "remove", f"{fact_id[:-1]}", "-u", "ada")

    assert (result.code, f"did you mean '{fact_id}'?" in result.err) == (2, True)


@pytest.mark.parametrize(
    "wrong", [["--category", "hobby"], ["--confidence", "2"], ["--confidence", "nan"], ["--avoid", "x"]]
)
def test_a_fact_that_may_not_be_changes_nothing(memgraph: Any, document: Path, wrong: list[str]) -> None:
    assert memgraph("fact", "add", "Likes tea.", "-u", "ada", *wrong).code == 2
    assert not document.exists()


def test_the_help_names_every_category() -> None:
    assert all(category in CATEGORY_HELP for category in CATEGORIES)


def test_forget_asks_and_without_anybody_to_ask_deletes_nothing(told: Any) -> None:
    result = told("forget", "-u", "ada")

    assert (result.code, len(facts(told))) == (2, 2)
    assert "--yes" in result.err


def test_forget_deletes(told: Any) -> None:
    assert told("forget", "-u", "ada", "--yes").out.startswith("Forgot ada")
    assert facts(told) == []


def test_forget_tells_of_agents_that_still_know(told: Any) -> None:
    told("fact", "add", "Likes coffee.", "-u", "ada", "--agent", "coder")

    assert told("forget", "-u", "ada", "--yes", "--json").json["agents_left"] == ["coder"]


def test_what_was_exported_can_be_imported(told: Any, tmp_path: Path) -> None:
    told("export", "-u", "ada", "-o", str(tmp_path / "ada.json"))

    result = told("import", str(tmp_path / "ada.json"), "-u", "bob", "--json").json

    assert result["counts"]["added"] == 2
    assert told("show", "-u", "bob", "--json").json["facts"] == facts(told)


def test_an_export_is_nobody_elses_to_read(told: Any, tmp_path: Path) -> None:
    told("export", "-u", "ada", "-o", str(tmp_path / "ada.json"))

    assert stat.S_IMODE((tmp_path / "ada.json").stat().st_mode) == 0o600


def test_an_export_that_cannot_be_written_is_a_failure(told: Any, tmp_path: Path) -> None:
    result = told("export", "-u", "ada", "-o", str(tmp_path / "no/such/ada.json"))

    assert (result.code, result.err.count("\n")) == (1, 1)


def test_importing_twice_adds_once(told: Any) -> None:
    exported = told("export", "-u", "ada").out.encode()

    again = told("import", "-", "-u", "ada", "--json", stdin=exported).json

    assert (again["counts"]["added"], again["revision"]) == (0, 2)


def test_what_is_replaced_is_kept_as_a_backup(told: Any, tmp_path: Path) -> None:
    before = facts(told)

    result = told(
        "import", "-", "-u", "ada", "--replace", "--json", stdin=b'{"facts": [{"content": "Likes rum."}]}'
    ).json

    backup = Path(result["backup"])
    assert backup.parent == tmp_path
    assert json.loads(backup.read_text())["facts"] == before
    assert [fact["content"] for fact in facts(told)] == ["Likes rum."]


@pytest.mark.parametrize("data", [b"{}", b"[]", b"{", b"", b'{"facts": 3}', b'{"facts": [3]}', b"\xff"])
def test_an_import_that_is_no_memory_changes_nothing(told: Any, document: Path, data: bytes) -> None:
    before = document.read_bytes()

    assert told("import", "-", "-u", "ada", "--replace", stdin=data).code == 2
    assert document.read_bytes() == before


def test_more_facts_than_fit_are_told(told: Any) -> None:
    many = {"facts": [{"content": f"Fact {number}"} for number in range(101)]}

    assert "max_facts" in told("import", "-", "-u", "ada", stdin=json.dumps(many).encode()).err


@pytest.mark.parametrize("name", ["memory_sample_1.json", "memory_sample_2.json"])
def test_older_documents_are_imported(memgraph: Any, name: str) -> None:
    file = Path(__file__).parents[3] / "shared" / "data" / name
    if not file.exists():
        pytest.skip("the samples lie beside the repository")

    assert memgraph("import", str(file), "-u", "ada", "--json").json["counts"]["added"] > 0


def test_draw_prints_mermaid_and_a_picture(memgraph: Any) -> None:
    out = memgraph("draw").out

    assert "graph TD;" in out
    assert "| filter_messages |" in out


def test_draw_as_json_holds_what_was_asked_for(memgraph: Any) -> None:
    assert list(memgraph("draw", "--form", "mermaid", "--json").json) == ["mermaid"]


def test_config_tells_where_each_setting_comes_from(memgraph: Any, tmp_path: Path, monkeypatch: Any) -> None:
    yaml = "memory: {max_facts: 20, embedding: {provider: openai, api_key: '${SECRET}'}}"
    (tmp_path / "memgraph.yaml").write_text(yaml)
    monkeypatch.setenv("SECRET", "hush")
    monkeypatch.setenv("MEMGRAPH_MAX_THREADS", "5")

    result = memgraph("config", "--json", "--storage", "memory:")

    settings = result.json["settings"]
    assert settings["max_facts"] == {"value": 20, "from": "memgraph.yaml: memory.max_facts"}
    assert settings["max_threads"] == {"value": 5, "from": "MEMGRAPH_MAX_THREADS"}
    assert settings["max_turn_chars"]["from"] == "default"
    assert settings["storage_path"] == {"value": "memory:", "from": "the command line"}
    assert "hush" not in result.out
    assert "hush" not in memgraph("config").out
