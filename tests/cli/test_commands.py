"""Commands that show, correct, export and delete a memory."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import graph_ascii

from memgraph import Scope, Settings, open_outbox
from memgraph.analysis.tokens import count_tokens
from memgraph.background.background_invoker import make_runner
from memgraph.background.outbox import ConversationKey
from memgraph.background.serialization import dump_messages
from memgraph.background.shared import WorkerConfig
from memgraph.config import make_storage
from memgraph.models import CATEGORIES


@pytest.fixture
def with_facts(memgraph: Any) -> Any:
    """Run commands on a memory with two facts about ada."""
    memgraph("fact", "add", "Likes tea.", "-u", "ada", "--category", "preference", "--confidence", "0.8")
    memgraph("fact", "add", "Use Polars.", "-u", "ada", "--category", "correction", "--avoid", "pandas")
    return memgraph


def facts(memgraph: Any, user: str = "ada") -> list[dict[str, Any]]:
    return memgraph("show", "-u", user, "--json").json["facts"]


def test_a_fact_has_a_configured_category(memgraph: Any, tmp_path: Path) -> None:
    (tmp_path / "memgraph.yaml").write_text("memory:\n  categories: [{name: allergy, description: foods to avoid}]\n")

    memgraph("fact", "add", "Allergic to nuts.", "-u", "ada", "--category", "allergy")
    refused = memgraph("fact", "add", "Wants to sail.", "-u", "ada", "--category", "goal")

    assert [fact["category"] for fact in facts(memgraph)] == ["allergy"]
    assert "there is no category 'goal'; there are allergy, context, correction" in refused.err


def test_the_profile_and_a_custom_summary_are_shown(memgraph: Any, tmp_path: Path) -> None:
    document = tmp_path / "document.json"
    document.write_text(
        '{"facts": [], "customSections": {"healthNotes": {"summary": "Has asthma."}},'
        ' "profile": {"values": {"diet": "vegan"}}}'
    )

    memgraph("import", str(document), "-u", "ada")

    assert "Profile\n  diet: vegan\n\nHealth notes\n  Has asthma." in memgraph("show", "-u", "ada").out


def test_help_is_shown_without_a_command(memgraph: Any) -> None:
    result = memgraph()

    assert result.code == 0
    assert all(
        name in result.out for name in ("update", "show", "recall", "fact", "forget", "export", "import", "draw")
    )


def test_the_version_is_shown(memgraph: Any) -> None:
    assert memgraph("--version").out.startswith("memgraph ")


def test_show_prints_facts_and_location(with_facts: Any, tmp_path: Path) -> None:
    out = with_facts("show", "-u", "ada").out

    assert "Memory of ada, revision 2" in out
    assert str(tmp_path / "memories" / "users" / "ada" / "memory.json") in out
    assert "[preference | 0.80] Likes tea. (manual)" in out
    assert "[correction | 1.00] Use Polars. (avoid: pandas)" in out


def test_show_prints_when_a_fact_was_said_and_is_true(
    with_facts: Any, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the user's time zone: 23:30 in Greenwich is the next morning in Shanghai."""
    memory = json.loads(document.read_text())
    memory["facts"][0] |= {"saidAt": "2023-05-08T23:30:00Z", "validFrom": "2023-05-01", "validUntil": "2024"}
    memory["facts"][1] |= {"validUntil": "2024"}
    document.write_text(json.dumps(memory))
    monkeypatch.setenv("MEMGRAPH_TIMEZONE", "Asia/Shanghai")

    out = with_facts("show", "-u", "ada").out

    assert "Likes tea. (said 2023-05-09, from 2023-05-01 until 2024) (manual)" in out
    assert "(avoid: pandas) (until 2024) (manual)" in out


def test_show_as_json_is_the_document(with_facts: Any, document: Path) -> None:
    assert with_facts("show", "-u", "ada", "--json").json == json.loads(document.read_text())


def test_recall_ranks_by_confidence(with_facts: Any) -> None:
    out = with_facts("recall", "What does Ada drink?", "-u", "ada").out

    assert out.splitlines()[3:] == [
        *("Preferences:", "- Likes tea."),
        *("Corrections:", "- Use Polars. (avoid: pandas)", "</memory>"),
    ]


def test_recall_tells_why_each_line_is_in_it(with_facts: Any) -> None:
    lines = with_facts("recall", "Does Ada like tea?", "-u", "ada", "--why").out.splitlines()
    facts = with_facts("recall", "Does Ada like tea?", "-u", "ada", "--json").json["facts"]

    assert lines[-2:] == [
        "0.98 (similarity 1.00; likes, tea): Likes tea.",
        "0.10 (similarity 0.00; no matching word): Use Polars.",
    ]
    assert [(fact["fact"]["content"], fact["matched"]) for fact in facts] == [
        ("Likes tea.", ["likes", "tea"]),
        ("Use Polars.", []),
    ]


@pytest.mark.parametrize("budget", [1, 10, 20, 40, 200])
def test_recall_stays_within_its_budget(with_facts: Any, tmp_path: Path, budget: int) -> None:
    long = {"summary": "Builds things. " * 50}
    (tmp_path / "more.json").write_text(json.dumps({"user": {"topOfMind": long, "workContext": long}}))
    with_facts("import", str(tmp_path / "more.json"), "-u", "ada")

    found = with_facts("recall", "x", "-u", "ada", "--budget", str(budget), "--json").json

    assert count_tokens(found["text"]) == found["tokens"] <= budget


def test_recall_reserves_half_of_its_budget_for_facts(with_facts: Any, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text(json.dumps({"user": {"topOfMind": {"summary": "Builds things. " * 500}}}))
    with_facts("import", str(tmp_path / "more.json"), "-u", "ada")

    assert "Likes tea." in with_facts("recall", "x", "-u", "ada", "--budget", "100").out


def test_disabled_recall_prints_nothing(with_facts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_INJECTION_ENABLED", "false")

    assert with_facts("recall", "x", "-u", "ada", "--json").json["text"] == ""


def test_an_edited_fact_becomes_manual(with_facts: Any) -> None:
    fact_id = facts(with_facts)[0]["id"]

    result = with_facts("fact", "edit", fact_id, "-u", "ada", "--content", "Likes green tea.", "--json")

    assert (result.json["fact"]["content"], result.json["fact"]["source"]) == ("Likes green tea.", "manual")
    assert facts(with_facts)[0]["content"] == "Likes green tea."


def test_fact_remove(with_facts: Any) -> None:
    removed = facts(with_facts)[0]

    result = with_facts("fact", "remove", removed["id"], "-u", "ada")

    assert result.out.startswith(f"Removed: {removed['id']}")
    assert removed not in facts(with_facts)


def test_an_unknown_fact_id_suggests_no_other_fact(with_facts: Any) -> None:
    """It would invite to remove that one instead."""
    fact_id = facts(with_facts)[0]["id"]

    result = with_facts("fact", "remove", f"{fact_id[:-1]}", "-u", "ada")

    assert (result.code, "there is no fact" in result.err) == (2, True)
    assert f"'{fact_id}'" not in result.err


@pytest.mark.parametrize(
    "invalid", [["--category", "hobby"], ["--confidence", "2"], ["--confidence", "nan"], ["--avoid", "x"]]
)
def test_an_invalid_fact_is_not_saved(memgraph: Any, document: Path, invalid: list[str]) -> None:
    assert memgraph("fact", "add", "Likes tea.", "-u", "ada", *invalid).code == 2
    assert not document.exists()


def test_help_lists_every_category(memgraph: Any) -> None:
    assert all(category in memgraph("fact", "add", "--help").out for category in CATEGORIES)


def test_forget_without_terminal_needs_yes(with_facts: Any) -> None:
    result = with_facts("forget", "-u", "ada")

    assert (result.code, len(facts(with_facts))) == (2, 2)
    assert "--yes" in result.err


def test_forget_deletes_the_memory(with_facts: Any) -> None:
    assert with_facts("forget", "-u", "ada", "--yes").out.startswith("Deleted the memory of ada in ")
    assert with_facts("show", "-u", "ada").err == "Error: No memory for user 'ada'.\n"


@pytest.mark.parametrize("step", [-7_200, 7_200])
def test_forget_forgets_the_pending_conversations_whatever_the_clock_says(
    memgraph: Any, tmp_path: Path, monkeypatch: Any, step: int
) -> None:
    """They were submitted by a process whose clock is ahead or behind; later submissions are learned."""
    settings = Settings(
        storage_path=str(tmp_path / "memories"), outbox=str(tmp_path / "outbox.db"), model_name="offline"
    )
    monkeypatch.setenv("MEMGRAPH_OUTBOX", str(tmp_path / "outbox.db"))
    storage, key = make_storage(settings), ConversationKey(Scope("ada"), "t1")
    with open_outbox(settings.outbox) as outbox:
        runner = make_runner(outbox.for_storage(storage.name), WorkerConfig(settings), storage)
        runner.now = lambda: time.time() + step
        runner.submit(key, dump_messages([HumanMessage("I live in Lisbon.", id="m1")]))
        memgraph("forget", "-u", "ada", "--yes")
        runner.submit(key, dump_messages([HumanMessage("I prefer tea to coffee.", id="m2")]))
        outbox.expedite(now=runner.now())
        runner.run_due()

    assert [fact.content for fact in storage.load(key.scope).facts] == ["Prefers tea to coffee."]


def test_forget_says_that_a_user_is_unknown(with_facts: Any) -> None:
    assert with_facts("forget", "-u", "adda", "--yes").err == "Error: No memory for user 'adda'. Known users: ada.\n"


def test_a_file_that_cannot_be_written_is_named_with_the_reason(with_facts: Any) -> None:
    assert (
        with_facts("export", "-u", "ada", "-o", "gone/a.json").err == "Error: gone/a.json: No such file or directory\n"
    )


def test_forget_lists_remaining_agents(with_facts: Any) -> None:
    with_facts("fact", "add", "Likes coffee.", "-u", "ada", "--agent", "coder")

    assert with_facts("forget", "-u", "ada", "--yes", "--json").json["agents_left"] == ["coder"]


def test_an_export_can_be_imported(with_facts: Any, tmp_path: Path) -> None:
    with_facts("export", "-u", "ada", "-o", str(tmp_path / "ada.json"))

    result = with_facts("import", str(tmp_path / "ada.json"), "-u", "bob", "--trusted", "--json").json

    assert result["counts"]["added"] == 2
    assert with_facts("show", "-u", "bob", "--json").json["facts"] == facts(with_facts)


@pytest.mark.parametrize("mode", [[], ["--replace"]])
def test_an_import_makes_no_manual_facts_unless_it_is_trusted(memgraph: Any, mode: list[str]) -> None:
    """A file from anywhere could forbid that its facts are ever corrected."""
    data = b'{"facts": [{"content": "Likes tea.", "source": "manual"}]}'

    memgraph("import", "-", "-u", "ada", *mode, stdin=data)
    memgraph("import", "-", "-u", "bob", *mode, "--trusted", stdin=data)

    assert [facts(memgraph, user)[0]["source"] for user in ("ada", "bob")] == ["unknown", "manual"]


def test_an_export_is_private(with_facts: Any, tmp_path: Path) -> None:
    with_facts("export", "-u", "ada", "-o", str(tmp_path / "ada.json"))

    assert stat.S_IMODE((tmp_path / "ada.json").stat().st_mode) == 0o600


def test_an_unwritable_export_is_a_failure(with_facts: Any, tmp_path: Path) -> None:
    result = with_facts("export", "-u", "ada", "-o", str(tmp_path / "no/such/ada.json"))

    assert (result.code, result.err.count("\n")) == (1, 1)


def test_importing_twice_adds_once(with_facts: Any) -> None:
    exported = with_facts("export", "-u", "ada").out.encode()

    again = with_facts("import", "-", "-u", "ada", "--json", stdin=exported).json

    assert (again["counts"]["added"], again["revision"]) == (0, 2)


def test_import_replace_writes_a_private_backup_to_the_data_folder(with_facts: Any, tmp_path: Path) -> None:
    """`erase` and `forget` know that folder."""
    before = facts(with_facts)

    result = with_facts(
        "import", "-", "-u", "ada", "--replace", "--json", stdin=b'{"facts": [{"content": "Likes rum."}]}'
    ).json

    backup = Path(result["backup"])
    assert backup.is_relative_to(tmp_path / "data")
    assert (backup.stat().st_mode & 0o777, backup.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(backup.read_text())["facts"] == before
    assert [fact["content"] for fact in facts(with_facts)] == ["Likes rum."]


@pytest.mark.parametrize("data", [b"{}", b"[]", b"{", b"", b'{"facts": 3}', b'{"facts": [3]}', b"\xff"])
def test_an_invalid_import_changes_nothing(with_facts: Any, document: Path, data: bytes) -> None:
    before = document.read_bytes()

    assert with_facts("import", "-", "-u", "ada", "--replace", stdin=data).code == 2
    assert document.read_bytes() == before


@pytest.mark.parametrize("option", ["--replace", "--dry-run", "--trusted"])
def test_an_import_beyond_max_facts_changes_nothing(with_facts: Any, document: Path, option: str) -> None:
    """Neither learned facts nor those that the document calls manual."""
    many = {"facts": [{"content": f"Fact {number}", "source": "manual"} for number in range(2_001)]}
    before = document.read_bytes()

    result = with_facts("import", "-", "-u", "ada", option, stdin=json.dumps(many).encode())

    assert (result.code, "max_facts allows 2,000" in result.err) == (2, True)
    assert document.read_bytes() == before


@pytest.mark.parametrize("name", ["memory_sample_1.json", "memory_sample_2.json"])
def test_older_documents_are_imported(memgraph: Any, name: str) -> None:
    file = Path(__file__).parents[3] / "shared" / "data" / name
    if not file.exists():
        pytest.skip("the samples are outside the repository")

    assert memgraph("import", str(file), "-u", "ada", "--json").json["counts"]["added"] > 0


def test_draw_prints_mermaid_without_an_extra(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_ascii, "_HAS_GRANDALF", False)

    assert "graph TD;" in memgraph("draw").out
    assert list(memgraph("draw", "--json").json) == ["mermaid"]


def test_draw_prints_ascii_art_on_request(memgraph: Any) -> None:
    assert "| filter_messages |" in memgraph("draw", "--form", "ascii").out


def test_draw_names_the_extra_that_ascii_art_needs(memgraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_ascii, "_HAS_GRANDALF", False)

    result = memgraph("draw", "--form", "ascii")

    assert result.code == 2
    assert "pip install 'langgraph-memgraph[draw]'" in result.err


def test_config_shows_the_source_of_each_setting(memgraph: Any, tmp_path: Path, monkeypatch: Any) -> None:
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


def test_the_storage_in_ram_is_announced(memgraph: Any) -> None:
    """Otherwise an update reports facts that are gone a moment later."""
    result = memgraph("show", "-u", "ada", "--storage", "memory:")

    assert "nothing is kept when this command ends" in result.err
